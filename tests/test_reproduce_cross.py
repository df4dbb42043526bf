"""``palladion reproduce cross``: the paper's figures, our counts, and the model beside them."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from palladion import _native, ckks
from palladion.circuit import Circuit
from palladion.cli.reproduce import WIDTH, reproduce
from palladion.errors import UsageError
from palladion.reproduce import PAPERS
from palladion.reproduce.cross import fig4, fig10b, table5, table6, table7, table8
from palladion.reproduce.cross.measured import on_cpu, profiles
from palladion.reproduce.cross.model import TPU_V4, Chip, Work
from palladion.reproduce.cross.operations import SETS, WRITTEN, Set, operation
from palladion.reproduce.cross.paper import AREAS, OPERATIONS, SPEEDUPS, TABLE_5, TABLE_7
from palladion.reproduce.cross.programs import of_examples

from tests.rings import is_prime

pytestmark = pytest.mark.long

MODULES = {
    "table5": table5,
    "table6": table6,
    "table7": table7,
    "table8": table8,
    "fig4": fig4,
    "fig10b": fig10b,
}
ARGUMENTS = {"table5": ("--set", "cross-6")}
SMALL = Set("small-insecure", 10, (6, 28), (2, 29), 2)


def run(*arguments: object) -> str:
    line = ["cross", *map(str, arguments)]
    result = CliRunner().invoke(reproduce, line, catch_exceptions=False, standalone_mode=False)
    assert result.exit_code == 0
    return result.stdout


def rows(item: str, *arguments: object) -> list[dict[str, Any]]:
    found: dict[str, Any] = json.loads(run(item, *arguments, "--json"))
    assert (found["paper"], found["item"]) == ("cross", item)
    result: list[dict[str, Any]] = found["rows"]
    return result


@pytest.mark.parametrize("name", ["cross-1", "cross-3", "cross-5"])
def test_sets_of_wider_primes_stand_in_words_of_32_bits(name: str) -> None:
    narrow = SETS[name].within(32)
    assert narrow is not None
    wide, params = SETS[name].params(), narrow.params()
    assert params.n == wide.n
    groups = [math.prod(level) for level in params.moduli]
    assert {len(level) for level in params.moduli} == {2}
    assert max(q.bit_length() for level in params.moduli for q in level) <= 32
    assert max(q.bit_length() for q in params.special) <= 32
    assert params.log_q == pytest.approx(wide.log_q, rel=0.02)
    digits = -(-len(groups) // narrow.digit_limbs)
    assert digits == -(-len(wide.moduli) // SETS[name].digit_limbs)
    if name != "cross-3":
        assert len(groups) == len(wide.moduli)
        assert len(params.special) == 2 * len(wide.special)
        bits = SETS[name].limbs[1]
        assert all(bits - 1 < math.log2(group) < bits + 1 for group in groups)
    # A digit may be a few bits above the product of the special moduli: scales have 52 and more.
    size = narrow.digit_limbs
    largest = max(math.prod(groups[i : i + size]) for i in range(0, len(groups), size))
    assert math.log2(largest) < math.log2(math.prod(params.special)) + 8


def test_set_3_has_too_few_primes_for_two_in_the_place_of_one() -> None:
    assert SETS["cross-6"].within(32) is SETS["cross-6"]
    assert SETS["cross-6"].within(20) is None
    step = 2 << SETS["cross-3"].log_n
    found = [q for q in range(step + 1, 1 << 26, step) if is_prime(q)]
    # One of two primes with a product of 52 bits has 26 bits or less.
    assert len(found) == 28 < SETS["cross-3"].limbs[0]


def test_every_item_has_its_module_and_its_notes_fit_a_terminal() -> None:
    assert PAPERS["cross"].items.keys() == MODULES.keys()
    for item, module in MODULES.items():
        columns = module.COLUMNS
        for names in ([c.name for c in columns], [c.title for c in columns]):
            assert len(set(names)) == len(names), item
        lines = run(item, *ARGUMENTS.get(item, ())).splitlines()
        assert max(map(len, lines[-3:])) <= WIDTH, item


def test_sets_are_the_papers_and_say_where_they_are_insecure() -> None:
    for name, given in SETS.items():
        assert ("insecure" in given.name) == (not given.params().security.enough), name
    six = SETS["cross-6"].params()
    assert six.log_qp == pytest.approx(1904, abs=20)
    assert [column.times for column in TABLE_5 if column.library == "CROSS"] == [
        (3.26, 1628, 216, 1128)
    ]


def key_switch(limbs: int, special: int, digits: list[int]) -> dict[str, int]:
    """Transforms and terms of a key switch, by its definition: digits are raised to all other
    limbs, and both sums are divided by the special moduli."""
    whole = limbs + special
    return {
        "ntt": sum(whole - size for size in digits) + 2 * limbs,
        "intt": limbs + 2 * special,
        "dot terms": 2 * len(digits) * whole,
    }


def test_counts_are_those_of_the_definitions() -> None:
    params = SMALL.params()
    limbs, special = SMALL.limbs[0], SMALL.special[0]
    n = 1 << SMALL.log_n
    work = {name: operation(SMALL, params, name).work for name in OPERATIONS}
    switch = key_switch(limbs, special, [2, 2, 2])
    assert work["rotation"].transforms == switch["ntt"] + switch["intt"]
    assert work["rotation"].passes["dot terms"] == switch["dot terms"]
    assert work["rescale"].transforms == 2 * (1 + limbs - 1)
    assert work["add"].transforms == 0
    assert work["add"].word_products == 0
    # Two ciphertexts in, one out, of two polynomials each.
    assert work["add"].compulsory_bytes == 3 * 2 * limbs * n * 4
    # A ciphertext and a key in, bodies and masks, and a ciphertext out.
    key = 2 * 3 * (limbs + special)
    assert work["rotation"].compulsory_bytes == (2 * 2 * limbs + key) * n * 4
    # Matrices of both roots of N for each word, and four digits of each factor.
    assert work["rescale"].transform_products == 2 * limbs * n * (32 + 32)
    terms = work["rescale"].passes["conversion terms"]
    assert work["rescale"].byte_products == 16 * n * (2 * limbs * 64 + terms)


def test_wider_primes_have_more_digits_and_longer_words() -> None:
    passes = operation(SMALL, SMALL.params(), "add").work.passes
    narrow, wide = Work(1 << 10, 28, passes), Work(1 << 10, 59, passes)
    assert (narrow.digits, wide.digits) == (4, 8)
    assert wide.compulsory_bytes == 2 * narrow.compulsory_bytes
    assert Work(1 << 11, 28, {**passes, "ntt": 1}).transform_products == 2048 * (64 + 32)


def test_the_roofline_is_the_larger_time() -> None:
    chip = Chip("one", 4.0, 2.0)
    assert chip.seconds(10, 2) == 5  # two operations for each product
    assert chip.seconds(1, 20) == 10
    (row,) = (row for row in rows("table5", "--set", "cross-6") if row["operation"] == "product")
    assert row["paper_us"] == 1628
    assert row["library"] == "CROSS, TPUv4"
    by_products = 2e9 * row["giga_byte_products"] / TPU_V4.int8_per_second
    by_bytes = 1e6 * row["unfused_megabytes"] / TPU_V4.bytes_per_second
    assert row["tpuv4_us"] == pytest.approx(1e6 * by_products)
    assert row["tpuv4_unfused_us"] == pytest.approx(1e6 * max(by_products, by_bytes))
    assert row["cpu_ms"] is None


def test_operations_are_what_they_are_called() -> None:
    """Counts in traces and times on ciphertexts are of the same operations, which compute
    the functions of their names."""
    params = SMALL.params()
    secret = ckks.keygen(params)
    keys = secret.evaluation_keys(rotations=[1])
    x, y = (secret.encrypt(values).with_keys(keys) for values in ([0.5, 0.25], [0.125, -0.5]))
    expected = {
        "add": (0.625, -0.25),
        "product": (0.0625, -0.125),
        "rescale": (0.25, 0.125),
        "rotation": (0.25, 0.0),
    }
    for name, (operands, write) in WRITTEN.items():
        found = secret.decrypt_real(write(*(x, y)[:operands]))[:2]
        assert found == pytest.approx(expected[name], abs=1e-2), name
        circuit = Circuit(params)
        circuit.output("z", write(*(circuit.input(f"x{k}") for k in range(operands))))
    times = on_cpu(params, OPERATIONS, 1)
    assert all(seconds > 0 for seconds in times.values())


def test_an_operation_runs_through_xla() -> None:
    pytest.importorskip("jax")
    from palladion.reproduce.cross.measured import through_xla

    assert through_xla(operation(SMALL, SMALL.params(), "add"), 1) > 0


def test_table_7_has_the_printed_ratios() -> None:
    of = {(row["shape"], row["source"]): row for row in rows("table7")}
    assert len(of) == 3 * len(TABLE_7)
    for (shape, times), printed in zip(TABLE_7.items(), SPEEDUPS, strict=True):
        name = " x ".join(map(str, shape))
        row, model = of[name, "printed, TPUv4"], of[name, "model, TPUv4"]
        assert (row["convolution_us"], row["bat_us"]) == times
        assert row["speedup"] == pytest.approx(times[0] / times[1])
        assert row["printed_speedup"] == printed
        products = shape[0] * shape[1] * shape[2] / 1e9
        assert row["bat_giga_products"] == pytest.approx(16 * products)
        assert row["convolution_giga_products"] == pytest.approx(28 * products)
        # No printed time of BAT is below the peak.
        assert row["used_percent"] < 100
        assert model["bat_us"] <= row["bat_us"]


def test_table_8_follows_from_the_areas() -> None:
    found = {row["element"]: row for row in rows("table8")}
    for name, (_, printed, _) in AREAS.items():
        assert found[name]["ratio"] == pytest.approx(printed, abs=0.01)
    assert max(row["net"] or 0 for row in found.values()) == pytest.approx(1.34, abs=0.005)


def test_shares_add_up() -> None:
    shares = rows("fig4")
    assert {row["set"] for row in shares} == {"cross-6-insecure", "secure", "bfv"}
    for row in shares:
        kinds = ("transforms", "basis_changes", "products", "sums")
        assert sum(row[kind] for kind in kinds) == pytest.approx(100)
        assert row["source"] == "counted"


def test_times_of_kinds_are_those_of_all_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jax")
    text = operation(SMALL, SMALL.params(), "product").text
    (profile,) = profiles(text, 1)
    known = {kernel for kernels in fig4.KINDS.values() for kernel in kernels}
    assert {name.split()[0] for name in profile} <= known
    monkeypatch.setattr(fig4, "profiles", lambda *_: [profile])
    assert sum(fig4.times(text, 1).values()) == pytest.approx(sum(profile.values()))
    assert fig4.times(text, 1)["transforms"] > 0 < fig4.times(text, 1)["basis changes"]


def test_table_6_counts_its_programs_and_measures_them(tmp_path: Path) -> None:
    """F1's programs have the counts of the traces that `palladion reproduce f1` simulates."""
    for row in rows("table6"):
        if row["program"] is None:
            assert (row["source"], row["here_ms"]) == ("printed", None)
            continue
        name = row["program"].removeprefix("f1: ")
        _, summary = _native.benchmark_trace(name, table6.BENCHMARKS[name][2])
        work = Work.of(1 << summary["log_n"], 32, summary["counts"])
        assert row["transforms"] == work.transforms
        assert row["limbs"] == summary["limbs"]
        assert row["giga_byte_products"] == pytest.approx(work.byte_products / 1e9)
    examples = Path(__file__).parent.parent / "examples"
    lola = of_examples("lola-mnist", examples)
    assert lola.seconds(1) > 0
    assert lola.work().transforms > 1000
    assert not {"files", "layers", "lola_mnist"} & set(sys.modules)
    with pytest.raises(UsageError, match=r"has no lenet\.py, expected the examples"):
        of_examples("lenet", tmp_path)


