"""A network with squares on a hundred digits at once: levels in the place of tables.

docs/levelled.md explains the mode.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import palladion
from palladion.levelled import LevelledModel

sample = palladion.mnist_sample()
pixels, labels = sample.images[:, None], sample.labels

model = LevelledModel.from_onnx(Path(__file__).parents[1] / "models" / "mnist_squares.onnx")
program = model.compile(np.stack([np.zeros((1, 28, 28)), np.full((1, 28, 28), 255)]))
print(f"{program.precision(pixels[:4]).bits:.1f} bits of precision predicted")

client = program.client()
keys = client.keys()  # public: for the server
query = client.encrypt(pixels)
began = time.perf_counter()
answer = program.run(keys, query)
print(f"{len(pixels)} digits in {time.perf_counter() - began:.2f} s")

prediction = client.decrypt(answer, query)
clear = model.predict(pixels)
assert prediction.classes is not None
print(f"{(prediction.classes == labels).sum()} right, "
      f"largest error {np.abs(prediction.values - clear.values).max():.2g}")  # fmt: skip
np.testing.assert_array_equal(prediction.classes, clear.classes)
