"""Client and server halves on files, at full, secure size."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import palladion
import pytest

from tests.conftest import Command, Halves, refused


def run_arguments(halves: Halves, output: Path) -> list[object]:
    return [
        "run", "--program", halves.program, "--keys", halves.evaluation,
        "--output", output, halves.query,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def answer(command: Command, halves: Halves, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The answer to the query."""
    path = tmp_path_factory.mktemp("answer") / "answer"
    ran = command(*run_arguments(halves, path), "--json")
    assert ran.returncode == 0, ran.stderr
    assert [step["seconds"] >= 0 for step in json.loads(ran.stdout)["steps"]]
    return path


def test_a_digit_is_classified_through_files(
    command: Command, halves: Halves, answer: Path
) -> None:
    arguments = ["--client", halves.terms, "--secret", halves.secret]
    arguments += ["--query", halves.query, answer]
    decrypted = json.loads(command("decrypt", *arguments, "--json", "--integers").stdout)
    image = palladion.mnist_network().inputs_of_pixels(palladion.mnist_sample().images[:1])
    exact = palladion.mnist_network().evaluate(image)
    assert decrypted["predicted"] == exact.predicted.tolist() == [7]
    assert decrypted["noise_margin_bits"] > 0
    # Noise moves activations by a step or two, and so the logits; the class has a wide margin.
    assert np.abs(np.array(decrypted["logits"]) - exact.logits).max() < 2000


