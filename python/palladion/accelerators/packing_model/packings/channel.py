"""Channel packing, and Gala, which adds up before it rotates.

Channel packing is that of Juvekar, Vaikuntanathan, Chandrakasan, "Gazelle" (USENIX Security 2018),
and Gala that of Zhang, Xin, Wu (arXiv 2105.01827), as Hyena's sections 4.3 and 7.2 have them. A
ciphertext has windows of ``c`` channels for ``c`` kernels. Products, rotations of partial sums and
rotations of inputs follow each other: their times add up, to cycles of one nanosecond.
"""

from __future__ import annotations

from dataclasses import replace
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
    SWITCH_INPUTS,
    SWITCH_SUMS,
    Pipelines,
    permutation,
    permutation_of_inputs,
    slowest,
)
from palladion.accelerators.packing_model.work import Traffic, Work


def tiles(given: Given) -> tuple[int, int, int]:
    """Channels and windows in a ciphertext, and tiles of windows."""
    check_kernel(given)
    shape, slots = given.shape, given.machine.slots
    most = min(shape.channels, shape.kernels)
    c = power_of_two(lambda c: c <= most and shape.face * c * c <= slots)
    windows = slots // (shape.face * c * c)
    return c, windows, ceil_div(given.outputs, windows)


def channel_work(given: Given) -> Work:
    """Each group of channels adds to the sums of all kernels, which rotate each time."""
    shape, machine = given.shape, given.machine
    c, windows, count = tiles(given)
    channels, kernels = ceil_div(shape.channels, c), ceil_div(shape.kernels, c)
    pairs = count * channels * kernels
    sums = pairs * c
    runs = sums * shape.face
    rotated = count * channels * shape.face
    held, missed = cached(shape.face, machine.cached["inputs"])
    reads = count * channels * (1 + kernels * c)
    ciphertext, plaintext = machine.ciphertext, machine.plaintext
    off_chip = Traffic(
        inputs=ciphertext * (count * channels + reads * missed),
        weights=plaintext * runs,
        hints=machine.all_hints,
        partial_sums=ciphertext * pairs,
    )
    on_chip = Traffic(
        inputs=ciphertext * reads * held, hints=machine.all_hints + ciphertext * (sums + rotated)
    )
    moved = Traffic(
        inputs=ciphertext * (count * channels + runs),
        weights=plaintext * runs,
        hints=ciphertext * (sums + rotated),
    )
    return Work(
        sizes={"channels": c, "windows": windows},
        multiply=runs,
        partial_sums=sums,
        inputs=rotated,
        off_chip=off_chip,
        on_chip=on_chip,
        moved=moved,
        repeats=Fraction(given.batch),
    )


def gala_work(given: Given) -> Work:
    """All channels add to a sum before it rotates, so all rotated inputs are needed at once."""
    shape, machine = given.shape, given.machine
    c, windows, count = tiles(given)
    channels, kernels = ceil_div(shape.channels, c), ceil_div(shape.kernels, c)
    sums = count * kernels * c
    terms = ceil_div(shape.face * shape.channels, c)
    rotated = shape.face * channels
    room = machine.cached["inputs"]
    stored, spilled = cached(rotated, room)
    # The published model compares a term's first weight, not its number, with the room.
    held = min(terms, room if given.has(Correction.CACHES) else ceil_div(room, c))
    ciphertext, plaintext = machine.ciphertext, machine.plaintext
    off_chip = Traffic(
        inputs=ciphertext * (count * (channels + spilled) + sums * (terms - held)),
        weights=plaintext * sums * terms,
        hints=machine.all_hints,
        partial_sums=ciphertext * sums,
    )
    on_chip = Traffic(
        inputs=ciphertext * (count * stored + sums * held),
        hints=machine.all_hints + ciphertext * (sums + count * rotated),
    )
    moved = Traffic(
        inputs=ciphertext * (count * channels + sums * terms),
        weights=plaintext * sums * terms,
        hints=ciphertext * (count * rotated + sums),
    )
    return Work(
        sizes={"channels": c, "windows": windows},
        multiply=sums * terms,
        partial_sums=sums,
        inputs=count * rotated,
        off_chip=off_chip,
        on_chip=on_chip,
        moved=moved,
        repeats=Fraction(given.batch),
    )


def gala_pipelines(machine: PackingMachine, model: Model) -> Pipelines:
    """Products; rotations of sums; on Hyena's machine inputs are permuted as coefficients."""
    sums = permutation(machine, "partial_sums") + SWITCH_SUMS
    if machine.rotation != "benes":
        inputs = permutation(machine, "inputs") + SWITCH_INPUTS
        return Pipelines(MULTIPLY, sums, inputs, input_time=slowest(machine, inputs))
    inputs = permutation_of_inputs(machine, model)
    # The published model takes the time of F1's permutation here, and the energy of this one.
    network = permutation(replace(machine, rotation="transposing"), "inputs")
    timed = inputs if model.has(Correction.ROTATION) else network + SWITCH_INPUTS
    return Pipelines(MULTIPLY, sums, inputs, input_time=slowest(machine, timed))


def channel_pipelines(machine: PackingMachine, model: Model) -> Pipelines:
    """As Gala's; sums pass a crossbar's shift in place of the Benes network, at its cost."""
    found = gala_pipelines(machine, model)
    if machine.rotation != "benes":
        return replace(found, running=model.has(Correction.ROTATION))
    timed = tuple(stage for stage in found.inputs if stage[0] != "transpose")
    sums = (("shift", "partial_sums"), *SWITCH_SUMS)
    return replace(found, partial_sums=sums, input_time=slowest(machine, timed))


CHANNEL = Packing(
    "channel",
    "Ch",
    "windows of channels and kernels",
    work=channel_work,
    pipelines=channel_pipelines,
)
GALA = Packing(
    "gala",
    "Gala",
    "as Ch; sums rotate after all channels",
    work=gala_work,
    pipelines=gala_pipelines,
)
