"""Packings of linear layers: shapes as text, prices, and encrypted trials.

``crates/packings`` does the work. ``docs/packings.md`` defines packings.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from palladion import _native
from palladion.errors import DataError, UsageError
from palladion.support.text import times

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from palladion.nn.integers.network import IntNetwork

    Array = npt.NDArray[np.generic]

__all__ = ["SURVEY", "Layer", "layers_of", "names"]

_TEXT = re.compile(
    r"(?P<c>\d+)(?:x(?P<h>\d+)x(?P<w>\d+))?-(?P<k>\d+)(?:x(?P<r>\d+)x(?P<s>\d+))?"
    r"(?:/(?P<stride>\d+))?(?P<more>(?::[gpdb]\d+)*)"
)
_FORM = "CxHxW-KxRxS[/STRIDE][:gGROUPS][:pPADDING][:dDILATION][:bIMAGES], or INPUTS-OUTPUTS"
_LARGEST = 1 << 15


@dataclass(frozen=True)
class Layer:
    """A convolution or dense layer."""

    name: str
    """Name for display."""
    shape: tuple[int, ...]
    """Batch, channels, kernels, groups; height and width of the input, of the kernel, of the
    stride and of the dilation; padding at top, left, bottom, right."""
    weights: list[int] | None = field(default=None, repr=False)
    """Weights in the order kernel, channel of the group, row, column. None: random ones."""

    @classmethod
    def parse(cls, text: str) -> Layer:
        """Read a shape.

        >>> Layer.parse("16x32x32-32x3x3/2").shape
        (1, 16, 32, 1, 32, 32, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1)
        >>> Layer.parse("64-10").shape[:4]
        (1, 64, 10, 1)

        Without ``:p`` there are as many zeros around the input as keep its size at stride 1.

        Raises
        ------
        UsageError
            If the text is no shape.
        """
        found = _TEXT.fullmatch(text)
        if found is None or (found["h"] is None) != (found["r"] is None):
            raise UsageError(f"the layer {text!r} is no shape, expected {_FORM}")
        part = {name: int(value) for name, value in found.groupdict("1").items() if name != "more"}
        more = dict(re.findall(r":([gpdb])(\d+)", found["more"] or ""))
        options = {name: int(value) for name, value in more.items()}
        too_large = max([*part.values(), *options.values()])
        if too_large > _LARGEST:
            raise UsageError(f"the layer {text!r} has the number {too_large}, at most {_LARGEST}")
        dilation = options.get("d", 1)
        pads = [options.get("p", dilation * (part[side] - 1) // 2) for side in "rs"]
        shape = (
            *(options.get("b", 1), part["c"], part["k"], options.get("g", 1)),
            *(part["h"], part["w"], part["r"], part["s"]),
            *(part["stride"], part["stride"], dilation, dilation),
            *(*pads, *pads),
        )
        return cls(text, shape)

    def choice(self, scheme: str, log_n: int, bandwidth: float | None = None) -> dict[str, Any]:
        """Price all packings, with a ring degree of ``2**log_n``.

        With a ``bandwidth``, in bytes per second, the transfer of ciphertexts counts too.

        Returns
        -------
        dict
            ``layer``; ``candidates``, cheapest first, with counts, bytes and seconds on one thread;
            ``refused``, packings that cannot compute the layer, and why.
        """
        return _native.packing_choice(self.shape, scheme, log_n, bandwidth, None)

    def trial(
        self,
        packing: str,
        scheme: str,
        log_n: int,
        most: int,
        hear: Callable[[int, int], object] | None = None,
        values: Array | None = None,
    ) -> dict[str, Any]:
        """Encrypt values, run the layer in a packing, and compare all results.

        If the packing takes more than ``most`` products, rotations or ciphertexts, a part of the
        layer is run, which is a whole layer of its own. ``layer`` of the result names it. With
        ``hear`` all parts are run, one after the other, and their results are the layer's results:
        ``parts`` is their number, and ``hear(done, all)`` is called before each part. A result of a
        part of the channels is a sum that is completed after it is decrypted.

        ``values`` are integers of :attr:`input_shape`. Without them values are random, and only a
        whole layer has its own weights. With them all parts are run, and the entry ``values`` of
        the result has those of :attr:`output_shape`, in one list.

        Raises
        ------
        DataError
            If ``values`` are of another shape, or no integers.
        UsageError
            For a packing that cannot compute the layer, and for values, weights or results that do
            not fit a slot.
        """
        parameters = (scheme, log_n)
        own = None if values is None else _integers("values", values, self.input_shape)
        layer = (self.shape, self.weights)
        return _native.packing_trial(packing, layer, own, parameters, most, hear)

    def weighted(self, weights: Array) -> Layer:
        """This layer with weights: integers of :attr:`weight_shape`.

        Raises
        ------
        DataError
            If they are of another shape, or no integers.
        """
        return replace(self, weights=_integers("weights", weights, self.weight_shape))

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Images, channels, rows, columns of the values."""
        batch, channels, _kernels, _groups, height, width = self.shape[:6]
        return (batch, channels, height, width)

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """Kernels, channels of a group, rows, columns of the weights."""
        _batch, channels, kernels, groups, _height, _width, *kernel = self.shape[:8]
        return (kernels, channels // max(groups, 1), *kernel)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Images, kernels, rows, columns of the results."""
        sides = []
        for axis in (0, 1):
            size, window, stride, dilation = self.shape[4 + axis : 12 : 2]
            padded = size + self.shape[12 + axis] + self.shape[14 + axis]
            sides.append((padded - dilation * (window - 1) - 1) // stride + 1)
        return (self.shape[0], self.shape[2], *sides)


def _integers(name: str, array: Array, shape: tuple[int, ...]) -> list[int]:
    """An array as integers, in order. Sides of length 1 may be left out."""
    if [side for side in array.shape if side > 1] != [side for side in shape if side > 1]:
        raise DataError(f"the {name} have the shape {times(array.shape)}, expected {times(shape)}")
    numbers = array.reshape(-1).tolist()
    for number in numbers:
        if not isinstance(number, int | float) or not float(number).is_integer():
            raise DataError(f"one of the {name} is {number}, expected integers: quantise them")
    return [int(number) for number in numbers]


def names() -> list[str]:
    """Names of the packings, in the order of the paper."""
    return _native.packing_names()


def layers_of(network: IntNetwork) -> list[Layer]:
    """The convolutions and dense maps of an integer network.

    Pooling sums and shortcuts are left out: they have one kernel for all channels.
    """
    found = _native.packing_layers(network.to_json())
    return [Layer(name, tuple(shape), weights) for name, shape, weights in found]


SURVEY = {
    "ResNet-20": (
        "3x32x32-16x3x3",
        "16x32x32-16x3x3",
        "16x32x32-32x3x3/2",
        "16x32x32-32x1x1/2",
        "32x16x16-32x3x3",
        "32x16x16-64x3x3/2",
        "32x16x16-64x1x1/2",
        "64x8x8-64x3x3",
        "64-10",
    ),
    "ResNet-50": (
        "3x224x224-64x7x7/2",
        "64x56x56-64x1x1",
        "64x56x56-64x3x3",
        "64x56x56-256x1x1",
        "256x56x56-128x1x1/2",
        "128x28x28-128x3x3",
        "256x14x14-256x3x3",
        "1024x14x14-512x1x1/2",
        "512x7x7-512x3x3",
        "512x7x7-2048x1x1",
        "2048-1000",
    ),
    "MobileNetV2": (
        "3x224x224-32x3x3/2",
        "32x112x112-32x3x3:g32",
        "32x112x112-16x1x1",
        "96x112x112-96x3x3/2:g96",
        "144x56x56-24x1x1",
        "192x28x28-192x3x3/2:g192",
        "384x14x14-384x3x3:g384",
        "320x7x7-1280x1x1",
    ),
    "other": (
        "5x11x13-7x3x2:p0",
        "6x17x17-9x5x5/3",
        "8x12x12-12x3x3:g4",
        "4x15x15-4x3x3:d2",
        "2x8x8-3x3x3:b64",
        "100-37",
    ),
}
"""Shapes of the survey in ``docs/packings.md``, by network. ResNet-20 has no other shapes."""
