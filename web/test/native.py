"""The other half of the tests in this folder: the server, and what JavaScript computes as Python.

``native.py prepare FOLDER`` compiles the packaged network and writes its client's file, pictures,
and what the integer network gives for them. ``native.py run FOLDER`` answers ``FOLDER/query`` under
the keys in ``FOLDER/*.evaluation``, and ``decrypt`` decrypts the answer. ``native.py ends`` and
``native.py pictures FOLDER`` print what Python makes of numbers and of pictures.
"""

from __future__ import annotations

import base64
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
    # A run rounds at random before each table: how far outputs then lie from the exact ones.
    noisy = [network.evaluate(rows, network.sigmas(), seed).logits for seed in range(100)]
    spread = np.sqrt(np.mean([(each - expected.logits) ** 2 for each in noisy]))
    write(folder / "expected.json", {
        "pictures": images.reshape(len(images), -1).tolist(),
        "inputs": rows.tolist(),
        "outputs": expected.logits.tolist(),
        "spread": float(spread),
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


def decrypt(folder: Path) -> None:
    """Print what Python decrypts with the secret in ``FOLDER/browser.key``."""
    terms = folder / "program.client"
    client = palladion.Client.load(terms, folder / "browser.key", passphrase="correct horse")
    query = client.query((folder / "query").read_bytes())
    found = client.decrypt((folder / "answer").read_bytes(), query)
    integers = np.asarray(found.integers).ravel().tolist()
    print(json.dumps({"integers": integers, "margin": found.margin_bits}))


def ends() -> None:
    """Print cases of both ends: what the model takes and gives, and the integers between."""
    warnings.simplefilter("ignore", palladion.InputWarning)
    rng = np.random.default_rng(1)
    cases = []
    for data, outputs in CASES:
        boundary = Boundary.of_description(data, outputs)
        takes = boundary.interface.takes
        x = rng.normal(0.3, 0.8, (3, *takes.shape))
        logits = rng.integers(-3000, 3000, (3, outputs))
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


def model(
    nodes: list[Any], inputs: tuple[str, int], outputs: dict[str, int], **constants: Any
) -> str:
    """A small ONNX model in base64."""
    from onnx import helper, numpy_helper

    name, rank = inputs
    sides = [None, *[f"side{axis}" for axis in range(rank)]]
    graph = helper.make_graph(
        nodes, "end", [helper.make_tensor_value_info(name, 1, sides)],
        [helper.make_tensor_value_info(output, kind, None) for output, kind in outputs.items()],
        [numpy_helper.from_array(np.asarray(value), key) for key, value in constants.items()],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    return base64.b64encode(made.SerializeToString()).decode()


def nodes(*rows: tuple[Any, ...]) -> list[Any]:
    """Nodes of ONNX from operator, inputs, output and attributes."""
    from onnx import helper

    return [helper.make_node(op, given, [to], **(more[0] if more else {}))
            for op, given, to, *more in rows]  # fmt: skip


TAKEN, GIVEN = "palladion.input", "palladion.logits"
HEAD = model(
    nodes(
        ("MatMul", [TAKEN, "matrix"], "mixed"), ("Greater", ["mixed", "limits"], "above"),
        ("Cast", ["above"], "bits", {"to": 1}),
        ("Where", ["above", TAKEN, "zero"], "large"), ("Less", ["large", "limits"], "below"),
        ("Not", ["below"], "out"), ("Cast", ["out"], "outs", {"to": 1}),
    ),
    (TAKEN, 1), {"bits": 1, "outs": 1},
    limits=np.array([0.1, 0.5, -0.2], np.float32), zero=np.array(0, np.float32),
    matrix=np.array([[1, -2, 0], [0.5, 3, 1], [0, 1, 1]], np.float32),
)  # fmt: skip
LABELS = model(
    nodes(
        ("Softmax", [GIVEN], "probabilities", {"axis": 1}),
        ("ArgMax", ["probabilities"], "best", {"axis": 1, "keepdims": 0}),
        ("Gather", ["names", "best"], "label"), ("LogSoftmax", [GIVEN], "logs"),
    ),
    (GIVEN, 1), {"label": 7, "probabilities": 1, "logs": 1}, names=np.array([30, 10, 40, 20]),
)  # fmt: skip
SIGMOID = model(
    nodes(("Sigmoid", [GIVEN], "raw"), ("Reshape", ["raw", "sides"], "probability")),
    (GIVEN, 1), {"probability": 1}, sides=np.array([-1, 1]),
)  # fmt: skip
MOVES = model(
    nodes(
        ("Transpose", [GIVEN], "turned", {"perm": [0, 2, 1]}),
        ("Flatten", ["turned"], "flat", {"axis": 2}), ("Relu", ["flat"], "positive"),
        ("Unsqueeze", ["positive", "one"], "wide"), ("Squeeze", ["wide", "one"], "narrow"),
        ("Concat", ["narrow", "flat"], "both", {"axis": 1}),
        ("Div", ["both", "three"], "third"), ("Sub", ["third", "three"], "less"),
        ("Mul", ["less", "three"], "more"), ("Add", ["more", "three"], "sum"),
        ("Neg", ["sum"], "minus"), ("Unsqueeze", ["minus", "zero"], "result"),
    ),
    (GIVEN, 2), {"result": 1},
    one=np.array([1]), zero=np.array([0]),
    three=np.array(3, np.float32),
)  # fmt: skip


def strange() -> None:
    """Print a head and a tail with functions that JavaScript does not have."""
    sine = model(nodes(("Sin", [TAKEN], "y")), (TAKEN, 1), {"y": 1})
    best = model(nodes(("TopK", [GIVEN, "two"], "y")), (GIVEN, 1), {"y": 1}, two=np.array([2]))
    print(json.dumps([sine, best]))


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
    (case([1, 1, 6], {"shape": [3], "head": HEAD}, {"shape": [4], "scale": [0.01], "tail": LABELS},
          scale=1), 4),
    (case([1, 1, 3], {"shape": [3]}, {"shape": [1], "scale": [0.001], "tail": SIGMOID}), 1),
    (case([1, 1, 3], {"shape": [3]},
          {"shape": [2, 3], "scale": [0.01], "tail": MOVES, "batched": False}), 6),
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
    folder: Path,
    image: Image.Image,
    *,
    digit: bool = False,
    shape: tuple[int, int, int] = (1, 1, 1),
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
    commands = {"prepare": prepare, "run": run, "decrypt": decrypt, "ends": ends,
                "strange": strange, "pictures": pictures}  # fmt: skip
    commands[what](*map(Path, where))
