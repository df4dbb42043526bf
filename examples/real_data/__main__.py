"""Run programs that papers measure on real data: on the CPU's kernels and through XLA.

    python examples/real_data lola-mnist --data MNIST --images 20 --xla 2
    python examples/real_data lenet --data MNIST --images 20 --xla 2
    python examples/real_data helr --data MNIST --iterations 5 --xla 1

``--data`` is the folder of MNIST's four files. Every result is compared with the network by its
definition, in doubles. Those of XLA must have the bytes of those of the CPU. Without ``--xla`` JAX
is not needed.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from files import Array
from helr import Helr, of_digits
from lenet import LeNet
from lola_mnist import LolaMnist
from palladion import ckks
from palladion.circuit import Circuit
from palladion.nn import mnist

Network = LolaMnist | LeNet
NETWORKS: dict[str, Callable[[], Network]] = {"lola-mnist": LolaMnist, "lenet": LeNet}
STRIDE = {"lola-mnist": 1, "lenet": 128}
"""Slots from one logit to the next."""


class Runs:
    """A circuit with keys, and with a plan for XLA if that is wanted."""

    def __init__(self, c: Circuit, device: str | None) -> None:
        self.circuit, self.compared = c, 0
        print(f"{c.name}: {c.params.native!r}")
        assert isinstance(c.params, ckks.Params), "these circuits are of CKKS"
        self.secret = ckks.keygen(c.params)
        with timed("keys"):
            self.keys = c.keys(self.secret)
        print(f"{len(self.keys.to_bytes()) / 1e6:.0f} MB of keys")
        self.prepared: Any = None
        if device is not None:
            from palladion import xla

            xla.enable()
            from palladion.xla.circuit import CircuitRun
            from palladion.xla.device import chosen_device

            with timed("lower and plan"):
                self.prepared = CircuitRun.of(c, c.lower(), chosen_device(device))

    def run(self, inputs: dict[str, Array], *, through_xla: bool) -> tuple[dict[str, Array], float]:
        """The decrypted results of a run on the CPU, and its seconds."""
        given = self.circuit.encrypt(self.secret, inputs)
        began = time.perf_counter()
        found = self.circuit.run(given, self.keys)
        seconds = time.perf_counter() - began
        if through_xla:
            with timed("through XLA"):
                others, report = self.prepared.run(given, self.keys)
            for name, ct in found.items():
                if others[name].to_bytes() != ct.to_bytes():
                    sys.exit(f"the result {name} through XLA has other bytes than that of the CPU")
            if not self.compared:
                memory = report["device_memory_bytes"] / 1e9
                print(
                    f"{report['waves']} waves, {report['executables']} executables, "
                    f"{memory:.2f} GB of {report['device']}"
                )
            self.compared += 1
        return self.circuit.decrypt(self.secret, found), seconds


@contextmanager
def timed(what: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    print(f"{what}: {time.perf_counter() - began:.2f} s", flush=True)


def classified(name: str, options: argparse.Namespace) -> bool:
    """Classify test images. Whether all are in the class of the network in doubles."""
    network = NETWORKS[name]()
    images, labels = mnist.load(options.data, "test")
    flat = images.reshape(len(images), -1)
    plain = np.array([network.plain(image) for image in flat[: options.plain]])
    right = int(np.sum(plain.argmax(1) == labels[: len(plain)]))
    print(f"in doubles {right} of {len(plain)} test images are right")
    runs = Runs(network.circuit, options.device if options.xla else None)
    errors = network.circuit.predict(network.inputs(flat[0]))["logits"].errors
    predicted = errors[:: STRIDE[name]][:10].max()
    alike = correct = 0
    worst, taken = 0.0, []
    for index in range(options.images):
        through_xla = index < options.xla
        found, seconds = runs.run(network.inputs(flat[index]), through_xla=through_xla)
        logits = found["logits"].real[:: STRIDE[name]][:10]
        taken.append(seconds)
        worst = max(worst, float(np.abs(logits - plain[index]).max()))
        alike += int(logits.argmax() == plain[index].argmax())
        correct += int(logits.argmax() == labels[index])
        print(f"image {index}: class {logits.argmax()}, label {labels[index]}, {seconds:.2f} s")
    print(
        f"{alike} of {options.images} images have the class of the network in doubles, {correct} "
        f"that of their label; largest difference of a logit {worst:.1e}, "
        f"deviation predicted for the first image {predicted:.1e}"
    )
    print(f"{runs.compared} results through XLA have the bytes of the CPU's")
    print(f"CPU: median {np.median(taken):.2f} s an image; peak {peak():.2f} GB")
    return bool(alike == options.images)


def trained(options: argparse.Namespace) -> bool:
    """Train on encrypted samples. Whether the weights are those of the training in doubles."""
    images, labels = mnist.load(options.data, "train")
    training = Helr(images, labels, options.iterations)
    test = of_digits(*mnist.load(options.data, "test"))
    runs = Runs(training.circuit, options.device if options.xla else None)
    found, seconds = runs.run(training.inputs(), through_xla=options.xla > 0)
    weights, plain = training.weights_in(found["w"]), training.plain()
    worst = float(np.abs(weights - plain).max())
    accuracy = [f"{np.mean(test @ w > 0):.2%}" for w in (weights, plain)]
    print(f"{options.iterations} iterations, CPU {seconds:.2f} s; peak {peak():.2f} GB")
    print(f"right of {len(test)} test images: encrypted {accuracy[0]}, in doubles {accuracy[1]}")
    print(f"largest difference of a weight {worst:.1e}, largest weight {np.abs(plain).max():.2f}")
    print(f"{runs.compared} results through XLA have the bytes of the CPU's")
    return worst < 1e-3


def peak() -> float:
    """Largest resident memory so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("name", choices=[*NETWORKS, "helr"])
    parser.add_argument("--data", type=Path, required=True, help="folder of MNIST's files")
    parser.add_argument("--images", type=int, default=20, help="images to classify")
    parser.add_argument("--plain", type=int, default=10_000, help="images to classify in doubles")
    parser.add_argument("--iterations", type=int, default=5, help="of helr")
    parser.add_argument("--xla", type=int, default=0, help="runs that go through XLA too")
    parser.add_argument("--device", choices=["cpu", "gpu", "tpu"], default="cpu")
    options = parser.parse_args()
    good = trained(options) if options.name == "helr" else classified(options.name, options)
    print("all agree" if good else "NOT all agree")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
