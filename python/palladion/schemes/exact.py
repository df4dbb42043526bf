"""Exact arithmetic modulo a prime, shared by BFV and BGV."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from palladion import _native
from palladion.errors import UsageError
from palladion.schemes.arrays import (
    Integers,
    check_exponent,
    integer_bytes,
    natural,
    rotation,
    terms,
)
from palladion.schemes.encrypted import Packed
from palladion.schemes.keys import (
    EvaluationKeys,
    SchemeParams,
    Stored,
    SwitchKey,
    evaluation_keys,
    keys_of,
)
from palladion.schemes.sets import of_scheme

T_FERMAT = 65537
"""The Fermat prime 2^16 + 1. It gives all slots up to ``log_n`` 15."""

P = TypeVar("P", bound="ExactParams")


class ExactParams(SchemeParams):
    """Parameters of exact arithmetic.

    Parameters
    ----------
    log_n
        log2 of the ring degree, 4 to 17. There are as many slots.
    levels
        Bits of the modulus of each level, level 0 first. Up to 50 bits are fast, 60 bits are the
        limit.
    special
        Bits of the special moduli of key switching. With more of them, it has fewer digits.
    t
        Plaintext modulus: a prime with ``t = 1 mod 2N``, below all moduli.
    digit_limbs
        Largest number of moduli in a digit of key switching. Default: that of special moduli.
    insecure
        Allow parameters below 128-bit security, for tests.

    Raises
    ------
    SecurityError
        If the parameters are below 128-bit security and ``insecure`` is not set.
    UsageError
        If no such parameters exist.
    """

    scheme: ClassVar[str]

    def __init__(
        self,
        log_n: int,
        levels: Sequence[int],
        special: Sequence[int],
        t: int = T_FERMAT,
        *,
        digit_limbs: int | None = None,
        insecure: bool = False,
    ) -> None:
        if not 0 <= t < 2**63:
            raise UsageError(f"plaintext modulus {t}, expected a prime with t = 1 mod 2N")
        super().__init__(
            _native.SchemeParams.exact_of_sizes(
                self.scheme,
                natural("log_n", log_n),
                [natural("a modulus in bits", bits) for bits in levels],
                [natural("a modulus in bits", bits) for bits in special],
                None if digit_limbs is None else natural("digit_limbs", digit_limbs),
                t,
                insecure,
            )
        )

    @classmethod
    def named(cls: type[P], name: str) -> P:
        """A set that ``palladion params`` lists. Raises ``UsageError`` if there is none of the
        name."""
        found, sizes = of_scheme(name, cls.scheme)
        levels = [bits for level in sizes.levels for bits in level]
        return cls(found.log_n, levels, sizes.special, sizes.t or 0, digit_limbs=sizes.digit_limbs)

    @classmethod
    def for_depth(cls: type[P], log_n: int, depth: int, t: int = T_FERMAT) -> P:
        """A secure set for ``depth`` products in a row modulo ``t``, chosen by predicted noise.

        Every factor may be a sum of four ciphertexts, or four times one. Raises ``SecurityError``
        if the degree is too small for the depth, and ``UsageError`` for a ``t`` without slots.
        """
        if not 0 <= t < 2**63:
            raise UsageError(f"plaintext modulus {t}, expected a prime with t = 1 mod 2N")
        log_n, depth = natural("log_n", log_n), natural("depth", depth)
        return cls.of_native(_native.SchemeParams.exact_for_depth(cls.scheme, log_n, depth, t))

    @property
    def t(self) -> int:
        """Plaintext modulus."""
        return int(self._found["t"])


def keygen(params: ExactParams) -> SecretKey:
    """Generate a secret key from the operating system's randomness."""
    return SecretKey(_native.SchemeSecret.generate(params.native))


