"""C2PC: values are coefficients, and a product of polynomials adds up by itself.

After Huang, Lu, Hong, Ding, "Cheetah: Lean and Fast Secure Two-Party Deep Neural Network Inference"
(USENIX Security 2022), as Hyena's section 4.4 has it. Nothing rotates. Each product needs another
weight polynomial, so memory sets the time. Strides are ignored: all positions are computed.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from palladion.accelerators.packing_model.arithmetic import ceil_div
from palladion.accelerators.packing_model.corrections import Correction, Model
from palladion.accelerators.packing_model.machine import PackingMachine
from palladion.accelerators.packing_model.packings.packing import (
    Given,
    Packing,
    cached,
    check_kernel,
)
from palladion.accelerators.packing_model.pipelines import MULTIPLY, Pipelines, all_stages
from palladion.accelerators.packing_model.work import Traffic, Work
from palladion.errors import UsageError


def work(given: Given) -> Work:
    """A product for each tile of the image, kernel, and group of channels."""
    check_kernel(given)
    shape, machine = given.shape, given.machine
    room = machine.n if given.has(Correction.COEFFICIENTS) else machine.slots
    if given.has(Correction.WINDOWS):
        rows, columns = window(given, room)
    else:
        rows, columns = published_window(given, room)
    c = min(shape.channels, room // (rows * columns))
    k = min(shape.kernels, room // (c * rows * columns))
    tiles = tiles_of(given, (rows, columns))
    channels, kernels = ceil_div(shape.channels, c), ceil_div(shape.kernels, k)
    runs = tiles * kernels * channels * k
    ciphertext, plaintext = machine.ciphertext, machine.plaintext
    loaded = tiles * min(machine.cached["inputs"], given.groups(shape.channels, c))
    held, missed = channels, 0
    if given.has(Correction.CACHES):
        held, missed = cached(channels, machine.cached["inputs"])
    hints = 0 if given.has(Correction.HINTS) else machine.all_hints
    off_chip = Traffic(
        inputs=ciphertext * (loaded + tiles * kernels * missed),
        weights=plaintext * runs,
        hints=hints,
        partial_sums=ciphertext * tiles * kernels,
    )
    on_chip = Traffic(inputs=ciphertext * (loaded + tiles * kernels * held), hints=hints)
    pairs = tiles * kernels * channels
    return Work(
        sizes={"rows": rows, "columns": columns, "channels": c, "kernels": k},
        multiply=runs,
        off_chip=off_chip,
        on_chip=on_chip,
        moved=Traffic(inputs=ciphertext * pairs, weights=plaintext * runs),
        repeats=Fraction(given.batch),
    )


def tiles_of(given: Given, tile: tuple[int, int]) -> int:
    """Tiles of the image. The published model leaves out tiles that are not whole."""
    count = 1
    exact = given.has(Correction.TILES)
    for side, kernel, size in zip(given.shape.image, given.shape.kernel, tile, strict=True):
        positions, each = side - kernel + 1, size - kernel + 1
        count *= ceil_div(positions, each) if exact else positions // each
    return count


def window(given: Given, room: int) -> tuple[int, int]:
    """The tile with the fewest input ciphertexts, each as large as the kernel at least."""
    shape = given.shape
    (height, width), (h, w) = shape.image, shape.kernel

    def ciphertexts(tile: tuple[int, int]) -> int:
        rows, columns = tile
        channels = ceil_div(shape.channels, room // (rows * columns))
        down, across = (
            ceil_div(height - h + 1, rows - h + 1),
            ceil_div(width - w + 1, columns - w + 1),
        )
        return channels * down * across

    return min(candidates(given, room), key=ciphertexts)


def published_window(given: Given, room: int) -> tuple[int, int]:
    """The published search: in floating point, with fractions of ciphertexts, from 1 x 1 on."""
    shape = given.shape
    (height, width), (h, w) = shape.image, shape.kernel
    if 2 in (h, w):
        raise UsageError(
            f"layer {shape.name} has a kernel of {h} x {w}, for which the published model divides "
            "by zero: leave out --published"
        )

    def cost(tile: tuple[int, int]) -> int:
        rows, columns = tile
        channels = ceil(shape.channels / (room / (rows * columns)))
        down, across = (height - h + 1) / (rows - h + 1), (width - w + 1) / (columns - w + 1)
        return channels * ceil(down) * ceil(across)

    best = (1, 1)
    least = cost(best)
    for tile in candidates(given, room):
        if cost(tile) < least:
            best, least = tile, cost(tile)
    return best


def candidates(given: Given, room: int) -> list[tuple[int, int]]:
    """Tiles that fit, rows first, each as large as the kernel at least."""
    (height, width), (h, w) = given.shape.image, given.shape.kernel
    return [
        (rows, columns)
        for rows in range(h, height + 1)
        for columns in range(w, min(width, room // rows) + 1)
    ]


def pipelines(machine: PackingMachine, model: Model) -> Pipelines:
    """A product, as often as memory brings its weights."""
    interval = machine.weight_interval
    if model.has(Correction.WORDS):
        nanobytes = machine.plaintext * machine.word_bytes * 10**9
        interval = max(ceil_div(nanobytes, machine.bytes_per_second), all_stages(machine, MULTIPLY))
    return Pipelines(MULTIPLY, interval=interval)


C2PC = Packing("c2pc", "C2PC", "values as coefficients", work=work, pipelines=pipelines)
