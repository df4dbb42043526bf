"""Manifests: what a program was made of, and that it can be made again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import palladion
import pytest
from onnx import TensorProto, helper, numpy_helper
from palladion.manifest import Manifest, Source, hash_of

from tests.conftest import Command, refused


@dataclass(frozen=True)
class Files:
    """A small model with its calibration data, test data and program."""

    folder: Path

    @property
    def model(self) -> Path:
        return self.folder / "model.onnx"

    @property
    def data(self) -> Path:
        return self.folder / "calibration.npy"

    @property
    def program(self) -> Path:
        return self.folder / "program"

    @property
    def manifest(self) -> Path:
        return self.folder / "program.manifest"


def dense(seed: int) -> bytes:
    """A model with one layer of random weights."""
    rng = np.random.default_rng(seed)
    weights = numpy_helper.from_array(rng.normal(size=(4, 2)).astype(np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 2])],
        [weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(onnx.ModelProto.SerializeToString(model))


@pytest.fixture
def files(command: Command, tmp_path: Path) -> Files:
    files = Files(tmp_path)
    files.model.write_bytes(dense(1))
    rng = np.random.default_rng(2)
    np.save(files.data, rng.normal(size=(64, 4)).astype(np.float32))
    x = rng.normal(size=(50, 4)).astype(np.float32)
    np.savez(tmp_path / "test.npz", x=x, y=np.zeros(50, np.int64))
    given = ["--data", files.data, "--weights", 6, "--output", files.program]
    network = ["--save-network", tmp_path / "network.json"]
    done = command("compile", files.model, *given, *network)
    assert done.returncode == 0, done.stderr
    return files


def test_a_manifest_says_what_a_program_was_made_of(files: Files) -> None:
    known = Manifest.load(files.manifest)
    program = palladion.CompiledModel.load(files.program)
    assert known.program_sha256 == hash_of(files.program.read_bytes())
    assert known.ids["program_id"] == program.terms.program_id
    assert known.model == Source("model.onnx", hash_of(files.model.read_bytes()))
    assert known.data == Source("calibration.npy", hash_of(files.data.read_bytes()))
    assert known.options["quantisation"]["weights"] == 6
    assert known.options["quantisation"]["activations"] == 7  # which was not given
    assert known.versions["palladion"] == palladion.__version__
    assert known.versions["commit"] == palladion.__commit__
    assert known.log2_failure == program.facts.predicted_log2_failure
    assert str(files.folder) not in files.manifest.read_text()


def test_a_program_is_made_again_with_the_same_bytes(command: Command, files: Files) -> None:
    verify = ["verify", files.program, "--onnx", files.model]
    done = command(*verify, "--data", files.data, "--json")
    assert done.returncode == 0, done.stderr
    same = {"program", "model", "data", "network", "rebuilt"}
    assert json.loads(done.stdout)["same"] == dict.fromkeys(same, True)
    refused(command(*verify), "--data was given to compile", "give it here too")
    np.save(files.data, np.zeros((64, 4), np.float32))
    other = command(*verify, "--data", files.data)
    assert other.returncode == 4
    assert "data" in other.stderr
    assert "not as in the manifest" in other.stderr


def test_another_model_or_program_is_found(command: Command, files: Files) -> None:
    files.model.write_bytes(dense(3))
    given = ["--onnx", files.model, "--data", files.data]
    other = command("verify", files.program, *given)
    assert other.returncode == 4
    assert "not as in the manifest: model, network, rebuilt" in other.stderr
    files.model.write_bytes(dense(1))
    damaged = bytearray(files.program.read_bytes())
    damaged[-1] ^= 1
    files.program.write_bytes(damaged)
    other = command("verify", files.program, *given)
    assert other.returncode == 4
    assert "not as in the manifest: program" in other.stderr


def test_accuracy_is_attached_to_the_manifest_of_the_same_network(
    command: Command, files: Files
) -> None:
    data = ["--data", files.folder / "test.npz", "--attach", files.manifest]
    done = command("evaluate", "--network", files.folder / "network.json", *data)
    assert done.returncode == 0, done.stderr
    (entry,) = Manifest.load(files.manifest).accuracy
    assert entry["images"] == 50
    assert entry["data"] == {
        "name": "test.npz",
        "sha256": hash_of((files.folder / "test.npz").read_bytes()),
    }
    before = files.manifest.read_bytes()
    packaged = command("evaluate", *data)
    assert packaged.returncode != 0
    assert files.manifest.read_bytes() == before


@pytest.mark.parametrize(
    "fields", [{}, {"format": "palladion-manifest/9"}, [], {"format": "palladion-manifest/1"}]
)
def test_what_is_no_manifest_is_refused(fields: Any, tmp_path: Path) -> None:
    path = tmp_path / "manifest"
    path.write_text(json.dumps(fields))
    with pytest.raises(palladion.FormatError, match="manifest"):
        Manifest.load(path)


def test_the_hash_of_a_folder_changes_with_names_and_contents(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "a").write_bytes(b"1")
    hashes = {Source.of(folder).sha256}
    (folder / "inner" / "a").write_bytes(b"2")
    hashes.add(Source.of(folder).sha256)
    (folder / "inner" / "a").rename(folder / "a")
    hashes.add(Source.of(folder).sha256)
    assert len(hashes) == 3
    assert Source.of(folder).name == "data"


def test_the_cost_of_a_request_is_that_of_the_program(command: Command, files: Files) -> None:
    done = command("cost", "--program", files.program, "--price", 0.05, "--json")
    assert done.returncode == 0, done.stderr
    cost = json.loads(done.stdout)
    program = palladion.CompiledModel.load(files.program)
    assert cost["query_bytes"] == program.facts.predicted_ciphertext_bytes
    for row in cost["requests"]:
        assert row["core_seconds"] == pytest.approx(row["seconds"] * row["cores"])
        assert row["requests_per_hour"] == pytest.approx(3600 / row["seconds"])
        assert row["price_of_1000"] == pytest.approx(1000 * row["core_seconds"] * 0.05 / 3600)
    text = command("cost", "--program", files.program, "--cores", 2).stdout
    assert "requests an hour" in text
    assert max(map(len, text.splitlines())) <= 100
    refused(command("cost", "--program", files.program, "--price", -1), "above 0")
