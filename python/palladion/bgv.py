"""BGV: exact arithmetic on encrypted integers modulo a prime ``t``.

A ciphertext holds N integers in two rows. Operators work on all of them at once::

    from palladion import bgv

    params = bgv.Params(log_n=13, levels=[50, 50, 50], special=[50], t=65537)
    secret = bgv.keygen(params)
    keys = secret.evaluation_keys(rotations=[1])
    x = secret.encrypt([1, 2, 3]).with_keys(keys)
    y = (x * x + 3 * x - 1).rotate(1)
    secret.decrypt(y)[:2]  # 9, 17

A product multiplies the noise. It is followed by a switch down of one level if there is one, which
makes the noise small again: give levels about 45 bits or more. ``secret.budget(y)`` returns the
number of bits left.
"""

from __future__ import annotations

from palladion.schemes.exact import (
    Ciphertext,
    ExactParams,
    PublicKey,
    SecretKey,
    keygen,
)
from palladion.schemes.keys import EvaluationKeys, SwitchKey, sum_rotations

__all__ = [
    "Ciphertext",
    "EvaluationKeys",
    "Params",
    "PublicKey",
    "SecretKey",
    "SwitchKey",
    "keygen",
    "sum_rotations",
]


class Params(ExactParams):
    __doc__ = ExactParams.__doc__

    scheme = "bgv"
    schemes = ("bgv",)
