"""The builder of circuits."""

from __future__ import annotations

import numbers
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from palladion import _native, tfhe
from palladion.circuit.slot_values import INTEGERS, REALS, centred, filled, real, shortest
from palladion.circuit.value import Value
from palladion.circuit.written import Params, Written
from palladion.errors import UsageError
from palladion.schemes.arrays import natural


class Circuit(Written):
    """A circuit to which inputs, operations and outputs are added.

    Parameters
    ----------
    params
        Parameters of CKKS, BGV or BFV.
    slots
        Slots of every value, a power of two. Default: all slots of a ciphertext. A circuit of fewer
        slots repeats them in its ciphertexts, and its constants are smaller.
    name
        Name in its text.

    Raises
    ------
    UsageError
        If the slots are no power of two, or more than the parameters have. Also for parameters
        of TFHE: their circuits are :class:`TfheCircuit`.
    """

    def __init__(self, params: Params, slots: int | None = None, name: str = "circuit") -> None:
        if isinstance(params, tfhe.Params):
            raise UsageError("parameters of TFHE, expected circuit.TfheCircuit(params) for them")
        self.params = params
        self.name = name
        slots = params.slots if slots is None else natural("the number of slots", slots)
        self.builder = _native.CircuitBuilder(params.native, name, slots)
        self._width = slots
        self._constants = 0
        self._finished: _native.Circuit | None = None

    @property
    def slots(self) -> int:
        """Slots of every value."""
        return self._width

    @property
    def native(self) -> _native.Circuit:
        """The circuit with all steps that its outputs need."""
        if self._finished is None:
            self._finished = self.builder.finish()
        return self._finished

    def input(self, name: str, *, encrypted: bool = True, level: int | None = None) -> Value:
        """Add an input with a name of its own.

        An ``encrypted`` input is at the highest level, or at ``level`` if given. A plaintext has no
        level: it is encoded where it is used.
        """
        self._finished = None
        if encrypted:
            level = self.params.max_level if level is None else natural("the level", level)
            return Value(self, self.builder.input(name, level))
        if level is not None:
            raise UsageError(f"level {level} of the plaintext {name!r}, expected none")
        return Value(self, self.builder.plain_input(name))

    def constant(self, values: ArrayLike, name: str | None = None) -> Value:
        """Add numbers that the circuit holds: a number, or an array of shape ``(k,)``.

        They are real in CKKS, and integers between ``-t`` and ``t`` in BGV and BFV. Zeros follow an
        array. An array that repeats takes only the space of its first period.
        """
        self._constants += 1
        name = f"constant {self._constants}" if name is None else name
        kinds = REALS if self.t is None else INTEGERS
        found = shortest(filled(values, self.slots, kinds))
        return Value(self, self.builder.constant(name, found.astype(np.float64).tobytes()))

    def output(self, name: str, value: Value | ArrayLike) -> None:
        """Make an encrypted value a result, with a name of its own."""
        self.builder.output(name, self.operand(value))
        self._finished = None

    def repeat(
        self,
        body: Written,
        carried: Sequence[Value],
        each: Sequence[Sequence[Value | ArrayLike]],
    ) -> list[Value]:
        """Repeat a circuit, each time with the results of the time before.

        Parameters
        ----------
        body
            A circuit of the same parameters and slots. Its first encrypted inputs are the carried
            values, one for each of its outputs, which must be at the levels of these inputs.
        carried
            The values before the first iteration.
        each
            For each iteration, the values of the body's other inputs, in the order of their names
            in ``body.inputs``.

        Returns
        -------
        list of Value
            The carried values after the last iteration.
        """
        if body is self:
            raise UsageError("a body that is the circuit itself, expected another circuit")
        start = [self.operand(x) for x in carried]
        given = [[self.operand(x) for x in values] for values in each]
        made = self.builder.repeat(body.native, start, given)
        self._finished = None
        return [Value(self, index) for index in made]

    def operand(self, x: Value | ArrayLike) -> int:
        """An operand as the core numbers it."""
        if isinstance(x, Value):
            if x.circuit is not self:
                raise UsageError(f"a value of another {x.circuit!r}, expected one of this {self!r}")
            return x.index
        if isinstance(x, numbers.Number):
            return self.builder.numbers([self._number(x)])[0]
        return self.constant(x).index

    def operands(self, values: Sequence[Value | ArrayLike]) -> list[int]:
        """Operands as the core numbers them: as :meth:`operand`, and faster for many numbers."""
        plain = [isinstance(x, numbers.Number) for x in values]
        chosen = [self._number(x) for x, is_plain in zip(values, plain, strict=True) if is_plain]
        made = iter(self.builder.numbers(chosen))
        return [next(made) if is_plain else self.operand(x)
                for x, is_plain in zip(values, plain, strict=True)]  # fmt: skip

    def _number(self, x: object) -> float:
        """A number of the circuit's slots."""
        return real(x) if self.t is None else centred(x, self.t)

    def __repr__(self) -> str:
        return f"Circuit({self.name!r}, {self.slots} slots)"