def test_the_secret_key_is_for_its_owner_and_nowhere_else(halves: Halves) -> None:
    assert halves.secret.stat().st_mode & 0o777 == 0o600
    secret = halves.secret.read_bytes()
    middle = secret[len(secret) // 2 :][:64]
    for path in halves.server.iterdir():
        assert middle not in path.read_bytes(), path


def test_keys_are_not_replaced_by_accident(
    command: Command, halves: Halves, tmp_path: Path
) -> None:
    (tmp_path / "secret.key").write_bytes(b"precious")
    refused(command("keygen", "--output", tmp_path), "exists", "--force")
    assert (tmp_path / "secret.key").read_bytes() == b"precious"


DAMAGES = ["empty", "cut", "flipped", "longer", "version"]


def damage(data: bytes, how: str) -> bytes:
    middle = len(data) // 2
    return {
        "empty": b"",
        "cut": data[:middle],
        "flipped": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
        "longer": data + b"\0",
        "version": data[:8] + bytes(b ^ 0x40 for b in data[8:12]) + data[12:],
    }[how]


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("which", ["program", "evaluation", "query"])
def test_damaged_files_are_refused(
    command: Command, halves: Halves, tmp_path: Path, which: str, how: str
) -> None:
    paths = {name: getattr(halves, name) for name in ("program", "evaluation", "query")}
    paths[which] = tmp_path / which
    paths[which].write_bytes(damage(getattr(halves, which).read_bytes(), how))
    output = tmp_path / "answer"
    result = command(
        "run", "--program", paths["program"], "--keys", paths["evaluation"],
        "--output", output, paths["query"],
    )  # fmt: skip
    refused(result, "error:")
    assert not output.exists()


@pytest.mark.parametrize("how", DAMAGES)
def test_damaged_secret_keys_are_refused(
    command: Command, halves: Halves, picture: Path, tmp_path: Path, how: str
) -> None:
    secret, output = tmp_path / "secret.key", tmp_path / "query"
    secret.write_bytes(damage(halves.secret.read_bytes(), how))
    arguments = ["--client", halves.terms, "--secret", secret, "--output", output, picture]
    refused(command("encrypt", *arguments), "error:")
    assert not output.exists()


def test_files_in_each_others_place_are_refused(
    command: Command, halves: Halves, picture: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    common = ["--program", halves.program]
    for keys, query in ((halves.query, halves.query), (halves.evaluation, halves.evaluation)):
        refused(command("run", *common, "--keys", keys, "--output", output, query), "error:")
    missing = tmp_path / "missing"
    arguments = ["--keys", missing, "--output", output, halves.query]
    refused(command("run", *common, *arguments), "missing")
    arguments = ["--secret", halves.evaluation, "--output", output, picture]
    refused(command("encrypt", "--client", halves.terms, *arguments), "error:")
    # The program is not the client's, and the client's file runs nothing.
    arguments = ["--secret", halves.secret, "--output", output, picture]
    refused(command("encrypt", "--client", halves.program, *arguments), "is a program",
            "expected a client's file", "palladion split")  # fmt: skip
    run = ["run", "--program", halves.terms, "--keys", halves.evaluation, "--output", output]
    refused(command(*run, halves.query), "is a client's file", "expected a program")
    assert not output.exists()


def test_more_images_than_a_program_takes_are_refused(
    command: Command, halves: Halves, picture: Path, tmp_path: Path
) -> None:
    arguments = ["--client", halves.terms, "--secret", halves.secret]
    result = command("encrypt", *arguments, "--output", tmp_path / "q", picture, picture)
    refused(result, "error:")


@pytest.fixture(scope="module")
def others(command: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keys and program of another compilation: two images per run."""
    folder = tmp_path_factory.mktemp("others")
    made = command("keygen", "--batch", 2, "--output", folder)
    assert made.returncode == 0, made.stderr
    return folder


def test_keys_of_another_secret_are_refused(
    command: Command, halves: Halves, others: Path, picture: Path, tmp_path: Path
) -> None:
    """Before any work: the command ends in less time than a run takes."""
    output = tmp_path / "out"
    keys = ["--keys", others / "evaluation.key", "--output", output, halves.query]
    refused(command("run", "--program", halves.program, *keys), "error:", "evaluation keys")
    # Their secret encrypts for this program, but these keys are not theirs.
    secret = ["--secret", others / "secret.key", "--output", tmp_path / "query", picture]
    assert command("encrypt", "--client", halves.terms, *secret).returncode == 0
    keys = ["--keys", halves.evaluation, "--output", output, tmp_path / "query"]
    refused(command("run", "--program", halves.program, *keys), "belongs to key", "one secret key")
    result = command("run", "--program", others / "program", "--keys", halves.evaluation,
                     "--output", output, halves.query)  # fmt: skip
    refused(result, "error:", "another input layout")
    assert not output.exists()


def test_an_answer_belongs_to_its_query(
    command: Command, halves: Halves, answer: Path, picture: Path, tmp_path: Path
) -> None:
    client = ["--client", halves.terms, "--secret", halves.secret]
    # The same picture, encrypted again, is another query: the answer is not its.
    again = tmp_path / "again"
    assert command("encrypt", *client, "--output", again, picture).returncode == 0
    result = command("decrypt", *client, "--query", again, answer)
    refused(result, "error:", "this answer belongs to another query")
    refused(command("decrypt", *client, answer), "--query")


def test_a_folder_that_takes_no_more_ends_keygen(command: Command, tmp_path: Path) -> None:
    def little_disk() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then writing fails as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))

    line = [sys.executable, "-m", "palladion.cli", "keygen", "--output", str(tmp_path / "keys")]
    result = subprocess.run(
        line, capture_output=True, text=True, timeout=600, check=False, preexec_fn=little_disk
    )
    refused(result, "error: cannot write", "evaluation.key")
    # The program fits; of the key that does not, and of the secret one after it, nothing is there.
    assert {path.name for path in (tmp_path / "keys").iterdir()} <= {"program"}


def test_output_may_be_standard_output(halves: Halves, picture: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "palladion.cli", "encrypt", "--client", str(halves.terms),
               "--secret", str(halves.secret), str(picture), "--output"]  # fmt: skip
    found = subprocess.run([*command, "/dev/stdout"], capture_output=True, timeout=600, check=True)
    assert len(found.stdout) == halves.query.stat().st_size
    assert found.stdout.startswith(b"PALLADIO")
    assert b"/dev/stdout: 1 encrypted" in found.stderr
    full = subprocess.run(
        [*command, "/dev/full"], capture_output=True, text=True, timeout=600, check=False
    )
    refused(full, "error: cannot write /dev/full: No space left on device")
    assert Path("/dev/full").is_char_device()


def test_a_run_whose_answer_has_no_place_does_not_begin(
    command: Command, halves: Halves, tmp_path: Path
) -> None:
    given = ["run", "--program", halves.program, "--keys", halves.evaluation, halves.query]
    for output, words in [
        (tmp_path / "missing" / "answer", "missing does not exist: make it first"),
        (halves.program / "answer", "program is no folder"),
        ("/dev/full", "No space left on device"),
    ]:
        result = command(*given, "--output", output)
        refused(result, "error: cannot write", str(output), words)
        assert "read keys" not in result.stderr
    answer = tmp_path / "answer"
    checkpoint = ["--checkpoint", tmp_path / "missing" / "checkpoint"]
    result = command(*given, "--output", answer, *checkpoint)
    refused(result, "error: cannot write", "missing does not exist")
    assert "read keys" not in result.stderr


def interrupted(arguments: list[object], after: str) -> tuple[subprocess.Popen[str], str, str]:
    """Start a command, and press Ctrl-C when its progress names the step ``after``."""
    line = [sys.executable, "-m", "palladion.cli", *map(str, arguments)]
    process = subprocess.Popen(
        line,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # A shell's background jobs ignore Ctrl-C, and so would everything that they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stderr is not None
    seen = ""
    while after not in seen:
        seen = process.stderr.readline()
        assert seen, "the command ended before it was interrupted"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process, out, err


def test_interrupting_a_run_leaves_nothing(halves: Halves, tmp_path: Path) -> None:
    process, out, err = interrupted(run_arguments(halves, tmp_path / "answer"), "to samples")
    assert process.returncode == 130
    assert out == ""
    assert "interrupted" in err
    assert "Traceback" not in err
    assert "last: linear" not in err, "the run went on to its end"
    assert list(tmp_path.iterdir()) == []


def test_interrupting_keygen_leaves_nothing(tmp_path: Path) -> None:
    process, out, err = interrupted(["keygen", "--output", tmp_path / "keys"], "compile")
    assert process.returncode == 130
    assert out == ""
    assert "interrupted" in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []
