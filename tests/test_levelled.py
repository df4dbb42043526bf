"""The levelled mode: networks of polynomials, for thousands of inputs in one run."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import palladion
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper, numpy_helper
from palladion import ckks
from palladion.cli import commands
from palladion.errors import (
    BudgetError,
    FormatError,
    InputWarning,
    KeyMismatch,
    MismatchError,
    NetworkError,
    NoiseError,
    UsageError,
)
from palladion.levelled import (
    LevelledAnswer,
    LevelledClient,
    LevelledModel,
    LevelledProgram,
    LevelledQuery,
    LevelledTerms,
)
from palladion.levelled import affine_stages as staged
from palladion.levelled.polynomial import coefficients
from palladion.levelled.writing import groups
from palladion.nn.floats.expression import X, apply, constant
from palladion.support import memory

from tests.models import Array

Node = tuple[str, list[str], str, dict[str, Any]]


def model(shape: Sequence[int], nodes: list[Node], arrays: dict[str, Array]) -> onnx.ModelProto:
    """A model of inputs ``x`` of this shape, whose output is that of the last node."""
    made = [helper.make_node(kind, inputs, [name], name=name, **attributes)
            for kind, inputs, name, attributes in nodes]  # fmt: skip
    held = [
        numpy_helper.from_array(a if a.dtype == np.int64 else a.astype(np.float32), name)
        for name, a in arrays.items()
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", *shape])
    y = helper.make_tensor_value_info(made[-1].output[0], TensorProto.FLOAT, None)
    graph = helper.make_graph(made, "polynomials", [x], [y], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def dense(rng: np.random.Generator, inputs: int, outputs: int, name: str) -> dict[str, Array]:
    return {f"{name}.w": rng.normal(size=(outputs, inputs)) / np.sqrt(inputs),
            f"{name}.b": rng.normal(size=outputs)}  # fmt: skip


def perceptron(activation: list[Node], inputs: int = 6, units: int = 5) -> onnx.ModelProto:
    """Two dense layers and functions of ``z`` between them, the last of which is ``v``."""
    rng = np.random.default_rng(3)
    arrays = {**dense(rng, inputs, units, "first"), **dense(rng, units, 3, "last"),
              "half": np.array(0.5), "two": np.array(2.0)}  # fmt: skip
    nodes: list[Node] = [
        ("Gemm", ["x", "first.w", "first.b"], "z", {"transB": 1}),
        *activation,
        ("Gemm", ["v", "last.w", "last.b"], "y", {"transB": 1}),
    ]
    return model([inputs], nodes, arrays)


SQUARE: list[Node] = [("Mul", ["z", "z"], "v", {})]
CASES: dict[str, list[Node]] = {
    "square": SQUARE,
    "power": [("Pow", ["z", "two"], "v", {})],
    "shifted square": [("Mul", ["z", "z"], "s", {}), ("Mul", ["z", "half"], "h", {}),
                       ("Sub", ["h", "s"], "v", {})],
    "cubic": [("Mul", ["z", "z"], "s", {}), ("Mul", ["s", "z"], "c", {}),
              ("Add", ["c", "half"], "v", {})],
    "linear": [("Mul", ["z", "half"], "v", {})],
}  # fmt: skip


def inputs(count: int, *shape: int) -> Array:
    return np.random.default_rng(count).uniform(-1, 1, (count, *shape)).astype(np.float32)


def train(*shape: int) -> Array:
    """Inputs that reach both ends of the range of all."""
    ends = [np.full((1, *shape), end, dtype=np.float32) for end in (-1, 1)]
    return np.concatenate([*ends, inputs(40, *shape)])


@pytest.mark.parametrize("case", CASES)
def test_every_input_gets_its_own_output(case: str) -> None:
    own = LevelledModel.from_onnx(perceptron(CASES[case]))
    slots = own.compile(train(6)).terms.slots
    program = own.compile(train(6), batch=2 * slots)
    given = inputs(slots + 3, 6)
    client = program.client()
    query = client.encrypt(given)
    assert len(query.ciphertexts) == 2
    answer = program.run(client.keys(), query)
    found, expected = client.decrypt(answer, query).values, own.predict(given).values
    predicted = program.precision(given[:16]).errors.max()
    assert found.shape == expected.shape == (slots + 3, 3)
    assert np.abs(found - expected).max() < 8 * predicted + 1e-5 * np.abs(expected).max()


def test_the_predicted_error_is_that_of_a_run() -> None:
    own = LevelledModel.from_onnx(perceptron(SQUARE))
    program = own.compile(train(6))
    given = inputs(50, 6)
    client = program.client()
    stages = program.stages
    found = client.decrypt(program.run(client.keys(), client.encrypt(given)))
    clear = stages.evaluate(program.terms.variables(given))
    single = np.abs(clear).max() * 2.0**-24  # outputs are given in single precision
    measured = np.sqrt(np.mean((found.values - clear) ** 2))
    predicted = np.sqrt(np.mean(program.precision(given).errors ** 2))
    assert 0.3 * predicted < measured < 3 * predicted + single
    assert program.precision(given).bits > 12


def convolutions(*, residual: bool) -> onnx.ModelProto:
    """Convolutions with squares, means over windows, and perhaps a sum of two branches."""
    rng = np.random.default_rng(8)
    arrays = {"a.w": rng.normal(size=(3, 2, 3, 3)) / 4, "a.b": rng.normal(size=3) / 4,
              "b.w": rng.normal(size=(3, 3, 3, 3)) / 5, "b.b": rng.normal(size=3) / 5,
              **dense(rng, 3, 4, "last"), "flat": np.array([-1, 3])}  # fmt: skip
    same = {"pads": [1, 1, 1, 1]}
    nodes: list[Node] = [
        ("Conv", ["x", "a.w", "a.b"], "z", same),
        ("Mul", ["z", "z"], "s", {}),
        ("AveragePool", ["s"], "p", {"kernel_shape": [2, 2], "strides": [2, 2]}),
        ("Conv", ["p", "b.w", "b.b"], "t", same),
        ("Mul", ["t", "t"], "u", {}),
        ("Add", ["u", "p" if residual else "u"], "r", {}),
        ("GlobalAveragePool", ["r"], "g", {}),
        ("Reshape", ["g", "flat"], "f", {}),
        ("Gemm", ["f", "last.w", "last.b"], "y", {"transB": 1}),
    ]
    return model([2, 6, 6], nodes, arrays)


@pytest.mark.parametrize("residual", [False, True])
def test_a_convolution_is_sums_of_few_inputs(residual: bool) -> None:
    own = LevelledModel.from_onnx(convolutions(residual=residual))
    program = own.compile(train(2, 6, 6))
    given = inputs(40, 2, 6, 6)
    expected = own.predict(given).values
    clear = program.stages.evaluate(program.terms.variables(given))
    np.testing.assert_allclose(clear, expected, atol=1e-5 * np.abs(expected).max())
    client = program.client()
    found = client.decrypt(program.run(client.keys(), client.encrypt(given))).values
    assert np.abs(found - expected).max() < 1e-3 * np.abs(expected).max()


def test_no_input_in_range_exceeds_the_bounds() -> None:
    """The sums of all stages, at the corners of the range, where they are largest."""
    program = LevelledModel.from_onnx(convolutions(residual=True)).compile(train(2, 6, 6))
    rng = np.random.default_rng(0)
    corners = rng.choice([-1.0, 1.0], (400, program.stages.inputs))
    worst = np.sign(program.stages.stages[0].weights)
    known = np.concatenate([corners, worst, -worst])
    reached = 0.0
    for stage in program.stages.stages:
        sums = known[:, : stage.weights.shape[1]] @ stage.weights.T + stage.bias
        assert np.abs(sums).max() <= 1 + 1e-9
        reached = max(reached, float(np.abs(sums).max()))
        if stage.polynomials is not None:
            powers = np.power.outer(sums, np.arange(stage.polynomials.shape[1]))
            known = np.concatenate([known, (powers * stage.polynomials).sum(axis=2)], axis=1)
    assert reached > 0.99, "the first bound is the worst case itself"


def test_units_that_read_nothing_are_numbers() -> None:
    rng = np.random.default_rng(3)
    arrays = {**dense(rng, 4, 5, "first"), **dense(rng, 5, 3, "last")}
    arrays["first.w"][2] = 0  # a number
    arrays["first.w"][:, 1] = 0  # an input that nothing reads
    arrays["last.w"][1] = 0  # an output that is its bias
    nodes: list[Node] = [
        ("Gemm", ["x", "first.w", "first.b"], "z", {"transB": 1}),
        *SQUARE,
        ("Gemm", ["v", "last.w", "last.b"], "y", {"transB": 1}),
    ]
    own = LevelledModel.from_onnx(model([4], nodes, arrays))
    program = own.compile(train(4))
    assert program.terms.used == (0, 2, 3)
    assert program.terms.open_outputs == [0, 2]
    client = program.client()
    found = client.decrypt(program.run(client.keys(), client.encrypt(inputs(9, 4)))).values
    np.testing.assert_allclose(found, own.predict(inputs(9, 4)).values, atol=1e-4)
    arrays["last.w"][:] = 0
    with pytest.raises(NetworkError, match="no output depends on an input"):
        LevelledModel.from_onnx(model([4], nodes, arrays)).compile(train(4))


def test_polynomials_of_expressions() -> None:
    cubic = apply("power", apply("add", X, constant(2)), parameters=(3.0,))
    np.testing.assert_array_equal(coefficients(cubic), [8, 12, 6, 1])
    mixed = apply("sub", apply("div", apply("mul", X, X), constant(4)), apply("neg", X))
    np.testing.assert_array_equal(coefficients(mixed), [0, 1, 0.25])
    assert coefficients(apply("relu", X)) is None
    assert coefficients(apply("div", constant(1), X)) is None
    assert coefficients(apply("power", X, parameters=(0.5,))) is None
    assert coefficients(apply("power", X, parameters=(17.0,))) is None
    np.testing.assert_array_equal(coefficients(apply("sub", X, X)), [])


def test_rows_are_grouped_by_the_columns_that_they_read() -> None:
    weights = np.zeros((5, 1200))
    weights[[0, 2], :3] = 1
    weights[[1, 3], 600:] = 1
    found = list(groups(weights))
    assert [rows for rows, _ in found] == [[0, 2], [1, 3]]
    assert found[1][1] == [*range(600, 1200)]
    weights[3, 700] = 0  # nearly alike
    assert [rows for rows, _ in groups(weights)] == [[0, 2], [1, 3]]


def test_a_run_needs_the_memory_that_is_predicted(
    program: LevelledProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All ciphertexts of the inputs, and those of the layers, with room for what lies between."""
    ciphertext = 2 * 8 * 4 * program.terms.params.n  # four limbs
    assert 12 * ciphertext < program.memory_bytes < 40 * ciphertext
    client = program.client()
    query = client.encrypt(inputs(3, 6))
    monkeypatch.setattr(memory, "available", lambda *_: program.memory_bytes - 1)
    with pytest.raises(BudgetError, match="a run of polynomials needs"):
        program.run(client.keys(), query)


