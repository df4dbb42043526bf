"""Train LoLa's CIFAR-10 network: two convolutions and a dense layer with squares between.

Convolution of 83 maps 8x8x3 with stride 2 on an image padded by one pixel, 14x14x83; convolution of
163 maps 6x6x83 with stride 2, 5x5x163; dense to 10 (Brutzkus, Gilad-Bachrach, Elisha, "Low Latency
Privacy Preserving Inference", ICML 2019). Squares are hard to train, so each linear layer before a
square is batch-normalised; the normalisation is folded into its weights at the end.

    pip install '.[train]'
    python scripts/train_lola_cifar.py --data DIR --output models/lola_cifar.safetensors
"""

from __future__ import annotations

import argparse
import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray
from palladion.nn.datasets import cifar10

Tree = dict[Any, Any]

MAPS = (83, 163)
TAPS = (8 * 8 * 3, 6 * 6 * 83)
PLACES = 5 * 5
MEAN = [0.4914, 0.4822, 0.4465]
STD = [0.2470, 0.2435, 0.2616]
BATCH = 64


def main() -> None:
    options = parse()
    images, labels = cifar10.load(options.data, "train")
    test_images, test_labels = cifar10.load(options.data, "test")
    train, test = prepared(images), prepared(test_images)
    key = jax.random.key(options.seed)
    params, averages = initial(key)
    per_epoch = len(labels) // BATCH
    steps = options.epochs * per_epoch
    rate = optax.warmup_cosine_decay_schedule(0, options.rate, 2 * per_epoch, steps)
    optimiser = optax.chain(
        optax.clip_by_global_norm(4.0), optax.adamw(rate, weight_decay=options.decay, mask=decayed)
    )
    state = optimiser.init(params)
    step = jax.jit(partial(update, optimiser), donate_argnums=(0, 1, 2))
    rng = np.random.default_rng(options.seed)
    start = time.monotonic()
    for epoch in range(options.epochs):
        losses = []
        order = rng.permutation(len(labels))[: per_epoch * BATCH]
        for batch in order.reshape(-1, BATCH):
            key = jax.random.fold_in(key, 1)
            given = (augmented(train[batch], rng), labels[batch], key)
            params, averages, state, loss = step(params, averages, state, *given)
            losses.append(loss)
        weights = folded(params, averages)
        right = accuracy(weights, test, test_labels)
        text = f"loss {np.mean(losses):.3f}, {right:.4f} of {len(test)} test images"
        print(f"epoch {epoch + 1}: {text}, {time.monotonic() - start:.0f} s", flush=True)
        # The last weights are kept, not the best on the test images, which would be chosen by them.
        save(options.output, weights)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True, help="CIFAR-10's binary files")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=11)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--decay", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def prepared(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Normalised, with channels last."""
    return np.ascontiguousarray(cifar10.normalise(images, MEAN, STD).transpose(0, 2, 3, 1))


def augmented(images: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """Flipped at random, and shifted by up to 4 pixels. The border is filled with zero, the
    mean."""
    flips = rng.random(len(images)) < 0.5
    images = np.where(flips[:, None, None, None], images[:, :, ::-1], images)
    padded = np.pad(images, ((0, 0), (4, 4), (4, 4), (0, 0)))
    shifts = rng.integers(0, 9, (len(images), 2))
    return np.stack([x[r : r + 32, c : c + 32] for x, (r, c) in zip(padded, shifts, strict=True)])


def initial(key: jax.Array) -> tuple[Tree, Tree]:
    params: Tree = {}
    for index, (maps, taps) in enumerate(zip(MAPS, TAPS, strict=True)):
        weight = jax.random.normal(jax.random.fold_in(key, index), (taps, maps)) / taps**0.5
        # With a shift, squares keep the sign of their argument. Without it, training is far slower.
        params |= {f"{name}{index}": jnp.full(maps, 0.5) for name in "gb"}
        params[f"w{index}"] = weight
    params |= {"w2": jnp.zeros((PLACES * MAPS[1], 10)), "b2": jnp.zeros(10)}
    averages = {i: (jnp.zeros(maps), jnp.ones(maps)) for i, maps in enumerate(MAPS)}
    return params, averages


def decayed(params: Tree) -> Tree:
    return {name: name.startswith("w") for name in params}


def patches(x: jax.Array, kernel: int) -> jax.Array:
    """Windows of `kernel` x `kernel` at stride 2: shape (images, places, places, taps).

    Taps are ordered by half row and column, then parity of row and column, then channel. Windows at
    stride 2 are windows at stride 1 of an image of 2x2 blocks, so whole blocks are copied.
    """
    n, side, _, channels = x.shape
    blocks = x.reshape(n, side // 2, 2, side // 2, 2, channels).transpose(0, 1, 3, 2, 4, 5)
    blocks = blocks.reshape(n, side // 2, side // 2, 4 * channels)
    half = kernel // 2
    places = side // 2 - half + 1
    windows = [blocks[:, r : r + places, c : c + places] for r in range(half) for c in range(half)]
    return jnp.concatenate(windows, axis=-1)


def pixels(images: jax.Array) -> jax.Array:
    return patches(jnp.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0))), 8)


