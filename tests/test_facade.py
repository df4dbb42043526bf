"""One facade: what prepares a program, what facts and costs say, and the data of dataclasses."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import palladion
import pytest
from click.testing import CliRunner
from palladion import (
    Client,
    CompiledModel,
    FormatError,
    HybridModel,
    Link,
    Model,
    Target,
    Trace,
    UsageError,
    _native,
)
from palladion.cli import commands
from palladion.facts import Facts
from palladion.nn.integers.network import Dense, Input, Layer, Term
from palladion.support import records


@pytest.fixture(scope="module")
def network() -> palladion.IntNetwork:
    """A layer without a table: it compiles in no time."""
    weights = np.eye(3, 16, dtype=int)
    last = Layer("last", (Term(0, Dense(weights)),), np.zeros(3, int), 900, None, 1)
    return palladion.IntNetwork("dense", Input((16, 1, 1), -15, 15, 1.0), (last,))


@pytest.fixture(scope="module")
def path(network: palladion.IntNetwork, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program's file, with the client's beside it."""
    path = tmp_path_factory.mktemp("facade") / "program"
    CompiledModel.of_network(network, 2).save(path)
    return path


def invoke(*arguments: object) -> str:
    result = CliRunner().invoke(commands, [*map(str, arguments)])
    assert result.exception is None, result.output
    return result.stdout


def test_only_the_server_prepares(path: Path, tmp_path: Path) -> None:
    """The server's tables are built for a run, its costs and its trace. For nothing else."""
    before = _native.preparations()
    program = CompiledModel.load(path)
    assert program.facts.batch == 2
    assert str(program.facts)
    client = Client.generate(f"{path}.client")
    client.save(tmp_path / "secret.key")
    client.write_keys(tmp_path / "evaluation.key")
    x = np.arange(16).reshape(1, 16, 1, 1)
    query = client.encrypt(x)
    program.keys((tmp_path / "evaluation.key").read_bytes())
    program.query(query.to_bytes())
    program.text()
    np.save(tmp_path / "x.npy", x)
    own = ("--client", f"{path}.client", "--secret", tmp_path / "secret.key")
    invoke("encrypt", *own, "--output", tmp_path / "query", tmp_path / "x.npy")
    invoke("split", path, "--output", tmp_path / "again.client")
    invoke("keygen", "--client", f"{path}.client", "--output", tmp_path / "keys")
    invoke("info")
    assert _native.preparations() == before
    answer = program.run(
        (tmp_path / "evaluation.key").read_bytes(), (tmp_path / "query").read_bytes()
    )
    assert _native.preparations() == before + 1
    (tmp_path / "answer").write_bytes(answer.to_bytes())
    told = invoke("decrypt", *own, "--query", tmp_path / "query", "--json", tmp_path / "answer")
    assert json.loads(told)["outputs"]
    client.decrypt(program.run(client.keys(), query))
    program.costs()
    program.lower()
    assert _native.preparations() == before + 1, "once for a program"
    CompiledModel.load(path).costs()
    assert _native.preparations() == before + 2


def test_facts_of_the_client_are_those_of_the_program(path: Path) -> None:
    program = CompiledModel.load(path)
    client = Client.generate(program.terms)
    facts, costs = program.facts, program.costs()
    for field in fields(client.facts):
        assert getattr(client.facts, field.name) == getattr(facts, field.name), field.name
    assert costs.predicted_evaluation_key_bytes == facts.predicted_evaluation_key_bytes
    assert costs.predicted_key_memory_bytes == facts.predicted_key_memory_bytes
    assert costs.predicted_run_memory_bytes <= costs.predicted_peak_memory_bytes
    assert costs.worst_step.name in {step.name for step in facts.steps}
    assert facts.predicted_seconds == sum(step.predicted_seconds for step in facts.steps)
    shown = json.loads(invoke("inspect", path, "--json"))
    here = ("machine_factors", "threads", "predicted_wall_seconds", "predicted_reading_seconds")
    assert {*shown} == {*facts.to_json(), *costs.to_json(), "layers", "phases", *here}
    for name, value in {**facts.to_json(), **costs.to_json()}.items():
        assert shown[name] == value, name


