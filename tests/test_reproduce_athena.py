"""``palladion reproduce athena``: items that simulate the paper's accelerator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from palladion import IntNetwork
from palladion.cli.reproduce import reproduce
from palladion.errors import UsageError
from palladion.reproduce.athena import fig1, loop, table8

pytestmark = pytest.mark.long

MODELS = Path(__file__).parent.parent / "models"


def run(*arguments: object) -> Any:
    """The rows of an item, by ``--json``."""
    line = ["athena", *map(str, arguments), "--json"]
    found = CliRunner().invoke(reproduce, line, catch_exceptions=False, standalone_mode=False)
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


def test_sums_of_a_table_take_the_published_time() -> None:
    # ResNet-20 and ResNet-56 have 19 and 55 ReLUs, a table each (table 6 and section 5.2.2).
    for milliseconds, tables in ((65.5, 19), (198.7, 55)):
        assert milliseconds * loop.NON_LINEAR_SHARE / loop.TABLE_MS == pytest.approx(
            tables, rel=0.06
        )
    assert loop.Table().products == 511
    # 16 entries: 4 baby steps, 4 giant steps.
    assert loop.Table(16).products == 7
    assert loop.Table(16).sums_ms == pytest.approx(loop.TABLE_MS / 4096)


def test_printed_parts_add_up() -> None:
    assert sum(area for area, _, _ in table8.PARTS.values()) == pytest.approx(116.43)
    assert sum(watts for _, watts, _ in table8.PARTS.values()) == pytest.approx(148.14)


def test_table_6_of_a_small_network() -> None:
    found = run("table6", "--benchmark", "MNIST", "--precision", "w6a7", "--models", MODELS)
    (row,) = found["rows"]
    assert row["paper_ms"] == 7.3
    assert row["tables"] == 2
    assert row["bound_ms"] <= row["simulated_ms"]
    assert row["ratio"] == pytest.approx(row["simulated_ms"] / 7.3)
    # Full tables, and those of the network's own bounds: sums go with the entries.
    layers = IntNetwork.load(MODELS / "mnist_w6a7.json").layers[:-1]
    entries = [2 * layer.bound + 1 for layer in layers]
    assert row["sums_ms"] == pytest.approx(2 * loop.TABLE_MS / loop.NON_LINEAR_SHARE)
    assert row["fitted_ms"] == pytest.approx(row["sums_ms"] * sum(entries) / (2 * 65536))
    assert row["fitted_ms"] < 0.6 * row["sums_ms"]
    (note,) = (note for note in found["notes"] if "softmax" in note)
    assert "so their ratios flatter ours" in note


@pytest.mark.long
def test_table_6_with_a_softmax() -> None:
    chosen = ("--benchmark", "MNIST", "--precision", "w7a7", "--models", MODELS)
    without, row = run("table6", "--softmax", *chosen)["rows"]
    assert (without["network"], row["network"]) == ("MNIST", "MNIST, softmax")
    # Its own table, four of maxima, exponentials and inverse.
    assert row["tables"] == without["tables"] + 7
    assert row["paper_ms"] == without["paper_ms"]
    assert row["simulated_ms"] > 2 * without["simulated_ms"]
    _, shares = run("fig9", "--softmax", *chosen)["rows"]
    assert sum(shares[name] for name in ("linear", "samples", "packing", "fbs", "s2c")) == (
        pytest.approx(100)
    )


def test_energy_beside_the_other_accelerators() -> None:
    chosen = ("--benchmark", "MNIST", "--precision", "w6a7", "--models", MODELS)
    (row,) = run("table7", *chosen)["rows"]
    assert (row["paper_edp"], row["sharp"], row["source"]) == (0.005, 0.012, "simulated")
    (row,) = run("fig11", *chosen)["rows"]
    assert row["sharp"] == pytest.approx(0.012 * 178.8)
    assert row["paper_edap"] == pytest.approx(0.005 * 116.4)


def test_shares_are_of_the_whole() -> None:
    chosen = ("--benchmark", "MNIST", "--precision", "w6a7", "--models", MODELS)
    (row,) = run("fig9", *chosen)["rows"]
    parts = [row[name] for name in ("linear", "samples", "packing", "fbs", "s2c")]
    assert sum(parts) == pytest.approx(100)
    assert row["fbs"] == max(parts)
    (row,) = run("fig10", *chosen)["rows"]
    others = ("network", "precision", "joules", "paper_memory", "ratio")
    assert sum(row[name] for name in row if name not in others) == pytest.approx(100)
    assert row["ratio"] == pytest.approx(row["memory"] / 50)


def test_savings_are_the_slowest_over_the_slowest() -> None:
    chosen = ("--benchmark", "MNIST", "--precision", "w6a7", "--models", MODELS)
    (row,) = run("savings", *chosen)["rows"]
    layers = IntNetwork.load(MODELS / "mnist_w6a7.json").layers[:-1]
    tables = [loop.Table(2 * layer.bound + 1) for layer in layers]
    assert row["paper_products"] == sum(table.products for table in tables)
    assert row["paper_products"] < 2 * loop.Table().products
    assert row["paper_sums_ms"] == pytest.approx(sum(table.sums_ms for table in tables))
    assert 0 < row["products"] < row["paper_products"]
    parts = ("sums_ms", "products_ms", "memory_ms")
    for side in ("paper_", ""):
        slowest = max(row[f"{side}{part}"] for part in parts)
        assert row[f"{side}slowest_ms"] == pytest.approx(slowest)
    assert row["saved"] == pytest.approx(row["paper_slowest_ms"] / row["slowest_ms"])


def test_sizes() -> None:
    rows = run("table1", "--benchmark", "MNIST", "--models", MODELS)["rows"]
    ours = [row for row in rows if row["source"] == "predicted"]
    assert [row["n"] for row in ours] == [1 << 15] * 2
    assert len(rows) == 2 + 8
    (same,) = (row for row in rows if row["method"] == "Athena" and row["network"] == "ResNet-20")
    assert (same["ratio"], same["keys_ratio"]) == (1, 1)
    rows = run("table3", "--benchmark", "MNIST", "--models", MODELS)["rows"]
    by_step = {row["step"]: row for row in rows}
    assert by_step["linear"]["rotations"] == 0
    assert by_step["FBS"]["products"] > 0
    assert by_step["FBS"]["tensors"] >= by_step["FBS"]["products"]
    assert by_step["packing"]["plain_products"] > 0
    assert by_step["S2C"]["plain_products"] == 0  # dense layers read slots
    assert by_step["CKKS, ReLU"]["source"] == "printed"
    assert by_step["packing"]["rotations"] > 0


def test_an_expansion_without_noise_is_the_definition() -> None:
    x = np.linspace(-1, 1, 101)
    for expansion in fig1.EXPANSIONS:
        coefficients = expansion.coefficients(7)
        expected = np.polynomial.chebyshev.chebval(x, coefficients)
        np.testing.assert_allclose(fig1.evaluated(coefficients, x, None), expected, atol=1e-12)
    # 1/2 + x/4 - x^3/48 + x^5/480
    taylor = np.polynomial.chebyshev.cheb2poly(fig1.taylor(5))
    np.testing.assert_allclose(taylor, [1 / 2, 1 / 4, 0, -1 / 48, 0, 1 / 480], atol=1e-15)


def test_a_folder_without_models_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no mnist_w6a7\.json in it"):
        run("table6", "--benchmark", "MNIST", "--precision", "w6a7", "--models", tmp_path)
    with pytest.raises(UsageError, match="one network at a time"):
        run("fig13", "--benchmark", "MNIST", "--benchmark", "LeNet", "--models", MODELS)
