"""Predictions of seconds on more threads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from palladion.measure.threads import Threads, counts

from tests.conftest import Command, Halves, refused


def test_predictions_follow_work_and_span() -> None:
    measured = Threads(2, 6.5, 10.0, 2.0, ())
    # Two threads apart from each other take 5 + 1 seconds. Each slows the other's 5 by a tenth.
    assert measured.contention == pytest.approx(0.1)
    assert [measured.on(1).seconds, measured.on(1).contended_seconds] == [10.0, 10.0]
    assert measured.on(2).seconds == 6.0
    assert measured.on(2).contended_seconds == pytest.approx(6.5)
    assert measured.on(5).seconds == pytest.approx(2.0 + 1.6)
    assert measured.on(5).contended_seconds == pytest.approx(2.0 * 1.4 + 1.6)
    assert measured.on(10**9).contended_seconds == pytest.approx(1.0 + 2.0)


def test_a_faster_run_than_predicted_has_no_contention() -> None:
    assert Threads(2, 5.0, 10.0, 2.0, ()).contention == 0.0
    assert Threads(1, 11.0, 10.0, 2.0, ()).contention == 0.0


def test_counts_are_powers_of_two_and_the_last() -> None:
    assert counts(1) == [1]
    assert counts(8) == [1, 2, 4, 8]
    assert counts(96) == [1, 2, 4, 8, 16, 32, 64, 96]


def test_the_command_predicts(command: Command, halves: Halves, tmp_path: Path) -> None:
    line = ["run", "--program", halves.program, "--keys", halves.evaluation, "--output",
            tmp_path / "answer", halves.query]  # fmt: skip
    ran = command(*line, "--predict-threads", 16, "--json")
    assert ran.returncode == 0, ran.stderr
    report = json.loads(ran.stdout)
    scaling = report["scaling"]
    assert scaling["seconds"] == report["seconds"]
    assert [row["threads"] for row in scaling["predicted"]] == [1, 2, 4, 8, 16]
    assert 0 < scaling["span_seconds"] < scaling["work_seconds"] / 2
    assert all(row["seconds"] <= row["contended_seconds"] for row in scaling["predicted"])
    spans = [step["span_seconds"] for step in scaling["steps"]]
    assert sum(spans) == pytest.approx(scaling["span_seconds"], rel=0.2)
    assert all("span_seconds" not in step for step in report["steps"])
    shown = command(*line, "--predict-threads", 3)
    assert "One thread took" in shown.stdout


def test_the_command_predicts_whole_runs_on_the_cpu(
    command: Command, halves: Halves, tmp_path: Path
) -> None:
    line = ["run", "--program", halves.program, "--predict-threads", 2, halves.query]
    refused(command(*line), "--predict-threads is for a query")
    line += ["--keys", halves.evaluation, "--output", tmp_path / "answer"]
    refused(command(*line, "--checkpoint", tmp_path / "state"), "whole runs on the CPU")
