"""The native module: callbacks, errors, and what it compares."""

from __future__ import annotations

import re
from pathlib import Path

import palladion
import pytest
from palladion import UsageError, _native
from palladion.nn.network import ROUNDING_SIGMA

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def program() -> palladion.Program:
    return palladion.compile_network(palladion.mnist_network().to_json(), batch=1)


@pytest.fixture(scope="module")
def pair(program: palladion.Program) -> tuple[palladion.SecretKey, palladion.EvaluationKeys]:
    return palladion.keygen(program)


@pytest.fixture(scope="module")
def images() -> list[list[int]]:
    inputs: list[list[int]] = (
        palladion.mnist_network().inputs_of_pixels(palladion.mnist_sample().images[:1]).tolist()
    )
    return inputs


Pair = tuple[palladion.SecretKey, palladion.EvaluationKeys]


def test_progress_goes_from_nothing_to_all(
    program: palladion.Program, pair: Pair, images: list[list[int]]
) -> None:
    secret, keys = pair
    heard: list[tuple[str, float, float]] = []
    _answer, report = program.run(keys, secret.encrypt(images), lambda *news: heard.append(news))
    done = [done for _, done, _ in heard]
    assert done[0] == 0
    assert done == sorted(done)
    assert heard[-1][1] == pytest.approx(heard[-1][2])
    assert list(dict.fromkeys(name for name, _, _ in heard)) == list(
        dict.fromkeys(step["name"] for step in report["steps"])
    )


@pytest.mark.parametrize("raised", [KeyboardInterrupt, ZeroDivisionError])
def test_what_a_callback_raises_comes_out_and_stops_the_run(
    program: palladion.Program,
    pair: Pair,
    images: list[list[int]],
    raised: type[BaseException],
) -> None:
    secret, keys = pair
    heard = []

    def progress(step: str, _done: float, _total: float) -> None:
        heard.append(step)
        if "to_samples" in step:
            raise raised

    with pytest.raises(raised):
        program.run(keys, secret.encrypt(images), progress)
    assert "last: output" not in heard


def test_a_callback_that_answers_false_stops_the_run(
    program: palladion.Program, pair: Pair, images: list[list[int]]
) -> None:
    secret, keys = pair
    with pytest.raises(palladion.StoppedError):
        program.run(keys, secret.encrypt(images), lambda *_: False)


def test_images_that_do_not_fit_are_refused(pair: Pair, images: list[list[int]]) -> None:
    secret, _keys = pair
    for wrong in ([], images * 2, [images[0][:-1]], [[128, *images[0][1:]]]):
        with pytest.raises(UsageError, match="expected"):
            secret.encrypt(wrong)


def test_keys_of_another_program_are_refused(
    program: palladion.Program, pair: Pair, images: list[list[int]]
) -> None:
    other = palladion.compile_network(palladion.mnist_network().to_json(), batch=2)
    secret, keys = pair
    with pytest.raises(UsageError, match="another program"):
        other.run(keys, secret.encrypt(images))


def test_a_batch_beyond_all_slots_is_refused() -> None:
    for batch in (0, 100_000):
        with pytest.raises(UsageError, match="batch"):
            palladion.compile_network(palladion.mnist_network().to_json(), batch)


def test_every_layer_is_exact_but_for_rounding_noise(pair: Pair) -> None:
    secret, keys = pair
    network = palladion.mnist_network()
    program = palladion.compile_network(network.to_json(), 1)
    inspector = _native.Inspector(secret, program, network.to_json())
    inputs = palladion.mnist_network().inputs_of_pixels(palladion.mnist_sample().images[:2])
    for image in inputs.tolist():
        inspector.run(keys, [image])
    layers = inspector.layers()
    assert [layer["name"] for layer in layers] == [layer.name for layer in network.layers]
    assert [layer["wrong_slots"] for layer in layers] == [0, 0, 0]
    for layer in layers[:-1]:
        count = layer["accumulators"]
        # A sample deviation of `count` normal values is off by 1/sqrt(2 count), in relative terms:
        # 6 of these are never seen. The key's weight moves the true one by 3 % at most.
        tolerance = 6 / (2 * count) ** 0.5
        assert layer["noise_sigma"] == pytest.approx(ROUNDING_SIGMA, rel=tolerance + 0.03)
        assert abs(layer["noise_mean"]) < 6 * ROUNDING_SIGMA / count**0.5
        assert sum(layer["changes"].values()) == layer["changed"] < layer["values"] / 2
    for step in inspector.noise():
        assert step["margin_bits"] > 6
        assert step["measured_bits"] < step["predicted_bits"] + 0.5, step


def variants(source: Path) -> set[str]:
    """Variants of the error enums in a Rust source file."""
    found: set[str] = set()
    for body in re.findall(r"pub enum \w*Error \{(.*?)\n\}", source.read_text(), flags=re.DOTALL):
        found |= set(re.findall(r"^    (\w+)(?=[ ({,])", body, flags=re.MULTILINE))
    return found


@pytest.mark.parametrize(
    "crate",
    [
        "applications",
        "circuits",
        "ckks",
        "client",
        "compiler",
        "exact",
        "exchange",
        "inspect",
        "program",
        "ring",
        "rlwe",
        "runtime",
        "sim",
        "tfhe",
        "timing",
    ],
)
def test_every_error_beneath_has_a_class(crate: str) -> None:
    classed = (ROOT / "crates/python/src/error.rs").read_text()
    sources = [ROOT / f"crates/{crate}/src/error.rs"]
    if crate == "rlwe":
        sources.append(ROOT / "crates/rlwe/src/bytes.rs")
    for source in sources:
        names = variants(source)
        assert names, source
        for name in names:
            assert re.search(rf"\b{name}\b", classed), f"{crate}: {name} is not in error.rs"
