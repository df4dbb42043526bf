"""HELR: training of a logistic regression on the digits 3 and 8, as far as levels allow.

Images have 14 x 14 pixels, and a 1 for the bias. Nesterov's method with a sigmoid of degree 3. A
feature's values for some samples lie side by side, and a batch is several ciphertexts. An iteration
takes four levels: the product with the weights; its square, and its product with the samples; the
product of both; the mask. There is no bootstrapping here: `helr_bootstrapped.py` has it.

Source: Han, Song, Cheon, Park, "Logistic Regression on Homomorphic Encrypted Data at Scale", AAAI
2019.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from files import Array
from palladion import ckks
from palladion.circuit import Circuit, Value, dot

A1, A3 = -1.20096 / 8, 0.81562 / 512
"""``sigma(-t)`` is near ``1/2 + A1 t + A3 t^3`` on [-8, 8] (section 3 of the paper)."""
FEATURES = 256
DEPTH = 4
SCALE = 32
BATCH = 1024
GAIN = 16
"""Weights are held times this. A rescale's noise has one size: larger values have less of it."""
MASK = 1 / 64
"""Entries of the mask of the sum over samples. The factor of the samples follows from it."""
MOST = 12
"""Iterations for which there are 128-bit secure parameters without bootstrapping."""


def parameters(iterations: int) -> ckks.Params:
    """128-bit secure, in words of 32 bits. More than `MOST` iterations are refused for their
    security."""
    levels: list[int | Sequence[int]] = [[27, 27], *[SCALE] * (DEPTH * iterations)]
    log_n = 14 if iterations <= 2 else 15 if iterations <= 5 else 16
    special = [SCALE] * (1 if log_n < 15 else 2)
    return ckks.Params(log_n, levels, special, 2.0**SCALE, digit_limbs=len(special))


@dataclass(frozen=True)
class Training:
    """Samples in batches, the momentum of each iteration, and how both lie in slots."""

    samples: Array
    """Times their labels: rows of 14 x 14 features and the bias."""
    momenta: list[float]
    slots: int
    size: int = BATCH
    """Samples of a batch."""

    @property
    def beside(self) -> int:
        """Samples of a ciphertext."""
        return self.slots // FEATURES

    @property
    def parts(self) -> int:
        """Ciphertexts of a batch."""
        return self.size // self.beside

    @property
    def shrunk(self) -> float:
        """Samples are sent times this, and products with weights are times ``shrunk * GAIN``."""
        return float((A3 / (self.size * GAIN**2 * MASK)) ** 0.25)

    def batch(self, t: int) -> Array:
        """The samples of iteration ``t``."""
        start = t % (len(self.samples) // self.size) * self.size
        return self.samples[start : start + self.size]

    def packed(self, t: int) -> list[Array]:
        """The slots of each ciphertext of iteration ``t``."""
        found = []
        for part in self.batch(t).reshape(self.parts, self.beside, -1):
            values = np.zeros((FEATURES, self.beside))
            values[: part.shape[1]] = self.shrunk * part.T
            found.append(values.ravel())
        return found

    @property
    def mask(self) -> Array:
        """`MASK` in the first slot of each feature."""
        return np.tile(np.eye(1, self.beside).ravel() * MASK, FEATURES)

    def step(
        self, batch: list[Value], w: Value, v: Value, momentum: Value | float, ahead: Value | Array
    ) -> list[Value]:
        """Weights after an iteration, and the point of the next gradient.

        ``ahead`` is the mask times 1 minus the momentum. With samples times ``c`` and products
        ``x`` times ``a``, the sum over samples is the gradient times ``a^3 c / A3``.
        """
        c = self.shrunk
        a = c * GAIN
        outer, inner = [], []
        for z in batch:
            x = (z * v).sum(self.beside, FEATURES)
            outer.append(x * z)
            inner.append(x * x + A1 * a**2 / A3)
        total = sum(batch[1:], batch[0])
        gradient = dot([*outer, total], [*inner, 0.5 * a**3 / A3]).sum(1, self.beside)

        def change(mask: Value | Array) -> Value:
            return (gradient * mask).sum(-1, self.beside)

        onward = dot([v, w], [1 - momentum, momentum])
        return [change(self.mask) + v, change(ahead) + onward]

    def after(self, t: int, w: Array, v: Array) -> tuple[Array, Array]:
        """Weights and the point of the next gradient after iteration ``t``, in doubles."""
        z = self.batch(t)
        x = z @ v
        new = v + (0.5 + A1 * x + A3 * x**3) @ z / self.size
        return new, (1 - self.momenta[t]) * new + self.momenta[t] * w

    def plain(self) -> Iterator[tuple[Array, Array]]:
        """Weights and the next point after each iteration, from weights of zero, in doubles."""
        w, v = np.zeros((2, self.samples.shape[1]))
        for t in range(len(self.momenta)):
            w, v = self.after(t, w, v)
            yield w, v

    def weights_in(self, slots: Array) -> Array:
        """The weights among a result's slots: the mean of the copies beside all samples."""
        copies = slots.real.reshape(FEATURES, self.beside) / GAIN
        found: Array = copies.mean(1)[: self.samples.shape[1]]
        return found


class Helr:
    """The training of some iterations on MNIST's images and labels, as one circuit."""

    def __init__(self, images: Array, labels: Array, iterations: int) -> None:
        self.circuit = c = Circuit(parameters(iterations), name="helr")
        samples = of_digits(images, labels)
        self.training = Training(samples, momenta(iterations), c.slots)
        w, v = c.input("w"), c.input("v")
        for t, momentum in enumerate(self.training.momenta):
            level = DEPTH * (iterations - t)
            names = [f"batch.{t}.{i}" for i in range(self.training.parts)]
            batch = [c.input(name, level=level) for name in names]
            ahead = (1 - momentum) * self.training.mask
            w, v = self.training.step(batch, w, v, momentum, ahead)
        c.output("w", w)

    def inputs(self) -> dict[str, Array]:
        """Weights of zero, and all batches."""
        found = {"w": np.zeros(1), "v": np.zeros(1)}
        for t in range(len(self.training.momenta)):
            for i, slots in enumerate(self.training.packed(t)):
                found[f"batch.{t}.{i}"] = slots
        return found

    def weights_in(self, found: dict[str, Array]) -> Array:
        """The weights among the decrypted results."""
        return self.training.weights_in(found["w"])


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
