"""The operations, registers and memories that a description consists of, counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from palladion_hardware.circuit.nodes import MEMORY_FROM, Circuit, Node

WIRES: Final = frozenset({"input", "constant", "take", "join", "slice", "concatenate"})


@dataclass(frozen=True, order=True)
class Operation:
    """One lane of an operation: its operands' bits, and their words where they are constant."""

    kind: str
    bits: int
    operands: tuple[int, ...]
    constants: tuple[int, ...]
    """-1 for an operand that is no constant."""


@dataclass
class Inventory:
    """Counts over all lanes."""

    operations: Counter[Operation] = field(default_factory=Counter)
    register_bits: int = 0
    delay_bits: int = 0
    """Bits of delay lines that are memories."""
    table_bits: int = 0
    """Bits of memories of constants."""

    @property
    def multipliers(self) -> int:
        """Products of two words, without those by constants."""
        return sum(
            count
            for operation, count in self.operations.items()
            if operation.kind == "multiply" and max(operation.constants) < 0
        )


def count(circuit: Circuit) -> Inventory:
    """What a circuit consists of. Nodes that no output needs are not counted."""
    inventory = Inventory()
    needed = used(circuit)
    for node in circuit.nodes:
        if node not in needed or node.kind in WIRES:
            continue
        size = node.bits * node.lanes
        if node.kind == "state":
            inventory.register_bits += size
        elif node.kind == "delay":
            (cycles,) = node.numbers
            if cycles >= MEMORY_FROM:
                inventory.delay_bits += size * cycles
            else:
                inventory.register_bits += size * cycles
        elif node.kind == "memory":
            assert node.words is not None
            inventory.table_bits += size * len(node.words)
        else:
            for lane in range(node.lanes):
                inventory.operations[operation_of(node, lane)] += 1
    return inventory


def operation_of(node: Node, lane: int) -> Operation:
    constants = []
    for operand in node.operands:
        words = operand.words if operand.kind == "constant" else None
        constants.append(-1 if words is None else int(words[lane % len(words)]))
    bits = tuple(operand.bits for operand in node.operands)
    return Operation(node.kind, node.bits, bits, tuple(constants))


def used(circuit: Circuit) -> set[Node]:
    """The nodes that outputs depend on, over states too."""
    seen: set[Node] = set()
    waiting = list(circuit.outputs.values())
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        waiting += node.operands
        if node in circuit.next_of:
            waiting.append(circuit.next_of[node])
    return seen