def test_a_run_resumes_on_its_target_and_others_are_refused(path: Path) -> None:
    program = CompiledModel.load(path)
    client = program.client()
    keys, query = client.keys(), client.encrypt(np.zeros((1, 16, 1, 1)))
    saved: list[bytes] = []
    answer = program.run(keys, query, target="cpu", save=saved.append)
    assert answer.report.resumed_steps == 0
    assert [step.name for step in answer.report.steps] == [s.name for s in program.facts.steps]
    prepared = program.prepare(Target("cpu"))
    assert prepared(keys, query).report.raw_digest == answer.report.raw_digest
    for wrong, words in (
        (lambda: program.run(keys, query, target="tpu"), "'tpu', expected one of cpu, cuda, xla"),
        (lambda: Target("cpu", device="gpu"), "target cpu, which has no choice"),
        (lambda: Target("xla", device="abacus"), "'abacus', expected one of cpu, gpu, tpu"),
        (lambda: Target("cpu", kernels="bat"), "kernels bat of the target cpu, which has no"),
        (lambda: Target("xla", kernels="fast"), "set of kernels 'fast', expected one of default"),
        (lambda: Target("xla", devices=0), "0 devices, expected at least 1"),
    ):
        with pytest.raises(UsageError, match=words):
            wrong()
    with pytest.raises(FormatError):
        program.run(keys, query, checkpoint=b"no checkpoint")


def test_a_trace_is_replayed_and_kept(path: Path, tmp_path: Path) -> None:
    program = CompiledModel.load(path)
    client = program.client()
    keys, query = client.keys(), client.encrypt(np.arange(16).reshape(1, 16, 1, 1))
    trace = program.lower()
    trace.save(tmp_path / "trace")
    again = Trace.load(tmp_path / "trace")
    assert again.counts() == trace.counts()
    assert again.counts().instructions["ntt"] > 0
    program.check_trace(again)
    replayed = again.replay(keys, query)
    assert replayed.raw_digest == program.run(keys, query).report.raw_digest
    assert np.array_equal(client.decrypt(replayed.answer).values, client.decrypt(
        program.run(keys, query)).values)  # fmt: skip
    with pytest.raises(FormatError):
        Trace("palladion-trace/nothing").verify()


def test_modes_of_compile(network: palladion.IntNetwork) -> None:
    model = Model(network)
    hybrid = model.compile(mode="hybrid", link=Link(100.0, 20.0), inputs_per_client=3)
    assert isinstance(hybrid, HybridModel)
    assert hybrid.facts.network == "dense"
    assert hybrid.facts.hidden_inputs >= 3
    slow, fast = hybrid.costs(Link(1.0, 20.0)), hybrid.costs(Link(1000.0, 0.1))
    assert slow.online > fast.online > 0
    assert HybridModel(_native.HybridProgram.from_bytes(hybrid.to_bytes())).facts == hybrid.facts
    for wrong, words in (
        (lambda: model.compile(2, mode="hybrid"), "batch is no option of the mode hybrid"),  # type: ignore[call-overload]
        (lambda: model.compile(link=Link()), "link is no option of the mode encrypted"),  # type: ignore[call-overload]
        (lambda: model.compile(mode="half"), "mode 'half', expected one of encrypted, hybrid"),  # type: ignore[call-overload]
        (lambda: hybrid.serve("127.0.0.1:0", print), "any_client alone"),
    ):
        with pytest.raises(UsageError, match=words):
            wrong()


def test_data_become_dataclasses_and_data_again() -> None:
    @dataclass(frozen=True)
    class Part:
        name: str
        size: int | None = None

    globals()["Part"] = Part

    @dataclass(frozen=True)
    class Whole:
        parts: tuple[Part, ...]
        note: str | None

    data = {"parts": [{"name": "a"}, {"name": "b", "size": 2}], "note": None}
    whole = records.read(Whole, data)
    assert whole == Whole((Part("a"), Part("b", 2)), None)
    assert records.to_json(whole) == data
    with pytest.raises(KeyError, match="other"):
        records.read(Whole, {**data, "other": 1})
    with pytest.raises(TypeError, match="note"):
        records.read(Whole, {"parts": []})
    assert not {"predicted_seconds", "steps"} & {f.name for f in fields(Facts.__mro__[1])}
