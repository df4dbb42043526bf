"""``palladion evaluate`` on networks and data of any kind."""

from __future__ import annotations

import hashlib
import json
import lzma
from pathlib import Path
from typing import Any

import click
import numpy as np
import onnx
import palladion
import pytest
from click.testing import CliRunner
from palladion.cli.evaluate import evaluate
from palladion.cli.quantise import quantize
from palladion.cli.table import print_table
from palladion.errors import DataError, UsageError
from palladion.nn.datasets import cifar10, dataset

from tests.models import floats, model, node
from tests.test_mnist import idx, write


def run(command: click.Command, *arguments: object) -> Any:
    """A command in this process, as patches of sums reach no other."""
    line = [*map(str, arguments)]
    return CliRunner().invoke(command, line, catch_exceptions=False, standalone_mode=False)


@pytest.fixture
def folder(tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> Path:
    """CIFAR-10 with 12 training and 7 test images, the whole test file absent."""
    train = rng.integers(0, 10, 12 * cifar10.RECORD, dtype=np.uint8).tobytes()
    test = lzma.compress(rng.integers(0, 10, 7 * cifar10.RECORD, dtype=np.uint8).tobytes())
    monkeypatch.setitem(cifar10.SHA1, "data_batch_1.bin", hashlib.sha1(train).hexdigest())
    monkeypatch.setattr(cifar10, "FIRST_TEST_SHA256", hashlib.sha256(test).hexdigest())
    (tmp_path / "data_batch_1.bin").write_bytes(train)
    (tmp_path / "test_batch_first1000.bin.xz").write_bytes(test)
    return tmp_path


@pytest.fixture
def made(folder: Path, rng: np.random.Generator) -> tuple[Path, Path]:
    """A model on CIFAR-10's images that normalises them itself, and its integer network."""
    tensors: dict[str, Any] = {"w": floats(rng, 4, 3, 4, 4), "v": floats(rng, 10, 256)}
    tensors["half"], tensors["two"] = np.float32(0.02), np.float32(25)
    nodes = [
        node("Sub", ["x", "half"], "s"), node("Mul", ["s", "two"], "m"),
        node("Conv", ["m", "w"], "a", strides=[4, 4]), node("Relu", ["a"], "b"),
        node("Flatten", ["b"], "c"), node("Gemm", ["c", "v"], "y", transB=1),
    ]  # fmt: skip
    path, network = folder / "model.onnx", folder / "net.json"
    onnx.save(model(["N", 3, 32, 32], nodes, tensors), str(path))
    run(quantize, path, "--data", folder, "--count", 12, "--output", network, "--std", "0.5")
    return path, network


def test_float_and_integers_on_part_of_a_test_set(folder: Path, made: tuple[Path, Path]) -> None:
    path, network = made
    line = ["--network", network, "--data", folder]
    found = json.loads(run(evaluate, *line, "--model", path, "--json").stdout)
    assert (found["dataset"], found["images"]) == ("CIFAR-10", 7)
    assert "first 7 of CIFAR-10's 10000 test images" in found["note"]
    assert {"integer_correct", "noisy_correct", "noisy_class_changes"} <= found.keys()
    # The same normalisation in floats and in integers gives nearly the same answers.
    assert abs(found["plain_correct"] - found["integer_correct"]) <= 1
    assert all(0 <= layer["changed"] <= layer["values"] for layer in found["layers"])
    shown = run(evaluate, *line).stdout
    assert "note: only the first 7" in shown
    assert "plain network" not in shown
    assert json.loads(run(evaluate, *line, "--json").stdout)["plain_correct"] is None


def test_data_and_models_that_do_not_fit_are_refused(
    folder: Path, made: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, network = made
    digits = tmp_path_factory.mktemp("digits")
    write(digits, idx(3, 28, 28), idx(3))
    with pytest.raises(DataError, match=r"MNIST's images have shape 1x28x28, .* takes 3x32x32"):
        run(evaluate, "--network", network, "--data", digits)
    with pytest.raises(DataError, match=r"model\.onnx takes 3x32x32, the network mnist 1x28x28"):
        run(evaluate, "--model", path, "--data", digits)


def test_the_whole_test_set_has_no_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset, "TEST_IMAGES", 2)
    data = bytes(2 * cifar10.RECORD)
    (tmp_path / "test_batch.bin").write_bytes(data)
    monkeypatch.setitem(cifar10.SHA1, "test_batch.bin", hashlib.sha1(data).hexdigest())
    found = dataset.load(tmp_path, "test", 1)
    assert (found.name, found.images.shape, found.note) == ("CIFAR-10", (1, 3, 32, 32), None)


def test_encrypted_images_are_compared_layer_by_layer(tmp_path: Path) -> None:
    sample = palladion.mnist_sample()
    write(tmp_path, idx(3, 28, 28)[:16] + sample.images[:3].tobytes(),
          idx(3)[:8] + sample.labels[:3].tobytes())  # fmt: skip
    line = ["--data", tmp_path, "--encrypted", 2, "--batch", 2]
    shown = run(evaluate, *line)
    assert "encrypted, 2 images" in shown.stdout
    assert "same class in both   2 of 2" in shown.stdout
    assert "slots_to_coefficients" in shown.stdout or "table" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert "noise bounds" in shown.stderr


@pytest.mark.long
def test_images_are_spread_over_processes(tmp_path: Path) -> None:
    sample = palladion.mnist_sample()
    write(tmp_path, idx(3, 28, 28)[:16] + sample.images[:3].tobytes(),
          idx(3)[:8] + sample.labels[:3].tobytes())  # fmt: skip
    line = ["--data", tmp_path, "--encrypted", 3, "--batch", 1, "--count", 3, "--json"]
    here = json.loads(run(evaluate, *line).stdout)["encrypted"]
    spread = json.loads(run(evaluate, *line, "--processes", 2).stdout)["encrypted"]
    for name in ("images", "correct", "as_integer", "exceptions"):
        assert spread[name] == here[name]
    counted = ("name", "values", "slots", "wrong_slots", "accumulators", "predicted_sigma")
    for one, other in zip(here["layers"], spread["layers"], strict=True):
        assert [one[name] for name in counted] == [other[name] for name in counted]
        assert other["noise_sigma"] == pytest.approx(one["noise_sigma"], rel=0.3)


def test_two_ways_to_spread_images_are_refused(tmp_path: Path) -> None:
    line = ["--data", str(tmp_path), "--processes", "2"]
    with pytest.raises(UsageError, match="give one"):
        CliRunner().invoke(evaluate, [*line, "--ray", "auto"], catch_exceptions=False)
    with pytest.raises(UsageError, match="--encrypted"):
        CliRunner().invoke(evaluate, line, catch_exceptions=False)


def test_tables_of_many_long_names_fit(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"layer": f"/layers.{i}/block/conv2/Conv_output", "rate": f"{i}.5%"} for i in range(30)]
    print_table(rows)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 31
    assert max(map(len, lines)) <= 26
    assert lines[0].endswith("rate")
