"""Images: an ONNX model on pictures, from pixels to encrypted classes.

The tutorial docs/tutorial-images.md goes through this program.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import palladion

sample = palladion.mnist_sample()
pixels, labels = sample.images[:, None], sample.labels  # (100, 1, 28, 28), bytes

# The model takes pixel / 255: mean 0, deviation 1.
path = Path(__file__).parent.parent / "models" / "lenet5.onnx"
model = palladion.Model.from_onnx(path, calibrate=pixels / 255, pixels=([0.0], [1.0]))
print(model.report())
print(model.evaluate(pixels / 255, labels))

program = model.compile(batch=1)
print(program.facts)
print(program.costs())

# LeNet-5 takes most of a minute; the packaged network of three layers takes seconds.
small = palladion.CompiledModel.of_network(palladion.mnist_network())
client = small.client()
answer = small.run(client.keys(), client.encrypt_pixels(pixels[:1]))
found = client.decrypt(answer)
print(found, f"in {answer.seconds:.1f} s; the label is {labels[0]}")

assert found.classes is not None
assert found.classes[0] == labels[0]
assert np.mean(model.predict(pixels / 255).classes == labels) > 0.95
