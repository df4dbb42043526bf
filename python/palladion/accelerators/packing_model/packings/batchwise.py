"""BatchWise: a ciphertext has one value of every image of a batch. BatchWise+ adds kernels.

After Boemer et al., "nGraph-HE2" (WAHC 2019), as Hyena's section 7.3 has it. Nothing rotates.
"""

from __future__ import annotations

from fractions import Fraction

from palladion.accelerators.packing_model.arithmetic import ceil_div
from palladion.accelerators.packing_model.corrections import Correction, Model
from palladion.accelerators.packing_model.machine import PackingMachine
from palladion.accelerators.packing_model.packings.packing import Given, Packing, check_kernel
from palladion.accelerators.packing_model.pipelines import MULTIPLY, Pipelines, slowest
from palladion.accelerators.packing_model.work import Traffic, Work
from palladion.errors import UsageError


def work(given: Given) -> Work:
    """A product for each weight and position."""
    return packed(given, given.shape.kernels, 1)


def work_plus(given: Given) -> Work:
    """A product for each group of kernels that fits beside the batch."""
    slots, kernels = given.machine.slots, given.shape.kernels
    images = min(given.batch, slots)
    together = min(slots // images, kernels)
    return packed(given, ceil_div(kernels, together), together)


def packed(given: Given, kernels: int, together: int) -> Work:
    """The work for ``kernels`` weight polynomials of a channel, of ``together`` kernels each."""
    check_kernel(given)
    shape, machine = given.shape, given.machine
    if given.batch > machine.slots and not given.has(Correction.BATCH):
        raise UsageError(
            f"a batch of {given.batch} images, for which the published model has no time: expected "
            f"at most the {machine.slots} slots of a ciphertext, or no --published"
        )
    room = machine.cached["inputs"]
    c = min(shape.channels, max(1, room // shape.face))
    k = min(kernels, room // 2)  # ciphertexts of partial sums, in the buffer of the weights
    channel_steps, kernel_steps = ceil_div(shape.channels, c), ceil_div(kernels, k)
    channels, sums = channel_steps * c, kernel_steps * k
    if given.has(Correction.TILES):
        channels, sums = shape.channels, kernels
    outputs = given.outputs
    runs = outputs * sums * channels * shape.face
    each = shape.face if given.has(Correction.CACHES) else 1
    loaded = outputs * kernel_steps * channels * each
    ciphertext, plaintext = machine.ciphertext, machine.plaintext
    off_chip = Traffic(
        inputs=ciphertext * loaded,
        weights=plaintext * runs,
        partial_sums=2 * ciphertext * outputs * sums,
    )
    on_chip = Traffic(
        inputs=ciphertext * (loaded + runs),
        weights=2 * ciphertext * outputs * sums * (1 + channel_steps),
    )
    return Work(
        sizes={"channels": c, "kernels": together},
        multiply=runs,
        off_chip=off_chip,
        on_chip=on_chip,
        moved=Traffic(inputs=ciphertext * runs, weights=plaintext * runs),
        repeats=Fraction(ceil_div(given.batch, machine.slots)),
    )


def pipelines(machine: PackingMachine, model: Model) -> Pipelines:
    """Products alone."""
    return Pipelines(MULTIPLY, interval=slowest(machine, MULTIPLY))


BATCHWISE = Packing("batchwise", "BatchWise", "one value of every image", work, pipelines)
BATCHWISE_PLUS = Packing(
    "batchwise+", "BatchWise+", "values of several kernels for every image", work_plus, pipelines
)
