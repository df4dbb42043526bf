"""Executed schedules: the instruction streams of a machine give the words of a run."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import palladion
import pytest
from palladion import circuit, ckks
from palladion.cli.machines import work_of
from palladion.errors import FormatError, UsageError
from palladion.nn.integers.network import IntNetwork
from palladion.simulation import Streams, simulate

from tests.conftest import Command, Halves, Say, refused
from tests.simulations import run

MODELS = Path(__file__).parents[1] / "models"
RING_INSECURE = 9


def small() -> circuit.Written:
    """Products, rotations and sums at a ring of 512, in words of 32 bits."""
    params = ckks.Params(RING_INSECURE, [31, 28, 28, 28], [31, 31], 2.0**28, insecure=True)
    c = circuit.Circuit(params, slots=16)
    x, y = c.input("x"), c.input("y")
    c.output("z", (x * y + x.rotate(3)) * y)
    return c


class Case:
    """A circuit with inputs and keys, and its ciphertexts."""

    def __init__(self, c: circuit.Written) -> None:
        rng = np.random.default_rng(7)
        schemes: dict[str, Any] = {"ckks": ckks, "bgv": palladion.bgv}
        secret = schemes[c.params.schemes[0]].keygen(c.params)
        values = {name: rng.integers(-3, 4, 8) for name in c.inputs}
        plain = {name: values[name] for name, level in c.inputs.items() if level is None}
        encrypted = {name: x for name, x in values.items() if name not in plain}
        self.circuit, self.keys, self.lowered = c, c.keys(secret), c.lower(plain)
        self.inputs = {**c.encrypt(secret, encrypted), **plain}
        self.expected = bytes_of(c.run(self.inputs, self.keys))

    def run(self, streams: Streams) -> dict[str, bytes]:
        """The ciphertexts that streams give."""
        return bytes_of(streams.run_circuit(self.circuit, self.lowered, self.inputs, self.keys))


def bytes_of(results: dict[str, Any]) -> dict[str, bytes]:
    return {name: one.to_bytes() for name, one in results.items()}


def executed(c: circuit.Written, machine: str) -> Streams:
    """Execute a circuit on a machine and compare all results with its own run."""
    case = Case(c)
    streams = simulate(case.lowered, machine).streams
    assert case.run(streams) == case.expected
    return streams


@pytest.mark.parametrize("machine", ["f1", "athena", "tiny"])
def test_a_small_circuit_has_the_ciphertexts_of_its_run(machine: str) -> None:
    assert executed(small(), machine).fetched_bytes > 0


def test_a_transform_of_another_row_is_refused_or_gives_other_words(tmp_path: Path) -> None:
    case = Case(small())
    simulate(case.lowered, "tiny").streams.save(tmp_path)
    path = next(path for path in sorted(tmp_path.glob("*.txt")) if "ntt" in path.name)
    lines = path.read_text().splitlines(keepends=True)
    place = next(k for k, line in enumerate(lines) if re.search(r": ntt \d+ s\d+ ->", line))
    lines[place] = re.sub(r" s(\d+) ->", lambda m: f" s{int(m[1]) + 1} ->", lines[place])
    path.write_text("".join(lines))
    try:
        results = case.run(Streams.load(tmp_path, "tiny", case.lowered))
    except FormatError:
        return
    assert results != case.expected


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


def test_keys_are_refused_before_a_schedule_is_searched(
    command: Command, halves: Halves, tmp_path: Path
) -> None:
    output = tmp_path / "answer"
    line = ("simulate", "run", halves.program, "--machine", "tiny", "--query", halves.query)
    refused(command(*line, "--keys", halves.query, "--output", output), "evaluation")
    assert not output.exists()


def test_a_workload_names_no_keys() -> None:
    simulation = simulate(small().lower().work, "tiny")
    with pytest.raises(UsageError, match="expected those of a `Trace`"):
        simulation.run(None, None)  # type: ignore[arg-type]


def athena_halves(network: IntNetwork, command: Command, image: Path, root: Path) -> Halves:
    """The halves of a network in the words of athena, and an encrypted image."""
    halves = Halves.folders(root)
    halves.server.mkdir()
    (root / "network.json").write_text(network.to_json())
    of = ("--machine", "athena", "--output", halves.program)
    compiled = command("compile", root / "network.json", *of)
    assert compiled.returncode == 0, compiled.stderr
    (halves.server / "program.client").rename(halves.terms)
    keygen = command("keygen", "--client", halves.terms, "--output", halves.server)
    assert keygen.returncode == 0, keygen.stderr
    halves.encrypt(command, image)
    return halves


@pytest.fixture(scope="module")
def narrow_halves(
    command: Command, picture: Path, tmp_path_factory: pytest.TempPathFactory
) -> Halves:
    """MNIST."""
    network = palladion.mnist_network()
    return athena_halves(network, command, picture, tmp_path_factory.mktemp("narrow"))


@pytest.fixture(scope="module")
def lenet_halves(command: Command, tmp_path_factory: pytest.TempPathFactory) -> Halves:
    """The first convolution of LeNet-5 with its table, and the map that reads it."""
    lenet = IntNetwork.load(MODELS / "lenet5_w6a7.json")
    first, pooling = lenet.layers[:2]
    network = IntNetwork("lenet-first", lenet.input, (first, replace(pooling, lut=None)))
    root = tmp_path_factory.mktemp("lenet")
    np.save(root / "digit.npy", np.random.default_rng(3).normal(size=(1, 28, 28)))
    return athena_halves(network, command, root / "digit.npy", root)


@pytest.mark.long
@pytest.mark.parametrize(
    ("machine", "of"),
    [("tiny", "halves"), ("athena", "narrow_halves"), ("athena", "lenet_halves")],
)
def test_a_network_has_the_answer_of_run(
    machine: str, of: str, command: Command, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    halves: Halves = request.getfixturevalue(of)
    inputs = ["--keys", str(halves.evaluation), "--query", str(halves.query)]
    output = tmp_path / "answer"
    line = [str(halves.program), "--machine", machine, "--output", str(output)]
    report = run(*line, *inputs, "--streams", str(tmp_path / "streams"))
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


@pytest.mark.long
def test_a_program_of_f1_has_the_ciphertexts_of_its_run() -> None:
    streams = executed(circuit.benchmark("lola-mnist"), "f1")
    assert 0 < streams.fetched_bytes < 1 << 24
