"""Train LoLa's MNIST network: three linear layers with squares between.

Convolution of 5 kernels 5x5 with stride 2 on an image padded by one row above and one column to the
left, dense 845 -> 100, dense 100 -> 10 (Brutzkus, Gilad-Bachrach, Elisha, "Low Latency Privacy
Preserving Inference", ICML 2019). Pixels are divided by 255, weights kept in bfloat16.

    python scripts/train_lola.py --data DIR --output models/lola_mnist.safetensors
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from palladion.nn.datasets import mnist

Floats = NDArray[np.float32]

SHAPES = {
    "conv.weight": (5, 25),
    "conv.bias": (5,),
    "hidden.weight": (100, 845),
    "hidden.bias": (100,),
    "last.weight": (10, 100),
    "last.bias": (10,),
}
BATCH = 64


def main() -> None:
    options = parse()
    images, labels = mnist.load(options.data, "train")
    test_images, test_labels = mnist.load(options.data, "test")
    test = patches(test_images)
    rng = np.random.default_rng(options.seed)
    weights = {name: initial(shape, rng) for name, shape in SHAPES.items()}
    moments = {name: (np.zeros_like(w), np.zeros_like(w)) for name, w in weights.items()}
    step, steps = 0, options.epochs * (len(labels) // BATCH)
    for epoch in range(options.epochs):
        order = rng.permutation(len(labels))[: steps // options.epochs * BATCH]
        for batch in order.reshape(-1, BATCH):
            step += 1
            rate = options.rate * (1 - step / steps)
            slopes = gradients(weights, patches(images[batch]), labels[batch])
            for name, slope in slopes.items():
                update(weights[name], moments[name], slope + 1e-4 * weights[name], rate, step)
        print(f"epoch {epoch + 1}: {accuracy(weights, test, test_labels):.4f} of test images")
    kept = {name: truncate(w) for name, w in weights.items()}
    save(options.output, kept)
    print(f"{options.output}: {accuracy(kept, test, test_labels):.4f} of test images")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True, help="folder with the IDX files")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def initial(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    if len(shape) == 1:
        return np.zeros(shape, np.float32)
    weight: Floats = (rng.standard_normal(shape) / np.sqrt(shape[1])).astype(np.float32)
    return weight


def patches(images: NDArray[np.uint8]) -> Floats:
    """The pixels under the kernel at each of 13 x 13 places: shape (images, 169, 25), 0 to 1."""
    padded = np.pad(images.reshape(-1, 28, 28), ((0, 0), (1, 0), (1, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (5, 5), axis=(1, 2))[:, ::2, ::2]
    return windows.reshape(len(images), 169, 25).astype(np.float32) / np.float32(255)


def forward(weights: dict[str, Floats], x: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Linear outputs and squares of the layers. Among the 845 values, maps are the slow index."""
    conv = (
        (x @ weights["conv.weight"].T + weights["conv.bias"])
        .transpose(0, 2, 1)
        .reshape(len(x), 845)
    )
    first = conv * conv
    hidden = first @ weights["hidden.weight"].T + weights["hidden.bias"]
    second = hidden * hidden
    logits = second @ weights["last.weight"].T + weights["last.bias"]
    return conv, first, hidden, second, logits


def gradients(
    weights: dict[str, Floats], x: Floats, labels: NDArray[np.uint8]
) -> dict[str, Floats]:
    """Gradients of the mean cross-entropy."""
    conv, first, hidden, second, logits = forward(weights, x)
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    d_logits = exponentials / exponentials.sum(axis=1, keepdims=True)
    d_logits[np.arange(len(labels)), labels] -= 1
    d_logits /= len(labels)
    d_hidden = (d_logits @ weights["last.weight"]) * 2 * hidden
    d_conv = (d_hidden @ weights["hidden.weight"]) * 2 * conv
    maps = d_conv.reshape(-1, 5, 169).transpose(1, 0, 2).reshape(5, -1)
    return {
        "conv.weight": maps @ x.reshape(-1, 25),
        "conv.bias": maps.sum(axis=1),
        "hidden.weight": d_hidden.T @ first,
        "hidden.bias": d_hidden.sum(axis=0),
        "last.weight": d_logits.T @ second,
        "last.bias": d_logits.sum(axis=0),
    }


def update(
    weight: Floats, moments: tuple[Floats, Floats], slope: Floats, rate: float, step: int
) -> None:
    """Adam (Kingma, Ba, ICLR 2015), in place."""
    mean, square = moments
    mean += 0.1 * (slope - mean)
    square += 0.001 * (slope * slope - square)
    weight -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)


def accuracy(weights: dict[str, Floats], x: Floats, labels: NDArray[np.uint8]) -> float:
    return float((forward(weights, x)[-1].argmax(axis=1) == labels).mean())


def truncate(weight: Floats) -> Floats:
    """The nearest value with a mantissa of 8 bits, halves away from zero."""
    bits = (weight.view(np.uint32) + np.uint32(0x8000)) & np.uint32(0xFFFF0000)
    return bits.view(np.float32)


def save(path: Path, weights: dict[str, Floats]) -> None:
    """Write the safetensors format, with weights as bfloat16."""
    header, data = {}, b""
    for name, weight in weights.items():
        start = len(data)
        data += (weight.view(np.uint32) >> 16).astype("<u2").tobytes()
        header[name] = {
            "dtype": "BF16",
            "shape": list(weight.shape),
            "data_offsets": [start, len(data)],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


if __name__ == "__main__":
    main()