def logits(params: Tree, images: jax.Array, key: jax.Array) -> tuple[jax.Array, Tree]:
    """Logits in training, normalised by the batch's mean and variance, which are also returned."""
    statistics = {}
    x = pixels(images)
    for index in range(2):
        shape = x.shape[:3]
        x = x.reshape(-1, x.shape[-1]) @ params[f"w{index}"]
        mean, variance = jnp.mean(x, 0), jnp.var(x, 0)
        statistics[index] = (mean, variance)
        x = (x - mean) * (params[f"g{index}"] / jnp.sqrt(variance + 1e-5)) + params[f"b{index}"]
        x = x * x
        x = x.reshape(*shape, -1)
        if index == 0:
            x = patches(x, 6)
    x = x.reshape(len(x), -1)
    kept = jax.random.bernoulli(key, 0.9, x.shape)
    return (x * kept / 0.9) @ params["w2"] + params["b2"], statistics


def update(
    optimiser: optax.GradientTransformation,
    params: Tree,
    averages: Tree,
    state: optax.OptState,
    images: jax.Array,
    labels: jax.Array,
    key: jax.Array,
) -> tuple[Tree, Tree, optax.OptState, jax.Array]:
    def loss(params: Tree) -> tuple[jax.Array, Tree]:
        found, statistics = logits(params, images, key)
        target = optax.smooth_labels(jax.nn.one_hot(labels, 10), 0.1)
        return jnp.mean(optax.softmax_cross_entropy(found, target)), statistics

    (value, statistics), slopes = jax.value_and_grad(loss, has_aux=True)(params)
    changes, state = optimiser.update(slopes, state, params)
    averages = jax.tree.map(lambda old, new: 0.99 * old + 0.01 * new, averages, statistics)
    return optax.apply_updates(params, changes), averages, state, value


def folded(params: Tree, averages: Tree) -> dict[str, NDArray[np.float32]]:
    """The three linear layers, rounded to bfloat16: taps by maps, in the order of `patches`."""
    weights = {}
    for index, name in enumerate(("first", "second")):
        mean, variance = averages[index]
        factor = params[f"g{index}"] / jnp.sqrt(variance + 1e-5)
        weights[f"{name}.weight"] = params[f"w{index}"] * factor
        weights[f"{name}.bias"] = params[f"b{index}"] - mean * factor
    weights |= {"last.weight": params["w2"], "last.bias": params["b2"]}
    return {
        name: np.asarray(w.astype(jnp.bfloat16).astype(jnp.float32)) for name, w in weights.items()
    }


@jax.jit
def plain(weights: dict[str, jax.Array], images: jax.Array) -> jax.Array:
    x = pixels(images) @ weights["first.weight"] + weights["first.bias"]
    x = patches(x * x, 6) @ weights["second.weight"] + weights["second.bias"]
    return (x * x).reshape(len(x), -1) @ weights["last.weight"] + weights["last.bias"]


def accuracy(weights: Tree, images: NDArray[np.float32], labels: NDArray[np.uint8]) -> float:
    parts = np.array_split(images, max(1, len(images) // 500))
    found = np.concatenate([np.asarray(plain(weights, part)).argmax(1) for part in parts])
    return float((found == labels).mean())


def save(path: Path, weights: dict[str, NDArray[np.float32]]) -> None:
    """Write the safetensors format as bfloat16, kernels by map: map, channel, row, column."""
    header, data = {}, b""
    for name, weight in conventional(weights).items():
        start = len(data)
        data += (np.ascontiguousarray(weight).view(np.uint32) >> 16).astype("<u2").tobytes()
        header[name] = {
            "dtype": "BF16",
            "shape": list(weight.shape),
            "data_offsets": [start, len(data)],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def conventional(weights: dict[str, NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
    """Kernels as (maps, channels, rows, columns). The dense layer by output, inputs map by map."""
    out = dict(weights)
    for name, kernel, channels in (("first", 8, 3), ("second", 6, 83)):
        half = kernel // 2
        blocks = weights[f"{name}.weight"].reshape(half, half, 2, 2, channels, -1)
        ordered = blocks.transpose(5, 4, 0, 2, 1, 3)
        out[f"{name}.weight"] = ordered.reshape(-1, channels, kernel, kernel)
    last = weights["last.weight"].reshape(PLACES, MAPS[1], 10)
    out["last.weight"] = last.transpose(2, 1, 0).reshape(10, -1)
    return out


if __name__ == "__main__":
    main()