def test_other_functions_are_refused() -> None:
    own = LevelledModel.from_onnx(perceptron([("Relu", ["z"], "v", {})]))
    with pytest.raises(NetworkError, match=r"v \(relu\(x\)\) is neither linear nor a polynomial"):
        own.compile(train(6))


def test_compile_says_that_levels_are_faster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", x=train(6), y=np.zeros(42, dtype=np.int64))
    relu: list[Node] = [("Relu", ["z"], "v", {})]
    for name, nodes in (("squares", SQUARE), ("relu", relu)):
        onnx.save(perceptron(nodes), "net.onnx")
        line = ["compile", "net.onnx", "--data", "data.npz", "--batch", "256", "--json"]
        done = CliRunner().invoke(commands, [*line, "--output", "net.program"])
        assert done.exit_code == 0, done.output
        notes = json.loads(done.stdout)["notes"]
        assert any("palladion levelled compile" in note for note in notes) == (name == "squares")


def test_networks_that_are_too_deep_are_refused() -> None:
    rng, arrays, nodes = np.random.default_rng(3), {}, []
    for i in range(25):
        arrays.update(dense(rng, 3, 3, f"layer{i}"))
        nodes.append(("Gemm", [f"v{i - 1}" if i else "x", f"layer{i}.w", f"layer{i}.b"], f"z{i}",
                      {"transB": 1}))  # fmt: skip
        nodes.append(("Mul", [f"z{i}", f"z{i}"], f"v{i}", {}))
        for name in (f"layer{i}.w", f"layer{i}.b"):
            arrays[name] = arrays[name] / 20
    with pytest.raises(NetworkError, match=r"takes \d+ levels, and no ring"):
        LevelledModel.from_onnx(model([3], nodes, arrays)).compile(train(3))


