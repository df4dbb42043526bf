"""A+W: a ciphertext has an image's values, a plaintext different weights of the same channels.

Hyena's section 5.1. Weights change places before each product, and the product after it.
"""

from __future__ import annotations

from fractions import Fraction

from palladion.accelerators.packing_model.arithmetic import ceil_div, power_of_two
from palladion.accelerators.packing_model.corrections import Correction, Model
from palladion.accelerators.packing_model.machine import PackingMachine
from palladion.accelerators.packing_model.packings.lola import tile
from palladion.accelerators.packing_model.packings.packing import (
    Given,
    Packing,
    cached,
    check_kernel,
)
from palladion.accelerators.packing_model.pipelines import (
    MULTIPLY,
    Pipelines,
    accumulation,
    permutation,
    slowest,
)
from palladion.accelerators.packing_model.work import Traffic, Work


def work(given: Given) -> Work:
    """A product for each pair of polynomials and each weight of a channel."""
    check_kernel(given)
    shape, machine = given.shape, given.machine
    pixels, c = tile(given)
    k = power_of_two(lambda k: k <= shape.kernels and k * c * shape.face <= machine.slots)
    tiles = ceil_div(shape.pixels, pixels)
    channels, kernels = ceil_div(shape.channels, c), ceil_div(shape.kernels, k)
    pairs = tiles * kernels * channels
    runs = pairs * shape.face * k
    ciphertext, plaintext = machine.ciphertext, machine.plaintext
    loaded = tiles * min(machine.cached["inputs"], given.groups(shape.channels, c))
    weights = tiles * min(machine.cached["weights"], weight_groups(given, c, k))
    inputs_held, inputs_missed = cached(channels, machine.cached["inputs"])
    weights_held, weights_missed = cached(kernels * channels, machine.cached["weights"])
    hints = runs if given.has(Correction.HINTS) else 1
    off_chip = Traffic(
        inputs=ciphertext * (loaded + tiles * kernels * inputs_missed),
        weights=plaintext * (weights + tiles * weights_missed),
        hints=machine.all_hints,
        partial_sums=ciphertext * tiles * kernels,
    )
    on_chip = Traffic(
        inputs=ciphertext * (loaded + tiles * kernels * inputs_held),
        weights=plaintext * (weights + tiles * weights_held),
        hints=machine.all_hints + ciphertext * hints,
    )
    moved = Traffic(inputs=ciphertext * pairs, weights=plaintext * pairs, hints=ciphertext * runs)
    return Work(
        sizes={"pixels": pixels, "channels": c, "kernels": k},
        multiply=runs,
        off_chip=off_chip,
        on_chip=on_chip,
        moved=moved,
        repeats=Fraction(given.batch),
    )


def weight_groups(given: Given, c: int, k: int) -> int:
    """Weight polynomials of all channels and kernels, as far as they are loaded at the start."""
    shape = given.shape
    if given.has(Correction.TILES):
        return ceil_div(shape.channels, c) * ceil_div(shape.kernels, k)
    return shape.channels // c * shape.kernels // k


def pipelines(machine: PackingMachine, model: Model) -> Pipelines:
    """Weights change places, a product, then its way to the partial sum."""
    stages = permutation(machine, "weights") + MULTIPLY + accumulation(machine)
    return Pipelines(stages, interval=slowest(machine, stages))


ACTIVATIONS_WEIGHTS = Packing(
    "a+w", "A+W", "activations and weights, in any order", work=work, pipelines=pipelines
)
