"""LoLa's network for MNIST: convolution, square, dense, square, dense.

Source: Brutzkus, Gilad-Bachrach, Elisha, "Low Latency Privacy Preserving Inference", ICML 2019.
"""

from __future__ import annotations

import numpy as np
from files import Array, weights
from layers import dense, padded, repeated
from palladion import circuit
from palladion.circuit import Circuit

BLOCK, SIDE, KERNEL = 1024, 13, 5
PLACES = SIDE * SIDE


class LolaMnist:
    """The network of `models/lola_mnist.safetensors`, with the parameters of the benchmark."""

    def __init__(self) -> None:
        self.weights = weights("lola_mnist.safetensors")
        params = circuit.benchmark("lola-mnist").params
        self.circuit = c = Circuit(params, name="lola-mnist")
        taps = self.grouped(np.repeat(self.weights["conv.weight"].T, PLACES, axis=1))
        x = circuit.dot([c.input(f"image.{i}") for i in range(len(taps))], list(taps))
        x = x.sum(BLOCK, c.slots // BLOCK)
        x = (x + repeated(np.repeat(self.weights["conv.bias"], PLACES), BLOCK, c.slots)) ** 2
        hidden = padded(self.weights["hidden.weight"], 128, BLOCK)
        x = dense(x, hidden, c.slots, 16) + repeated(self.weights["hidden.bias"], 128, c.slots)
        x = dense(x**2, padded(self.weights["last.weight"], 16, 128), c.slots, 4)
        c.output("logits", x + repeated(self.weights["last.bias"], 16, c.slots))

    def inputs(self, image: Array) -> dict[str, Array]:
        """The pixels under each tap of the kernel at all places, once for each map."""
        seen = np.tile(self.seen(image), 5)
        return {f"image.{i}": values for i, values in enumerate(self.grouped(seen))}

    def plain(self, image: Array) -> Array:
        """The logits, by the definition."""
        w = self.weights
        maps = w["conv.weight"] @ self.seen(image) + w["conv.bias"][:, None]
        hidden = w["hidden.weight"] @ maps.ravel() ** 2 + w["hidden.bias"]
        logits: Array = w["last.weight"] @ hidden**2 + w["last.bias"]
        return logits

    @staticmethod
    def seen(image: Array) -> Array:
        """The pixels under the kernel, 0 to 1, of shape (25, 169)."""
        pixels = np.pad(image.reshape(28, 28) / 255, ((1, 0), (1, 0)))
        windows = np.lib.stride_tricks.sliding_window_view(pixels, (KERNEL, KERNEL))[::2, ::2]
        return windows.reshape(PLACES, KERNEL * KERNEL).T

    def grouped(self, rows: Array) -> Array:
        """Rows as blocks, as many as fit beside each other."""
        count = self.circuit.slots // BLOCK
        blocks = padded(rows, -(-len(rows) // count) * count, BLOCK)
        return blocks.reshape(-1, count * BLOCK)
