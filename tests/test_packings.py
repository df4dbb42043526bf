"""``palladion packing``: shapes as text, prices, encrypted trials, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import palladion
import pytest
from palladion import UsageError
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