def test_values_that_grow_without_bound_are_refused() -> None:
    nodes: list[Node] = []
    rng, arrays = np.random.default_rng(3), {}
    for i in range(6):
        arrays.update(dense(rng, 3, 3, f"layer{i}"))
        arrays[f"layer{i}.w"] = 5 * arrays[f"layer{i}.w"]
        nodes.append(("Gemm", [f"v{i - 1}" if i else "x", f"layer{i}.w", f"layer{i}.b"], f"z{i}",
                      {"transB": 1}))  # fmt: skip
        nodes.append(("Mul", [f"z{i}", f"z{i}"], f"v{i}", {}))
    with pytest.raises(NetworkError, match=r"its input could reach .*: no precision"):
        LevelledModel.from_onnx(model([3], nodes, arrays)).compile(train(3))


@pytest.fixture(scope="module")
def program() -> LevelledProgram:
    return LevelledModel.from_onnx(perceptron(SQUARE)).compile(train(6), batch=100)


def test_inputs_that_are_not_the_models(program: LevelledProgram) -> None:
    client = program.client()
    with pytest.raises(NetworkError, match="inputs of shape 3x7, expected Nx6"):
        client.encrypt(inputs(3, 7))
    with pytest.raises(NetworkError, match="NaN"):
        client.encrypt(np.full((1, 6), np.nan))
    with pytest.raises(UsageError, match="101 inputs, expected at most 100"):
        client.encrypt(inputs(101, 6))
    with pytest.warns(InputWarning, match="6 of 6 input values lie outside"):
        client.encrypt(np.full((1, 6), 50.0))
    with pytest.raises(UsageError, match="a batch of 0"):
        LevelledModel.from_onnx(perceptron(SQUARE)).compile(train(6), batch=0)


