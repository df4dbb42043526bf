"""Parameters and keys of TFHE."""

from __future__ import annotations

from typing import TypeVar

from palladion import _native
from palladion.errors import MissingKeyError
from palladion.schemes.arrays import between
from palladion.schemes.security import Estimated
from palladion.support.records import Json

P = TypeVar("P", bound="Params")


class Params(Estimated):
    """Checked parameters of TFHE, from :meth:`gates`, :meth:`integers` or :meth:`named`.

    They are secure unless made with ``insecure``. See :attr:`security`.
    """

    def __init__(self, native: _native.TfheParams) -> None:
        self.native = native
        self._found = native.describe()

    @classmethod
    def gates(cls, log2_failure: float = -64.0) -> Params:
        """The fastest set for bits whose gates fail with a probability of at most
        2^``log2_failure``.

        The probability is an average over keys, like :attr:`log2_failure`.

        Raises
        ------
        UsageError
            If no set has such a low probability.
        """
        return cls(_native.TfheParams.fastest(0, 0, float(log2_failure)))

    @classmethod
    def integers(
        cls, message_bits: int = 2, carry_bits: int = 2, log2_failure: float = -64.0
    ) -> Params:
        """The fastest set for integers of ``message_bits`` with ``carry_bits`` above them.

        A table's entry is wrong with a probability of at most 2^``log2_failure``, an average over
        keys.

        Raises
        ------
        UsageError
            If there is no such set.
        """
        bits = (positive("message_bits", message_bits), positive("carry_bits", carry_bits))
        return cls(_native.TfheParams.fastest(*bits, float(log2_failure)))

    @classmethod
    def named(cls, name: str, *, insecure: bool = False) -> Params:
        """A set that ``palladion params`` lists.

        Raises
        ------
        UsageError
            If there is no set of this name.
        SecurityError
            If the set is not secure and ``insecure`` is not set. Some sets of papers are not
            secure.
        """
        return cls(_native.TfheParams.named(name, insecure))

    @staticmethod
    def names() -> list[str]:
        """Names of all sets."""
        return _native.TfheParams.names()

    @property
    def name(self) -> str | None:
        """The name, if it is a named set."""
        name: str | None = self._found["name"]
        return name

    @property
    def layout(self) -> str:
        """``gates`` or ``integers``."""
        return str(self._found["layout"])

    @property
    def message_bits(self) -> int:
        """Bits of a message."""
        return int(self._found["message_bits"])

    @property
    def carry_bits(self) -> int:
        """Bits above a message, for sums and for pairs."""
        return int(self._found["carry_bits"])

    @property
    def messages(self) -> int:
        """Number of messages."""
        return 1 << self.message_bits

    @property
    def values(self) -> int:
        """Number of values with their carry, which is the number of entries of a table."""
        return 1 << (self.message_bits + self.carry_bits)

    @property
    def log2_failure(self) -> float:
        """log2 of the predicted largest probability that one bootstrapping fails.

        It is an average over keys: half of the noise of short digits is the same for everything
        computed with one key.
        """
        return float(self._found["log2_failure"])

    def log2_failure_of(self, tables: int) -> float:
        """As :attr:`log2_failure`, if ``tables`` tables share the bootstrapping."""
        return self.native.log2_failure_of(positive("the number of tables", tables))

    @property
    def fingerprint(self) -> str:
        """The name of the parameters in messages about other parameters."""
        return self.native.fingerprint()

    def describe(self) -> Json:
        """All properties, as in ``palladion params NAME --json``."""
        return dict(self._found)

    def to_bytes(self) -> bytes:
        """The parameters as bytes."""
        return self.native.to_bytes()

    @classmethod
    def from_bytes(cls: type[P], data: bytes, *, insecure: bool = False) -> P:
        """Read parameters from the bytes of :meth:`to_bytes`.

        ``insecure`` accepts sets that are not secure, as in :meth:`named`.

        Raises
        ------
        FormatError
            If the bytes are damaged, or something else.
        SecurityError
            If the set is not secure and ``insecure`` is not set.
        """
        return cls(_native.TfheParams.from_bytes(data, insecure))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Params):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"tfhe.Params({self.native!r})"


class ServerKey:
    """The keys for gates and tables. They are public, for whoever computes."""

    def __init__(self, native: _native.TfheServer) -> None:
        self.native = native

    @property
    def params(self) -> Params:
        """The parameters."""
        return Params(self.native.params_of())

    def to_bytes(self) -> bytes:
        """The key as bytes. Uniform parts are stored as seeds."""
        return self.native.to_bytes()

    @classmethod
    def from_bytes(cls, params: Params, data: bytes) -> ServerKey:
        """Read a key. Raises ``FormatError`` if it is damaged or made for other parameters."""
        return cls(_native.TfheServer.from_bytes(params.native, data))


def positive(what: str, value: int) -> int:
    """A number of bits."""
    return between(what, value, 1)


def needed(*found: ServerKey | None) -> ServerKey:
    """The keys of the first operand that has keys."""
    for keys in found:
        if keys is not None:
            return keys
    raise MissingKeyError("the ciphertext has no keys, expected with_keys(keys) before")
