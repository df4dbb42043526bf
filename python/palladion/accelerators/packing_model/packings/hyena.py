"""Hyena, and Hyena+, which packs images of a batch too.

Hyena's sections 5.2, 5.3 and 7.3. A ciphertext has windows that do not overlap, a plaintext kernels
of the same channels, both in an order in which one rotation of the weights meets the next kernel.
The slots of a sum are added up only after all channels. An outer loop moves the windows by one.
"""

from __future__ import annotations

from fractions import Fraction

from palladion.accelerators.packing_model.arithmetic import ceil_div, power_of_two, rotations_of_sum
from palladion.accelerators.packing_model.corrections import Correction, Model
from palladion.accelerators.packing_model.machine import PackingMachine
from palladion.accelerators.packing_model.packings.activations_weights import weight_groups
from palladion.accelerators.packing_model.packings.packing import (
    Given,
    Packing,
    cached,
    check_kernel,
)
from palladion.accelerators.packing_model.pipelines import (
    MULTIPLY,
    SWITCH_SUMS,
    Pipelines,
    permutation,
    permutation_of_inputs,
    slowest,
)
from palladion.accelerators.packing_model.work import Traffic, Work


def work(given: Given) -> Work:
    """Images of a batch one after the other."""
    return packed(given, images=1)


def work_plus(given: Given) -> Work:
    """As many images in a ciphertext as fit beside the windows."""
    shape, slots = given.shape, given.machine.slots
    check_kernel(given)
    each = shape.face * windows_of(given)
    return packed(given, images=max(1, min(given.batch, slots // each)))


def windows_of(given: Given) -> int:
    """Windows of an image in a ciphertext."""
    return min(given.machine.slots // given.shape.face, all_windows(given))


def all_windows(given: Given) -> int:
    """Windows that do not overlap."""
    exact = given.has(Correction.TILES)
    return given.shape.windows_exact if exact else given.shape.windows


def offsets_of(given: Given) -> int:
    """How many sets of windows that do not overlap have all windows."""
    shape = given.shape
    if given.has(Correction.OFFSETS):
        needed = ceil_div(given.outputs, all_windows(given)) if given.has(Correction.STRIDES) else 1
        return min(max(shape.face // shape.steps, needed), given.outputs)
    rows, columns = shape.kernel
    return min((rows - 1) * (columns - 1) // shape.steps + 1, given.outputs)


def packed(given: Given, images: int) -> Work:
    """The work for ``images`` images in a ciphertext."""
    check_kernel(given)
    shape, machine = given.shape, given.machine
    face, slots = shape.face, machine.slots
    m, windows = windows_of(given), all_windows(given)
    beside = images if given.has(Correction.BATCH) else 1
    most = min(machine.partial_sums, shape.kernels)
    k = power_of_two(lambda k: k <= most and face * k * beside <= slots)
    wider = max(k, m) * images
    c = power_of_two(lambda c: c <= shape.channels and face * c * wider <= slots)
    copies = slots // (m * c * face * images)
    tiles, offsets = ceil_div(windows, m), offsets_of(given)
    channels, kernels = ceil_div(shape.channels, c), ceil_div(shape.kernels, k)
    polynomials = ceil_div(k, copies)
    groups = tiles * offsets * kernels
    runs = groups * channels * polynomials
    summed = polynomials if given.has(Correction.PARTIAL_SUMS) else 1
    terms = face * c
    sums = groups * summed * (rotations_of_sum(terms) if given.model.log_tree else terms)
    moves = tiles * (offsets - 1) * channels
    off_chip, on_chip = passed(given, (c, k), tiles, offsets)
    hints = machine.ciphertext * (sums + moves)
    return Work(
        sizes={"windows": m, "channels": c, "kernels": k, "copies": copies, "images": images},
        multiply=runs,
        partial_sums=sums,
        inputs=moves,
        off_chip=off_chip + Traffic(partial_sums=machine.ciphertext * groups),
        on_chip=on_chip + Traffic(hints=hints),
        moved=Traffic(
            inputs=machine.ciphertext * groups * channels,
            weights=machine.plaintext * groups * channels,
            hints=hints,
        ),
        repeats=repeats(given, images),
    )


def passed(
    given: Given, tile: tuple[int, int], tiles: int, offsets: int
) -> tuple[Traffic, Traffic]:
    """The words that memory and caches pass without partial sums and the hints of rotations.

    ``tile`` is channels and kernels in a polynomial.
    """
    shape, machine = given.shape, given.machine
    c, k = tile
    channels, kernels = ceil_div(shape.channels, c), ceil_div(shape.kernels, k)
    inputs = tiles * min(machine.cached["inputs"], given.groups(shape.channels, c))
    weights = tiles * min(machine.cached["weights"], weight_groups(given, c, k))
    inputs_held, inputs_missed = cached(channels, machine.cached["inputs"])
    weights_held, weights_missed = cached(kernels * channels, machine.cached["weights"])
    passes = tiles * offsets
    moves = tiles * (offsets - 1) * channels
    ciphertext, plaintext = machine.ciphertext, machine.plaintext
    off_chip = Traffic(
        inputs=ciphertext * (inputs + passes * kernels * inputs_missed),
        weights=plaintext * (weights + passes * weights_missed),
        hints=machine.all_hints,
    )
    on_chip = Traffic(
        inputs=ciphertext * (inputs + passes * kernels * inputs_held + moves),
        weights=plaintext * (weights + passes * weights_held),
        hints=machine.all_hints,
    )
    return off_chip, on_chip


def repeats(given: Given, images: int) -> Fraction:
    """How often the batch takes the work of ``images`` images."""
    if given.has(Correction.BATCH):
        return Fraction(ceil_div(given.batch, images))
    return Fraction(given.batch, images)


def pipelines(machine: PackingMachine, model: Model) -> Pipelines:
    """Weights rotate and meet inputs; sums rotate; windows move beside both, in no time."""
    stages = permutation(machine, "weights") + MULTIPLY
    sums = permutation(machine, "partial_sums") + SWITCH_SUMS
    inputs = permutation_of_inputs(machine, model)
    return Pipelines(stages, sums, inputs, interval=slowest(machine, stages))


HYENA = Packing("hyena", "Hyena", "windows and kernels in one order", work, pipelines)
HYENA_PLUS = Packing("hyena+", "Hyena+", "as Hyena; images of a batch too", work_plus, pipelines)
