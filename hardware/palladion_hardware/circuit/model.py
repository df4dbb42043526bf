"""A description executed cycle by cycle in numpy, all lanes of a signal at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from palladion_hardware.circuit.nodes import Circuit, Node, Words
from palladion_hardware.errors import ParameterError

Cycle = dict[str, Words]
"""The words of each port in one cycle."""


class Model:
    """The state of a unit. :meth:`step` is one cycle.

    All registers and delay lines hold 0 at the start, and memories what the description says.
    """

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        self.values: dict[Node, Words] = {}
        self._ports: Cycle = {}
        self._lines: dict[Node, list[Words]] = {}
        self._places: dict[Node, int] = {}
        self._rows: dict[Node, Words] = {}
        self._clocked: list[Node] = []
        self._steps: list[tuple[Node, Callable[[], Words]]] = []
        for node in circuit.nodes:
            if node.kind == "constant":
                assert node.words is not None
                self.values[node] = node.words
                continue
            if node.kind in {"state", "memory", "delay"}:
                self.values[node] = zeros(node)
                self._clocked.append(node)
                if node.kind == "delay":
                    self._lines[node] = [zeros(node) for _ in range(node.numbers[0])]
                    self._places[node] = 0
                if node.kind == "memory":
                    assert node.words is not None
                    self._rows[node] = node.words.copy()
                continue
            self._steps.append((node, self._operation(node)))

    def step(self, ports: Mapping[str, Words]) -> Cycle:
        """Outputs of this cycle, then one edge of the clock."""
        self._ports = dict(ports)
        for node, operation in self._steps:
            self.values[node] = operation()
        outputs = {name: self.values[node] for name, node in self.circuit.outputs.items()}
        following = [(node, self._following(node)) for node in self._clocked]
        for node, words in following:
            self.values[node] = words
        return outputs

    def run(self, cycles: Sequence[Mapping[str, Words]]) -> list[Cycle]:
        return [self.step(cycle) for cycle in cycles]

    def _following(self, node: Node) -> Words:
        if node.kind == "state":
            return np.broadcast_to(self.values[self.circuit.next_of[node]], node.lanes)
        if node.kind == "delay":
            line, place = self._lines[node], self._places[node]
            line[place] = self.values[node.operands[0]]
            place = (place + 1) % len(line)
            self._places[node] = place
            return line[place]
        rows = self._rows[node]
        row: Words = rows[int(self.values[node.operands[0]][0]) % len(rows)]
        if len(node.operands) > 1:
            enable, address, words = (self.values[operand] for operand in node.operands[1:])
            if enable[0] and address[0] < len(rows):
                row = row.copy()
                rows[int(address[0])] = words
        return row

    def _operation(self, node: Node) -> Callable[[], Words]:
        values, operands, bits = self.values, node.operands, node.bits
        if node.kind == "input":
            return lambda: check(node, self._ports[node.name])
        if node.kind == "slice":
            low, high = node.numbers
            (a,) = operands
            if a.bits <= 64:
                shift, mask = np.uint64(min(low, 63)), np.uint64((1 << (high - low)) - 1)
                if low > 63:
                    return lambda: np.zeros(node.lanes, dtype=np.uint64)
                return lambda: (values[a] >> shift) & mask
            ones = (1 << (high - low)) - 1
            return lambda: narrow((values[a] >> low) & ones, bits)
        if node.kind == "take":
            (a,), index = operands, np.array(node.numbers)
            return lambda: values[a][index]
        if node.kind == "join":
            return lambda: np.concatenate([values[part] for part in operands])
        if node.kind == "select":
            condition, yes, no = operands
            return lambda: narrow(np.where(values[condition] != 0, values[yes], values[no]), bits)
        if node.kind == "concatenate":
            return lambda: concatenated([(values[part], part.bits) for part in operands], bits)
        if node.kind == "any":
            return lambda: (values[operands[0]] != 0).astype(np.uint64)
        if node.kind == "not":
            ones = (1 << bits) - 1
            return lambda: widen(values[operands[0]], bits) ^ mask_of(ones, bits)
        return self._binary(node)

    def _binary(self, node: Node) -> Callable[[], Words]:
        values, bits = self.values, node.bits
        left, right = node.operands
        wide = max(bits, left.bits, right.bits)
        mask = mask_of((1 << bits) - 1, bits)
        if node.kind == "equal":
            return lambda: (values[left] == values[right]).astype(np.uint64)
        functions: dict[str, Callable[[Any, Any], Any]] = {
            "add": lambda a, b: a + b,
            "subtract": lambda a, b: (a - b) & mask,
            "multiply": lambda a, b: a * b,
            "and": lambda a, b: a & b,
            "or": lambda a, b: a | b,
            "xor": lambda a, b: a ^ b,
        }
        function = functions[node.kind]
        return lambda: function(widen(values[left], wide), widen(values[right], wide))


def zeros(node: Node) -> Words:
    return np.zeros(node.lanes, dtype=np.uint64 if node.bits <= 64 else object)


def mask_of(ones: int, bits: int) -> Any:
    return np.uint64(ones) if bits <= 64 else ones


def widen(words: Words, bits: int) -> Any:
    return words.astype(object) if bits > 64 and words.dtype != object else words


def narrow(words: Words, bits: int) -> Words:
    return words.astype(np.uint64) if bits <= 64 and words.dtype == object else words


def concatenated(parts: Sequence[tuple[Words, int]], bits: int) -> Words:
    total: Any = widen(np.zeros(1, dtype=np.uint64), bits)
    place = 0
    for words, count in parts:
        total = total | (widen(words, bits) << (np.uint64(place) if bits <= 64 else place))
        place += count
    result: Words = total
    return result


def check(node: Node, words: Words) -> Words:
    if words.shape != (node.lanes,):
        raise ParameterError(
            f"input {node.name}: {words.shape} words, expected one for each of {node.lanes} lanes"
        )
    if node.bits < 64 and bool((words >> np.uint64(node.bits)).any()):
        raise ParameterError(f"input {node.name}: a word has more than {node.bits} bits")
    return words
