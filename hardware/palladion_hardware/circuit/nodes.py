"""Signals of several lanes, and the operations between them.

Every signal knows its *time*: how many cycles after the inputs it is there. An operation on signals
of different times delays the earlier ones. So the stages of a unit need no alignment by hand, and
the latency of a unit follows from its description.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from palladion_hardware.errors import CircuitError

Words = npt.NDArray[Any]
"""Unsigned words of one signal, a lane each: uint64, or Python's integers above 64 bits."""

MEMORY_FROM: Final = 8
"""Delays of this many cycles or more become a memory with a pointer, shorter ones registers."""


@dataclass(eq=False)
class Node:
    """A signal: ``lanes`` unsigned words of ``bits`` bits, ``time`` cycles behind the inputs.

    Constants have no time.
    """

    circuit: Circuit
    kind: str
    bits: int
    lanes: int
    time: int | None
    operands: tuple[Node, ...] = ()
    numbers: tuple[int, ...] = ()
    """What the kind needs besides operands: bounds of a slice, lanes of a choice, cycles."""
    words: Words | None = None
    """Words of a constant, or the initial rows of a memory."""
    name: str = ""
    part: str = ""

    def __add__(self, other: Node) -> Node:
        """The sum, a bit wider than the wider operand."""
        return self.circuit.operate("add", self, other, max(self.bits, other.bits) + 1)

    def __sub__(self, other: Node) -> Node:
        """The difference modulo a power of 2, a bit wider: the highest bit is its sign."""
        return self.circuit.operate("subtract", self, other, max(self.bits, other.bits) + 1)

    def __mul__(self, other: Node) -> Node:
        return self.circuit.operate("multiply", self, other, self.bits + other.bits)

    def __and__(self, other: Node) -> Node:
        return self.circuit.operate("and", self, other, max(self.bits, other.bits))

    def __or__(self, other: Node) -> Node:
        return self.circuit.operate("or", self, other, max(self.bits, other.bits))

    def __xor__(self, other: Node) -> Node:
        return self.circuit.operate("xor", self, other, max(self.bits, other.bits))

    def equals(self, other: Node) -> Node:
        return self.circuit.operate("equal", self, other, 1)

    def is_not_zero(self) -> Node:
        return self.circuit.unary("any", self, 1)

    def inverted(self) -> Node:
        """All bits, inverted."""
        return self.circuit.unary("not", self, self.bits)

    def part_of_bits(self, low: int, high: int) -> Node:
        """Bits ``low`` to ``high - 1``; bits beyond the word are 0."""
        if not 0 <= low < high:
            raise CircuitError(f"bits {low} to {high}: expected 0 <= low < high")
        if low == 0 and high == self.bits:
            return self
        return self.circuit.add_node(
            "slice", high - low, self.lanes, self.time, (self,), (low, high)
        )

    def low(self, bits: int) -> Node:
        return self.part_of_bits(0, bits)

    def high_from(self, low: int) -> Node:
        """All bits from ``low`` on."""
        return self.part_of_bits(low, max(self.bits, low + 1))

    def bit(self, index: int) -> Node:
        return self.part_of_bits(index, index + 1)

    def shifted_left(self, count: int) -> Node:
        if count == 0:
            return self
        return self.circuit.concatenate(self.circuit.constant(0, bits=count), self)

    def take(self, lanes: Sequence[int]) -> Node:
        """The named lanes, in this order: wires alone."""
        chosen = tuple(int(lane) for lane in lanes)
        if not chosen or not all(0 <= lane < self.lanes for lane in chosen):
            raise CircuitError(f"lanes {chosen[:4]}... of a signal with {self.lanes} lanes")
        if chosen == tuple(range(self.lanes)):
            return self
        return self.circuit.add_node("take", self.bits, len(chosen), self.time, (self,), chosen)

    def lane(self, index: int) -> Node:
        return self.take([index])

    def delay(self, cycles: int = 1) -> Node:
        """The same words, ``cycles`` later. Its time is later too."""
        if cycles == 0 or self.time is None:
            return self
        return self.circuit.add_node(
            "delay", self.bits, self.lanes, self.time + cycles, (self,), (cycles,)
        )

    def held_back(self, cycles: int) -> Node:
        """The words of ``cycles`` vectors ago, which a transposition needs: time stays."""
        if self.time is None or cycles == 0:
            return self
        return self.circuit.add_node("delay", self.bits, self.lanes, self.time, (self,), (cycles,))

    def relabelled(self, time: int) -> Node:
        """The same wires, taken for the vector that is there at another time."""
        lanes = tuple(range(self.lanes))
        return self.circuit.add_node("take", self.bits, self.lanes, time, (self,), lanes)


