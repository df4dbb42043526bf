"""LeNet-5 with squares for ReLU and averages for maxima, of one ciphertext.

The image of 28 x 28 pixels has a border of two zeros, so it is 32 x 32, and 1,024 slots hold it. A
value of map ``m`` at row ``y`` and column ``x`` is in slot ``1024 m + 32 y + x``. Averages leave
their results two slots apart in both directions, later four, and nothing is moved together.

- The first convolution is a sum of 25 products of rotated images, which repeat for the eight maps.
- The sum of 2 x 2 values is two rotations. The quarter is in the next weights.
- The second convolution: for each of eight differences of an output map's number and an input
  map's, 25 products of rotated inputs, and a rotation by maps. Output maps 8 to 15 are a second
  such sum. It is moved by one slot, between the values of the first.
- Dense layers: 128 diagonals for the first. Its result repeats after 128 slots, so the second is
  one product for 64 rows, each a sum of 128 slots. The third takes one slot in 128.

Nine levels: one for each linear layer and each square.
"""

from __future__ import annotations

import numpy as np
from files import Array, weights
from layers import dense, padded, repeated
from palladion import ckks
from palladion.circuit import Circuit, Value, dot

BLOCK, WIDTH, KERNEL, MAPS = 1024, 32, 5, 8
LEVELS = 9
SCALE = 32
TAPS = [(dy, dx) for dy in range(KERNEL) for dx in range(KERNEL)]


def parameters() -> ckks.Params:
    """128-bit secure, in words of 32 bits."""
    return ckks.Params(14, [[27, 27], *[SCALE] * LEVELS], [SCALE], 2.0**SCALE, digit_limbs=1)


