"""Run a circuit that a paper measures on the CPU's kernels and through XLA, and compare the bytes.

    python examples/xla_circuit.py
    python examples/xla_circuit.py ckks-bootstrapping-16 --device gpu

Weights, tables and messages are made up. Needs JAX: pip install 'palladion[xla]'.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from palladion import bgv, circuit, ckks, xla
from palladion.circuit import Written

SLOTS = 32
"""Numbers of a message that is bootstrapped at N = 2^16."""


def bootstrapping() -> Written:
    """One bootstrapping of CKKS at N = 2^16 in words of 32 bits, 128-bit secure.

    Levels from the bottom: 60 bits, 9 of 32 that are left, 4 of 32 for slots to coefficients, 8 of
    58 for the reduction, 4 of 56 for coefficients to slots.
    """
    levels = [[30, 30]] + [[32]] * 13 + [[29, 29]] * 8 + [[28, 28]] * 4
    params = ckks.Params(16, levels, [32] * 14, 2.0**32, digit_limbs=14)
    c = circuit.Circuit(params, SLOTS, name="bootstrapping")
    c.output("high", c.input("low", level=0).bootstrap())
    return c


def messages(c: Written, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A message for each encrypted input."""
    names = [name for name, level in c.inputs.items() if level is not None]
    if c.t is None:
        return {name: rng.uniform(-0.5, 0.5, c.slots) for name in names}
    return {name: rng.integers(c.t, size=c.slots) for name in names}


def peak() -> float:
    """Largest resident memory so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="?", default="lola-mnist")
    parser.add_argument("--device", choices=["cpu", "gpu", "tpu"])
    parser.add_argument("--digit-limbs", type=int, default=1)
    parser.add_argument("--replay", action="store_true")
    options = parser.parse_args()
    xla.enable()
    from palladion.xla.circuit import CircuitRun
    from palladion.xla.device import chosen_device

    if options.name == "ckks-bootstrapping-16":
        c = bootstrapping()
    else:
        c = circuit.benchmark(options.name, options.digit_limbs)
    print(f"{options.name}: {c.params.native!r}")
    last = time.perf_counter()

    def done(what: str) -> None:
        nonlocal last
        now = time.perf_counter()
        print(f"{what:40} {now - last:8.2f} s, peak {peak():.2f} GB", flush=True)
        last = time.perf_counter()

    secret = ckks.keygen(c.params) if isinstance(c.params, ckks.Params) else bgv.keygen(c.params)
    keys = c.keys(secret)
    inputs = c.encrypt(secret, messages(c, np.random.default_rng(1)))
    done("keys and inputs")
    ran = c.run(inputs, keys)
    done("run on the CPU")
    lowered = c.lower()
    done("lower")
    prepared = CircuitRun.of(c, lowered, chosen_device(options.device))
    done("plan")
    prepared.run(inputs, keys)
    done("run through XLA, the first time")
    found, report = prepared.run(inputs, keys)
    done("run through XLA, the second time")
    memory = report["device_memory_bytes"] / 1e9
    print(
        f"{report['waves']} waves, {report['executables']} executables, {memory:.2f} GB of device"
    )
    if options.replay:
        replayed = c.replay(lowered, inputs, keys)
        done("replay")
        assert all(ct.to_bytes() == ran[name].to_bytes() for name, ct in replayed.items())
    for name, ct in ran.items():
        assert found[name].to_bytes() == ct.to_bytes(), name
    print(f"{len(ran)} results have the bytes of the run on the CPU")


if __name__ == "__main__":
    main()
