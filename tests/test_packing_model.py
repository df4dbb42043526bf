"""The analytical model of packings: the public simulator's outputs, naive loops, corrections."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from palladion import mnist_network
from palladion.accelerators.packing_model import (
    CORRECTIONS,
    NETWORKS,
    PACKINGS,
    Correction,
    Layers,
    Model,
    PackingMachine,
    Shape,
    layers_of_network,
    network_named,
    outputs_of,
    simulate,
)
from palladion.accelerators.packing_model.arithmetic import power_of_two, rotations_of_sum
from palladion.accelerators.packing_model.communication import LAN, Link
from palladion.accelerators.packing_model.packings import Given
from palladion.accelerators.packing_model.packings.c2pc import tiles_of
from palladion.accelerators.packing_model.packings.hyena import all_windows, offsets_of
from palladion.accelerators.packing_model.results import steps
from palladion.accelerators.packing_model.work import Work
from palladion.nn.integers.linear_maps import Conv

REFERENCE = json.loads(
    (Path(__file__).parent / "vectors" / "hyena_packings.json").read_text(encoding="utf-8")
)
HYENA = PackingMachine.named("hyena")
PUBLISHED, CORRECTED = Model.published(), Model.corrected()


def seconds(network: str, packing: str, model: Model, batch: int = 1) -> float:
    return simulate(network_named(network), PACKINGS[packing], HYENA, model, batch).seconds


@pytest.mark.parametrize(
    "row",
    REFERENCE["runs"],
    ids=lambda row: "-".join(str(row[key]) for key in ("network", "packing", "machine", "batch")),
)
def test_the_published_model_gives_the_public_simulators_outputs(row: dict[str, Any]) -> None:
    """The file's field ``origin`` says how they were made. Nothing in them is from this model."""
    machine = PackingMachine.named(row["machine"])
    packing = PACKINGS[row["packing"]]
    run = simulate(network_named(row["network"]), packing, machine, PUBLISHED, row["batch"])
    assert run.seconds == pytest.approx(row["seconds"], rel=1e-15)
    assert run.joules == pytest.approx(row["joules"], rel=1e-12)
    assert run.cycles == pytest.approx(row["cycles"], rel=1e-15)
    counts, caches = run.counts, run.words("on_chip")
    assert [counts["multiplications"], counts["partial_sums"], counts["inputs"]] == pytest.approx(
        [row["multiply"], row["partial_sums"], row["inputs"]], rel=1e-15
    )
    assert run.words("off_chip")["total"] == pytest.approx(row["memory"], rel=1e-15)
    kinds = ("input", "weight", "hint")
    assert [caches[f"{kind}s"] for kind in kinds] == pytest.approx(
        [row[f"{kind}_cache"] for kind in kinds], rel=1e-15
    )
    if not packing.name.endswith("+"):
        assert run.cycles == row["cycles"]  # an integer, exactly


def test_outputs_that_were_not_run_are_those_of_the_notebook() -> None:
    """GNMT's loops take hours. Outputs of cells 13 and 18 of the public simulator's notebook."""
    for packing, time, energy in (("channel", 8.40376, 194.71578), ("gala", 3.84336, 276.70724)):
        run = simulate(network_named("gnmt"), PACKINGS[packing], HYENA, PUBLISHED)
        assert (round(run.seconds, 5), round(run.joules, 5)) == (time, energy)


def test_the_first_figures_of_the_paper() -> None:
    found = simulate(network_named("resnet50"), PACKINGS["hyena"], HYENA, PUBLISHED)
    assert (found.seconds, round(found.joules, 5)) == (0.032850045, 0.24273)
    assert found.cycles == 6570009
    # Figure 3, without the dense layer: shifts and permutations.
    layers = network_named("resnet50")
    shapes = tuple(shape for shape in layers.shapes if shape.name != "FC1000")
    for packing, shifts, permutations in (
        ("lola", 0, 23978624),
        ("a+w", 9716096, 9716096),
        ("hyena", 6307884, 23773),
        ("channel", 59497344, 1647402),
    ):
        counts = simulate(Layers("", shapes), PACKINGS[packing], HYENA, PUBLISHED).counts
        assert (counts["shifts"], counts["permutations"]) == (shifts, permutations)


