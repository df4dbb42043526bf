"""Integer networks as ONNX models: the same integers, and the way back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import palladion
import pytest
from click.testing import CliRunner
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator
from palladion import IntNetwork, NetworkError
from palladion.cli import commands
from palladion.nn.integers.export import is_ours, to_onnx
from palladion.nn.integers.network import Conv, Input, Layer, Term

from tests import models
from tests.test_network import images, small


def logits(model: onnx.ModelProto, network: IntNetwork, inputs: np.ndarray[Any, Any]) -> Any:
    """The result of ONNX's reference implementation."""
    given = inputs.reshape(-1, *network.input.shape).astype(np.int32)
    (found,) = ReferenceEvaluator(model).run(None, {"input": given})
    return np.asarray(found)


@pytest.mark.parametrize("seed", range(20))
def test_the_model_gives_the_integers_of_the_network(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = small(rng)
    inputs = images(rng, 3)
    model = to_onnx(network)
    onnx.checker.check_model(model, full_check=True)
    found = logits(model, network, inputs)
    assert found.dtype == np.int64
    assert found.tolist() == network.evaluate(inputs).logits.tolist()


def test_the_packaged_network_gives_its_integers() -> None:
    network = palladion.mnist_network()
    inputs = network.inputs_of_pixels(palladion.mnist_sample().images[:10])
    found = logits(to_onnx(network), network, inputs)
    assert found.tolist() == network.evaluate(inputs).logits.tolist()


@pytest.mark.parametrize(("weight", "kind"), [(932, TensorProto.FLOAT), (933, TensorProto.DOUBLE)])
def test_sums_beyond_float32_are_taken_in_float64(weight: int, kind: int) -> None:
    """Sums of 18 products: at most 1000 times 18 weights, on both sides of 2^24."""
    taps = np.full((2, 2, 3, 3), weight) * np.array([1, -1])[:, None, None, None]
    layer = Layer("a", (Term(0, Conv(taps)),), np.array([7, -32767]), 32767, None, 1.0)
    network = IntNetwork("wide", Input((2, 6, 6), -1000, 1000, 1.0), (layer,))
    model = to_onnx(network)
    casts = {a.i for n in model.graph.node if n.op_type == "Cast" for a in n.attribute}
    assert casts == {kind, TensorProto.INT64}
    inputs = np.concatenate([np.full((1, 72), 1000), np.full((1, 72), -999)])
    assert logits(model, network, inputs).tolist() == network.evaluate(inputs).logits.tolist()


def test_a_file_reads_back_as_the_same_network(tmp_path: Path, rng: np.random.Generator) -> None:
    for network in (small(rng), palladion.mnist_network()):
        path = tmp_path / "net.onnx"
        path.write_bytes(to_onnx(network).SerializeToString())
        assert is_ours(path)
        assert IntNetwork.load(path).to_json() == network.to_json()


def test_initialisers_are_integers(rng: np.random.Generator) -> None:
    kinds = {tensor.data_type for tensor in to_onnx(small(rng)).graph.initializer}
    assert kinds <= {TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64}


def test_a_foreign_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "foreign.onnx"
    foreign = models.model([1, 4], [models.node("Relu", ["x"], "y")])
    path.write_bytes(foreign.SerializeToString())
    assert not is_ours(path)
    with pytest.raises(NetworkError, match=r"holds no integer network.*palladion quantize"):
        IntNetwork.load(path)
    path.write_bytes(b"\xff\xfe\xfd")
    with pytest.raises(NetworkError, match="is no ONNX model"):
        IntNetwork.load(path)
    with pytest.raises(NetworkError, match="is missing"):
        IntNetwork.load(tmp_path / "absent.onnx")


def test_a_changed_model_is_refused(tmp_path: Path, rng: np.random.Generator) -> None:
    model = to_onnx(small(rng))
    bias = next(t for t in model.graph.initializer if t.name == "last/bias")
    bias.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(bias) + 1, bias.name))
    path = tmp_path / "changed.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(NetworkError, match="is not the one that `palladion export` wrote"):
        IntNetwork.load(path)


def test_the_command_writes_a_model_that_inspect_reads(tmp_path: Path) -> None:
    source, target = tmp_path / "net.json", tmp_path / "net.onnx"
    network = palladion.mnist_network()
    source.write_text(network.to_json())
    run = CliRunner().invoke
    result = run(commands, ["export", str(source), "--output", str(target), "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["model_bytes"] == target.stat().st_size
    assert IntNetwork.load(target).to_json() == network.to_json()
    again = run(commands, ["export", str(source), "--output", str(tmp_path / "net.txt")])
    assert "does not end in .onnx" in str(again.exception)
