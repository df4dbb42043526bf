"""Budgets of time and memory."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import palladion
import pytest
from click import BadParameter
from palladion import _native
from palladion.cli.batching import batches, choose
from palladion.cli.budget import Budget, bytes_of
from palladion.cli.progress import Steps
from palladion.errors import BudgetError, UsageError
from palladion.facts import Costs, WorstStep
from palladion.nn.integers.network import Dense, Input, IntNetwork, Layer, Term
from palladion.support.seconds import threads

from tests.conftest import Command, refused
from tests.test_cli_network import network, program

__all__ = ["network", "program"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("8G", 8 * 10**9), ("1.5 mb", 1_500_000), ("12345", 12345), ("2T", 2 * 10**12), (None, None)],
)
def test_sizes_are_in_powers_of_1000(text: str | None, expected: int | None) -> None:
    assert bytes_of(None, None, text) == expected


@pytest.mark.parametrize("text", ["", "G", "8 Gi", "-1", "1e9", "8X"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(BadParameter, match="is no size"):
        bytes_of(None, None, text)


def test_a_budget_is_compared_with_what_is_predicted() -> None:
    factors = palladion.machine_factors()
    work = dict.fromkeys(factors, 30.0)
    costs = Costs(WorstStep("last: output", -41.0), None, 10**9, 10**9, 10**9, 10**8, 10**8, work)
    seconds = 30.0 * sum(factors.values()) / (threads() * _native.EFFICIENCY)
    assert Budget().problem(costs, 1) is None
    assert Budget(seconds * 1.01, 10**9).problem(costs, 1) is None
    late = Budget(seconds / 2).problem(costs, 1)
    assert late is not None
    assert f"{seconds:.1f} s on {threads()} threads, the budget is {seconds / 2:g} s" in late
    assert "more --threads" in late
    assert "--batch" not in late
    large = Budget(memory=10**8).problem(costs, 2)
    assert large is not None
    assert "1.00 GB of memory, the budget is 100.0 MB" in large
    assert "a smaller --batch" in large


def test_keys_are_not_made_beyond_the_budget(
    command: Command, program: Path, network: Path, tmp_path: Path
) -> None:
    keys = tmp_path / "keys"
    found = command("keygen", "--network", network, "--output", keys, "--budget-memory", "100M")
    refused(found, "of memory, the budget is 100.0 MB")
    assert not keys.exists()
    target = tmp_path / "program"
    found = command("compile", network, "--output", target, "--budget-seconds", "0.001")
    refused(found, "the budget is 0.001 s: use more --threads")
    assert not target.exists()
    found = command("inspect", program, "--budget-memory", "100M", "--json")
    assert found.returncode == 5
    assert json.loads(found.stdout)["predicted_peak_memory_bytes"] > 10**8
    assert command("inspect", program, "--budget-memory", "1T").returncode == 0


def test_predicted_memory_grows_with_what_is_held() -> None:
    """Measured: docs/notes/predictions.md. More images have larger tables, and so more powers."""
    text = (Path(__file__).parent.parent / "models" / "mnist_w7a7.json").read_text()
    peaks = [
        _native.compile(text, batch).costs()["predicted_peak_memory_bytes"] for batch in (1, 32)
    ]
    assert 1.1e9 < peaks[0] < peaks[1] < 3.5e9


def test_a_mode_and_a_number_of_images_exclude_each_other() -> None:
    doubling = [1, 2, 4, 8, 16, 32, 64]
    assert batches(None, None) == batches(None, "latency") == batches(0, "latency") == [1]
    assert batches(5, None) == [5]
    assert batches(0, None) == batches(0, "throughput") == batches(None, "throughput") == doubling
    with pytest.raises(UsageError, match="give no --batch 5"):
        batches(5, "latency")


def test_throughput_takes_the_least_seconds_per_image_within_the_budget(
    network: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each batch is compiled once.
    monkeypatch.setattr(_native, "compile", cache(_native.compile))
    given = IntNetwork.load(network)
    steps = Steps(quiet=True)
    program, candidates = choose(given, [1, 2, 4, 8], Budget(), steps)
    assert [found.batch for found in candidates] == [1, 2, 4, 8]
    best = min(candidates, key=lambda found: found.seconds_per_image)
    assert program.facts.batch == best.batch > 1
    first, second = (found.memory_bytes for found in candidates[:2])
    if first < second:
        program, candidates = choose(given, [1, 2], Budget(memory=first), steps)
        assert [found.within_budget for found in candidates] == [True, False]
        assert program.facts.batch == 1
    with pytest.raises(BudgetError, match=r"the budget is 1\.0 MB"):
        choose(given, [1, 2], Budget(memory=10**6), steps)


def test_compile_says_which_batches_it_compared(command: Command, tmp_path: Path) -> None:
    network, target = tmp_path / "dense.json", tmp_path / "program"
    last = Layer(
        "last", (Term(0, Dense(np.eye(3, 16, dtype=int))),), np.zeros(3, int), 900, None, 1
    )
    network.write_text(IntNetwork("dense", Input((16, 1, 1), -15, 15, 1.0), (last,)).to_json())
    found = command("compile", network, "--mode", "throughput", "--output", target)
    assert found.returncode == 0, found.stderr
    assert "chosen" in found.stdout
    assert "s an image" in found.stdout
    refused(
        command("compile", network, "--mode", "latency", "--batch", "3", "--output", target),
        "chooses the batch",
    )


def test_compile_hides_the_model_and_says_what_that_costs(
    command: Command, network: Path, tmp_path: Path
) -> None:
    output = tmp_path / "program"
    arguments = ("compile", network, "--output", output)
    refused(command(*arguments, "--queries", 7), "--queries is for --hide-model")
    found = json.loads(command(*arguments, "--hide-model", "--queries", 4096, "--json").stdout)
    cost = found["hide_model"]
    assert cost["queries"] == found["flooded_answers"] == 4096
    assert cost["seconds"][1] >= cost["seconds"][0] > 0
    terms = palladion.Terms.from_bytes((tmp_path / "program.client").read_bytes())
    assert all(output["flood"] > 40 for output in terms.outputs())
    plain = json.loads(command(*arguments, "--json").stdout)
    assert plain["flooded_answers"] is None
    assert "hide_model" not in plain
