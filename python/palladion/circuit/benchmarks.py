"""Circuits that papers measure, with parameters in words of 32 bits."""

from __future__ import annotations

from palladion import _native, bgv, ckks
from palladion.circuit.written import Written
from palladion.schemes.arrays import natural


def benchmark(name: str, digit_limbs: int = 1) -> Written:
    """The circuit of a benchmark of F1 (MICRO 2021), such as ``lola-mnist``.

    Its weights and tables are made up: the operations depend on none. ``palladion reproduce f1``
    simulates the same circuits. Digits of key switching have at most ``digit_limbs`` moduli.

    Raises
    ------
    UsageError
        If there is no such circuit. The message names all that there are.
    SecurityError
        If such digits leave less than 128 bits of security, unless the name says ``insecure``.
    """
    native, circuit = _native.benchmark_circuit(name, natural("digit_limbs", digit_limbs))
    if native.describe()["scheme"] == "bgv":
        return Written(bgv.Params.of_native(native), circuit)
    return Written(ckks.Params.of_native(native), circuit)
