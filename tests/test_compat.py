"""Files that earlier versions wrote: docs/cli.md has the promise."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import palladion
import pytest
from palladion import Model

from tests.conftest import Command, refused

COMPAT = Path(__file__).parent / "compat"
LARGEST = 2_000_000
"""Bytes of all stored files."""

EXPECTED = [0.9302578476662365, 1.265781792722733]
"""The answer that the version of the files decrypted. All of it is exact."""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A copy of the files of 4fb11700, with the mode that the version gave the secret."""
    folder = tmp_path / "old"
    shutil.copytree(COMPAT / "4fb11700", folder)
    (folder / "secret.key").chmod(0o600)
    return folder


def test_stored_files_are_small() -> None:
    assert sum(path.stat().st_size for path in COMPAT.rglob("*") if path.is_file()) < LARGEST


def test_an_old_secret_decrypts_an_old_answer(command: Command, old: Path) -> None:
    split = command("split", old / "program", "--output", old / "client")
    assert split.returncode == 0, split.stderr
    given = ["--client", old / "client", "--secret", old / "secret.key", "--query", old / "query"]
    shown = command("decrypt", *given, old / "answer", "--json")
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["outputs"]["y"] == [EXPECTED]


def test_an_old_program_runs_on_an_old_query_with_new_keys_of_the_old_secret(
    command: Command, old: Path
) -> None:
    command("split", old / "program", "--output", old / "client")
    secret = ["--client", old / "client", "--secret", old / "secret.key"]
    made = command("keygen", *secret, "--output", old / "keys")
    assert made.returncode == 0, made.stderr
    given = ["--program", old / "program", "--keys", old / "keys" / "evaluation.key"]
    ran = command("run", *given, "--output", old / "again", old / "query")
    assert ran.returncode == 0, ran.stderr
    shown = command("decrypt", *secret, "--query", old / "query", old / "again", "--json")
    assert json.loads(shown.stdout)["outputs"]["y"] == [EXPECTED]


def test_old_evaluation_keys_are_refused_with_the_way_out(command: Command, old: Path) -> None:
    given = ["--program", old / "program", "--keys", old / "evaluation.key"]
    ran = command("run", *given, "--output", old / "again", old / "query")
    refused(ran, "format version 1 of evaluation keys, expected 3", "`palladion keygen --secret")
    assert ran.returncode == 3
    assert not (old / "again").exists()


def test_an_old_program_predicts_and_is_lowered(command: Command, old: Path) -> None:
    program = palladion.CompiledModel.load(old / "program")
    assert program.facts.predicted_log2_failure <= -40
    lowered = command("lower", old / "program", "--output", old / "lowered")
    assert lowered.returncode == 0, lowered.stderr


def test_an_old_trace_is_refused_with_the_way_out(old: Path) -> None:
    with pytest.raises(palladion.FormatError, match="`palladion lower` of the program"):
        palladion.Trace.load(old / "trace").prepare()


def test_an_old_network_gives_the_same_numbers(old: Path) -> None:
    model = Model.load(old / "network.json")
    found = model.predict(np.load(old / "input.npy"))
    assert np.asarray(found.outputs["y"]).reshape(-1).tolist() == EXPECTED


@pytest.mark.parametrize("name", ["program", "secret.key", "query", "answer"])
def test_the_identities_of_old_files_are_shown(command: Command, old: Path, name: str) -> None:
    shown = command("id", old / name, "--json")
    assert shown.returncode == 0, shown.stderr
    found = json.loads(shown.stdout)
    if name != "secret.key":
        assert found["program_id"].startswith("bdf151c9e3ee912e")
    if name in ("query", "answer"):
        assert found["key_id"] is None  # the version did not know it