def test_what_was_clipped_is_the_end_of_the_range(program: LevelledProgram) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ends = program.terms.variables(np.ones((1, 6)))
    with pytest.warns(InputWarning):
        beyond = program.terms.variables(np.full((1, 6), 1e6))
    np.testing.assert_allclose(beyond, ends, atol=1e-6)
    np.testing.assert_allclose(ends, 1, atol=1e-6)


def test_messages_of_other_programs_and_secrets(program: LevelledProgram) -> None:
    client, given = program.client(), inputs(4, 6)
    query = client.encrypt(given)
    other = LevelledModel.from_onnx(perceptron(SQUARE, units=4)).compile(train(6), batch=100)
    with pytest.raises(MismatchError, match="made for the program"):
        other.run(client.keys(), query.to_bytes())
    with pytest.raises(MismatchError, match="made for the program"):
        other.run(client.keys(), query)
    with pytest.raises(UsageError):
        program.run(program.client().keys(), query)  # keys of another secret
    answer = program.run(client.keys(), query)
    with pytest.raises(UsageError, match="an answer to the query"):
        client.decrypt(answer, client.encrypt(given))
    with pytest.raises((KeyMismatch, NoiseError)):
        program.client().decrypt(answer, query)
    deeper = LevelledModel.from_onnx(perceptron(CASES["cubic"])).compile(train(6))
    with pytest.raises(KeyMismatch, match="a secret for"):
        LevelledClient(deeper.terms, client.secret)


def test_results_that_cannot_be_right_are_refused(program: LevelledProgram) -> None:
    """An answer of a network whose weights are larger than its bounds."""
    first, *rest = program.stages.stages
    wrong = replace(first, weights=64 * first.weights)
    stages = staged.Stages(program.stages.inputs, (wrong, *rest), program.stages.scale)
    strange = LevelledProgram(program.terms, stages)
    client = program.client()
    answer = strange.run(client.keys(), client.encrypt(inputs(50, 6)))
    with pytest.raises(NoiseError, match="the answer is not one of this program"):
        client.decrypt(answer)


