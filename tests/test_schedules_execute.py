"""Executed schedules: the instruction streams of a machine give the words of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import palladion
import pytest
from palladion import circuit, ckks
from palladion.cli.machines import work_of
from palladion.errors import FormatError, UsageError
from palladion.simulation import Streams, simulate

from tests.conftest import Command, Halves, Say, refused
from tests.simulations import run

RING_INSECURE = 9


def small() -> circuit.Written:
    """Products, rotations and sums at a ring of 512, in words of 32 bits."""
    params = ckks.Params(RING_INSECURE, [31, 28, 28, 28], [31, 31], 2.0**28, insecure=True)
    c = circuit.Circuit(params, slots=16)
    x, y = c.input("x"), c.input("y")
    c.output("z", (x * y + x.rotate(3)) * y)
    return c


def executed(c: circuit.Written, machine: str, **options: Any) -> Streams:
    """Execute a circuit on a machine and compare all results with its own run."""
    rng = np.random.default_rng(7)
    schemes: dict[str, Any] = {"ckks": ckks, "bgv": palladion.bgv}
    secret = schemes[c.params.schemes[0]].keygen(c.params)
    values = {name: rng.integers(-3, 4, 8) for name, level in c.inputs.items()}
    plain = {name: values[name] for name, level in c.inputs.items() if level is None}
    inputs = {**c.encrypt(secret, {n: x for n, x in values.items() if n not in plain}), **plain}
    keys, lowered = c.keys(secret), c.lower(plain)
    streams = simulate(lowered, machine, **options).streams
    results = streams.run_circuit(c, lowered, inputs, keys)
    for name, expected in c.run(inputs, keys).items():
        assert results[name].to_bytes() == expected.to_bytes(), name
    return streams


@pytest.mark.parametrize("machine", ["f1", "athena", "tiny"])
def test_a_small_circuit_has_the_ciphertexts_of_its_run(machine: str) -> None:
    assert executed(small(), machine).fetched_bytes > 0


def test_files_are_read_back_and_refused(tmp_path: Path) -> None:
    lowered = small().lower()
    streams = simulate(lowered, "tiny").streams
    paths = streams.save(tmp_path)
    for source in [tmp_path, tmp_path / Streams.FILE]:
        assert Streams.load(source, "tiny", lowered).sizes == streams.sizes
    with pytest.raises(FormatError, match=r"the machine is tiny, expected f1"):
        Streams.load(tmp_path, "f1", lowered)
    text = paths[1]
    lines = text.read_text().splitlines()
    text.write_text("\n".join([*lines[:4], "wait 0 busy 1: fly 0 s1 -> s2", *lines[4:]]))
    with pytest.raises(FormatError, match=r"text 0, line 5: the entry is wait 0 busy 1: fly"):
        Streams.load(tmp_path, "tiny", lowered)
    text.write_text("\n".join([*lines[:4], *lines[5:]]))
    with pytest.raises(FormatError, match=r"none of instruction \d+ \(\w+\), expected one"):
        Streams.load(tmp_path, "tiny", lowered)
    text.write_bytes(b"\xff")
    with pytest.raises(FormatError, match="no text"):
        Streams.load(tmp_path, "tiny", lowered)


def test_options_come_together(say: Say, tmp_path: Path) -> None:
    trace = tmp_path / "small.trace"
    small().lower().save(trace)
    result = say("simulate", "run", trace, "--machine", "tiny", "--keys", trace)
    assert result.status != 0
    assert "--query, --output is missing" in result.err


def test_a_workload_names_no_keys() -> None:
    simulation = simulate(small().lower().work, "tiny")
    with pytest.raises(UsageError, match="expected those of a `Trace`"):
        simulation.run(None, None)  # type: ignore[arg-type]


@pytest.mark.long
@pytest.mark.parametrize("machine", ["tiny", "athena"])
def test_mnist_has_the_answer_of_run(
    machine: str, command: Command, halves: Halves, tmp_path: Path
) -> None:
    inputs = ["--keys", str(halves.evaluation), "--query", str(halves.query)]
    output = tmp_path / "answer"
    of = [str(halves.program), "--machine", machine, "--output", str(output)]
    report = run(*of, *inputs, "--streams", str(tmp_path / "streams"))
    trace = work_of(halves.program)
    keys, query = trace.keys(halves.evaluation.read_bytes()), trace.query(halves.query.read_bytes())
    assert report["raw_digest"] == trace.replay(keys, query).raw_digest
    streams = Streams.load(tmp_path / "streams" / Streams.FILE, machine, trace)
    assert streams.fetched_bytes == report["streams_bytes"] == sum(report["streams"].values())
    assert streams.run(keys, query).raw_digest == report["raw_digest"]
    decrypted = command(
        "decrypt", "--client", halves.terms, "--secret", halves.secret, "--query", halves.query,
        output,
    )  # fmt: skip
    assert decrypted.returncode == 0, decrypted.stderr
    refused(command("simulate", "run", halves.program, "--machine", machine, "--keys", halves.query,
                    "--query", halves.query, "--output", output), "evaluation")  # fmt: skip


@pytest.mark.long
def test_a_program_of_f1_has_the_ciphertexts_of_its_run() -> None:
    streams = executed(circuit.benchmark("lola-mnist"), "f1")
    assert 0 < streams.fetched_bytes < 1 << 24
