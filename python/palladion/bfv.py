"""BFV: exact arithmetic on encrypted integers modulo a prime ``t``.

A ciphertext holds N integers in two rows. Operators work on all of them at once::

    from palladion import bfv

    params = bfv.Params(log_n=13, levels=[43, 43, 43], special=[43], t=65537)
    secret = bfv.keygen(params)
    keys = secret.evaluation_keys(rotations=[1])
    x = secret.encrypt([1, 2, 3]).with_keys(keys)
    y = (x * x + 3 * x - 1).rotate(1)
    secret.decrypt(y)[:2]  # 9, 17

A product works at the whole modulus and keeps the level. Each product costs the same number of bits
of the noise budget: ``secret.budget(y)`` returns the number left.
"""

from __future__ import annotations

from palladion.schemes.exact import (
    Ciphertext,
    ExactParams,
    PublicKey,
    SecretKey,
    Table,
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
    "Table",
    "keygen",
    "sum_rotations",
]


class Params(ExactParams):
    __doc__ = ExactParams.__doc__

    scheme = "bfv"
    schemes = ("bfv",)
