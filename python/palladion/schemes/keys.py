"""Parameters and keys in the form that all schemes share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar

from palladion import _native
from palladion.errors import MissingKeyError, UsageError
from palladion.schemes.arrays import between, rotation
from palladion.schemes.security import Estimated

P = TypeVar("P", bound="SchemeParams")
S = TypeVar("S", bound="Stored")


class SchemeParams(Estimated):
    """Checked parameters of a scheme. See :attr:`security`.

    They are secure unless made with ``insecure``.
    """

    schemes: tuple[str, ...] = ("ckks", "bfv", "bgv")

    def __init__(self, native: _native.SchemeParams) -> None:
        self.native = native
        self._found = native.describe()

    @classmethod
    def of_native(cls: type[P], native: _native.SchemeParams) -> P:
        """Parameters of the core."""
        found = cls.__new__(cls)
        SchemeParams.__init__(found, native)
        return found

    @property
    def n(self) -> int:
        """Ring degree."""
        return 1 << int(self._found["log_n"])

    @property
    def slots(self) -> int:
        """Number of values of one ciphertext."""
        return int(self._found["slots"])

    @property
    def max_level(self) -> int:
        """Level of a fresh ciphertext."""
        return len(self._found["moduli"]) - 1

    @property
    def moduli(self) -> list[list[int]]:
        """Moduli of each level, level 0 first."""
        moduli: list[list[int]] = self._found["moduli"]
        return moduli

    @property
    def special(self) -> list[int]:
        """Special moduli of key switching."""
        special: list[int] = self._found["special"]
        return special

    @property
    def log_q(self) -> float:
        """log2 of the whole ciphertext modulus Q."""
        return float(self._found["log_q"])

    @property
    def log_qp(self) -> float:
        """log2 of Q times the special moduli, on which security depends."""
        return float(self._found["log_qp"])

    @property
    def fingerprint(self) -> str:
        """The name of the parameters in messages about other parameters."""
        return self.native.fingerprint()

    def to_bytes(self) -> bytes:
        """The parameters as bytes."""
        return self.native.to_bytes()

    @classmethod
    def from_bytes(cls: type[P], data: bytes, *, insecure: bool = False) -> P:
        """Read parameters from the bytes of :meth:`to_bytes`.

        ``insecure`` accepts parameters that are not secure, as in the constructor.

        Raises
        ------
        FormatError
            If the bytes are damaged, or something else.
        UsageError
            If they hold parameters of another scheme.
        SecurityError
            If the parameters are not secure and ``insecure`` is not set, whatever the bytes say.
        """
        found = cls.__new__(cls)
        SchemeParams.__init__(found, _native.SchemeParams.from_bytes(data, insecure))
        scheme = found._found["scheme"]
        if scheme not in cls.schemes:
            raise UsageError(f"parameters of {scheme}, expected {' or '.join(cls.schemes)}")
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SchemeParams):
            return NotImplemented
        return self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.to_bytes())

    def __repr__(self) -> str:
        return f"Params({self.native!r})"


class Stored:
    """An object of the core. Its bytes name the parameters for which it was made."""

    core: ClassVar[Any]
    native: Any

    def __init__(self, native: Any) -> None:
        self.native = native

    def to_bytes(self) -> bytes:
        """The object as bytes. Uniform halves are stored as seeds."""
        data: bytes = self.native.to_bytes()
        return data

    @classmethod
    def from_bytes(cls: type[S], params: SchemeParams, data: bytes) -> S:
        """Read an object. Raises ``FormatError`` if it is damaged or made for other parameters."""
        return cls(cls.core.from_bytes(params.native, data))


class EvaluationKeys(Stored):
    """The keys for products and rotations. They are public, for whoever computes."""

    core = _native.SchemeKeys
    native: _native.SchemeKeys

    @property
    def rotations(self) -> list[int]:
        """The rotations for which there are keys. Negative ones are to the right."""
        return self.native.rotations()

    @property
    def conjugation(self) -> bool:
        """True if there is a key for conjugation (CKKS), or the swap of rows (BFV, BGV)."""
        return self.native.conjugation()

    @property
    def nbytes(self) -> int:
        """Bytes in memory. The bytes of :meth:`to_bytes` are about half as many."""
        return self.native.nbytes()


class SwitchKey(Stored):
    """A key that re-encrypts from one secret key to another. It is public."""

    core = _native.SchemeSwitch
    native: _native.SchemeSwitch


def sum_rotations(stride: int, count: int) -> list[int]:
    """The rotations for which ``x.sum(stride, count)`` needs keys: ``floor(log2(count))``."""
    stride, count = rotation(stride), between("the number of terms", count, 1)
    return [stride * (count >> bits) for bits in range(1, count.bit_length())]


def evaluation_keys(
    secret: _native.SchemeSecret, rotations: Iterable[int], conjugation: bool
) -> EvaluationKeys:
    """Keys for products, the given rotations, and conjugation or the swap of rows."""
    return EvaluationKeys(secret.evaluation_keys([rotation(k) for k in rotations], conjugation))


def keys_of(*found: EvaluationKeys | None) -> EvaluationKeys:
    """The keys of the first operand that has keys."""
    for keys in found:
        if keys is not None:
            return keys
    raise MissingKeyError("the ciphertext has no keys, expected with_keys(keys) before")
