"""A command that fails says of what kind the failure is: by its status, and in JSON."""

from __future__ import annotations

import errno
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import palladion
import pytest
from palladion import CompiledModel, DataError, IntNetwork, Secret, errors
from palladion.cli import COMMANDS
from palladion.errors import KINDS, PalladionError, Stop, can_retry, kind_of
from palladion.support import files
from PIL import Image

from tests.conftest import Say, failure

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with its client's file, its network, and a secret whose life has ended."""
    folder = tmp_path_factory.mktemp("exit")
    network = palladion.mnist_network()
    (folder / "network.json").write_text(network.to_json())
    program = CompiledModel.of_network(network)
    program.save(folder / "program")
    Secret.generate(days=1e-9).save(folder / "expired.key")
    data = bytearray((folder / "program").read_bytes())
    data[len(data) // 2] ^= 1
    (folder / "damaged").write_bytes(data)
    Image.fromarray(palladion.mnist_sample().images[0]).save(folder / "seven.png")
    (folder / "text").write_text("no program\n")
    return folder


Line = Callable[[Path, Path], list[object]]
"""The arguments of a command, for the folder above and an empty one."""

FAILURES: dict[str, tuple[str, bool, Line]] = {
    "no command": ("usage", False, lambda _, __: ["nonsense"]),
    "no argument": ("usage", False, lambda _, __: ["run"]),
    "an option's value": ("usage", False, lambda f, _: ["inspect", f / "program", "--batch", "x"]),
    "options that exclude each other": (
        "usage", False, lambda f, _: ["inspect", f / "program", "--batch", 2],
    ),
    "text": ("data", False, lambda f, _: ["inspect", f / "text"]),
    "damage": ("data", False, lambda f, _: ["inspect", f / "damaged"]),
    "no network": ("data", False, lambda f, _: ["keygen", "--network", f / "text", "--output", f]),
    "no image": ("data", False, lambda f, _: ["demo", "--image", f / "text"]),
    "expired": (
        "mismatch", False,
        lambda f, t: ["encrypt", "--client", f / "program.client", "--secret", f / "expired.key",
                      "--output", t / "query", f / "seven.png"],
    ),
    "budget": (
        "resources", True,
        lambda f, t: ["compile", f / "network.json", "--output", t / "program",
                      "--budget-seconds", 1e-3],
    ),
    "a missing file": ("io", False, lambda _, t: ["inspect", t / "missing"]),
    "a missing network": (
        "io", False, lambda _, t: ["keygen", "--network", t / "missing", "--output", t / "keys"],
    ),
    "a missing folder": (
        "io", False, lambda f, t: ["lower", f / "program", "--output", t / "missing" / "trace"],
    ),
    "a folder that takes no files": (
        "io", False,
        lambda f, _: ["keygen", "--client", f / "program.client", "--output", "/proc/below"],
    ),
    "a full disk": (
        "io", True, lambda f, _: ["lower", f / "program", "--output", "/dev/full"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_has_the_status_of_its_kind(
    name: str, folder: Path, tmp_path: Path, say: Say
) -> None:
    word, retry, line = FAILURES[name]
    (kind,) = (kind for kind in KINDS if kind.name == word)
    arguments = line(folder, tmp_path)
    found = say(*arguments)
    assert (found.status, found.out) == (kind.status, ""), found
    assert "Traceback" not in found.err
    found = say(*arguments, "--json")
    error = failure(found.out)
    assert (error["kind"], error["status"], error["retry"]) == (word, kind.status, retry)
    assert found.status == kind.status
    assert error["message"] in found.err, "people read the same words"
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_prints_its_wrong_usage_as_json(name: str, say: Say) -> None:
    found = say(name, "--json", "--nonsense")
    assert found.status == 2
    assert failure(found.out)["kind"] == "usage"


def test_json_after_the_options_is_no_option(say: Say) -> None:
    found = say("inspect", "--", "--json")
    assert (found.status, found.out) == (6, "")
    assert "--json" in found.err


@pytest.mark.parametrize(
    ("error", "status", "word"),
    [
        (ValueError("a fault"), 1, "Traceback"),
        (palladion.InternalError("a fault"), 1, "error: a fault"),
        (MemoryError(), 5, "error: not enough memory"),
        (palladion.NoiseError("no margin"), 7, "error: no margin"),
        (palladion.SecurityError("too small"), 8, "error: too small"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (errors.Termination("ended by SIGTERM"), 143, "ended by SIGTERM"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_within_a_command(
    error: BaseException, status: int, word: str, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(palladion, "info", fail)
    found = say("info", "--json")
    assert found.status == status
    assert word in found.err
    assert failure(found.out)["status"] == status


def test_a_result_is_the_only_object(folder: Path, say: Say) -> None:
    """`inspect` prints its report, and then fails."""
    found = say("inspect", folder / "program", "--budget-memory", "1M", "--json")
    assert found.status == 5
    assert "log_n" in json.loads(found.out)
    assert "the budget is 1.0 MB" in found.err


def test_output_in_standard_output_is_not_mixed_with_an_error(folder: Path) -> None:
    line = ["encrypt", "--client", folder / "program.client", "--secret", folder / "expired.key",
            "--output", "/dev/stdout", folder / "seven.png", "--json"]  # fmt: skip
    command = [sys.executable, "-m", "palladion.cli", *map(str, line)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (found.returncode, found.stdout) == (4, "")


def test_a_reader_that_has_gone_is_told_to_nobody() -> None:
    receiver, sender = os.pipe()
    os.close(receiver)
    command = [sys.executable, "-m", "palladion.cli", "info"]
    found = subprocess.run(command, stdout=sender, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(sender)
    assert (found.returncode, found.stderr) == (6, b"")


def test_every_error_has_a_kind() -> None:
    classes = [each for _, each in inspect.getmembers(errors, inspect.isclass)
               if issubclass(each, (PalladionError, Stop))]  # fmt: skip
    assert len(classes) > 15
    for each in classes:
        assert kind_of(each("words")) is each.kind
        assert each.kind in KINDS
        of_this_package = each in (PalladionError, errors.InternalError, Stop)
        assert (each.kind is errors.INTERNAL) == of_this_package
    assert len({kind.status for kind in KINDS}) == len({kind.name for kind in KINDS}) == len(KINDS)


@pytest.mark.parametrize(
    ("number", "retry"),
    [(errno.ENOSPC, True), (errno.EIO, True), (errno.ENOENT, False), (errno.EROFS, False)],
)
def test_the_systems_error_decides_whether_to_try_again(number: int, retry: bool) -> None:
    system = OSError(number, os.strerror(number))
    inner, error = DataError("inner"), palladion.NetworkError("outer")
    inner.__cause__, error.__cause__ = system, inner
    for each in (system, inner, error):
        assert kind_of(each).name == "io"
        assert can_retry(each) is retry
    other = DataError("a file of another format")
    other.__cause__ = OSError("no picture")
    assert kind_of(other).name == "data"


def test_a_mismatch_stays_one_when_the_file_is_named(tmp_path: Path) -> None:
    def refuse(_data: bytes) -> None:
        raise palladion.MismatchError("made for another query")

    path = tmp_path / "answer"
    path.write_bytes(b"PALLADIOENCO")
    with pytest.raises(palladion.MismatchError, match="answer: made for another query"):
        files.parsed(path, refuse, b"ENCO")


def test_a_network_of_another_program_is_a_mismatch(folder: Path, tmp_path: Path, say: Say) -> None:
    data = json.loads((folder / "network.json").read_text())
    data["layers"][0]["name"] = "other"
    network = IntNetwork.from_json(json.dumps(data))
    (tmp_path / "network.json").write_text(network.to_json())
    found = say("inspect", folder / "program", "--network", tmp_path / "network.json", "--json")
    assert found.status == 4
    assert failure(found.out)["kind"] == "mismatch"


def test_the_page_has_the_table() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (\d+) \| `(\w+)` \| .* \| (true|false|it depends) \|$", text, re.MULTILINE
    )
    expected = {(str(kind.status), kind.name, str(kind.retry).lower()) for kind in KINDS}
    changing = {("6", "io", "it depends")}
    assert {*rows} == expected - {("6", "io", "true")} | changing
