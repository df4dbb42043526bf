"""HELR on MNIST's digits: without bootstrapping while the levels suffice, and with it beyond."""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from files import Array
from helr import MOST, Helr, of_digits
from helr_bootstrapped import PAIR, Bootstrapped, parameters
from palladion.cli.progress import Steps
from palladion.nn.datasets import mnist
from runs import Runs, peak, timed

TOLERANCE = 1e-3
"""Largest difference of a weight without bootstrapping."""


def trained(options: argparse.Namespace) -> bool:
    """Train on encrypted samples. Whether the weights are those of the training in doubles."""
    images, labels = mnist.load(options.data, "train")
    if options.iterations > MOST:
        return in_steps(options, of_digits(images, labels))
    circuit = Helr(images, labels, options.iterations)
    runs = Runs(circuit.circuit, options.device if options.xla else None)
    found, seconds = runs.run(circuit.inputs(), through_xla=options.xla > 0)
    print(f"{options.iterations} iterations, CPU {seconds:.2f} s; peak {peak():.2f} GB")
    plain = [w for w, _ in circuit.training.plain()][-1]
    return judged(options, runs, (circuit.weights_in(found), plain), TOLERANCE)


def in_steps(options: argparse.Namespace, samples: Array) -> bool:
    """As :func:`trained`, with a bootstrapping before each two iterations."""
    if options.iterations % PAIR:
        sys.exit(f"{options.iterations} iterations, expected an even number above {MOST}")
    training = Bootstrapped(samples, options.iterations, parameters())
    try:
        plain = training.plain()
    except ValueError as problem:
        sys.exit(str(problem))
    with timed("predicted error of a step"):
        error = training.error()
    expected = training.deviation(error, np.random.default_rng(1))
    print(f"a step adds an error of {error:.1e}, all of them differences up to {expected:.1e}")
    runs = Runs(training.circuit, options.device if options.xla else None, training.plain_inputs)
    state = training.circuit.encrypt(runs.secret, {"state": training.state(*np.zeros((2, 1)))})
    taken: list[tuple[float, float]] = []
    weights = plain[0][0]
    with Steps() as steps:
        steps.start_run()
        began = time.perf_counter()
        for step in range(training.steps):
            name = f"step {step + 1} of {training.steps}"
            steps.count(name, step, training.steps)

            def share(_: str, done: float, total: float, name: str = name, at: int = step) -> None:
                steps.count(name, at + done / total, training.steps)

            given = training.circuit.encrypt(runs.secret, training.inputs(step))
            through_xla = step < options.xla
            state, cpu, xla = runs.of_ciphertexts(
                {**given, **state}, through_xla=through_xla, progress=share
            )
            taken.append((cpu, xla))
            found = training.circuit.decrypt(runs.secret, state)["state"]
            weights, _ = training.weights_in(found)
            worst = float(np.abs(weights - plain[step][0]).max())
            steps.finish()
            words = f"{name}: CPU {cpu:.2f} s"
            words += f", through XLA {xla:.2f} s, the same bytes" if through_xla else ""
            print(
                f"{words}; weights differ by at most {worst:.1e}; peak {peak():.2f} GB", flush=True
            )
            left = (time.perf_counter() - began) / (step + 1) * (training.steps - step - 1)
            print(f"about {left:.0f} s left", file=sys.stderr)
    cpu, xla = np.array(taken).T
    print(
        f"{options.iterations} iterations, CPU {sum(cpu):.0f} s, "
        f"median of a step {np.median(cpu):.2f} s"
    )
    if runs.compared:
        xla = xla[: runs.compared]
        print(f"through XLA {sum(xla):.0f} s, median of a step {np.median(xla):.2f} s")
    return judged(options, runs, (weights, plain[-1][0]), 2 * expected)


def judged(
    options: argparse.Namespace, runs: Runs, pair: tuple[Array, Array], tolerance: float
) -> bool:
    """Compare the weights with those in doubles. Whether they differ by the tolerance at most."""
    weights, plain = pair
    test = of_digits(*mnist.load(options.data, "test"))
    worst = float(np.abs(weights - plain).max())
    accuracy = [f"{np.mean(test @ w > 0):.2%}" for w in (weights, plain)]
    print(f"right of {len(test)} test images: encrypted {accuracy[0]}, in doubles {accuracy[1]}")
    print(f"largest difference of a weight {worst:.1e}, largest weight {np.abs(plain).max():.2f}")
    print(f"{runs.compared} results through XLA have the bytes of the CPU's")
    if worst > tolerance:
        print(f"the largest difference is above {tolerance:.1e}", file=sys.stderr)
    return worst <= tolerance
