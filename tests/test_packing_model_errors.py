"""Errors of the packing model: names, shapes and machines' files that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from palladion.accelerators.packing_model import (
    PACKINGS,
    Layers,
    Model,
    PackingMachine,
    Shape,
    network_named,
    packing_named,
    simulate,
)
from palladion.accelerators.packing_model.machine import MACHINES, machine_file
from palladion.accelerators.packing_model.shapes import shape_of
from palladion.errors import FormatError, UsageError
from palladion.nn.integers.linear_maps import Conv

HYENA = PackingMachine.named("hyena")
PUBLISHED, CORRECTED = Model.published(), Model.corrected()


def test_names_that_are_none_are_errors_that_list_them() -> None:
    with pytest.raises(UsageError, match=r"vgg is no network of ours: resnet50, mobilenetv2"):
        network_named("vgg")
    with pytest.raises(UsageError, match=r"'gazelle' is no packing: lola, channel, c2pc, a\+w"):
        packing_named("gazelle")
    with pytest.raises(UsageError, match=r"tiny is no machine of the packing model: hyena, f1"):
        PackingMachine.named("tiny")


def test_what_does_not_fit_is_refused() -> None:
    layers = network_named("resnet20")
    for batch in (0, -1, 10**6 + 1):
        with pytest.raises(UsageError, match=rf"the batch is {batch}, expected 1 to 1000000"):
            simulate(layers, PACKINGS["hyena"], HYENA, CORRECTED, batch)
    with pytest.raises(UsageError, match=r"batch of 513 images.*512 slots"):
        simulate(layers, PACKINGS["batchwise+"], HYENA, PUBLISHED, 513)
    wide = Layers("wide", (Shape("wide", 1, 1, (23, 23), (40, 40)),))
    for packing in PACKINGS.values():
        with pytest.raises(UsageError, match=r"layer wide has a kernel of 23 x 23 values.*512"):
            simulate(wide, packing, HYENA, CORRECTED)
    pair = Layers("pair", (Shape("pair", 1, 1, (2, 2), (4, 4)),))
    with pytest.raises(UsageError, match=r"layer pair.*divides by zero: leave out --published"):
        simulate(pair, PACKINGS["c2pc"], HYENA, PUBLISHED)
    assert simulate(pair, PACKINGS["c2pc"], HYENA, CORRECTED).cycles == 1
    with pytest.raises(UsageError, match="has dilation 2 x 2, expected 1 x 1"):
        shape_of("conv", Conv(np.ones((1, 1, 3, 3), np.int64), dilation=(2, 2)), (1, 8, 8))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.pop("partial_sums"), r"mine: partial_sums is missing.*packing-machine"),
        (lambda data: data["nanoseconds"].pop("benes"), r"mine: nanoseconds\.benes is missing"),
        (lambda data: data.update(speed=1), r"mine: speed is unknown, expected cached, family"),
        (lambda data: data.update(cached=3), r"mine: cached is 3, expected an object"),
        (lambda data: data.update(ring_degree=2048), r"ring_degree is 2048.*a power of 4"),
        (lambda data: data.update(ring_degree=0), r"ring_degree is 0, expected an integer from 1"),
        (lambda data: data.update(word_bytes=4.0), r"word_bytes is 4\.0, expected an integer"),
        (lambda data: data.update(word_bytes=True), r"word_bytes is True, expected an integer"),
        (lambda data: data.update(rotation="clos"), r"rotation is 'clos', expected benes or"),
        (lambda data: data.update(name=""), r"name is '', expected 1 to 64 characters"),
        (lambda data: data.update(family="vector"), r'mine has no "family": "packing"'),
        (lambda data: data["nanojoules"].update(memory=[1]), r"nanojoules\.memory is \[1\]"),
        (
            lambda data: data["nanojoules"].update(memory=[float("nan"), 1]),
            r"nanojoules\.memory is \[nan, 1\], expected two numbers",
        ),
    ],
)
def test_machines_that_are_none_are_errors(change: Any, message: str) -> None:
    data = json.loads(machine_file("hyena"))
    change(data)
    with pytest.raises(FormatError, match=message):
        PackingMachine.parse(json.dumps(data), "mine")


def test_files_that_are_none_are_errors(tmp_path: Path) -> None:
    for name, content, message in (
        ("empty", b"", "is no JSON; expected a machine of the packing model"),
        ("vector.toml", b'family = "vector"\n', "is no JSON"),
        ("list", b"[1]", 'has no "family": "packing"'),
        ("bytes", b"\xff\xfe\x00", "is no text, expected JSON"),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(FormatError, match=message):
            PackingMachine.load(path)
    path = tmp_path / "mine.json"
    path.write_text(machine_file("f1"), encoding="utf-8")
    assert PackingMachine.load(path) == PackingMachine.named("f1")


def test_every_constant_says_where_it_is_from() -> None:
    for name in MACHINES:
        data = json.loads(machine_file(name))
        sources = data.pop("sources")
        for key, value in data.items():
            if key in ("family", "name"):
                continue
            inner = [f"{key}.{each}" for each in value] if isinstance(value, dict) else []
            assert key in sources or (inner and all(each in sources for each in inner)), key
