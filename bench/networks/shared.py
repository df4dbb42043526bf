"""The parts that the programs of the network peers share: images, layers, weights, output line.

A program is called as ``main.py NETWORK MNIST IMAGES``, with the folder of MNIST's files. It
reports its current stage in lines ``stage: ...`` on standard error, and prints one JSON object.
"""

import gzip
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper

REPOSITORY = Path(__file__).resolve().parent.parent.parent
# Number of images on which the peer's clear model is evaluated.
CLEAR_IMAGES = 1000


def images(folder, part):
    """Images (n, 1, 28, 28) of 0 to 1 and labels of MNIST's ``train`` or ``t10k``."""
    pixels = _idx(Path(folder) / f"{part}-images-idx3-ubyte", 16).reshape(-1, 1, 28, 28)
    labels = _idx(Path(folder) / f"{part}-labels-idx1-ubyte", 8)
    return torch.tensor(pixels, dtype=torch.float32) / 255, torch.tensor(labels).long()


def _idx(path, header):
    packed = path.with_name(path.name + ".gz")
    data = gzip.decompress(packed.read_bytes()) if packed.exists() else path.read_bytes()
    return np.frombuffer(data, np.uint8, offset=header).copy()


def layers(network, kit, activation, pool):
    """The layers of our network, made of the modules of ``kit``: torch's or the peer's."""
    if network == "mnist":
        return [
            kit.Conv2d(1, 4, 7, stride=3), activation(), kit.Flatten(),
            kit.Linear(256, 64), activation(), kit.Linear(64, 10),
        ]  # fmt: skip
    return [
        kit.Conv2d(1, 6, 5, padding=2), activation(), pool(),
        kit.Conv2d(6, 16, 5), activation(), pool(), kit.Flatten(),
        kit.Linear(400, 120), activation(), kit.Linear(120, 84), activation(),
        kit.Linear(84, 10),
    ]  # fmt: skip


def load(modules, path):
    """Loads weights and biases, in the file's order, into the layers that have weights."""
    arrays = iter(_arrays(path))
    with torch.no_grad():
        for module in modules:
            # Orion's pooling has a weight that it makes itself, but no bias.
            if getattr(module, "bias", None) is not None:
                module.weight.copy_(torch.tensor(next(arrays)).reshape(module.weight.shape))
                module.bias.copy_(torch.tensor(next(arrays)))


def _arrays(path):
    if path.suffix == ".npz":
        with np.load(path) as file:
            return [file[name] for name in file.files]
    return [numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer]


def own_output():
    """Standard output only for the result line. Other output of the peer goes to standard error."""
    stream = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return stream


def stage(name):
    print(f"stage: {name}", file=sys.stderr, flush=True)


class Run:
    """One measurement: setup with its seconds, then images one by one."""

    def __init__(self):
        self.setup_seconds, self.seconds, self.client_seconds, self.logits = {}, [], [], []

    def setup(self, name, call):
        stage(name)
        start = time.perf_counter()
        found = call()
        self.setup_seconds[name] = time.perf_counter() - start
        return found

    def infer(self, inputs, encrypt, evaluate, decrypt):
        """Times each image, with the server's work apart from the client's."""
        for index in range(len(inputs)):
            stage(f"image {index + 1} of {len(inputs)}")
            start = time.perf_counter()
            query = encrypt(inputs[index : index + 1])
            sent = time.perf_counter()
            answer = evaluate(query)
            done = time.perf_counter()
            self.logits.append(np.asarray(decrypt(answer), float).reshape(-1)[:10])
            self.seconds.append(done - sent)
            self.client_seconds.append(sent - start + time.perf_counter() - done)

    def finish(self, out, clear, labels, **fields):
        """Prints the result line. ``clear`` are the peer's own clear logits for all ``labels``."""
        found, clear, labels = np.array(self.logits), np.asarray(clear), np.asarray(labels)
        count = len(found)
        line = {
            "setup_seconds": self.setup_seconds,
            "seconds": self.seconds,
            "client_seconds": self.client_seconds,
            "images": count,
            "correct": int(np.sum(found.argmax(1) == labels[:count])),
            "as_clear": int(np.sum(found.argmax(1) == clear[:count].argmax(1))),
            "largest_logit_change": float(np.abs(found - clear[:count]).max()),
            "largest_logit": float(np.abs(clear[:count]).max()),
            "clear_images": len(clear),
            "clear_correct": int(np.sum(clear.argmax(1) == labels)),
        }
        print(json.dumps(line | fields), file=out, flush=True)
