"""``palladion packing``: shapes as text, prices, encrypted trials, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import palladion
import pytest
from palladion import DataError, UsageError
from palladion.accelerators.packing_trials import SURVEY, Layer, layers_of, names

from tests.conftest import Command, refused


def test_every_shape_of_the_survey_is_priced_by_every_packing() -> None:
    texts = [text for group in SURVEY.values() for text in group]
    assert len(texts) >= 30
    for text in texts:
        found = Layer.parse(text).choice("bfv", 13)
        assert [name for name, _why in found["refused"]] == [], text
        seconds = [row["seconds"] for row in found["candidates"]]
        assert len(seconds) == len(names()) == 9
        assert seconds == sorted(seconds)


def test_a_shape_means_what_it_says() -> None:
    shape = Layer.parse("8x12x10-16x3x5/2:g4:p0:d2:b3").shape
    assert shape == (3, 8, 16, 4, 12, 10, 3, 5, 2, 2, 2, 2, 0, 0, 0, 0)
    assert Layer.parse("4x9x9-4x3x3:d2").shape[-4:] == (2, 2, 2, 2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("16x32-4", "is no shape"),
        ("16x8x8-4", "is no shape"),
        ("", "is no shape"),
        ("16x8x8-4x3x3:z1", "is no shape"),
        ("16x8x99999-4x3x3", "has the number 99999"),
        ("9999999999999999999999-1", "at most 32768"),
    ],
)
def test_text_that_is_no_shape_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Layer.parse(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0-4", "number of channels is 0"),
        ("4x2x2-4x3x3:p0", "height of a window"),
        ("4x4x4-6x3x3:g4", "multiple of the 4 groups"),
        ("4x4x4-4x3x3/0", "vertical stride is 0"),
    ],
)
def test_a_shape_of_no_layer_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Layer.parse(text).choice("bfv", 13)
    with pytest.raises(UsageError, match=words):
        Layer.parse(text).trial("lola", "bfv", 13, 100)


def test_other_arguments_are_refused() -> None:
    layer = Layer.parse("4-4")
    with pytest.raises(UsageError, match="expected bfv or ckks"):
        layer.choice("bgw", 13)
    with pytest.raises(UsageError, match="expected 12 to 15"):
        layer.choice("bfv", 40)
    with pytest.raises(UsageError, match="expected one of lola"):
        layer.trial("gazelle", "bfv", 13, 100)


def test_the_layers_of_a_network_are_packed_with_their_weights() -> None:
    network = palladion.mnist_network()
    layers = layers_of(network)
    assert [layer.shape[1:3] for layer in layers][-1] == (layers[-1].shape[1], 10)
    found = layers[-1].trial("gala", "bfv", 13, 2000)
    assert found["whole"]
    assert (found["results"], found["wrong"]) == (10, 0)
    assert found["key_bytes"] > 0


@pytest.mark.parametrize("text", ["8x12x10-16x3x3/2:g4:p0:d2:b3", "7-5", "4x9x7-4x3x2:p2"])
def test_the_shapes_of_a_layer_are_those_of_its_definition(text: str) -> None:
    layer = Layer.parse(text)
    [row] = [row for row in layer.choice("bfv", 13)["candidates"] if row["packing"] == "c2pc"]
    values = np.zeros(layer.input_shape, int)
    results = layer.weighted(np.ones(layer.weight_shape, int)).trial(
        row["packing"], "bfv", 13, 2000, values=values
    )
    assert results["values"] == [0] * int(np.prod(layer.output_shape))


@pytest.mark.parametrize(("scheme", "most"), [("bfv", 12), ("ckks", 2000)])
def test_a_layer_of_ones_own_is_computed_on_values_of_ones_own(
    command: Command, tmp_path: Path, scheme: str, most: int
) -> None:
    """Against a convolution by its definition, whole and in parts."""
    rng = np.random.default_rng(1)
    x, w = rng.integers(-15, 16, (3, 8, 8)), rng.integers(-15, 16, (4, 3, 3, 3))
    files = [tmp_path / name for name in ("x.npy", "w.npy", "y.npy")]
    np.save(files[0], x)
    np.save(files[1], w.astype(float))
    args = ("packing", "3x8x8-4x3x3/2", "--scheme", scheme, "--most", most, "--run", "--json")
    shown = json.loads(
        command(*args, "--input", files[0], "--weights", files[1], "--output", files[2]).stdout
    )
    [row] = shown["packings"]
    assert row["packing"] == shown["chosen"]
    assert row["run"]["whole"]
    assert "values" not in row["run"]
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))[:, ::2, ::2]
    expected = np.einsum("cyxrs,kcrs->kyx", windows, w)
    np.testing.assert_array_equal(np.load(files[2]), expected[None])


def test_numbers_that_do_not_fit_a_layer_are_refused(command: Command, tmp_path: Path) -> None:
    file, layer = tmp_path / "x.npy", Layer.parse("4-2")
    for values, words in (
        (np.zeros(5), "the values have the shape 5, expected 1x4x1x1"),
        (np.array([1, 2, 0.5, 0]), "one of the values is 0.5, expected integers"),
        (np.array([1, 2, np.inf, 0]), "one of the values is inf, expected integers"),
    ):
        np.save(file, values)
        refused(command("packing", "4-2", "--run", "--input", file), words)
    with pytest.raises(DataError, match="the weights have the shape 2x3, expected 2x4x1x1"):
        layer.weighted(np.ones((2, 3)))
    full = layer.weighted(np.full((2, 4), 100))
    for scheme, most in (("bfv", 32_768), ("ckks", 262_144)):
        with pytest.raises(
            UsageError, match=f"largest absolute value is 300000, .* at most {most}"
        ):
            full.trial("lola", scheme, 13, 2000, values=np.full(4, 300_000))
    with pytest.raises(UsageError, match="result is 40000, expected at most 32768"):
        full.trial("lola", "bfv", 13, 2000, values=np.full(4, 100))
    np.save(file, np.ones(4))
    refused(command("packing", "4-2", "--input", file), "--input is of --run and one layer")
    refused(command("packing", "4-2", "3-2", "--run", "--input", file), "one layer: 2 were given")
    refused(command("packing", "4-2", "--run", "--output", file), "give the values")


def test_the_command_prints_runs_and_refuses(command: Command, tmp_path: Path) -> None:
    lines = command("packing", "4x6x6-6x3x3/2", "20-5", "--run", "--json").stdout.splitlines()
    first, second = (json.loads(line) for line in lines)
    assert first["layer"] == "conv 4x6x6 -> 6x3x3, 3x3/2"
    assert {row["packing"] for row in first["packings"]} == set(names())
    for row in [*first["packings"], *second["packings"]]:
        assert row["run"]["wrong"] == 0
        assert row["run"]["whole"]
    shown = command("packing", "64x8x8-64x3x3", "--packing", "hyena", "--run", "--most", 50)
    assert "part: conv" in shown.stdout
    args = ("packing", "2x6x6-4x3x3", "--packing", "gala", "--run", "--most", 12)
    shown = command(*args, "--whole")
    assert re.search(r"144 of 144, \d+ parts", shown.stdout)
    assert "compared with" in command("packing", "10-4").stdout
    small = command("packing", "4x6x6-6x3x3", "--log-n", 12).stdout
    assert "hyena: log2 of the ring degree" in small

    refused(command("packing"), "no layer")
    refused(command("packing", "4-4", "--whole"), "give both")
    refused(command("packing", "4-4", "--packing", "x"), "expected one of lola")
    refused(command("packing", "4x4x4-6x3x3:g4"), "multiple of the 4 groups")
    empty = tmp_path / "empty.json"
    empty.touch()
    refused(command("packing", empty), "empty.json")
    refused(command("packing", tmp_path / "missing.json"), "missing.json")
