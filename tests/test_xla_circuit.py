"""Circuits through XLA: the bytes of a run of CKKS, BGV and BFV."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from palladion import _native, bfv, bgv, circuit, ckks, tfhe, xla
from palladion.circuit import Written
from palladion.errors import UsageError

pytest.importorskip("jax")
pytestmark = [pytest.mark.long, pytest.mark.usefixtures("quick_to_compile")]

SCHEMES: dict[type, Any] = {ckks.Params: ckks, bgv.Params: bgv, bfv.Params: bfv}


def approximate() -> Written:
    """Products, rotations, a conjugation and a plaintext, on two levels."""
    params = ckks.Params(10, [30, 28, 28], [32], 2.0**28, insecure=True)
    c = circuit.Circuit(params, slots=16)
    x, y = c.input("x"), c.input("y")
    c.output("z", x.rotate(3) * y + x.conjugate() * c.input("p", encrypted=False))
    c.output("w", (x * y) ** 2)
    return c


def bootstrapping() -> Written:
    """A product after a bootstrapping of a few slots."""
    levels = [[30, 30]] + [[30]] * 5 + [[30, 30]] * 8 + [[28, 28]] * 3
    params = ckks.Params(10, levels, [32] * 15, 2.0**30, digit_limbs=15, insecure=True)
    c = circuit.Circuit(params, slots=8)
    c.output("y", c.input("x", level=0).bootstrap() * 0.5)
    return c


def exact(scheme: type[bgv.Params] | type[bfv.Params]) -> Written:
    """Sums over all slots of a power, in limbs of 30 bits."""
    params = scheme(9, [30] * 9, [32] * 2, insecure=True)
    c = circuit.Circuit(params)
    row = (((c.input("x") - np.arange(params.slots)) ** 8) * 3).sum()
    c.output("y", row + row.swap_rows())
    return c


@pytest.mark.parametrize(
    "make",
    [approximate, bootstrapping, lambda: exact(bgv.Params), lambda: exact(bfv.Params)],
    ids=["ckks", "bootstrapping", "bgv", "bfv"],
)
def test_a_circuit_gives_the_bytes_of_a_run(make: Callable[[], Written]) -> None:
    xla.enable()
    from palladion.xla.circuit import CircuitRun
    from palladion.xla.device import chosen_device

    c, rng = make(), np.random.default_rng(1)
    secret = SCHEMES[type(c.params)].keygen(c.params)
    keys = c.keys(secret)
    plain = {name: rng.random(c.slots) for name, level in c.inputs.items() if level is None}
    values = {name: rng.integers(2, size=c.slots) for name in c.inputs if name not in plain}
    inputs = c.encrypt(secret, values) | plain
    ran = c.run(inputs, keys)
    prepared = CircuitRun.of(c, c.lower(plain), chosen_device("cpu"))
    found, report = prepared.run(inputs, keys)
    assert {name: ct.to_bytes() for name, ct in found.items()} == {
        name: ct.to_bytes() for name, ct in ran.items()
    }
    assert report["waves"] > 0 < report["executables"]


def test_what_rows_cannot_hold_is_refused() -> None:
    xla.enable()
    from palladion.xla.circuit import CircuitRun
    from palladion.xla.device import chosen_device

    device = chosen_device("cpu")
    c = circuit.Circuit(ckks.Params(9, [38, 30], [38], 2.0**30, insecure=True))
    c.output("y", c.input("x") ** 2)
    with pytest.raises(
        UsageError, match=r"modulus 0 is .* of 38 bits, .* parameters of such moduli"
    ):
        CircuitRun.of(c, c.lower(), device)
    gates = circuit.TfheCircuit(tfhe.Params.gates())
    gates.output("y", gates.bit("x") & gates.bit("z"))
    with pytest.raises(UsageError, match="programs of TFHE run on the CPU only"):
        _native.Waves.of_circuit(gates.lower().circuit)


def test_inputs_and_keys_of_others_are_refused() -> None:
    xla.enable()
    from palladion.xla.circuit import CircuitRun
    from palladion.xla.device import chosen_device

    c = approximate()
    prepared = CircuitRun.of(c, c.lower({"p": [1.0]}), chosen_device("cpu"))
    secret = SCHEMES[type(c.params)].keygen(c.params)
    inputs = c.encrypt(secret, {"x": [0.5], "y": [0.25]})
    with pytest.raises(UsageError, match="the input p is missing"):
        prepared.run(inputs, c.keys(secret))
    other = ckks.Params(10, [31, 28, 28], [32], 2.0**28, insecure=True)
    keys = ckks.keygen(other).evaluation_keys()
    with pytest.raises(UsageError, match="evaluation keys is of other parameters"):
        prepared.run(inputs | {"p": [1.0]}, keys)
