"""The other half of the tests in this folder: the server, and the definitions that JavaScript copies.

``native.py prepare FOLDER`` compiles the packaged network and writes its client's file, pictures,
and what the integer network gives for them. ``native.py run FOLDER`` answers ``FOLDER/query`` under
the keys in ``FOLDER/*.evaluation``. ``native.py ends`` and ``native.py pictures FOLDER`` print what Python
makes of numbers and of pictures.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import palladion
from palladion.nn.ends.boundary import Boundary
from palladion.support.image import load_digit, load_picture
from PIL import Image


def prepare(folder: Path) -> None:
    """Write the program, the client's file, and pictures with the integers that are right."""
    network = palladion.mnist_network()
    program = palladion.CompiledModel.of_network(network)
    program.save(folder / "program")
    sample = palladion.mnist_sample()
    images = sample.images[:3]
    rows = network.inputs_of_pixels(images)
    expected = network.evaluate(rows)
    write(folder / "expected.json", {
        "pictures": images.reshape(len(images), -1).tolist(),
        "inputs": rows.tolist(),
        "outputs": expected.logits.tolist(),
        "labels": sample.labels[:3].tolist(),
        "program_id": program.terms.program_id,
    })  # fmt: skip
    secret = palladion.Secret.generate(days=30)
    secret.save(folder / "secret.key", passphrase="correct horse")
    write(folder / "secret.json", {"key_id": secret.key_id})


def run(folder: Path) -> None:
    """Answer a query."""
    program = palladion.CompiledModel.load(folder / "program")
    keys = program.open_keys(*sorted(folder.glob("*.evaluation")))
    query = (folder / "query").read_bytes()
    (folder / "answer").write_bytes(program.run(keys, query).to_bytes())


def ends() -> None:
    """Print cases of both ends: what the model takes and gives, and the integers between."""
    rng = np.random.default_rng(1)
    cases = []
    for data, outputs in CASES:
        boundary = Boundary.of_description(data, outputs)
        takes = boundary.interface.takes
        x = rng.normal(0.3, 0.8, (3, *takes.shape))
        logits = rng.integers(-3000, 3000, (3, outputs))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", palladion.InputWarning)
            integers = boundary.inputs(x)
        found: dict[str, Any] = {
            "facts": {
                "name": "case", "batch": 4, "shape": data["input"]["shape"], "outputs": outputs,
                "range": [data["input"]["min"], data["input"]["max"]], "ends": data,
            },
            "x": x.reshape(3, -1).tolist(),
            "integers": integers.tolist(),
            "logits": logits.tolist(),
            "outputs": {name: np.asarray(value).ravel().tolist()
                        for name, value in boundary.outputs(logits).items()},
        }  # fmt: skip
        classes = boundary.classes(logits)
        found["classes"] = None if classes is None else classes.tolist()
        if takes.pixels is not None:
            pixels = rng.integers(0, 256, (2, *data["input"]["shape"])).astype(np.uint8)
            found["pixels"] = pixels.reshape(2, -1).tolist()
            found["of_pixels"] = boundary.inputs_of_pixels(pixels).tolist()
        cases.append(found)
    print(json.dumps(cases))


def case(
    shape: list[int], takes: dict[str, Any], gives: dict[str, Any], **given: Any
) -> dict[str, Any]:
    """The description of both ends."""
    scale = given.pop("scale", 0.0078125)
    return {
        "input": {"shape": shape, "min": -127, "max": 127, "scale": scale, "mean": [], "std": [],
                  **given},
        "interface": {"takes": {"name": "x", **takes}, "gives": {"name": "y", **gives}},
    }  # fmt: skip


PIXELS = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
CASES = [
    (case([3, 4, 5], {"shape": [3, 4, 5], "pixels": PIXELS}, {"shape": [10], "scale": [0.1]}), 10),
    (case([3, 4, 5], {"shape": [4, 5, 3], "order": [2, 0, 1]},
          {"shape": [2, 3, 1], "scale": [0.1, 0.2, 0.3], "shift": [1.5]},
          mean=[0.1, 0.2, 0.3], std=[0.5, 0.6, 0.7]), 6),
    (case([1, 1, 7], {"shape": [7], "own_grid": True},
          {"shape": [3], "scale": [0.25], "labels": [4, 0, 2]}, scale=0.1), 5),
    (case([1, 1, 7], {"shape": [7]}, {"shape": [1], "scale": [0.5], "shift": [-0.25]}), 1),
    ({"input": {"shape": [1, 2, 3], "min": 0, "max": 15, "scale": 0.0625}}, 4),
]  # fmt: skip


def pictures(folder: Path) -> None:
    """Write pictures, print their pixels and what Python makes of them."""
    rng = np.random.default_rng(2)
    found = []
    for width, height, paper in ((200, 260, 255), (90, 60, 240), (16, 18, 250), (64, 64, 10)):
        grey = np.full((height, width), paper, dtype=np.uint8)
        rows, columns = np.mgrid[:height, :width]
        ring = np.hypot((rows - 0.45 * height) / height, (columns - 0.6 * width) / width)
        grey[np.abs(ring - 0.2) < 0.06] = 255 - paper
        noise = rng.integers(-4, 5, grey.shape)
        grey = np.clip(grey.astype(int) + noise, 0, 255).astype(np.uint8)
        image = Image.fromarray(grey).convert("RGBA")
        found.append(picture(folder, image, digit=True))
    colour = rng.integers(0, 256, (40, 50, 4)).astype(np.uint8)
    colour[:, :, 3] = 255
    found.append(picture(folder, Image.fromarray(colour), shape=(3, 32, 32)))
    found.append(picture(folder, Image.fromarray(colour), shape=(1, 64, 70)))
    print(json.dumps(found))


def picture(
    folder: Path, image: Image.Image, *, digit: bool = False, shape: tuple[int, int, int] = (1, 1, 1)
) -> dict[str, Any]:
    """The pixels of a picture, and the bytes that Python makes of them."""
    path = folder / "picture.png"
    image.save(path)
    made = load_digit(path) if digit else load_picture(path, shape)
    return {
        "width": image.width, "height": image.height, "pixels": np.asarray(image).ravel().tolist(),
        "shape": None if digit else shape, "bytes": made.ravel().tolist(),
    }  # fmt: skip


def write(path: Path, data: Any) -> None:
    """Write JSON."""
    path.write_text(json.dumps(data), encoding="utf-8")


if __name__ == "__main__":
    what, *where = sys.argv[1:]
    {"prepare": prepare, "run": run, "ends": ends, "pictures": pictures}[what](*map(Path, where))
