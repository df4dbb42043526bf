"""Circuits: computations on encrypted numbers, described once.

A circuit of CKKS, BGV or BFV runs in the clear and encrypted. Before any key exists, it tells which
keys it needs, which levels its results have, and their noise or precision::

    from palladion import bgv, circuit

    params = bgv.Params.named("exact-14")
    c = circuit.Circuit(params)
    x = c.input("x")
    c.output("y", ((x - 3) ** 4).rotate(1) + 1)

    c.predict_noise()["y"].margin_bits  # bits left before a result is wrong
    secret = bgv.keygen(params)
    results = c.run({"x": secret.encrypt([1, 2, 3])}, c.keys(secret))
    secret.decrypt(results["y"])[:2]  # 2, 1, as c.run_clear({"x": [1, 2, 3]}) says

The circuit chooses levels, scales, rescales and relinearisations.

A circuit of TFHE works on bits or small integers (:class:`TfheCircuit`). It tells how many
bootstrappings it takes, and how probable a wrong run is::

    from palladion import tfhe

    c = circuit.TfheCircuit(tfhe.Params.gates())
    x, y = c.bit("x"), c.bit("y")
    c.output("sum", [x ^ y, x & y])
    c.bootstrappings, c.predict_failure()
"""

from __future__ import annotations

from palladion.circuit.benchmarks import benchmark
from palladion.circuit.builder import Circuit
from palladion.circuit.messages import Bit, Integer
from palladion.circuit.predictions import KeysNeeded, Lowered, Noise, Precision
from palladion.circuit.reading import load
from palladion.circuit.tfhe_builder import TfheCircuit
from palladion.circuit.tfhe_written import TfheWritten
from palladion.circuit.value import Value, dot
from palladion.circuit.written import Written

__all__ = [
    "Bit",
    "Circuit",
    "Integer",
    "KeysNeeded",
    "Lowered",
    "Noise",
    "Precision",
    "TfheCircuit",
    "TfheWritten",
    "Value",
    "Written",
    "benchmark",
    "dot",
    "load",
]
