"""Programs through XLA: the answers and checkpoints of a run on the CPU, byte for byte."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import palladion
import pytest
from palladion import _native, xla
from palladion.errors import BudgetError
from palladion.support import memory

from tests.conftest import Command, Halves, refused

pytestmark = pytest.mark.long

pytest.importorskip("jax")


@dataclass(frozen=True)
class Ran:
    """The packaged network in words of 32 bits, and what a run on the CPU gives."""

    folder: Path
    answer: bytes
    digest: str
    """SHA-256 of the answer before it was hidden."""
    saved: list[bytes]
    """The checkpoints after each layer but the last."""

    @property
    def program(self) -> Path:
        return self.folder / "program"

    @property
    def given(self) -> list[object]:
        return ["--keys", self.folder / "evaluation.key", self.folder / "query"]

    def loaded(self) -> tuple[_native.Program, palladion.EvaluationKeys, palladion.Query]:
        program = _native.Program.from_bytes(self.program.read_bytes())
        keys = (self.folder / "evaluation.key").read_bytes()
        query = (self.folder / "query").read_bytes()
        return (
            program,
            palladion.EvaluationKeys.from_bytes(program, keys),
            palladion.Query.from_bytes(program, query),
        )


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("narrow")
    network = Path(palladion.__file__).parent / "data" / "mnist.json"
    program = _native.compile(network.read_text(), 1, words=32)
    secret = _native.SecretKey.generate(program)
    image = palladion.mnist_network().inputs_of_pixels(palladion.mnist_sample().images[:1])
    query = secret.encrypt(image.reshape(1, -1).tolist())
    (folder / "program").write_bytes(program.to_bytes())
    (folder / "query").write_bytes(query.to_bytes())
    secret.write_evaluation_keys(str(folder / "evaluation.key"), [], [])
    keys = palladion.EvaluationKeys.from_bytes(program, (folder / "evaluation.key").read_bytes())
    saved: list[bytes] = []
    answer, report = program.run(keys, query, None, None, saved.append)
    return Ran(folder, answer.to_bytes(), report["raw_digest"], saved)


def test_a_run_gives_the_answer_and_the_checkpoints_of_the_cpu(ran: Ran) -> None:
    xla.enable()
    from palladion.xla.device import chosen_device
    from palladion.xla.run import prepare_run

    saved: list[bytes] = []
    program, keys, query = ran.loaded()
    prepared = prepare_run(program, chosen_device("cpu"), saving=True)
    answer, report = prepared.run(keys, query, None, saved.append)
    assert report["raw_digest"] == ran.digest
    assert len(answer.to_bytes()) == len(ran.answer)
    assert len(saved) > 1
    assert saved == ran.saved
    assert report["device_memory_bytes"] > 0 < report["waves"]


def test_a_run_goes_on_from_a_checkpoint_of_the_cpu(
    command: Command, ran: Ran, tmp_path: Path
) -> None:
    answer, checkpoint = tmp_path / "answer", tmp_path / "checkpoint"
    checkpoint.write_bytes(ran.saved[-1])
    result = command(
        "run", "--program", ran.program, "--output", answer, "--checkpoint", checkpoint,
        "--target", "xla", "--device", "cpu", "--json", *ran.given,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert not checkpoint.exists()
    report = json.loads(result.stdout)
    assert report["raw_digest"] == ran.digest
    program = _native.Program.from_bytes(ran.program.read_bytes())
    layers = [step["layer"] for step in program.facts()["steps"]]
    assert report["resumed_steps"] == layers.index(layers[-1])


@pytest.mark.parametrize("named", ["bat", "u32"])
def test_a_named_set_of_kernels_gives_the_same_integers(
    command: Command, ran: Ran, tmp_path: Path, named: str
) -> None:
    """In the last layer, which is enough to have all its kernels."""
    checkpoint = tmp_path / "checkpoint"
    checkpoint.write_bytes(ran.saved[-1])
    line = ["run", "--program", ran.program, "--output", tmp_path / "answer", "--checkpoint",
            checkpoint, "--target", "xla", "--device", "cpu", "--json", *ran.given]  # fmt: skip
    refused(command(*line, "--kernels", "fast"), "no set of kernels 'fast', expected one of")
    result = command(*line, "--kernels", named)
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert (report["raw_digest"], report["kernel_set"]) == (ran.digest, named)


def test_a_second_run_compiles_nothing(
    command: Command, ran: Ran, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the last layer, which is enough to begin with an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "cache"))
    checkpoint = tmp_path / "checkpoint"
    compiled = []
    for run in range(2):
        checkpoint.write_bytes(ran.saved[-1])
        result = command(
            "run", "--program", ran.program, "--output", tmp_path / f"answer{run}", "--checkpoint",
            checkpoint, "--target", "xla", "--device", "cpu", "--json", *ran.given,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        report = json.loads(result.stdout)
        compiled.append(report["compiled"])
    assert compiled[0] >= report["executables"] > 0
    assert compiled[1] == 0


def test_a_device_that_is_not_here_is_refused_before_keys_are_read(
    command: Command, ran: Ran, tmp_path: Path
) -> None:
    keys = tmp_path / "keys"
    keys.write_bytes(b"not read")
    line = ["run", "--program", ran.program, "--keys", keys, "--output", tmp_path / "answer"]
    line += [ran.folder / "query", "--target", "xla"]
    refused(command(*line, "--device", "tpu"), "there is no device tpu here, JAX has")
    refused(command(*line, "--devices", 4097), "4097 devices are asked for")


def test_too_little_memory_is_said_before_the_run(
    ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    xla.enable()
    from palladion.xla.device import check_bytes, chosen_device
    from palladion.xla.run import prepare_run

    class Small:
        platform, device_kind = "gpu", "a small GPU"

        def memory_stats(self) -> dict[str, int]:
            return {"bytes_limit": 16_000_000}

    program, _, _ = ran.loaded()
    monkeypatch.setattr(memory, "available", lambda *_: 100_000_000)
    with pytest.raises(
        BudgetError, match=r"a run of mnist needs 4\d\d\.\d MB .* and 100.0 MB are left"
    ):
        prepare_run(program, chosen_device("cpu"))
    small: Any = Small()
    with pytest.raises(BudgetError, match=r"needs 32.0 MB of memory on a small GPU .* 16.0 MB"):
        check_bytes(32_000_000, small, "a run")
    assert check_bytes(8_000_000, small, "a run") == 8_000_000


def test_checkpoints_of_others_are_refused(
    command: Command, ran: Ran, halves: Halves, tmp_path: Path
) -> None:
    answer, checkpoint = tmp_path / "answer", tmp_path / "checkpoint"
    checkpoint.write_bytes(ran.saved[0])
    line = [
        "run",
        "--output",
        answer,
        "--checkpoint",
        checkpoint,
        "--target",
        "xla",
        "--device",
        "cpu",
    ]
    other = [*line, "--program", halves.program, "--keys", halves.evaluation, halves.query]
    refused(command(*other), "a checkpoint made for other parameters")
    checkpoint.write_bytes(ran.answer)
    refused(command(*line, "--program", ran.program, *ran.given), "expected a checkpoint")
    assert not answer.exists()


def test_what_jax_compiled_is_for_its_user_alone(tmp_path: Path) -> None:
    from palladion.xla.compilations import private

    folder = tmp_path / "xla" / "compiled"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    assert private(folder).stat().st_mode & 0o777 == 0o700
