"""Shapes of linear layers: networks that come with the package, and integer networks."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from palladion.accelerators.packing_model.arithmetic import ceil_div
from palladion.errors import UsageError
from palladion.nn.integers.linear_maps import Conv, Dense, Linear
from palladion.nn.integers.network import IntNetwork

_FOLDER: Final = Path(__file__).parent / "networks"
NETWORKS: Final = ("resnet50", "mobilenetv2", "gnmt", "resnet20")
"""Networks of the public simulator, as it has them."""


@dataclass(frozen=True)
class Shape:
    """A convolution without padding: of ``kernels`` kernels over an image of ``channels``.

    ``kernel``, ``image`` and ``stride`` are rows and columns. The image has its padding. ``count``
    equal maps of this shape make the layer: the groups of a convolution.
    """

    name: str
    kernels: int
    channels: int
    kernel: tuple[int, int]
    image: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    count: int = 1

    @property
    def face(self) -> int:
        """Values of a kernel in one channel: R S."""
        return self.kernel[0] * self.kernel[1]

    @property
    def pixels(self) -> int:
        """Values of an image in one channel: X Y."""
        return self.image[0] * self.image[1]

    @property
    def steps(self) -> int:
        """Positions of the image for one of the result: the product of both strides."""
        return self.stride[0] * self.stride[1]

    @property
    def outputs(self) -> int:
        """Positions of the result, as the published model counts them."""
        rows, columns = (x - r + 1 for x, r in zip(self.image, self.kernel, strict=True))
        return rows * columns // self.steps

    @property
    def outputs_exact(self) -> int:
        """Positions of the result."""
        sides = zip(self.image, self.kernel, self.stride, strict=True)
        rows, columns = ((x - r) // s + 1 for x, r, s in sides)
        return rows * columns

    @property
    def windows(self) -> int:
        """Windows that do not overlap, as the published model counts them: without windows at the
        border."""
        (x, y), (r, s) = self.image, self.kernel
        return min(self.outputs, (x // r) * (y // s))

    @property
    def windows_exact(self) -> int:
        """Windows that do not overlap and cover the image."""
        (x, y), (r, s) = self.image, self.kernel
        return min(self.outputs_exact, ceil_div(x, r) * ceil_div(y, s))

    @property
    def key(self) -> tuple[object, ...]:
        """The public simulator's name of the file of a layer's result: strides do not count."""
        return self.name, self.kernels, self.channels, self.kernel, self.image


@dataclass(frozen=True)
class Layers:
    """A network as the shapes of its linear layers. ``skipped`` names the layers left out."""

    name: str
    shapes: tuple[Shape, ...]
    skipped: str = ""


def network_named(name: str) -> Layers:
    """A network that comes with the package.

    Raises
    ------
    UsageError
        If there is none of this name.
    """
    if name not in NETWORKS:
        raise UsageError(f"{name} is no network of ours: {', '.join(NETWORKS)}")
    data = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    shapes = [
        Shape(layer, k, c, (r, s), (y, x), (sy, sx))
        for layer, k, c, r, s, y, x, sy, sx in data["layers"]
    ]
    return Layers(data["name"], tuple(shapes))


def layers_of_network(network: IntNetwork) -> Layers:
    """The linear layers of an integer network. Windows are left out: their weights are public, so
    both parties apply them to their shares.

    Raises
    ------
    UsageError
        If a convolution has holes, which no packing of the paper has.
    """
    sources = [network.input.shape, *network.shapes]
    shapes, windows = [], 0
    for layer in network.layers:
        for place, term in enumerate(layer.terms):
            name = layer.name if len(layer.terms) == 1 else f"{layer.name}.{place}"
            shape = shape_of(name, term.linear, sources[term.source])
            if shape is None:
                windows += 1
            else:
                shapes.append(shape)
    if not shapes:
        raise UsageError(
            f"the network {network.name} has no convolution and no dense layer, expected one: "
            "there is nothing to pack"
        )
    maps = f"{windows} maps of one kernel for all channels (sums of pooling, residual branches)"
    return Layers(network.name, tuple(shapes), maps if windows else "")


def shape_of(name: str, linear: Linear, source: tuple[int, int, int]) -> Shape | None:
    """The shape of a map of a source (channels, rows, columns). ``None`` for a window."""
    if isinstance(linear, Dense):
        kernels, inputs = linear.weights.shape
        return Shape(name, kernels, inputs, (1, 1), (1, 1))
    if not isinstance(linear, Conv):
        return None
    if linear.dilation != (1, 1):
        found = f"{linear.dilation[0]} x {linear.dilation[1]}"
        raise UsageError(f"the convolution {name} has dilation {found}, expected 1 x 1")
    kernels, channels, rows, columns = linear.weights.shape
    top, left, bottom, right = linear.pads
    image = (source[1] + top + bottom, source[2] + left + right)
    groups = linear.groups
    return Shape(name, kernels // groups, channels, (rows, columns), image, linear.stride, groups)