def test_files(program: LevelledProgram, tmp_path: Path) -> None:
    path = tmp_path / "net.levelled"
    program.save(path)
    again = LevelledProgram.load(path)
    assert again.terms.program == program.terms.program
    client = program.client()
    client.save(tmp_path / "secret.key")
    assert (tmp_path / "secret.key").stat().st_mode & 0o077 == 0
    read = LevelledClient.load(f"{path}.client", tmp_path / "secret.key")
    given = inputs(5, 6)
    query = read.encrypt(given)
    assert isinstance(LevelledQuery.from_bytes(program.terms, query.to_bytes()), LevelledQuery)
    data = again.run(client.keys().to_bytes(), query.to_bytes()).to_bytes()
    found = client.decrypt(LevelledAnswer.from_bytes(program.terms, data), query)
    expected = LevelledModel.from_onnx(perceptron(SQUARE)).predict(given)
    np.testing.assert_allclose(found.values, expected.values, atol=1e-3)
    whole = path.read_bytes()
    for damaged in (b"", whole[:9], whole[:500], whole[:-40], whole[:12] + b"\x09" + whole[13:]):
        path.write_bytes(damaged)
        with pytest.raises(FormatError):
            LevelledProgram.load(path)
    path.write_bytes((tmp_path / "net.levelled.client").read_bytes())
    with pytest.raises(FormatError, match="a client's file of a levelled program, expected"):
        LevelledProgram.load(path)


def test_files_whose_parts_do_not_fit(program: LevelledProgram) -> None:
    terms = program.terms
    with pytest.raises(FormatError, match="low of shape"):
        LevelledTerms.of(terms.facts(), {**terms.arrays(), "low": np.zeros(2)})
    with pytest.raises(FormatError, match="beyond the 6"):
        LevelledTerms.of({**terms.facts(), "used": [9]}, terms.arrays())
    first, *rest = program.stages.stages
    narrow = replace(first, weights=first.weights[:, 1:])
    stages = staged.Stages(6, (narrow, *rest), program.stages.scale)
    with pytest.raises(FormatError, match="weights of shape"):
        LevelledProgram.from_bytes(LevelledProgram(terms, stages).to_bytes())


def test_parameters_are_secure(program: LevelledProgram) -> None:
    bits = program.terms.params.security.bits
    assert bits is not None
    assert bits >= 128
    assert isinstance(program.terms.params, ckks.Params)


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(perceptron(SQUARE), "net.onnx")
    np.save("train.npy", train(6))
    np.savez("test.npz", x=inputs(20, 6), y=np.zeros(20, dtype=np.int64))

    def called(*arguments: str) -> Any:
        done = CliRunner().invoke(commands, ["levelled", *arguments, "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    made = called("compile", "net.onnx", "--calibrate", "train.npy", "--output", "net.levelled")
    assert made["security_bits"] >= 128
    assert made["predicted_precision_bits"] > 12
    assert called("keygen", "--client", "net.levelled.client", "--output", "keys")
    held = ["--client", "net.levelled.client", "--secret", "keys/secret.key"]
    assert called("encrypt", *held, "--output", "query", "test.npz")["inputs"] == 20
    server = ["--program", "net.levelled", "--keys", "keys/evaluation.key"]
    assert called("run", *server, "--output", "answer", "query")["inputs"] == 20
    found = called("decrypt", *held, "--query", "query", "answer")
    expected = LevelledModel.from_onnx("net.onnx").predict(np.load("test.npz")["x"])
    np.testing.assert_allclose(found["outputs"]["y"], expected.values, atol=1e-3)
    evaluated = called("evaluate", "net.levelled", "--data", "test.npz")
    assert evaluated["same_class"] == 20
    again = CliRunner().invoke(
        commands, ["levelled", "keygen", "--client", "net.levelled.client", "--output", "keys"]
    )
    assert isinstance(again.exception, palladion.DataError)