@pytest.mark.parametrize(
    ("network", "milliseconds"),
    [
        ("resnet50", (36.54, 48.40, 67.11)),
        ("mobilenetv2", (6.87, 6.95, 7.23)),
        ("resnet20", (0.248, 0.408, 0.546)),
    ],
)
def test_corrections_of_hyena_cost_what_is_known(
    network: str, milliseconds: tuple[float, float, float]
) -> None:
    """Known from notes on the public simulator: tiles, then offsets, then partial sums."""
    applied = {Correction.LAYERS}
    for correction, known in zip(
        (Correction.TILES, Correction.OFFSETS, Correction.PARTIAL_SUMS), milliseconds, strict=True
    ):
        applied.add(correction)
        found = 1000 * seconds(network, "hyena", Model(frozenset(applied)))
        assert found == pytest.approx(known, abs=0.005 if known > 1 else 0.0005)
    last = 1000 * seconds(network, "hyena", CORRECTED)
    assert last == pytest.approx(milliseconds[2], rel=0.003)  # strides, in MobileNetV2 alone


def some_shape(draw: random.Random, stride: int | None = None) -> Shape:
    """A shape of at most 40 rows, with a kernel that fits the image and 512 slots."""
    r = draw.choice([1, 1, 3, 3, 5, 7])
    rows, columns = draw.randint(r, 40), draw.randint(r, 40)
    step = stride or draw.choice([1, 1, 2])
    kernels, channels = draw.randint(1, 90), draw.randint(1, 90)
    return Shape("some", kernels, channels, (r, r), (rows, columns), (step, step))


