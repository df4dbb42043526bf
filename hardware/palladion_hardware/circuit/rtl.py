"""A description as a module of Amaranth, and as Verilog.

A port is one bus: lane ``l`` of words of ``b`` bits lies in bits ``l b`` to ``(l + 1) b - 1``. A
part of a description is a module of its own.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.back import verilog
from amaranth.hdl import Cat, Const, Elaboratable, Module, Mux, Signal
from amaranth.lib.memory import Memory

from palladion_hardware.circuit.nodes import MEMORY_FROM, Circuit, Node
from palladion_hardware.errors import CircuitError

SIGNALLED = frozenset({"add", "subtract", "multiply", "select", "equal", "any", "xor", "and", "or"})
"""Operations whose results are signals with a name. The others are wires."""


class Rtl(Elaboratable):  # type: ignore[misc]
    """The module of a description. ``ports`` has its inputs and outputs by name."""

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        self.ports: dict[str, Any] = {}
        for name, node in (*circuit.inputs.items(), *circuit.outputs.items()):
            self.ports[name] = Signal(node.bits * node.lanes, name=name)

    def elaborate(self, platform: object) -> Module:
        top = Module()
        modules = {"": top}
        self._names: dict[str, int] = {}
        wires: dict[Node, list[Any]] = {}
        for node in self.circuit.nodes:
            if node.part not in modules:
                modules[node.part] = Module()
                top.submodules[node.part] = modules[node.part]
            wires[node] = self._wires(modules[node.part], node, wires)
        for state, following in self.circuit.next_of.items():
            module, words = modules[state.part], wires[following]
            for lane, register in enumerate(wires[state]):
                module.d.sync += register.eq(words[lane % len(words)])
        for name, node in self.circuit.outputs.items():
            top.d.comb += self.ports[name].eq(Cat(*wires[node]))
        return top

    def _signals(self, node: Node, count: int, *, reset_less: bool = False) -> list[Any]:
        number = self._names[node.kind] = self._names.get(node.kind, -1) + 1
        stem = f"{node.name or node.kind}_{number}"
        return [
            Signal(node.bits, name=f"{stem}_{lane}", reset_less=reset_less) for lane in range(count)
        ]

    def _wires(self, module: Any, node: Node, wires: dict[Node, list[Any]]) -> list[Any]:
        kind = node.kind
        if kind == "input":
            port = self.ports[node.name]
            return [port[lane * node.bits : (lane + 1) * node.bits] for lane in range(node.lanes)]
        if kind == "constant":
            assert node.words is not None
            return [Const(int(word), node.bits) for word in node.words]
        if kind == "state":
            return self._signals(node, node.lanes)
        if kind == "take":
            source = wires[node.operands[0]]
            return [source[lane] for lane in node.numbers]
        if kind == "join":
            return [wire for part in node.operands for wire in wires[part]]
        if kind == "delay":
            return self._delayed(module, node, wires[node.operands[0]])
        if kind == "memory":
            return self._memory(module, node, [wires[operand] for operand in node.operands])
        lanes = [lane_of(wires[operand], node.lanes) for operand in node.operands]
        results = [expression(node, words) for words in zip(*lanes, strict=True)]
        if kind not in SIGNALLED:
            return results
        signals = self._signals(node, node.lanes)
        module.d.comb += [
            signal.eq(result) for signal, result in zip(signals, results, strict=True)
        ]
        return signals

    def _delayed(self, module: Any, node: Node, source: list[Any]) -> list[Any]:
        (cycles,) = node.numbers
        if cycles >= MEMORY_FROM:
            return self._ring(module, node, source, cycles)
        for _ in range(cycles):
            registers = self._signals(node, node.lanes, reset_less=node.lanes > 1)
            module.d.sync += [
                register.eq(word) for register, word in zip(registers, source, strict=True)
            ]
            source = registers
        return source

    def _ring(self, module: Any, node: Node, source: list[Any], cycles: int) -> list[Any]:
        """A delay line as a memory of ``cycles`` rows: the row read next is the oldest one."""
        width = node.bits * node.lanes
        memory = Memory(shape=width, depth=cycles, init=[])
        number = self._names["ring"] = self._names.get("ring", -1) + 1
        module.submodules[f"ring_{number}"] = memory
        write, read = memory.write_port(), memory.read_port()
        place = Signal(range(cycles), name=f"place_{number}")
        after = Mux(place == cycles - 1, 0, place + 1)
        module.d.sync += place.eq(after)
        module.d.comb += [
            write.en.eq(1),
            write.addr.eq(place),
            write.data.eq(Cat(*source)),
            read.addr.eq(after),
        ]
        return split(read.data, node)

    def _memory(self, module: Any, node: Node, operands: list[list[Any]]) -> list[Any]:
        assert node.words is not None
        rows = [
            sum(int(word) << (lane * node.bits) for lane, word in enumerate(row))
            for row in node.words
        ]
        memory = Memory(shape=node.bits * node.lanes, depth=len(rows), init=rows)
        number = self._names["memory"] = self._names.get("memory", -1) + 1
        module.submodules[f"memory_{number}"] = memory
        read = memory.read_port()
        module.d.comb += read.addr.eq(operands[0][0])
        if len(operands) > 1:
            enable, address, words = operands[1:]
            write = memory.write_port()
            module.d.comb += [
                write.en.eq(enable[0] & (address[0] < len(rows))),
                write.addr.eq(address[0]),
                write.data.eq(Cat(*words)),
            ]
        return split(read.data, node)


def lane_of(words: list[Any], lanes: int) -> list[Any]:
    return words * lanes if len(words) == 1 else words


def split(bus: Any, node: Node) -> list[Any]:
    return [bus[lane * node.bits : (lane + 1) * node.bits] for lane in range(node.lanes)]


def expression(node: Node, words: tuple[Any, ...]) -> Any:
    """One lane of an operation."""
    kind = node.kind
    if kind == "slice":
        low, high = node.numbers
        have = len(words[0])
        inside = words[0][low:high] if low < have else Const(0, 1)
        return Cat(inside, Const(0, high - max(have, low))) if high > have else inside
    if kind == "concatenate":
        return Cat(*words)
    if kind == "select":
        return Mux(words[0], words[1], words[2])
    if kind == "any":
        return words[0].any()
    if kind == "not":
        return ~words[0]
    left, right = words
    match kind:
        case "add":
            return left + right
        case "subtract":
            return left - right
        case "multiply":
            return left * right
        case "equal":
            return left == right
        case "and":
            return left & right
        case "or":
            return reduce(or_, (left, right))
        case "xor":
            return left ^ right
    raise CircuitError(f"no operation {kind}")


def to_verilog(circuit: Circuit) -> str:
    """Verilog of one description, with ``clk`` and ``rst`` besides its ports."""
    module = Rtl(circuit)
    text: str = verilog.convert(
        module, name=circuit.name, ports=list(module.ports.values()), strip_internal_attrs=True
    )
    return text