@dataclass(eq=False)
class Circuit:
    """A description: nodes in an order in which each follows its operands."""

    name: str
    nodes: list[Node] = field(default_factory=list)
    inputs: dict[str, Node] = field(default_factory=dict)
    outputs: dict[str, Node] = field(default_factory=dict)
    next_of: dict[Node, Node] = field(default_factory=dict)
    """The next word of each state."""
    _parts: list[str] = field(default_factory=list)
    _delayed: dict[tuple[Node, int], Node] = field(default_factory=dict)

    @contextmanager
    def within(self, part: str) -> Iterator[None]:
        """Nodes that are made inside belong to ``part``, a module of its own in Verilog."""
        self._parts.append(part)
        try:
            yield
        finally:
            self._parts.pop()

    def add_node(
        self,
        kind: str,
        bits: int,
        lanes: int,
        time: int | None,
        operands: tuple[Node, ...] = (),
        numbers: tuple[int, ...] = (),
        words: Words | None = None,
        name: str = "",
    ) -> Node:
        part = self._parts[0] if self._parts else ""
        node = Node(self, kind, bits, lanes, time, operands, numbers, words, name, part)
        self.nodes.append(node)
        return node

    def input(self, name: str, *, bits: int, lanes: int = 1) -> Node:
        node = self.add_node("input", bits, lanes, 0, name=name)
        self.inputs[name] = node
        return node

    def setting(self, name: str, *, bits: int, lanes: int = 1) -> Node:
        """An input that keeps its words while vectors are in the unit, such as the modulus."""
        node = self.add_node("input", bits, lanes, None, name=name)
        self.inputs[name] = node
        return node

    def output(self, name: str, node: Node) -> None:
        if name in self.inputs or name in self.outputs:
            raise CircuitError(
                f"{self.name} has a port {name} already: ports have names of their own"
            )
        self.outputs[name] = node

    def constant(self, value: int | Sequence[int], *, bits: int) -> Node:
        """One word for all lanes, or a word for each."""
        values = [value] if isinstance(value, int) else list(value)
        if any(not 0 <= word < 1 << bits for word in values):
            raise CircuitError(f"a constant of {bits} bits holds 0 to 2^{bits} - 1")
        return self.add_node("constant", bits, len(values), None, words=pack(values, bits))

    def state(self, *, bits: int, time: int, lanes: int = 1) -> Node:
        """A register with feedback, 0 at the start; :meth:`follow` says its next word."""
        return self.add_node("state", bits, lanes, time)

    def follow(self, state: Node, following: Node) -> None:
        if state.time != following.time and following.time is not None:
            raise CircuitError(f"a state of cycle {state.time} follows one of {following.time}")
        if following.bits != state.bits or following.lanes not in (1, state.lanes):
            raise CircuitError("the next word of a state has its lanes and bits")
        self.next_of[state] = following

    def at(self, node: Node, time: int) -> Node:
        """A signal as it is at a later time."""
        if node.time is None or node.time == time:
            return node
        if node.time > time:
            raise CircuitError(f"a signal of cycle {node.time} is not there at cycle {time}")
        key = (node, time)
        if key not in self._delayed:
            # One register after another, so that signals of neighbouring times share them.
            short = time - node.time < MEMORY_FROM
            before = self.at(node, time - 1) if short else node
            assert before.time is not None
            self._delayed[key] = before.delay(time - before.time)
        return self._delayed[key]

    def aligned(self, *nodes: Node) -> tuple[Node, ...]:
        """The signals at the latest of their times."""
        times = [node.time for node in nodes if node.time is not None]
        return tuple(self.at(node, max(times)) for node in nodes) if times else nodes

    def operate(self, kind: str, left: Node, right: Node, bits: int) -> Node:
        left, right = self.aligned(left, right)
        lanes = self._lanes(left, right)
        time = left.time if left.time is not None else right.time
        return self.add_node(kind, bits, lanes, time, (left, right))

    def unary(self, kind: str, operand: Node, bits: int) -> Node:
        return self.add_node(kind, bits, operand.lanes, operand.time, (operand,))

    def select(self, condition: Node, yes: Node, no: Node) -> Node:
        """``yes`` in lanes where the bit ``condition`` is 1, otherwise ``no``."""
        if condition.bits != 1:
            raise CircuitError(f"a condition has one bit, this one has {condition.bits}")
        condition, yes, no = self.aligned(condition, yes, no)
        lanes = self._lanes(condition, yes, no)
        times = [node.time for node in (condition, yes, no) if node.time is not None]
        bits = max(yes.bits, no.bits)
        return self.add_node(
            "select", bits, lanes, times[0] if times else None, (condition, yes, no)
        )

    def concatenate(self, *lowest_first: Node) -> Node:
        """One word of the bits of several."""
        parts = self.aligned(*lowest_first)
        times = [node.time for node in parts if node.time is not None]
        bits = sum(node.bits for node in parts)
        return self.add_node(
            "concatenate", bits, self._lanes(*parts), times[0] if times else None, parts
        )

    def join(self, *nodes: Node) -> Node:
        """One signal of the lanes of several."""
        parts = self.aligned(*nodes)
        if len({node.bits for node in parts}) != 1:
            raise CircuitError("lanes of one signal have the same number of bits")
        times = [node.time for node in parts if node.time is not None]
        lanes = sum(node.lanes for node in parts)
        return self.add_node("join", parts[0].bits, lanes, times[0] if times else None, parts)

    def memory(
        self,
        rows: Words,
        *,
        bits: int,
        address: Node,
        write: tuple[Node, Node, Node] | None = None,
    ) -> Node:
        """A row of a memory, a cycle after its address. ``rows`` (depth, lanes) is its content.

        ``write`` is an enabling bit, an address and a row: they are written at once, at whatever
        time they are there.
        """
        operands = (address, *(write or ()))
        time = None if address.time is None else address.time + 1
        lanes = rows.shape[1]
        return self.add_node("memory", bits, lanes, time, operands, words=rows)

    def latency(self) -> int:
        """Cycles from an input vector to the output vector of the same place."""
        times = {node.time for node in self.outputs.values() if node.time is not None}
        if len(times) != 1:
            raise CircuitError(f"outputs of {self.name} are there after {sorted(times)} cycles")
        return times.pop()

    @staticmethod
    def _lanes(*nodes: Node) -> int:
        counts = {node.lanes for node in nodes} - {1}
        if len(counts) > 1:
            raise CircuitError(f"lanes do not fit together: {sorted(counts)}")
        return counts.pop() if counts else 1


def pack(values: Sequence[int], bits: int) -> Words:
    """Words as an array: uint64, or objects above 64 bits."""
    return np.array(values, dtype=np.uint64 if bits <= 64 else object)
