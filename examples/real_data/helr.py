"""HELR: training of a logistic regression on the digits 3 and 8, as far as levels allow.

Images have 14 x 14 pixels, and a 1 for the bias. Nesterov's method with a sigmoid of degree 3. A
feature's values for some samples lie side by side, and a batch is several ciphertexts. An iteration
takes four levels: the product with the weights; its square, and its product with the samples; the
product of both; the mask. There is no bootstrapping.

Source: Han, Song, Cheon, Park, "Logistic Regression on Homomorphic Encrypted Data at Scale", AAAI
2019.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from files import Array
from palladion import ckks
from palladion.circuit import Circuit, Value, dot

A1, A3 = -1.20096 / 8, 0.81562 / 512
"""``sigma(-t)`` is near ``1/2 + A1 t + A3 t^3`` on [-8, 8] (section 3 of the paper)."""
SHRUNK = A3**0.5
"""Samples are sent times this, so that the square has the polynomial's factor."""
FEATURES = 256
DEPTH = 4
SCALE = 32
BATCH = 1024


def parameters(iterations: int) -> ckks.Params:
    """128-bit secure, in words of 32 bits. More iterations are refused for their security."""
    levels: list[int | Sequence[int]] = [[27, 27], *[SCALE] * (DEPTH * iterations)]
    log_n = 14 if iterations <= 2 else 15 if iterations <= 5 else 16
    special = [SCALE] * (1 if log_n < 15 else 2)
    return ckks.Params(log_n, levels, special, 2.0**SCALE, digit_limbs=len(special))


class Helr:
    """The training of some iterations on MNIST's images and labels."""

    def __init__(self, images: Array, labels: Array, iterations: int) -> None:
        self.samples = of_digits(images, labels)
        self.momenta = momenta(iterations)
        self.circuit = c = Circuit(parameters(iterations), name="helr")
        self.beside = c.slots // FEATURES
        w, v = c.input("w"), c.input("v")
        for t, momentum in enumerate(self.momenta):
            level = DEPTH * (iterations - t)
            names = [f"batch.{t}.{i}" for i in range(BATCH // self.beside)]
            w, v = self.step([c.input(name, level=level) for name in names], w, v, momentum)
        c.output("w", w)

    def step(self, batch: list[Value], w: Value, v: Value, momentum: float) -> list[Value]:
        """Weights after an iteration, and the point of the next gradient."""
        outer, inner = [], []
        for z in batch:
            x = (z * v).sum(self.beside, FEATURES)
            outer.append(x * z)
            inner.append(x * x + A1)
        total = sum(batch[1:], batch[0])
        gradient = dot([*outer, total], [*inner, 0.5 * SHRUNK]).sum(1, self.beside)
        mask = repeated_first(self.beside, self.circuit.slots) / (BATCH * A3)

        def change(factor: float) -> Value:
            return (gradient * (factor * mask)).sum(-1, self.beside)

        ahead = change(1 - momentum)
        return [change(1.0) + v, ahead + dot([v, w], [1 - momentum, momentum])]

    def batch(self, t: int) -> Array:
        """The samples of iteration ``t``."""
        start = t % (len(self.samples) // BATCH) * BATCH
        return self.samples[start : start + BATCH]

    def inputs(self) -> dict[str, Array]:
        """Weights of zero, and all batches."""
        found = {"w": np.zeros(1), "v": np.zeros(1)}
        for t in range(len(self.momenta)):
            parts = self.batch(t).reshape(-1, self.beside, self.samples.shape[1])
            for i, part in enumerate(parts):
                values = np.zeros((FEATURES, self.beside))
                values[: part.shape[1]] = SHRUNK * part.T
                found[f"batch.{t}.{i}"] = values.ravel()
        return found

    def plain(self) -> Array:
        """The weights, by the same steps in doubles."""
        w: Array = np.zeros(self.samples.shape[1])
        v = w
        for t, momentum in enumerate(self.momenta):
            z = self.batch(t)
            x = z @ v
            new = v + (0.5 + A1 * x + A3 * x**3) @ z / BATCH
            w, v = new, (1 - momentum) * new + momentum * w
        return w

    def weights_in(self, slots: Array) -> Array:
        """The weights among a result's slots."""
        found: Array = slots.real[:: self.beside][: self.samples.shape[1]]
        return found


def of_digits(images: Array, labels: Array) -> Array:
    """Means of 2 x 2 pixels and a 1, times 1 for a 3 and -1 for an 8."""
    chosen = np.isin(labels, (3, 8))
    small = images[chosen].reshape(-1, 14, 2, 14, 2).mean((2, 4)).reshape(-1, 196) / 255
    with_bias = np.hstack([small, np.ones((len(small), 1))])
    return with_bias * np.where(labels[chosen] == 3, 1.0, -1.0)[:, None]


def momenta(count: int) -> list[float]:
    """Of Nesterov's method: from 0 towards -1."""
    found, last = [], 1.0
    for _ in range(count):
        following = (1 + (1 + 4 * last * last) ** 0.5) / 2
        found.append((1 - last) / following)
        last = following
    return found


def repeated_first(count: int, slots: int) -> Array:
    """1 in the first of ``count`` slots."""
    return np.tile(np.eye(1, count).ravel(), slots // count)