class LeNet:
    """The network of `models/lenet5_square.safetensors`."""

    def __init__(self) -> None:
        self.weights = weights("lenet5_square.safetensors")
        self.circuit = c = Circuit(parameters(), name="lenet5-square")
        x = self.first(c.input("image")) ** 2
        x = pooled(x, 1)
        x = self.second(x) ** 2
        x = pooled(x, 2)
        x = dense(x, self.flat(), c.slots, 16)
        x = (x + repeated(self.weights["fc1.bias"], 128, c.slots)) ** 2
        c.output("logits", self.last(*(y**2 for y in self.rows(x))))

    def inputs(self, image: Array) -> dict[str, Array]:
        """The image with its border, once for each map."""
        return {"image": np.tile(bordered(image).ravel(), MAPS)}

    def plain(self, image: Array) -> Array:
        """The logits, by the definition."""
        w, x = self.weights, bordered(image)[None]
        for name, shape in (("conv1", (6, 1, 5, 5)), ("conv2", (16, 6, 5, 5))):
            seen = np.lib.stride_tricks.sliding_window_view(x, (KERNEL, KERNEL), axis=(1, 2))
            x = np.einsum("iyxab,oiab->oyx", seen, w[f"{name}.weight"].reshape(shape))
            x = (x + w[f"{name}.bias"][:, None, None]) ** 2
            maps, side, _ = x.shape
            x = x.reshape(maps, side // 2, 2, side // 2, 2).mean((2, 4))
        x = x.ravel()
        for name in ("fc1", "fc2"):
            x = (w[f"{name}.weight"] @ x + w[f"{name}.bias"]) ** 2
        logits: Array = w["fc3.weight"] @ x + w["fc3.bias"]
        return logits

    def first(self, image: Value) -> Value:
        """The first convolution. Maps 6 and 7, and places from 28 on, are zero."""
        kernels = self.weights["conv1.weight"].reshape(6, KERNEL, KERNEL)
        inside = on_grid(28, 1)
        seen = [image.rotate(WIDTH * dy + dx) if dy or dx else image for dy, dx in TAPS]
        factors = [over_maps(kernels[:, dy, dx], inside) for dy, dx in TAPS]
        return dot(seen, factors) + over_maps(self.weights["conv1.bias"], inside)

    def second(self, x: Value) -> Value:
        """The second convolution, with maps 8 to 15 one slot to the right."""
        kernels = np.zeros((2 * MAPS, MAPS, KERNEL, KERNEL))
        kernels[:, :6] = self.weights["conv2.weight"].reshape(16, 6, KERNEL, KERNEL) / 4
        inside, bias = on_grid(10, 2), self.weights["conv2.bias"]
        seen = [x.rotate(2 * (WIDTH * dy + dx)) if dy or dx else x for dy, dx in TAPS]
        halves = []
        for half in (slice(0, MAPS), slice(MAPS, 2 * MAPS)):
            total: Value | None = None
            for turn in range(MAPS):
                # Output map m - turn from input map m, which a rotation by maps brings home.
                own = kernels[half][(np.arange(MAPS) - turn) % MAPS, np.arange(MAPS)]
                part = dot(seen, [over_maps(own[:, dy, dx], inside) for dy, dx in TAPS])
                part = part.rotate(BLOCK * turn) if turn else part
                total = part if total is None else total + part
            assert total is not None
            halves.append(total + over_maps(bias[half], inside))
        return halves[0] + halves[1].rotate(-1)

    def flat(self) -> Array:
        """The first dense layer as a matrix over all slots."""
        matrix = np.zeros((128, MAPS * BLOCK))
        given = self.weights["fc1.weight"].reshape(120, 2, MAPS, KERNEL, KERNEL) / 4
        for (half, m, y, x), column in np.ndenumerate(np.empty(given.shape[1:])):
            del column
            matrix[:120, BLOCK * m + 4 * (WIDTH * y + x) + half] = given[:, half, m, y, x]
        return matrix

    def rows(self, x: Value) -> list[Value]:
        """The second dense layer: row ``k`` in slot ``128 k``, 64 rows to a value."""
        matrix, slots = padded(self.weights["fc2.weight"], 128, 128), self.circuit.slots
        found = []
        for start in range(0, 128, slots // 128):
            some = slice(start, start + slots // 128)
            bias = np.zeros((slots // 128, 128))
            bias[: len(self.weights["fc2.bias"][some]), 0] = self.weights["fc2.bias"][some]
            found.append((x * matrix[some].ravel()).sum(1, 128) + bias.ravel())
        return found

    def last(self, *halves: Value) -> Value:
        """The third dense layer: class ``r`` in slot ``128 r``."""
        matrix = padded(self.weights["fc3.weight"], 16, 128)
        slots, total = self.circuit.slots, None
        count = slots // 128
        k = np.arange(count)
        for index, x in enumerate(halves):
            own = matrix[:, index * count : (index + 1) * count]
            part = None
            steps = [x.rotate(128 * b) if b else x for b in range(4)]
            for giant in range(0, 16, 4):
                diagonals = []
                for b in range(4):
                    diagonal = np.zeros((count, 128))
                    diagonal[:, 0] = np.roll(own[k % 16, (k + giant + b) % count], giant)
                    diagonals.append(diagonal.ravel())
                term = dot(steps, diagonals)
                term = term.rotate(128 * giant) if giant else term
                part = term if part is None else part + term
            assert part is not None
            total = part if total is None else total + part
        assert total is not None
        bias = np.zeros((count, 128))
        bias[:10, 0] = self.weights["fc3.bias"]
        return total.sum(16 * 128, count // 16) + bias.ravel()


def bordered(image: Array) -> Array:
    """Pixels of 0 to 1, with two zeros on each side."""
    return np.pad(image.reshape(28, 28) / 255, 2)


def on_grid(side: int, step: int) -> Array:
    """1 in the slots of a map that hold a value, of ``side`` rows and columns ``step`` apart."""
    found = np.zeros((WIDTH, WIDTH))
    found[: side * step : step, : side * step : step] = 1
    return found.ravel()


def over_maps(values: Array, inside: Array) -> Array:
    """A value for each map, in the slots that are inside."""
    return np.outer(np.pad(values, (0, MAPS - len(values))), inside).ravel()


def pooled(x: Value, step: int) -> Value:
    """Sums of 2 x 2 values that are ``step`` slots apart."""
    x = x + x.rotate(step)
    return x + x.rotate(WIDTH * step)
