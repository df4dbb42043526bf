"""The integer format of docs/int-network.md, evaluated as it is written there. For tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def encode(network: dict[str, Any], x: npt.NDArray[Any]) -> Ints:
    """Integers for inputs as the model takes them, of shape (N, C, H, W)."""
    given = network["input"]
    mean, std = given.get("mean", [0]), given.get("std", [1])
    real = (x - np.reshape(mean, (1, -1, 1, 1))) / np.reshape(std, (1, -1, 1, 1))
    whole = np.clip(np.rint(real / given["scale"]), given["min"], given["max"])
    return np.asarray(whole, dtype=np.int64)


def run(network: dict[str, Any], x: Ints) -> list[tuple[Ints, Ints]]:
    """Accumulators and outputs of every layer."""
    values, found = [x], []
    for layer in network["layers"]:
        acc = sum(linear(term["linear"], values[term["source"]]) for term in layer["terms"])
        acc = acc + np.array(layer["bias"])[:, None, None]
        values.append(table(layer, acc))
        found.append((acc, values[-1]))
    return found


def logits(network: dict[str, Any], x: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Real logits of shape (N, outputs)."""
    out = run(network, encode(network, x))[-1][1]
    scaled: npt.NDArray[np.float64] = out.reshape(len(x), -1) * network["layers"][-1]["scale"]
    return scaled


def table(layer: dict[str, Any], acc: Ints) -> Ints:
    if "lut" not in layer:
        return acc
    starts, values = np.array(layer["lut"]["starts"]), np.array(layer["lut"]["values"])
    bound = layer["bound"]
    assert starts[0] == -bound
    assert np.all(np.diff(starts) > 0)
    assert starts[-1] <= bound
    inside = np.clip(acc, -bound, bound)
    out: Ints = values[np.searchsorted(starts, inside, side="right") - 1]
    return out


def linear(entry: dict[str, Any], x: Ints) -> Ints:
    ((kind, fields),) = entry.items()
    weights = np.array(fields["weights"], dtype=np.float64)
    if kind == "dense":
        matrix = weights.reshape(fields["outputs"], fields["inputs"])
        found = x.reshape(len(x), -1) @ matrix.T
        return found.astype(np.int64)[:, :, None, None]
    if kind == "conv":
        kernels, groups = fields["kernels"], fields["groups"]
        kernel = weights.reshape(kernels, fields["channels"] // groups, *fields["kernel"])
        assert fields["channels"] == x.shape[1]
        each, deep = kernels // groups, fields["channels"] // groups
        parts = [
            correlate(x[:, g * deep : (g + 1) * deep], kernel[g * each : (g + 1) * each], fields)
            for g in range(groups)
        ]
        return np.concatenate(parts, axis=1)
    tap = weights.reshape(1, 1, *fields["kernel"])
    parts = [correlate(x[:, c : c + 1], tap, fields) for c in range(x.shape[1])]
    body = np.concatenate(parts, axis=1)
    out = np.zeros((len(x), fields["channels"], *body.shape[2:]), dtype=np.int64)
    out[:, fields["first"] : fields["first"] + x.shape[1]] = body
    return out


def correlate(x: Ints, kernel: npt.NDArray[Any], fields: dict[str, Any]) -> Ints:
    (top, left, bottom, right), (sh, sw) = fields["pads"], fields["stride"]
    (dh, dw), (kh, kw) = fields["dilation"], fields["kernel"]
    n, channels, height, width = x.shape
    big = np.zeros((n, channels, height + top + bottom, width + left + right))
    rows = slice(max(0, -top), height - max(0, -bottom))
    columns = slice(max(0, -left), width - max(0, -right))
    inner = x[:, :, rows, columns]
    y, z = max(0, top), max(0, left)
    big[:, :, y : y + inner.shape[2], z : z + inner.shape[3]] = inner
    out_h = (big.shape[2] - (dh * (kh - 1) + 1)) // sh + 1
    out_w = (big.shape[3] - (dw * (kw - 1) + 1)) // sw + 1
    total = np.zeros((n, len(kernel), out_h, out_w))
    for i in range(kh):
        for j in range(kw):
            part = big[:, :, i * dh :: sh, j * dw :: sw][:, :, :out_h, :out_w]
            total += np.einsum("kc,nchw->nkhw", kernel[:, :, i, j], part, optimize=True)
    return total.astype(np.int64)
