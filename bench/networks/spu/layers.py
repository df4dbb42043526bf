"""The networks of Palladion's files as JAX functions of real numbers, for SPU.

An integer network's file has integer weights and the real value of one unit of each layer. So the
real weights follow: one unit of an accumulator is the layer's unit times the slope of its table.
"""

import json

import jax
import jax.numpy as jnp
import numpy as np


def load(path):
    """Name of the network, unit of its inputs, and ``[(weights, bias)]`` of its convolutions (height,
    width, channels, kernels) and dense layers (inputs, outputs)."""
    network = json.loads(path.read_text(encoding="utf-8"))
    units, found = [network["input"]["scale"]], []
    for layer in network["layers"]:
        unit = layer["scale"] * _slope(layer["lut"])
        units.append(layer["scale"])
        for term in layer["terms"]:
            kind, linear = next(iter(term["linear"].items()))
            if kind == "window":  # pooling, means and shortcuts have no weights of their own
                continue
            weights = np.array(linear["weights"], np.float64) * unit / units[term["source"]]
            if kind == "conv":
                shape = linear["kernels"], linear["channels"], *linear["kernel"]
                weights = weights.reshape(shape).transpose(2, 3, 1, 0)
            else:
                weights = weights.reshape(linear["outputs"], linear["inputs"]).T
            bias = np.array(layer["bias"], np.float64) * unit
            found.append((weights.astype(np.float32), bias.astype(np.float32)))
    return network["name"], units[0], found


def _slope(lut):
    """Outputs of a table for one unit of the accumulator, between its first and last step."""
    if lut is None:
        return 1.0
    starts, values = lut["starts"], lut["values"]
    return (values[-1] - values[1]) / (starts[-1] - starts[1])


def _conv(x, layer, stride=1, padding=0):
    weights, bias = layer
    return bias + jax.lax.conv_general_dilated(
        x, weights, (stride, stride), [(padding, padding)] * 2,
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )  # fmt: skip


def _dense(x, layer):
    weights, bias = layer
    return x @ weights + bias


def _flat(x):
    """In the order of channels, rows and columns, as the files' dense layers take it."""
    return x.transpose(0, 3, 1, 2).reshape(len(x), -1)


def _pool(x):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def mnist(x, layers):
    """Convolution of stride 3, two dense layers."""
    x = jax.nn.relu(_conv(x, layers[0], stride=3))
    return _dense(jax.nn.relu(_dense(_flat(x), layers[1])), layers[2])


def lenet5(x, layers):
    """LeNet-5 with max pooling."""
    x = _pool(jax.nn.relu(_conv(x, layers[0], padding=2)))
    x = _flat(_pool(jax.nn.relu(_conv(x, layers[1]))))
    x = jax.nn.relu(_dense(x, layers[2]))
    return _dense(jax.nn.relu(_dense(x, layers[3])), layers[4])


def resnet20(x, layers):
    """ResNet-20 whose shortcuts drop every second row and column, and add channels of zeros."""
    x = jax.nn.relu(_conv(x, layers[0], padding=1))
    for block in range(9):
        stride = 2 if block in (3, 6) else 1
        inner = jax.nn.relu(_conv(x, layers[1 + 2 * block], stride, 1))
        inner = _conv(inner, layers[2 + 2 * block], padding=1)
        if stride == 2:
            side = x.shape[3] // 2
            x = jnp.pad(x[:, ::2, ::2, :], [(0, 0)] * 3 + [(side, side)])
        x = jax.nn.relu(inner + x)
    return _dense(x.mean(axis=(1, 2)), layers[19])


NETWORKS = {"mnist": mnist, "lenet5": lenet5, "resnet20": resnet20}
