"""The applications of `examples/real_data`: their circuits give what they define."""

from __future__ import annotations

import argparse
import functools
import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import palladion
import palladion.ckks
import pytest

pytestmark = pytest.mark.long

FOLDER = Path(__file__).parent.parent / "examples" / "real_data"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a module of the folder, and forgets it afterwards."""
    monkeypatch.syspath_prepend(str(FOLDER))

    def load(name: str) -> Any:
        for own in ("files", "layers", "runs", "helr", "helr_bootstrapped", name):
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
    whole = helr.Helr(images, labels, 2)
    assert len(whole.training.samples) > helr.BATCH
    weights = whole.weights_in(whole.circuit.run_clear(whole.inputs()))
    plain = [w for w, _ in whole.training.plain()][-1]
    assert np.abs(plain).max() > 0.01
    assert np.allclose(weights, plain, atol=1e-12, rtol=0)
    assert whole.circuit.outputs == {"w": 0}


def samples(rng: np.random.Generator, count: int) -> Any:
    """Rows of 196 features with a sign, of which some tell the sign, and a bias."""
    signs = rng.choice([-1.0, 1.0], count)
    features = rng.uniform(0, 0.5, (count, 196))
    features[:, :20] += 0.25 * (1 + signs[:, None])
    return np.hstack([features, np.ones((count, 1))]) * signs[:, None]


def test_bootstrapped_training_is_its_definition(module: Any, rng: np.random.Generator) -> None:
    helr = module("helr_bootstrapped")
    insecure = helr.parameters(10, insecure=True)
    training = helr.Bootstrapped(samples(rng, 40), 6, insecure, size=8)
    assert training.training.parts == 4
    plain, c = training.plain(), training.circuit
    assert np.abs(plain[-1][0] - plain[-1][1]).max() > 0.01  # the momentum has an effect
    error = training.error()
    tolerance = 2 * training.deviation(error, rng)
    assert tolerance < 0.01 * np.abs(plain[-1][0]).max()

    secret = palladion.ckks.keygen(insecure)
    keys = c.keys(secret)
    clear = training.state(*np.zeros((2, 1)))
    state = c.encrypt(secret, {"state": clear})
    for step in range(training.steps):
        inputs = training.inputs(step)
        clear = c.run_clear({**inputs, **training.plain_inputs, "state": clear})["state"]
        assert np.allclose(clear, training.state(*plain[step]), atol=1e-12, rtol=0)
        given = {**c.encrypt(secret, inputs), **training.plain_inputs, **state}
        state = c.run(given, keys)
    found = training.weights_in(c.decrypt(secret, state)["state"])
    for part, expected in zip(found, plain[-1], strict=True):
        assert 0 < np.abs(part - expected).max() < tolerance


def test_bootstrapped_training_is_secure_and_its_errors_add_up(
    module: Any, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    helr = module("helr_bootstrapped")
    params = helr.parameters()
    assert params.security.bits >= 128
    assert max(q.bit_length() for level in params.moduli for q in level) <= 32
    training = helr.Bootstrapped(samples(rng, 2048), 6, params)
    assert training.circuit.outputs == {"state": 0}
    exact, _ = training.plain()[-1]
    assert np.array_equal(training.with_errors(0.0, rng), exact)
    noisy = training.with_errors(1e-4, rng)
    # The errors of three steps, and what the momentum made of the first two.
    assert 1.5e-4 < np.std(noisy - exact) < 1e-3
    monkeypatch.setattr(helr, "BOUND", 0.01)
    with pytest.raises(ValueError, match="take fewer iterations"):
        training.plain()


class Elsewhere:
    """Stands for a plan: the same circuit on the CPU, whose results are falsified from a run on."""

    def __init__(self, c: palladion.circuit.Circuit, right: int) -> None:
        self.circuit, self.right = c, right

    def run(self, given: Any, keys: Any, progress: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        found = self.circuit.run(given, keys)
        progress("all", 1.0, 1.0)
        if self.right == 0:
            found = {name: ct + 1e-9 for name, ct in found.items()}
        self.right -= 1
        return found, {"waves": 1, "executables": 1, "device_memory_bytes": 0, "device": "none"}


@pytest.mark.parametrize("right", [3, 2])
def test_the_driver_trains_and_compares_bytes(
    module: Any,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    right: int,
) -> None:
    driver = module("training")
    insecure = driver.parameters(10, insecure=True)
    small = functools.partial(driver.Bootstrapped, size=8)
    monkeypatch.setattr(driver, "Bootstrapped", small)
    monkeypatch.setattr(driver, "parameters", lambda: insecure)
    labels = np.tile([3, 8], 60)
    images = rng.integers(0, 40, (120, 28, 28))
    images[::2, :8] += 80
    images[1::2, -8:] += 80
    monkeypatch.setattr(driver.mnist, "load", lambda *_: (images, labels))

    class Compared(driver.Runs):  # type: ignore[misc, name-defined]
        def __init__(self, c: Any, device: str, plain: Any) -> None:
            super().__init__(c, None, plain)
            self.prepared = Elsewhere(c, right)

    monkeypatch.setattr(driver, "Runs", Compared)
    options = argparse.Namespace(data=FOLDER, iterations=14, xla=3, device="cpu")
    if right < options.xla:
        with pytest.raises(SystemExit, match="other bytes"):
            driver.trained(options)
        return
    assert driver.trained(options)
    printed = capsys.readouterr()
    assert "3 results through XLA have the bytes of the CPU's" in printed.out
    assert "step 7 of 7" in printed.out
    assert "s left" in printed.err
    monkeypatch.setattr(sys.modules["helr_bootstrapped"], "BOUND", 0.01)
    with pytest.raises(SystemExit, match="take fewer iterations"):
        driver.trained(options)
    options.iterations = 13
    with pytest.raises(SystemExit, match="expected an even number"):
        driver.trained(options)
