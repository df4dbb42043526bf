"""Verilog, compiled by Verilator, on the cycles that a model has run."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from palladion_hardware.circuit import Circuit, Node
from palladion_hardware.circuit.model import Cycle
from palladion_hardware.circuit.rtl import to_verilog
from palladion_hardware.tools.programs import run

HARNESS = """\
// Reads the words of all inputs of each cycle, and writes those of all outputs: 32 bits at a time.
#include "V{name}.h"
#include "verilated.h"
#include <cstdint>
#include <cstdio>
#include <vector>
int main(int argc, char **argv) {{
    V{name} unit;
    FILE *in = fopen(argv[1], "rb"), *out = fopen(argv[2], "wb");
    if (!in || !out) return 1;
    std::vector<uint32_t> words({inputs}), results({outputs});
    unit.rst = 0;
    while (fread(words.data(), 4, {inputs}, in) == {inputs}) {{
        const uint32_t *w = words.data();
        uint32_t *r = results.data();
        unit.clk = 0;
{reads}
        unit.eval();
{writes}
        fwrite(results.data(), 4, {outputs}, out);
        unit.clk = 1;
        unit.eval();
    }}
    return fclose(out);
}}
"""


def simulate(
    circuit: Circuit, cycles: Sequence[Cycle], *, verilog: str | None = None
) -> list[Cycle]:
    """Outputs of each cycle. ``verilog`` is by default that of the circuit.

    Raises
    ------
    ToolError
        If Verilator is not installed, or refuses the Verilog.
    """
    with tempfile.TemporaryDirectory(prefix="palladion-hardware-") as name:
        folder = Path(name)
        text = to_verilog(circuit) if verilog is None else verilog
        (folder / "unit.v").write_text(text, encoding="utf-8")
        (folder / "main.cpp").write_text(harness(circuit), encoding="utf-8")
        (folder / "in").write_bytes(
            np.concatenate([packed(circuit, cycle) for cycle in cycles]).tobytes()
        )
        # To compile well takes longer than to run few cycles slowly.
        level = "-O0" if len(cycles) < 2000 else "-O1"
        command = ["verilator", "--cc", "--exe", "--build", "-j", "2", "-Wno-fatal", "-Wno-lint",
                   "-O3", "--x-assign", "fast", "--output-split", "20000",
                   "-MAKEFLAGS", f"OPT_FAST={level} OPT_SLOW=-O0 OPT_GLOBAL=-O0",
                   "--top-module", circuit.name, "unit.v", "main.cpp"]  # fmt: skip
        run(command, folder=folder, package="verilator")
        run([folder / f"obj_dir/V{circuit.name}", "in", "out"], folder=folder, package="verilator")
        words = np.fromfile(folder / "out", dtype="<u4")
    size = sum(size_of(node) for node in circuit.outputs.values())
    return [unpacked(circuit, row) for row in words.reshape(len(cycles), size)]


def size_of(node: Node) -> int:
    """Words of 32 bits of a port."""
    return -(-node.bits * node.lanes // 32)


def packed(circuit: Circuit, cycle: Cycle) -> np.ndarray[tuple[int, ...], np.dtype[np.uint32]]:
    """The input ports of a cycle, each in whole words of 32 bits."""
    rows = []
    for name, node in circuit.inputs.items():
        bits = sum(int(word) << (lane * node.bits) for lane, word in enumerate(cycle[name]))
        rows.append(np.frombuffer(bits.to_bytes(4 * size_of(node), "little"), dtype="<u4"))
    return np.concatenate(rows)


def unpacked(circuit: Circuit, row: np.ndarray[tuple[int, ...], np.dtype[np.uint32]]) -> Cycle:
    cycle: Cycle = {}
    place = 0
    for name, node in circuit.outputs.items():
        size = size_of(node)
        bits = int.from_bytes(row[place : place + size].tobytes(), "little")
        place += size
        mask = (1 << node.bits) - 1
        words = [(bits >> (lane * node.bits)) & mask for lane in range(node.lanes)]
        cycle[name] = np.array(words, dtype=np.uint64 if node.bits <= 64 else object)
    return cycle


def harness(circuit: Circuit) -> str:
    reads, writes = [], []
    place = 0
    for name, node in circuit.inputs.items():
        reads += transfer(f"unit.{name}", node, place, read=True)
        place += size_of(node)
    inputs, place = place, 0
    for name, node in circuit.outputs.items():
        writes += transfer(f"unit.{name}", node, place, read=False)
        place += size_of(node)
    return HARNESS.format(
        name=circuit.name, inputs=inputs, outputs=place,
        reads="\n".join(reads), writes="\n".join(writes),
    )  # fmt: skip


def transfer(port: str, node: Node, place: int, *, read: bool) -> list[str]:
    """Lines that copy a port, which is a number of up to 64 bits or an array of 32-bit words."""
    size = size_of(node)
    if size == 1:
        return [f"        {port} = w[{place}];" if read else f"        r[{place}] = {port};"]
    if size == 2:
        if read:
            return [f"        {port} = w[{place}] | (uint64_t)w[{place + 1}] << 32;"]
        return [
            f"        r[{place}] = (uint32_t){port};",
            f"        r[{place + 1}] = (uint32_t)({port} >> 32);",
        ]
    loop = f"        for (int i = 0; i < {size}; ++i) "
    return [loop + (f"{port}[i] = w[{place} + i];" if read else f"r[{place} + i] = {port}[i];")]
