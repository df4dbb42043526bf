"""LoLa: a ciphertext has an image's values, a plaintext copies of one weight.

After Brutzkus, Gilad-Bachrach, Elisha, "Low Latency Privacy Preserving Inference" (ICML 2019), as
Hyena's section 4.2 has it. Each product is permuted before it joins its partial sum.
"""

from __future__ import annotations

from fractions import Fraction

from palladion.accelerators.packing_model.arithmetic import ceil_div, power_of_two
from palladion.accelerators.packing_model.corrections import Correction, Model
from palladion.accelerators.packing_model.machine import PackingMachine
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
    slowest,
)
from palladion.accelerators.packing_model.work import Traffic, Work


def tile(given: Given) -> tuple[int, int]:
    """Pixels and channels in a ciphertext: channels only if a whole image fits."""
    shape, slots = given.shape, given.machine.slots
    pixels = min(shape.pixels, slots)
    return pixels, power_of_two(lambda c: c <= shape.channels and pixels * c <= slots)


def work(given: Given) -> Work:
    """A product for each tile of the image, kernel, and weight of a tile's channels."""
    check_kernel(given)
    shape, machine = given.shape, given.machine
    pixels, c = tile(given)
    tiles, channels = ceil_div(shape.pixels, pixels), ceil_div(shape.channels, c)
    sums = tiles * shape.kernels * channels
    runs = sums * shape.face * c
    ciphertext, plaintext = machine.ciphertext, machine.plaintext
    loaded = tiles * min(machine.cached["inputs"], given.groups(shape.channels, c))
    held, missed = channels, 0
    if given.has(Correction.CACHES):
        held, missed = cached(channels, machine.cached["inputs"])
    passes = tiles * shape.kernels
    off_chip = Traffic(
        inputs=ciphertext * (loaded + passes * missed),
        weights=plaintext * runs,
        hints=machine.all_hints,
        partial_sums=ciphertext * sums,
    )
    on_chip = Traffic(
        inputs=ciphertext * (loaded + passes * held), hints=machine.all_hints + ciphertext * runs
    )
    moved = Traffic(inputs=ciphertext * sums, weights=plaintext * runs, hints=ciphertext * runs)
    return Work(
        sizes={"pixels": pixels, "channels": c},
        multiply=runs,
        off_chip=off_chip,
        on_chip=on_chip,
        moved=moved,
        repeats=Fraction(given.batch),
    )


def pipelines(machine: PackingMachine, model: Model) -> Pipelines:
    """A product, then its way to the partial sum."""
    stages = MULTIPLY + accumulation(machine)
    return Pipelines(stages, interval=slowest(machine, stages))


LOLA = Packing(
    "lola", "LoLa", "activations; a plaintext repeats one weight", work=work, pipelines=pipelines
)
