"""The module of a description in Amaranth's own simulator, for tiny units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from amaranth.sim import Simulator

from palladion_hardware.circuit import Circuit
from palladion_hardware.circuit.model import Cycle
from palladion_hardware.circuit.rtl import Rtl


def simulate(circuit: Circuit, cycles: Sequence[Cycle]) -> list[Cycle]:
    """Outputs of each cycle."""
    module = Rtl(circuit)
    outputs: list[Cycle] = []

    async def drive(context: Any) -> None:
        for cycle in cycles:
            for name, node in circuit.inputs.items():
                bits = sum(int(word) << (lane * node.bits) for lane, word in enumerate(cycle[name]))
                context.set(module.ports[name], bits)
            await context.delay(4e-9)
            row: Cycle = {}
            for name, node in circuit.outputs.items():
                bits, mask = context.get(module.ports[name]), (1 << node.bits) - 1
                words = [(bits >> (lane * node.bits)) & mask for lane in range(node.lanes)]
                row[name] = np.array(words, dtype=np.uint64 if node.bits <= 64 else object)
            outputs.append(row)
            await context.tick()

    simulator = Simulator(module)
    simulator.add_clock(1e-8)
    simulator.add_testbench(drive)
    simulator.run()
    return outputs
