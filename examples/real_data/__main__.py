"""Run programs that papers measure on real data: on the CPU's kernels and through XLA.

    python examples/real_data lola-mnist --data MNIST --images 20 --xla 2
    python examples/real_data lenet --data MNIST --images 20 --xla 2
    python examples/real_data helr --data MNIST --iterations 5 --xla 1
    python examples/real_data helr --data MNIST --iterations 32 --xla 16

``--data`` is the folder of MNIST's four files. Every result is compared with the network by its
definition, in doubles. Those of XLA must have the bytes of those of the CPU. Without ``--xla`` JAX
is not needed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from lenet import LeNet
from lola_mnist import LolaMnist
from palladion.nn.datasets import mnist
from runs import Runs, peak
from training import trained

Network = LolaMnist | LeNet
NETWORKS: dict[str, Callable[[], Network]] = {"lola-mnist": LolaMnist, "lenet": LeNet}
STRIDE = {"lola-mnist": 1, "lenet": 128}
"""Slots from one logit to the next."""


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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("name", choices=[*NETWORKS, "helr"])
    parser.add_argument("--data", type=Path, required=True, help="folder of MNIST's files")
    parser.add_argument("--images", type=int, default=20, help="images to classify")
    parser.add_argument("--plain", type=int, default=10_000, help="images to classify in doubles")
    parser.add_argument(
        "--iterations",
        type=int,
        default=5,
        help="of helr; above 12, with bootstrapping before each two",
    )
    parser.add_argument(
        "--xla",
        type=int,
        default=0,
        help="runs, or steps of two iterations, that go through XLA too",
    )
    parser.add_argument("--device", choices=["cpu", "gpu", "tpu"], default="cpu")
    options = parser.parse_args()
    good = trained(options) if options.name == "helr" else classified(options.name, options)
    print("all agree" if good else "NOT all agree")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