def naive_hyena(shape: Shape) -> dict[str, int]:
    """The loops of the paper's algorithm 5, as the public simulator counts them, in words."""
    n, word = 512, 1024
    (y, x), (r, s) = shape.image, shape.kernel
    face = r * s
    outputs = (y - r + 1) * (x - s + 1) // shape.steps
    windows = min(outputs, (y // r) * (x // s))
    m = min(n // face, windows)
    k = 1
    while 2 * k <= min(64, shape.kernels) and 2 * k * face <= n:
        k *= 2
    c = 1
    while 2 * c <= shape.channels and 2 * c * face * max(m, k) <= n:
        c *= 2
    copies = n // (m * c * face)
    found = dict.fromkeys(("multiply", "sums", "moves", "memory", "inputs", "weights"), 0)
    found["memory"] += 2 * word * word
    for _ in range(0, windows, m):
        loaded = min(512, shape.channels // c)
        weights = min(512, shape.channels // c * shape.kernels // k)
        found["memory"] += 2 * word * loaded + word * weights
        found["inputs"] += 2 * word * loaded
        found["weights"] += word * weights
        for offset in range(min((r - 1) * (s - 1) // shape.steps + 1, outputs)):
            met = 0
            for _ in range(0, shape.kernels, k):
                for place, _ in enumerate(range(0, shape.channels, c)):
                    found["weights" if met < 512 else "memory"] += word
                    found["inputs" if place < 512 else "memory"] += 2 * word
                    found["multiply"] += -(-k // copies)
                    met += 1
                found["sums"] += face * c
                found["memory"] += 2 * word
            if offset:
                moves = len(range(0, shape.channels, c))
                found["moves"] += moves
                found["inputs"] += 2 * word * moves
    return found


def counted(work: Work) -> dict[str, int]:
    return {
        "multiply": work.multiply,
        "sums": work.partial_sums,
        "moves": work.inputs,
        "memory": work.off_chip.total,
        "inputs": work.on_chip.inputs,
        "weights": work.on_chip.weights,
    }


def test_closed_forms_are_those_of_the_loops() -> None:
    draw = random.Random(1)
    shapes = [some_shape(draw) for _ in range(60)]
    # More weights, and more channels, than the caches hold.
    shapes += [Shape("wide", 300, 900, (1, 1), (4, 4)), Shape("deep", 3, 700, (3, 3), (20, 20))]
    shapes += [Shape("dense", 10, 4000, (1, 1), (1, 1)), Shape("full", 10, 64, (8, 8), (8, 8))]
    for shape in shapes:
        work = PACKINGS["hyena"].work(Given(shape, HYENA, PUBLISHED))
        assert counted(work) == naive_hyena(shape), shape


def test_corrected_windows_and_offsets_cover_every_output() -> None:
    draw = random.Random(2)
    for shape in [some_shape(draw) for _ in range(200)]:
        given = Given(shape, HYENA, CORRECTED)
        positions = sum(
            1
            for row in range(0, shape.image[0] - shape.kernel[0] + 1, shape.stride[0])
            for _ in range(0, shape.image[1] - shape.kernel[1] + 1, shape.stride[1])
        )
        assert given.outputs == positions
        assert all_windows(given) * offsets_of(given) >= positions, shape
        work = PACKINGS["c2pc"].work(given)
        sizes = work.sizes
        tile = (sizes["rows"], sizes["columns"])
        assert tile[0] >= shape.kernel[0]
        assert tile[1] >= shape.kernel[1]
        assert tile[0] * tile[1] * sizes["channels"] * sizes["kernels"] <= HYENA.n
        each = (tile[0] - shape.kernel[0] + 1) * (tile[1] - shape.kernel[1] + 1)
        all_positions = replace(shape, stride=(1, 1)).outputs_exact
        assert tiles_of(given, tile) * each >= all_positions


def test_the_published_ones_do_not_cover() -> None:
    given = Given(Shape("3 x 3", 1, 1, (3, 3), (32, 32)), HYENA, PUBLISHED)
    assert (all_windows(given), offsets_of(given), given.outputs) == (100, 5, 900)
    dense = Given(network_named("resnet50").shapes[-1], HYENA, PUBLISHED)
    sizes = PACKINGS["c2pc"].work(dense).sizes
    assert (sizes["rows"], sizes["columns"]) == (1, 1), "for a kernel of 7 x 7"


def test_every_packing_takes_every_shape() -> None:
    draw = random.Random(3)
    for shape in [some_shape(draw) for _ in range(20)]:
        products = shape.outputs_exact * shape.kernels * shape.channels * shape.face
        for packing in PACKINGS.values():
            run = simulate(Layers("one", (shape,)), packing, HYENA, CORRECTED)
            slots = HYENA.n if packing.name == "c2pc" else HYENA.slots
            # A product of polynomials has as many slots as useful products at most; C2PC's sums
            # have a window's values in each of them.
            useful = products / (shape.face * shape.channels if packing.name == "c2pc" else 1)
            assert run.counts["multiplications"] * slots >= useful, packing.name
            assert 0 < run.seconds < 1000
            assert run.joules > 0


def test_a_tree_of_rotations_adds_up_all_slots() -> None:
    for terms in range(1, 130):
        rotations, done, whole = 0, 0, 1  # the sum of `whole` slots, and `done` slots of the result
        for bit in range(terms.bit_length()):
            if terms >> bit & 1:
                rotations += done > 0
                done += whole
            if terms >> bit > 1:
                rotations += 1
                whole *= 2
        assert (done, rotations) == (terms, rotations_of_sum(terms))
    tree = Model.corrected(log_tree=True)
    assert seconds("resnet20", "hyena", tree) < seconds("resnet20", "hyena", CORRECTED)


def test_powers_of_two_stop_at_the_first_that_does_not_fit() -> None:
    assert [power_of_two(most.__ge__) for most in (0, 1, 5, 8)] == [1, 1, 4, 8]


def test_a_batch_takes_its_time() -> None:
    for packing in ("lola", "channel", "c2pc", "a+w", "hyena", "gala"):
        one = seconds("resnet20", packing, CORRECTED)
        assert seconds("resnet20", packing, CORRECTED, 8) == pytest.approx(8 * one, rel=1e-12)
    for packing in ("batchwise", "batchwise+"):
        full = seconds("resnet20", packing, CORRECTED, 512)
        assert seconds("resnet20", packing, CORRECTED, 513) == pytest.approx(2 * full)
    # In whole runs, and never slower for fewer images.
    times = [seconds("resnet20", "hyena+", CORRECTED, batch) for batch in (1, 2, 5, 12, 60)]
    assert times == sorted(times)
    assert times[0] == seconds("resnet20", "hyena", CORRECTED)


def test_memory_bounds_time_if_asked() -> None:
    bound = Model.corrected(memory_bound=True)
    run = simulate(network_named("resnet50"), PACKINGS["hyena"], HYENA, bound)
    for layer in run.layers:
        assert layer.nanoseconds >= layer.memory_nanoseconds
    assert run.seconds > seconds("resnet50", "hyena", CORRECTED)
    words = run.words("off_chip")["total"]
    assert run.memory_seconds == pytest.approx(4 * words / 64e9)


def test_steps_end_at_the_corrected_run_and_each_changes_something() -> None:
    assert CORRECTIONS.keys() == {*Correction}
    seen = set()
    for name in ("resnet50", "mobilenetv2"):
        for packing in PACKINGS.values():
            wanted = simulate(network_named(name), packing, HYENA, CORRECTED, 9)
            found = steps(network_named(name), packing, HYENA, wanted)
            assert found[0].name == "published"
            assert found[-1].run.seconds == wanted.seconds
            assert found[-1].run.joules == wanted.joules
            seen |= {step.correction for step in found}
    assert seen >= {*Correction}, "every correction changes some packing"


def test_integer_networks_are_read() -> None:
    found = layers_of_network(mnist_network())
    assert [shape.kernels for shape in found.shapes][-1] == 10
    first = found.shapes[0]
    network = mnist_network()
    conv = network.layers[0].terms[0].linear
    assert isinstance(conv, Conv)
    assert first.kernels == network.shapes[0][0]
    assert first.outputs_exact == network.shapes[0][1] * network.shapes[0][2]
    run = simulate(found, PACKINGS["hyena"], HYENA, CORRECTED)
    assert 0 < run.seconds < 1


def test_groups_are_counted() -> None:
    whole = Shape("groups", 4, 8, (3, 3), (10, 10), count=6)
    one = simulate(Layers("one", (replace(whole, count=1),)), PACKINGS["a+w"], HYENA, CORRECTED)
    six = simulate(Layers("six", (whole,)), PACKINGS["a+w"], HYENA, CORRECTED)
    assert six.cycles == 6 * one.cycles
    assert six.joules == pytest.approx(6 * one.joules)
    assert six.layers[0].times == Fraction(6)


def test_communication_is_that_of_figure_1() -> None:
    sent = outputs_of(network_named("resnet20").shapes, HYENA)
    assert (sent.values, sent.ciphertexts, sent.sent) == (142826, 289, 289 * 8192)
    assert 1000 * LAN.seconds(sent.sent) == pytest.approx(9.47, abs=0.005)
    assert Link(10**9, 0.001).seconds(125, 2) == pytest.approx(0.002001)


def test_networks_have_the_layers_of_the_public_simulator() -> None:
    counts = {name: len(network_named(name).shapes) for name in NETWORKS}
    assert counts == {"resnet50": 66, "mobilenetv2": 56, "gnmt": 9, "resnet20": 15}
    keys = [shape.key for shape in network_named("resnet50").shapes]
    assert len(set(keys)) == 65, "one name stands twice"


def test_layers_add_up() -> None:
    run = simulate(network_named("resnet50"), PACKINGS["hyena"], HYENA, PUBLISHED)
    found = run.to_dict(layers=True)
    for key in ("seconds", "memory_seconds", "joules"):
        assert sum(layer[key] for layer in found["layers"]) == pytest.approx(found[key])
    assert sum(layer["traffic"]["total"] for layer in found["layers"]) == found["traffic"]["total"]
    parts = sum(found["joules_by_component"].values())
    assert parts == pytest.approx(found["joules"], rel=1e-12)
    first = {layer["layer"]: layer for layer in found["layers"]}["CONV1"]
    assert first["tile"] == {"windows": 10, "channels": 1, "kernels": 8, "copies": 1, "images": 1}
    counts = [first[key] for key in ("multiplications", "partial_sums", "inputs")]
    assert counts == [197760, 403760, 2781]
    assert np.isclose(first["seconds"], 3.0076e-3)
