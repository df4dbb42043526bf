"""CKKS: approximate arithmetic on encrypted complex or real numbers.

A ciphertext holds ``params.slots`` numbers. Operators work on all of them at once::

    from palladion import ckks

    params = ckks.Params.for_depth(log_n=14, depth=4, scale_bits=40)
    secret = ckks.keygen(params)
    keys = secret.evaluation_keys(rotations=[1])
    x = secret.encrypt([0.5, -1.0, 2.0]).with_keys(keys)
    y = (x * x + 0.5 * x - 1.0).rotate(1)
    secret.decrypt_real(y)[:2]  # 0.5, 4.0, within a few 2^-20

A product with a ciphertext, an array or a non-integer takes one level. A fresh ciphertext has
``params.max_level`` levels. Levels and scales of the operands of a sum are made equal.

Values that CKKS decrypts carry the noise of the key. Whoever shares them with others than the key's
owner reveals the key (Li, Micciancio, EUROCRYPT 2021; see SECURITY.md).
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palladion import _native
from palladion.errors import OverflowWarning, UsageError
from palladion.schemes.arrays import (
    Complex,
    check_exponent,
    complex_bytes,
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
    sum_rotations,
)
from palladion.schemes.security import Security
from palladion.schemes.sets import of_scheme

__all__ = [
    "Bootstrapper",
    "Ciphertext",
    "EvaluationKeys",
    "Matrix",
    "Params",
    "PublicKey",
    "SecretKey",
    "Series",
    "SwitchKey",
    "approximate",
    "keygen",
    "sum_rotations",
]

EXACT_INTEGERS = 2**53
"""Integers below it are exact as doubles."""


class Params(SchemeParams):
    """Parameters of CKKS.

    Parameters
    ----------
    log_n
        log2 of the ring degree, 4 to 17. There are half as many slots.
    levels
        Bits of the moduli of each level, level 0 first. A level may have several moduli: ``[30,
        30]`` for 60 bits. Moduli of up to 50 bits are fast, 60 bits are the limit.
    special
        Bits of the special moduli of key switching. With more of them, it has fewer digits.
    scale
        The factor of messages before they are rounded, about the size of the upper levels.
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

    schemes = ("ckks",)

    def __init__(
        self,
        log_n: int,
        levels: Sequence[int | Sequence[int]],
        special: Sequence[int],
        scale: float,
        *,
        digit_limbs: int | None = None,
        insecure: bool = False,
    ) -> None:
        groups = [[level] if isinstance(level, int) else level for level in levels]
        sizes = [[natural("a modulus in bits", bits) for bits in group] for group in groups]
        if not 0 < scale < float("inf"):
            raise UsageError(f"the scale is {scale}, expected a finite number above 1")
        super().__init__(
            _native.SchemeParams.ckks_of_sizes(
                natural("log_n", log_n),
                sizes,
                [natural("a modulus in bits", bits) for bits in special],
                None if digit_limbs is None else natural("digit_limbs", digit_limbs),
                float(np.log2(scale)),
                insecure,
            )
        )

    @classmethod
    def for_depth(cls, log_n: int, depth: int, scale_bits: int = 40) -> Params:
        """A secure set for ``depth`` products in a row. Raises ``SecurityError`` if there is
        none."""
        sizes = {"log_n": log_n, "depth": depth, "scale_bits": scale_bits}
        checked = {name: natural(name, value) for name, value in sizes.items()}
        return cls.of_native(_native.SchemeParams.ckks_for_depth(**checked))

    @classmethod
    def in_words(
        cls,
        log_n: int,
        levels: Sequence[int],
        scale: float,
        *,
        word_bits: int = 32,
        digit_limbs: int = 1,
    ) -> Params:
        """Parameters whose moduli fit the words of a machine, as ``simulate run`` needs them.

        ``levels`` are bits of each level, level 0 first. A level of more bits than a word has
        several moduli of about equal size. There are ``digit_limbs`` special moduli, each as large
        as a word. Raises as the constructor, also if there are too few primes of a size.
        """
        word = natural("word_bits", word_bits)
        special = natural("digit_limbs", digit_limbs)
        if word == 0 or special == 0:
            raise UsageError(
                f"word_bits is {word} and digit_limbs is {special}, expected at least 1 of both"
            )

        def parts(bits: int) -> list[int]:
            limbs = max(1, -(-bits // word))
            return [(bits + place) // limbs for place in range(limbs)]

        groups = [parts(natural("a level in bits", bits)) for bits in levels]
        return cls(log_n, groups, [word] * special, scale, digit_limbs=special)

    @classmethod
    def named(cls, name: str) -> Params:
        """A set that ``palladion params`` lists. Raises ``UsageError`` if there is none of the
        name."""
        found, sizes = of_scheme(name, "ckks")
        scale = 2.0 ** (sizes.scale_bits or 0)
        limbs = sizes.digit_limbs
        return cls(found.log_n, sizes.levels, sizes.special, scale, digit_limbs=limbs)

    @classmethod
    def for_bootstrapping(cls, precise: bool = False) -> Params:
        """A secure set with ``log_n=16`` for :class:`Bootstrapper`.

        ``ckks-bootstrap`` leaves 9 levels of 40 bits and 23 bits of precision,
        ``ckks-bootstrap-precise`` leaves 6 of 44 and 28.
        """
        return cls.named("ckks-bootstrap-precise" if precise else "ckks-bootstrap")

    @property
    def scale(self) -> float:
        """Scale of level 0, from which the scales of the other levels follow."""
        return float(self._found["scale"])


def keygen(params: Params) -> SecretKey:
    """Generate a secret key from the operating system's randomness."""
    return SecretKey(_native.SchemeSecret.generate(params.native))


class SecretKey(Stored):
    """Encrypts and decrypts. It never leaves its owner."""

    core = _native.SchemeSecret
    native: _native.SchemeSecret

    @property
    def params(self) -> Params:
        """The parameters."""
        return Params.of_native(self.native.params_of())

    def public_key(self) -> PublicKey:
        """A key that only encrypts."""
        return PublicKey(self.native.public_key())

    def evaluation_keys(
        self, rotations: Iterable[int] = (), *, conjugation: bool = False
    ) -> EvaluationKeys:
        """Keys for products, for rotations by the given numbers of slots, and for conjugation."""
        return evaluation_keys(self.native, rotations, conjugation)

    def switch_key(self, old: SecretKey) -> SwitchKey:
        """The key by which :meth:`Ciphertext.switch_key` re-encrypts from the key ``old`` for this
        one. Only who has both can make it. It is public."""
        return SwitchKey(self.native.switch_key(old.native))

    def encrypt(
        self, values: ArrayLike, *, level: int | None = None, scale: float | None = None
    ) -> Ciphertext:
        """Encrypt an array of shape ``(k,)``, with ``k`` up to the number of slots, padded with
        zeros.

        ``level`` is the highest by default. ``scale`` is by default the one that products lead to
        at this level.

        Raises
        ------
        UsageError
            If a value is NaN, infinite or too large for the modulus, or if there are too many.
        """
        data = complex_bytes(values, self.params.slots)
        level = None if level is None else natural("the level", level)
        return Ciphertext(_native.CkksCiphertext.encrypt(self.native, data, level, scale))

    def decrypt(self, x: Ciphertext) -> Complex:
        """All slots.

        Raises
        ------
        NoiseError
            If the message does not fit its modulus. The sizes of the encrypted values show this:
            from them every operation computes the size of its result. Sizes stay in the process
            that encrypted, and bytes do not contain them.
        KeyMismatch
            If the ciphertext belongs to another secret key.

        Warns
        -----
        OverflowWarning
            If the sizes do not show that the result is right, and the result comes close to the
            largest number that the modulus holds. :meth:`Ciphertext.bounded` states a size.
        """
        slots, doubt = x.native.decrypt(self.native)
        if doubt is not None:
            warnings.warn(doubt, OverflowWarning, stacklevel=2)
        return np.frombuffer(slots, np.complex128).copy()

    def decrypt_real(self, x: Ciphertext) -> NDArray[np.float64]:
        """The real parts of all slots. As :meth:`decrypt`."""
        return self.decrypt(x).real


class PublicKey(Stored):
    """Encrypts, but cannot decrypt."""

    core = _native.SchemePublic
    native: _native.SchemePublic

    @property
    def params(self) -> Params:
        """The parameters."""
        return Params.of_native(self.native.params_of())

    def encrypt(
        self, values: ArrayLike, *, level: int | None = None, scale: float | None = None
    ) -> Ciphertext:
        """Encrypt as :meth:`SecretKey.encrypt`."""
        data = complex_bytes(values, self.params.slots)
        level = None if level is None else natural("the level", level)
        return Ciphertext(_native.CkksCiphertext.encrypt_public(self.native, data, level, scale))


class Ciphertext(Packed):
    """Encrypted numbers, one in each slot.

    ``+``, ``-`` and ``*`` take ciphertexts of the same parameters, numbers, and arrays of shape
    ``(k,)``, padded with zeros. Ciphertexts do not change: an operation returns a new one. Products
    with ciphertexts and rotations need :meth:`with_keys` once. Results computed from ``x`` have the
    keys of ``x``.

    Every operation raises

    LevelError
        if no level is left;
    MissingKeyError
        if there are no keys, or no key for the rotation;
    KeyMismatch
        if operands or keys belong to different secret keys;
    UsageError
        if an operand is NaN, infinite, too long, or of other parameters, or if the scales of a sum
        at level 0 differ.
    """

    __array_ufunc__ = None  # an array on the left leaves the operator to this class

    def __init__(self, native: _native.CkksCiphertext, keys: EvaluationKeys | None = None) -> None:
        self.native = native
        self.keys = keys

    @property
    def params(self) -> Params:
        """The parameters."""
        return Params.of_native(self.native.params_of())

    @property
    def level(self) -> int:
        """Number of levels left, and so of products in a row that are possible."""
        return self.native.level()

    @property
    def scale(self) -> float:
        """The factor of the message."""
        return self.native.scale()

    def with_keys(self, keys: EvaluationKeys) -> Ciphertext:
        """The same ciphertext, with keys for computing on it."""
        return Ciphertext(self.native, keys)

    def __add__(self, other: Ciphertext | ArrayLike) -> Ciphertext:
        return self._sum(other, subtract=False)

    __radd__ = __add__

    def __sub__(self, other: Ciphertext | ArrayLike) -> Ciphertext:
        return self._sum(other, subtract=True)

    def __rsub__(self, other: ArrayLike) -> Ciphertext:
        return -self + other

    def __neg__(self) -> Ciphertext:
        return self._with(self.native.negate())

    def __mul__(self, other: Ciphertext | ArrayLike) -> Ciphertext:
        if isinstance(other, Ciphertext):
            keys = self._needed(other)
            return Ciphertext(self.native.mul(other.native, keys.native), keys)
        if isinstance(other, numbers.Integral) and abs(int(other)) < EXACT_INTEGERS:
            return self._with(self.native.mul_integer(int(other)))
        if isinstance(other, numbers.Real):
            return self._with(self.native.mul_number(float(other)))
        return self._with(self.native.mul_values(self._values(other)))

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Ciphertext:
        if check_exponent(exponent) == 1:
            return self
        return self._with(self.native.pow(exponent, self._needed().native))

    def __rmatmul__(self, matrix: Any) -> Ciphertext:
        return Matrix(self.params, matrix) @ self

    def rotate(self, k: int) -> Ciphertext:
        """Slot ``i`` of the result is slot ``i + k``, cyclically."""
        return self.rotations([k])[0]

    def rotations(self, steps: Sequence[int]) -> list[Ciphertext]:
        """Several rotations, which share most of their work."""
        rotated = self.native.rotate([rotation(k) for k in steps], self._needed().native)
        return [self._with(ct) for ct in rotated]

    def sum(self, stride: int = 1, count: int | None = None) -> Ciphertext:
        """Slot ``i`` of the result is the sum of the ``count`` slots ``i``, ``i + stride``, and so
        on, cyclically.

        By default all slots are summed. This takes at most ``2 log2(count)`` rotations, no level,
        and the keys of ``sum_rotations(stride, count)``.
        """
        at = terms(stride, count, self.params.slots)
        return self._with(self.native.sum(*at, self._needed().native))

    def polynomial(self, coefficients: ArrayLike) -> Ciphertext:
        """``c[0] + c[1] x + c[2] x**2 + ..`` at every slot, for real coefficients.

        It takes ``ceil(log2(len(c)))`` levels.
        """
        values = real_numbers("coefficients", coefficients)
        return self._with(self.native.polynomial(values, self._needed().native))

    def evaluate(self, series: Series) -> Ciphertext:
        """The value of a series at every slot, as :func:`approximate` makes it.

        Slots are within the interval of the series: outside of it, it is far from the function that
        it approximates. This takes ``series.depth`` levels.
        """
        at = (list(series.coefficients), series.a, series.b)
        return self._with(self.native.evaluate(*at, self._needed().native))

    def switch_key(self, key: SwitchKey) -> Ciphertext:
        """The same message under the secret key that ``key`` leads to. The result has no keys."""
        return Ciphertext(self.native.switch_key(key.native))

    def conjugate(self) -> Ciphertext:
        """The complex conjugate of every slot."""
        return self._with(self.native.conjugate(self._needed().native))

    def drop_to(self, level: int) -> Ciphertext:
        """The same message at a lower level: smaller, and faster to compute with."""
        return self._with(self.native.drop_to(natural("the level", level)))

    def bounded(self, bound: float) -> Ciphertext:
        """The same ciphertext, whose slots are said to be at most ``bound`` in absolute value.

        By this bound decryption decides whether a result can be right. Bytes contain no bound.
        Raises ``UsageError`` for a bound that the modulus does not hold.
        """
        return self._with(self.native.bounded(float(bound)))

    def to_bytes(self) -> bytes:
        """The ciphertext as bytes, without keys. Half of a fresh one from a secret key is a
        seed."""
        return self.native.to_bytes()

    @classmethod
    def from_bytes(cls, params: Params, data: bytes) -> Ciphertext:
        """Read a ciphertext. Raises ``FormatError`` if it is damaged or made for other
        parameters."""
        return cls(_native.CkksCiphertext.from_bytes(params.native, data))

    def __repr__(self) -> str:
        return f"ckks.Ciphertext(level={self.level}, scale=2^{np.log2(self.scale):.4f})"

    def _with(self, native: _native.CkksCiphertext) -> Ciphertext:
        return Ciphertext(native, self.keys)

    def _needed(self, other: Ciphertext | None = None) -> EvaluationKeys:
        return keys_of(self.keys, other.keys if other is not None else None)

    def _sum(self, other: Ciphertext | ArrayLike, subtract: bool) -> Ciphertext:
        if isinstance(other, Ciphertext):
            total = self.native.add(other.native, subtract)
            return Ciphertext(total, self.keys or other.keys)
        if isinstance(other, numbers.Complex):
            number = -complex(other) if subtract else complex(other)
            return self._with(self.native.add_number(number.real, number.imag))
        return self._with(self.native.add_values(self._values(other, negative=subtract)))

    def _values(self, other: ArrayLike, negative: bool = False) -> bytes:
        if isinstance(other, numbers.Complex):
            other = np.full(self.params.slots, complex(other))
        values = complex_bytes(other, self.params.slots)
        return (-np.frombuffer(values, np.complex128)).tobytes() if negative else values


@dataclass(frozen=True)
class Series:
    """The polynomial ``sum(c[k] * T_k(u))`` of ``u = (2 x - a - b) / (b - a)``, with Chebyshev's
    polynomials ``T_k``. It is called with numbers, and evaluated by :meth:`Ciphertext.evaluate`."""

    coefficients: tuple[float, ...]
    a: float
    b: float

    @property
    def depth(self) -> int:
        """Levels that :meth:`Ciphertext.evaluate` takes."""
        nonzero = [k for k, c in enumerate(self.coefficients) if c != 0]
        degree = nonzero[-1] if nonzero else 0
        factor = 2 / (self.b - self.a)
        return degree.bit_length() + (degree > 0 and not factor.is_integer())

    def __call__(self, x: ArrayLike) -> NDArray[np.float64]:
        """The values of the polynomial."""
        u = (2 * np.asarray(x, np.float64) - self.a - self.b) / (self.b - self.a)
        return np.asarray(np.polynomial.chebyshev.chebval(u, self.coefficients), np.float64)


def approximate(
    f: Callable[[NDArray[np.float64]], ArrayLike], a: float, b: float, degree: int
) -> Series:
    """The polynomial of a degree that is ``f``, a function of an array, at the roots of the next
    Chebyshev polynomial between ``a`` and ``b``.

    For smooth functions its error falls exponentially with the degree: ``series(x) - f(x)`` tells
    it. Raises ``UsageError`` for an empty interval, and for a function that is not finite.
    """
    if not (-np.inf < a < b < np.inf):
        raise UsageError(f"an interval from {a} to {b}, expected a < b, both finite")
    count = natural("the degree", degree) + 1
    angles = np.pi * (np.arange(count) + 0.5) / count
    points = (a + b) / 2 + (b - a) / 2 * np.cos(angles)
    values = np.broadcast_to(real_numbers("values of the function", f(points)), count)
    coefficients = 2 / count * np.cos(np.outer(np.arange(count), angles)) @ values
    coefficients[0] /= 2
    return Series(tuple(coefficients.tolist()), float(a), float(b))


class Matrix:
    """A matrix of real or complex numbers, for products ``matrix @ x`` with encrypted vectors.

    A product reads as many first slots of ``x`` as there are columns, and writes as many as there
    are rows: the others are zero. It takes a level, and by baby and giant steps about
    ``2 sqrt(rows + columns)`` rotations. Half as many need keys: :attr:`rotations` has them. The
    matrix is encoded at its first product at a level. ``array @ x`` encodes it anew.
    """

    def __init__(self, params: Params, rows: ArrayLike) -> None:
        try:
            array = np.asarray(rows)
        except ValueError as error:
            raise UsageError(f"no array of numbers: {error}") from error
        if array.ndim != 2 or array.dtype.kind not in "biufc":
            raise UsageError(
                f"a matrix of shape {array.shape} and type {array.dtype}, expected two dimensions "
                "of numbers"
            )
        self.shape: tuple[int, int] = (array.shape[0], array.shape[1])
        entries = np.ascontiguousarray(array, np.complex128).tobytes()
        self.native = _native.CkksMatrix(params.native, self.shape[1], entries)

    @property
    def rotations(self) -> list[int]:
        """The rotations for which a product needs keys."""
        return self.native.rotations()

    def __matmul__(self, x: Ciphertext) -> Ciphertext:
        keys = x._needed()
        return Ciphertext(self.native.mul(x.native, keys.native), keys)


def real_numbers(what: str, values: ArrayLike) -> list[float]:
    """Finite real numbers in one dimension."""
    array = np.atleast_1d(np.asarray(values))
    if array.ndim != 1 or array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise UsageError(f"{what} of shape {array.shape} and type {array.dtype}, expected finite "
                         "real numbers in one dimension")  # fmt: skip
    numbers: list[float] = array.astype(np.float64).tolist()
    return numbers


class Bootstrapper:
    """Gives ciphertexts new levels.

    For :meth:`Params.for_bootstrapping`, at N = 2^16, keys and tables take several GB of memory:
    ``keys.nbytes`` is the size of the keys. Other parameters must have levels of the same sizes.
    Bootstrapping takes the upper levels.

    Messages of ``slots`` slots, a power of two, that repeat in all slots take less work and fewer
    keys. Their slots may all be equal. Without ``slots``, such messages lose precision to the sine
    that approximates the modular reduction.
    """

    def __init__(self, params: Params, slots: int | None = None) -> None:
        slots = None if slots is None else natural("slots", slots)
        self.native = _native.CkksBootstrapper(params.native, slots)

    @property
    def security(self) -> Security:
        """The weaker of the securities of the parameters and of the sparse secret used inside."""
        return Security(**self.native.security())

    @property
    def output_level(self) -> int:
        """Level of the results."""
        return self.native.output_level()

    def keys(self, secret: SecretKey) -> EvaluationKeys:
        """Keys of bootstrapping, products, conjugation, and the rotations that it uses."""
        return EvaluationKeys(self.native.keys(secret.native))

    def keys_from_bytes(self, data: bytes) -> EvaluationKeys:
        """Read keys from the bytes of ``to_bytes``.

        Raises ``FormatError`` for other bytes, or for keys of other parameters.
        """
        return EvaluationKeys(self.native.keys_from_bytes(data))

    def bootstrap(self, x: Ciphertext) -> Ciphertext:
        """The message of ``x``, slots up to 1, at :attr:`output_level`.

        ``x`` must have the keys of :meth:`keys`.
        """
        keys = x._needed()
        return Ciphertext(self.native.bootstrap(x.native, keys.native), keys)
