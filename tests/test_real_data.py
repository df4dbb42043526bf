"""The applications of `examples/real_data`, in the clear: their circuits give what they define."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import palladion
import pytest

FOLDER = Path(__file__).parent.parent / "examples" / "real_data"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a module of the folder, and forgets it afterwards."""
    monkeypatch.syspath_prepend(str(FOLDER))

    def load(name: str) -> Any:
        for own in ("files", "layers", name):
            monkeypatch.delitem(sys.modules, own, raising=False)
        return importlib.import_module(name)

    return load


@pytest.mark.parametrize(
    ("name", "of", "stride", "least"),
    [("lola_mnist", "LolaMnist", 1, 98), ("lenet", "LeNet", 128, 98)],
)
def test_networks_are_their_definition(
    module: Any, name: str, of: str, stride: int, least: int
) -> None:
    network = getattr(module(name), of)()
    sample = palladion.mnist_sample()
    images = sample.images.reshape(len(sample.images), -1)
    assert network.circuit.params.security.bits >= 128
    assert max(q.bit_length() for level in network.circuit.params.moduli for q in level) <= 32
    for image in images[:2]:
        logits = network.circuit.run_clear(network.inputs(image))["logits"].real
        assert np.allclose(logits[::stride][:10], network.plain(image), atol=1e-9, rtol=0)
    classes = [int(network.plain(image).argmax()) for image in images]
    assert np.sum(classes == sample.labels) >= least


def test_training_is_its_definition(module: Any, rng: np.random.Generator) -> None:
    helr = module("helr")
    count = 6000
    labels = rng.integers(0, 10, count)
    images = rng.integers(0, 256, (count, 28, 28)) * (1 + (labels == 3))[:, None, None] // 2
    training = helr.Helr(images, labels, 2)
    assert len(training.samples) > helr.BATCH
    weights = training.weights_in(training.circuit.run_clear(training.inputs())["w"])
    assert np.abs(training.plain()).max() > 0.01
    assert np.allclose(weights, training.plain(), atol=1e-12, rtol=0)
    assert training.circuit.outputs == {"w": 0}
