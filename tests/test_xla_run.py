"""Programs through XLA: the answers and checkpoints of a run on the CPU, byte for byte."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import palladion
import pytest
from palladion import xla

from tests.conftest import Command, Halves, refused

pytest.importorskip("jax")


@dataclass(frozen=True)
class Ran:
    """The packaged network in words of 32 bits, and what a run on the CPU gives."""

    folder: Path
    answer: bytes
    saved: list[bytes]
    """The checkpoints after each layer but the last."""

    @property
    def program(self) -> Path:
        return self.folder / "program"

    @property
    def given(self) -> list[object]:
        return ["--keys", self.folder / "evaluation.key", self.folder / "query"]

    def loaded(self) -> tuple[palladion.Program, palladion.EvaluationKeys, palladion.Query]:
        program = palladion.Program.from_bytes(self.program.read_bytes())
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
    program = palladion.compile_network(network.read_text(), 1, words=32)
    secret = palladion.SecretKey.generate(program)
    image = palladion.mnist_network().inputs_of_pixels(palladion.mnist_sample().images[:1])
    query = secret.encrypt(image.reshape(1, -1).tolist())
    (folder / "program").write_bytes(program.to_bytes())
    (folder / "query").write_bytes(query.to_bytes())
    secret.write_evaluation_keys(str(folder / "evaluation.key"))
    keys = palladion.EvaluationKeys.from_bytes(program, (folder / "evaluation.key").read_bytes())
    saved: list[bytes] = []
    answer, _ = program.run(keys, query, None, None, saved.append)
    return Ran(folder, answer.to_bytes(), saved)


def test_a_run_gives_the_answer_and_the_checkpoints_of_the_cpu(ran: Ran) -> None:
    xla.enable()
    from palladion.xla.device import chosen_device
    from palladion.xla.run import Run

    saved: list[bytes] = []
    program, keys, query = ran.loaded()
    prepared = Run.of(program, chosen_device("cpu"), saving=True)
    answer, report = prepared.run(keys, query, None, saved.append)
    assert answer.to_bytes() == ran.answer
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
    assert answer.read_bytes() == ran.answer
    assert not checkpoint.exists()
    report = json.loads(result.stdout)
    program = palladion.Program.from_bytes(ran.program.read_bytes())
    layers = [step["layer"] for step in program.report()["steps"]]
    assert report["resumed_steps"] == layers.index(layers[-1])


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
