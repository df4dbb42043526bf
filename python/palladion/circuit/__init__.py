"""Circuits: a computation on encrypted numbers, written once.

A circuit of CKKS, BGV or BFV runs in the clear and encrypted. Before a key exists it says which
keys it needs, which levels its results have, and which noise or precision::

    from palladion import bgv, circuit

    params = bgv.Params.named("exact-14")
    c = circuit.Circuit(params)
    x = c.input("x")
    c.output("y", ((x - 3) ** 4).rotate(1) + 1)

    c.predict_noise()["y"].margin_bits  # bits left before a result is wrong
    secret = bgv.keygen(params)
    results = c.run({"x": secret.encrypt([1, 2, 3])}, c.keys(secret))
    secret.decrypt(results["y"])[:2]  # 2, 1, as c.run_clear({"x": [1, 2, 3]}) says

Levels, scales, rescales and relinearisations are chosen by the circuit.

A circuit of TFHE is one of bits or small integers (:class:`TfheCircuit`). It says how many
bootstrappings it takes, and how often it is wrong::

    from palladion import tfhe

    c = circuit.TfheCircuit(tfhe.Params.gates())
    x, y = c.bit("x"), c.bit("y")
    c.output("sum", [x ^ y, x & y])
    c.bootstrappings, c.predict_failure()
"""

from __future__ import annotations

from palladion.circuit.builder import Circuit
from palladion.circuit.facts import KeysNeeded, Lowered, Noise, Precision
from palladion.circuit.files import load
from palladion.circuit.messages import Bit, Integer
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
    "dot",
    "load",
]