def test_figure_10b_has_its_best_batch_where_sums_stop_to_fit() -> None:
    batches = {row["batch"]: row for row in rows("fig10b")}
    assert [*batches] == [*fig10b.BATCHES]
    for row in batches.values():
        # 16 products for each of 2 x 256 products of residues of a word, two operations each.
        assert row["least_per_second"] == pytest.approx(275e12 / (2 * 16 * 512 * 65536))
        assert row["in_turn_per_second"] < row["least_per_second"]
        assert row["here_bat_per_second"] is None
    best = max(batches, key=lambda batch: batches[batch]["in_turn_per_second"])
    assert best == 64
    assert batches[64]["megabytes"] < 128 < batches[128]["megabytes"]


@pytest.mark.parametrize("kernel", fig10b.KERNELS)
def test_a_batch_of_transforms_is_measured(kernel: str) -> None:
    pytest.importorskip("jax")
    assert fig10b.measure(kernel, 256, 4, 1) > 0


def test_tables_and_plots_are_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run("table7", "--output", tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"cross-table7.{kind}" for kind in ("csv", "svg", "png")
    }


@pytest.mark.parametrize("way", table7.WAYS)
def test_a_matrix_product_is_measured_and_is_that_of_integers(way: str) -> None:
    pytest.importorskip("jax")
    assert table7.seconds((8, 16, 32), way, 1) > 0
    rng, q = np.random.default_rng(3), table7.PRIME
    extreme = np.array([0, 1, q // 2, q // 2 + 1, q - 1])
    for draw in (lambda *size: rng.integers(q, size=size), lambda *s: rng.choice(extreme, s)):
        left, right = draw(9, 300).astype(np.uint64), draw(300, 7).astype(np.uint32)
        expected = (left.astype(object) @ right.astype(object)) % q  # in Python's integers
        assert np.asarray(table7.prepare(left, right, way)()).tolist() == expected.tolist()


def test_both_ways_are_rows_when_they_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jax")
    monkeypatch.setattr(table7, "MEASURED", 1 << 24)
    measured = [
        row for row in rows("table7", "--measure", "--runs", 1) if row["source"] == "measured here"
    ]
    assert [row["shape"] for row in measured] == ["256 x 256 x 256"]
    assert measured[0]["speedup"] == measured[0]["convolution_us"] / measured[0]["bat_us"]
