"""Cells by Yosys: of a whole unit, or of each of its operations times how often it occurs.

Both are mapped to static CMOS gates by ABC without a library, and counted in transistors as Yosys
estimates them; four are a gate equivalent. Memories stay memories and are counted in bits. There is
no placement, no wire, no clock tree and no sizing of gates, so ratios mean more than counts.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from palladion_hardware.circuit import Circuit, Node
from palladion_hardware.circuit.inventory import Operation, count
from palladion_hardware.circuit.rtl import to_verilog
from palladion_hardware.errors import ToolError
from palladion_hardware.tools.programs import run

FLIP_FLOP: Final = 16
"""Transistors of a bit of register, as in Yosys's table."""
SCRIPT: Final = (
    "read_verilog unit.v; synth -flatten -top {top} -run begin:fine; opt -fast -full; techmap; "
    "opt -fast; abc -g cmos; opt_clean; tee -o stat.txt stat -tech cmos; tee -o depth.txt ltp -noff"
)


@dataclass(frozen=True)
class Cells:
    """A synthesis."""

    cells: int
    """Gates, without registers and memories."""
    gates: float
    """Gate equivalents (four transistors each), with registers, without memories."""
    registers: int
    """Bits of registers."""
    memory_bits: int
    """Bits of delay lines and tables, as the description has them."""
    depth: int | None
    """Most gates in a row between registers, where the whole was synthesised."""


def synthesise(circuit: Circuit) -> Cells:
    """All of a circuit at once: for small ones. Products of many lanes take minutes to hours."""
    cells, transistors, registers, depth = mapped(to_verilog(circuit), circuit.name)
    inventory = count(circuit)
    bits = inventory.delay_bits + inventory.table_bits
    return Cells(cells, transistors / 4, registers, bits, depth)


def estimate(circuit: Circuit) -> Cells:
    """Each operation of a circuit alone, times how often it occurs, and the bits of registers.

    Gates that a synthesis of the whole would share or remove between operations are counted.
    """
    inventory = count(circuit)
    cells = transistors = 0
    for operation, times in inventory.operations.items():
        own, size, _ = operation_cells(operation)
        cells, transistors = cells + own * times, transistors + size * times
    gates = (transistors + FLIP_FLOP * inventory.register_bits) / 4
    bits = inventory.delay_bits + inventory.table_bits
    return Cells(cells, gates, inventory.register_bits, bits, None)


@cache
def operation_cells(operation: Operation) -> tuple[int, int, int]:
    """Cells, transistors and depth of one lane of an operation."""
    c = Circuit("operation")
    operands = [
        c.setting(f"operand_{place}", bits=bits) if word < 0 else c.constant(word, bits=bits)
        for place, (bits, word) in enumerate(
            zip(operation.operands, operation.constants, strict=True)
        )
    ]
    c.output("result", c.add_node(operation.kind, operation.bits, 1, None, tuple(operands)))
    cells, transistors, _, depth = mapped(operation_verilog(operation, operands), c.name)
    return cells, transistors, depth


def operation_verilog(operation: Operation, operands: list[Node]) -> str:
    """One operation as Verilog: written here, since Amaranth's writer takes a second for each."""
    ports, words = [], []
    for place, (node, word) in enumerate(zip(operands, operation.constants, strict=True)):
        if word < 0:
            ports.append(f"input [{node.bits - 1}:0] operand_{place}")
        words.append(f"operand_{place}" if word < 0 else f"{node.bits}'d{word}")
    symbols = {"add": "+", "subtract": "-", "multiply": "*", "equal": "==", "and": "&", "or": "|",
               "xor": "^"}  # fmt: skip
    if operation.kind == "select":
        text = f"{words[0]} ? {words[1]} : {words[2]}"
    elif operation.kind in symbols:
        text = f"{words[0]} {symbols[operation.kind]} {words[1]}"
    else:
        text = {"any": "|", "not": "~"}[operation.kind] + words[0]
    ports.append(f"output [{operation.bits - 1}:0] result")
    return f"module operation({', '.join(ports)}); assign result = {text}; endmodule\n"


def mapped(verilog: str, top: str) -> tuple[int, int, int, int]:
    """Gates, transistors, bits of registers and depth of some Verilog.

    Raises
    ------
    ToolError
        If Yosys is not installed, or fails.
    """
    with tempfile.TemporaryDirectory(prefix="palladion-hardware-") as name:
        folder = Path(name)
        (folder / "unit.v").write_text(verilog, encoding="utf-8")
        command = ["yosys", "-q", "-p", SCRIPT.format(top=top)]
        run(command, folder=folder, package="yosys")
        stat = (folder / "stat.txt").read_text(encoding="utf-8")
        path = re.search(r"\(length=(\d+)\)", (folder / "depth.txt").read_text(encoding="utf-8"))
    rows = dict(re.findall(r"^\s+(\$\S+)\s+(\d+)$", stat, re.MULTILINE))
    total = re.search(r"Estimated number of transistors:\s+(\d+)", stat)
    if total is None:
        raise ToolError("yosys printed no number of transistors: expected Yosys 0.23 or later")
    registers = sum(int(times) for kind, times in rows.items() if "DFF" in kind)
    gates = sum(int(times) for kind, times in rows.items() if kind.startswith("$_")) - registers
    return gates, int(total[1]), registers, int(path[1]) if path else 0