class SecretKey(Stored):
    """Encrypts and decrypts. It never leaves its owner."""

    core = _native.SchemeSecret
    native: _native.SchemeSecret

    def public_key(self) -> PublicKey:
        """A key that only encrypts."""
        return PublicKey(self.native.public_key())

    def evaluation_keys(
        self, rotations: Iterable[int] = (), *, swap_rows: bool = False
    ) -> EvaluationKeys:
        """Keys for products, for rotations of the rows by the given numbers, and for their swap."""
        return evaluation_keys(self.native, rotations, swap_rows)

    def switch_key(self, old: SecretKey) -> SwitchKey:
        """The key by which :meth:`Ciphertext.switch_key` re-encrypts from the key ``old`` for this
        one. Only who has both can make it. It is public."""
        return SwitchKey(self.native.switch_key(old.native))

    def encrypt(
        self, values: ArrayLike, *, coefficients: bool = False, level: int | None = None
    ) -> Ciphertext:
        """Encrypt an array of integers from ``-(t // 2)`` to ``t - 1``.

        Its shape is ``(k,)``, with ``k`` up to N, padded with zeros. The integers are in slots, the
        first half of which is the first row, or in the ``coefficients`` of a polynomial. ``level``
        is the highest by default.

        Raises
        ------
        UsageError
            If a value is not an integer or outside the plaintext space, or if there are too many.
        """
        data = integer_bytes(values, self.native.params_of().slots())
        level = None if level is None else natural("the level", level)
        native = _native.ExactCiphertext.encrypt(self.native, data, coefficients, level)
        return Ciphertext(native, coefficients=coefficients)

    def decrypt(self, x: Ciphertext, *, signed: bool = False) -> Integers:
        """All slots, or the coefficients if ``x`` holds coefficients.

        They are from 0 to ``t - 1``, or from ``-(t // 2)`` to ``t // 2`` if ``signed``.

        Raises
        ------
        NoiseError
            If noise has used up the budget, so that the result may be wrong.
        KeyMismatch
            If the ciphertext belongs to another secret key.
        """
        found = np.frombuffer(x.native.decrypt(self.native, x.coefficients), np.int64).copy()
        t = self.native.params_of().describe()["t"]
        return np.where(found > t // 2, found - t, found) if signed else found

    def budget(self, x: Ciphertext) -> float:
        """The noise budget left: the bits by which the noise may still grow."""
        return x.native.budget(self.native)


class PublicKey(Stored):
    """Encrypts, but cannot decrypt."""

    core = _native.SchemePublic
    native: _native.SchemePublic

    def encrypt(
        self, values: ArrayLike, *, coefficients: bool = False, level: int | None = None
    ) -> Ciphertext:
        """Encrypt as :meth:`SecretKey.encrypt`."""
        data = integer_bytes(values, self.native.params_of().slots())
        level = None if level is None else natural("the level", level)
        native = _native.ExactCiphertext.encrypt_public(self.native, data, coefficients, level)
        return Ciphertext(native, coefficients=coefficients)


class Table:
    """A table for :meth:`Ciphertext.lookup`, as a polynomial.

    Parameters
    ----------
    params
        Parameters of BFV, whose ``t`` is at most 65,537.
    table
        The entries: entry ``i``, from ``-(t // 2)`` to ``t - 1``, is the result for the value
        ``i``. Results for values that have no entry mean nothing. Or a function of the array of all
        values, 0 to ``t - 1``.
    """

    def __init__(
        self,
        params: ExactParams | _native.SchemeParams,
        table: ArrayLike | Callable[[Integers], ArrayLike],
    ) -> None:
        native = params.native if isinstance(params, ExactParams) else params
        t = int(native.describe().get("t", 0))
        entries = table(np.arange(t)) if callable(table) else table
        data = np.frombuffer(integer_bytes(entries, t), np.int64)
        self.native = _native.BfvTable(native, data.tolist())


class Ciphertext(Packed):
    """Encrypted integers modulo ``t``, in slots or as coefficients of a polynomial.

    ``+``, ``-`` and ``*`` take ciphertexts of the same parameters, integers, and arrays of shape
    ``(k,)``, padded with zeros. Operands are in the plaintext space, but a single factor may be any
    64-bit integer. Products of coefficients are products of polynomials modulo X^N + 1. Ciphertexts
    do not change: an operation returns a new one. Products with ciphertexts and rotations need
    :meth:`with_keys` once. Results computed from ``x`` have the keys of ``x``.

    Every operation raises

    LevelError
        if no level is left;
    MissingKeyError
        if there are no keys, or no key for the rotation;
    KeyMismatch
        if operands or keys belong to different secret keys;
    UsageError
        if an operand is outside the plaintext space, too long, or of other parameters.
    """

    __array_ufunc__ = None  # an array on the left leaves the operator to this class

    def __init__(
        self,
        native: _native.ExactCiphertext,
        keys: EvaluationKeys | None = None,
        *,
        coefficients: bool = False,
    ) -> None:
        self.native = native
        self.keys = keys
        self.coefficients = coefficients

    @property
    def level(self) -> int:
        """Number of levels left."""
        return self.native.level()

    def with_keys(self, keys: EvaluationKeys) -> Ciphertext:
        """The same ciphertext, with keys for computing on it."""
        return Ciphertext(self.native, keys, coefficients=self.coefficients)

    def __add__(self, other: Ciphertext | ArrayLike) -> Ciphertext:
        if isinstance(other, Ciphertext):
            return self._with(self.native.add(self._like(other), False), other)
        return self._with(self.native.add_values(*self._values(other)))

    __radd__ = __add__

    def __sub__(self, other: Ciphertext | ArrayLike) -> Ciphertext:
        if isinstance(other, Ciphertext):
            return self._with(self.native.add(self._like(other), True), other)
        return -(-self + other)

    def __rsub__(self, other: ArrayLike) -> Ciphertext:
        return -self + other

    def __neg__(self) -> Ciphertext:
        return self._with(self.native.mul_number(-1))

    def __mul__(self, other: Ciphertext | ArrayLike) -> Ciphertext:
        if isinstance(other, Ciphertext):
            keys = self._needed(other)
            return self._with(self.native.mul(self._like(other), keys.native), other)
        if isinstance(other, numbers.Integral):
            return self._with(self.native.mul_number(word(other)))
        return self._with(self.native.mul_values(*self._values(other)))

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Ciphertext:
        if check_exponent(exponent) == 1:
            return self
        return self._with(self.native.pow(exponent, self._needed().native))

    def rotate(self, k: int) -> Ciphertext:
        """Slot ``i`` of each row of the result is slot ``i + k`` of that row, cyclically."""
        return self.rotations([k])[0]

    def rotations(self, steps: Sequence[int]) -> list[Ciphertext]:
        """Several rotations, which share most of their work."""
        rotated = self.native.rotate([rotation(k) for k in steps], self._needed().native)
        return [self._with(ct) for ct in rotated]

    def sum(self, stride: int = 1, count: int | None = None) -> Ciphertext:
        """Slot ``i`` of the result is the sum of the ``count`` slots ``i``, ``i + stride``, and so
        on, cyclically in each row.

        By default all slots of each row are summed. This takes at most ``2 log2(count)`` rotations,
        and the keys of ``sum_rotations(stride, count)``.
        """
        row = self.native.params_of().slots() // 2
        at = terms(stride, count, row)
        return self._with(self.native.sum(*at, self._needed().native))

    def lookup(self, table: Table | ArrayLike | Callable[[Integers], ArrayLike]) -> Ciphertext:
        """The entry of a table for each slot, in BFV: exact, whatever the table.

        ``table`` is as for :class:`Table`, which is made once for many lookups. A table of ``k``
        entries takes about ``log2(k) + 1`` levels, and one more if the ciphertext is not fresh from
        a secret key. One of all 65,537 values takes 17: ``bfv.Params.named("bfv-tables")`` has
        them.
        """
        if self.coefficients:
            raise UsageError("the ciphertext holds coefficients, expected slots")
        if not isinstance(table, Table):
            table = Table(self.native.params_of(), table)
        return self._with(self.native.lookup(table.native, self._needed().native))

    def switch_key(self, key: SwitchKey) -> Ciphertext:
        """The same message under the secret key that ``key`` leads to. The result has no keys."""
        native = self.native.switch_key(key.native)
        return Ciphertext(native, coefficients=self.coefficients)

    def swap_rows(self) -> Ciphertext:
        """Swap the two rows of slots."""
        return self._with(self.native.swap_rows(self._needed().native))

    def switch_down(self, levels: int = 1) -> Ciphertext:
        """The same message at a lower level. Modulus and noise are divided, noise down to a
        minimum."""
        return self._with(self.native.switch_down(natural("the number of levels", levels)))

    def to_bytes(self) -> bytes:
        """The ciphertext as bytes, without keys. Half of a fresh one from a secret key is a
        seed."""
        return self.native.to_bytes()

    @classmethod
    def from_bytes(
        cls, params: ExactParams, data: bytes, *, coefficients: bool = False
    ) -> Ciphertext:
        """Read a ciphertext. Raises ``FormatError`` if it is damaged or made for other
        parameters."""
        native = _native.ExactCiphertext.from_bytes(params.native, data)
        return cls(native, coefficients=coefficients)

    def __repr__(self) -> str:
        return f"Ciphertext(level={self.level}, {self.native.params_of()!r})"

    def _with(self, native: _native.ExactCiphertext, other: Ciphertext | None = None) -> Ciphertext:
        keys = self.keys or (other.keys if other is not None else None)
        return Ciphertext(native, keys, coefficients=self.coefficients)

    def _needed(self, other: Ciphertext | None = None) -> EvaluationKeys:
        return keys_of(self.keys, other.keys if other is not None else None)

    def _like(self, other: Ciphertext) -> _native.ExactCiphertext:
        """The other operand, which must hold its message in the same form, slots or
        coefficients."""
        if other.coefficients != self.coefficients:
            found, expected = ("coefficients" if x.coefficients else "slots" for x in (other, self))
            raise UsageError(f"the ciphertext holds {found}, expected {expected} as on the left")
        return other.native

    def _values(self, other: ArrayLike) -> tuple[bytes, bool]:
        """A message. A single number is put into every slot, or into the constant coefficient."""
        slots = self.native.params_of().slots()
        if isinstance(other, numbers.Integral):
            other = np.full(1 if self.coefficients else slots, word(other), np.int64)
        return integer_bytes(other, slots), self.coefficients


def word(number: numbers.Integral) -> int:
    """An integer of 64 bits."""
    value = int(number)
    if not -(2**63) <= value < 2**63:
        raise UsageError(f"the number {value}, expected 64 bits with the sign")
    return value
