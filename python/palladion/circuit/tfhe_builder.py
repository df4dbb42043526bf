"""The builder of circuits of TFHE."""

from __future__ import annotations

from collections.abc import Sequence

from palladion import _native, tfhe
from palladion.circuit.messages import Bit, Integer, Message, operand
from palladion.circuit.tfhe_written import TfheWritten
from palladion.errors import UsageError
from palladion.schemes.arrays import between


class TfheCircuit(TfheWritten):
    """A circuit on bits or small integers to which inputs, operations and outputs are added.

    Constants are folded, equal operations are computed once, and unused operations are left out.

    Parameters
    ----------
    params
        Parameters of TFHE: a set of gates for bits, a set of integers for integers.
    name
        Name in its text.
    """

    def __init__(self, params: tfhe.Params, name: str = "circuit") -> None:
        if not isinstance(params, tfhe.Params):
            raise UsageError(
                f"parameters {params!r}, expected parameters of TFHE: see circuit.Circuit"
            )
        self.params = params
        self.name = name
        self.builder = _native.MessageBuilder(params.native, name)
        self._finished: _native.MessageCircuit | None = None

    @property
    def native(self) -> _native.MessageCircuit:
        """The circuit with all steps that its outputs need."""
        if self._finished is None:
            self._finished = self.builder.finish()
        return self._finished

    def bit(self, name: str) -> Bit:
        """Add an input of one bit, with a name of its own."""
        return Bit(self, self._input("gates", name, None, 1)[0])

    def bits(self, name: str, count: int) -> list[Bit]:
        """Add an input of ``count`` bits, which is given as an array of shape ``(count,)``."""
        count = between("the number of bits", count, 1)
        return [Bit(self, made) for made in self._input("gates", name, count, 1)]

    def integer(self, name: str, bits: int | None = None) -> Integer:
        """Add an input of one integer from 0 to 2^``bits`` - 1, with a name of its own.

        ``bits`` is at most the number of message bits, which is the default. Ciphertexts do not
        show whether fewer bits are used: the encrypting side must keep to them.
        """
        return Integer(self, self._input("integers", name, None, self._width(bits))[0])

    def integers(self, name: str, count: int, bits: int | None = None) -> list[Integer]:
        """Add an input of ``count`` integers, which is given as an array of shape ``(count,)``."""
        count = between("the number of integers", count, 1)
        made = self._input("integers", name, count, self._width(bits))
        return [Integer(self, x) for x in made]

    def output(self, name: str, value: Message | int | Sequence[Message | int]) -> None:
        """Make a value a result, or a sequence of values an array, with a name of its own.

        Raises
        ------
        UsageError
            If the name is taken, or if an integer has more values than a ciphertext holds.
        """
        kind = Bit if self.params.layout == "gates" else Integer
        single = not isinstance(value, Sequence)
        values = [value] if not isinstance(value, Sequence) else value
        self.builder.output(name, single, [operand(self, kind, x) for x in values])
        self._finished = None

    def _input(self, layout: str, name: str, count: int | None, bits: int) -> list[int]:
        if self.params.layout != layout:
            raise UsageError(
                f"an input of {'bits' if layout == 'gates' else 'integers'} at {self.params!r}, "
                f"expected one of {'integers' if layout == 'gates' else 'bits'}"
            )
        self._finished = None
        return self.builder.input(name, count, bits)

    def _width(self, bits: int | None) -> int:
        return self.params.message_bits if bits is None else between("the bits", bits, 1)

    def __repr__(self) -> str:
        return f"TfheCircuit({self.name!r})"
