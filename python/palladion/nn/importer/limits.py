"""The capacity of one ciphertext: the largest images that an encrypted run takes.

A channel of a value lies in one ciphertext, row after row. Around the input there are also the
zeros that windows read beyond its border. The compiler has the same rule
(``crates/compiler/src/forms.rs``). Here it is checked at import, and the message has a size that
fits."""

from __future__ import annotations

from math import sqrt
from typing import Final

from palladion.errors import NetworkError
from palladion.nn.floats.geometry import Geometry, Pair
from palladion.nn.floats.graph import (
    Activation,
    Conv,
    Graph,
    Input,
    MaxPool,
    Mul,
    Node,
    Softmax,
    Window,
)

POSITIONS: Final = 1 << 15
"""Values of one ciphertext."""

Tabled = (Activation, MaxPool, Mul, Softmax)
"""Nodes whose values are the outputs of tables."""


def zeros_around(geometry: Geometry, size: Pair) -> Pair:
    """Rows and columns of zeros that windows read beyond an image."""
    output, span = geometry.output(size), geometry.span
    found = []
    for axis, before in enumerate(geometry.pads[:2]):
        last = (output[axis] - 1) * geometry.stride[axis] - before
        found.append(max(last + span[axis] - size[axis], before, 0))
    return found[0], found[1]


def positions(size: Pair, zeros: Pair) -> int:
    """Positions of a channel with zeros after each row, after all rows, and before."""
    rows, row = size[0] + zeros[0], size[1] + zeros[1]
    return rows * row + zeros[0] * row + zeros[1]


def check_sizes(graph: Graph) -> None:
    """Refuse channels that no ciphertext holds.

    Raises
    ------
    NetworkError
        The message names the node, its size, and a size that would fit.
    """
    for index, node in enumerate(graph.nodes):
        if isinstance(node, Input):
            readers = [graph.nodes[place] for place in graph.consumers()[index]]
            around = [zeros_around(reader.geometry, node.shape[1:]) for reader in readers
                      if isinstance(reader, Conv | Window | MaxPool)]  # fmt: skip
            zeros = (max((z[0] for z in around), default=0), max((z[1] for z in around), default=0))
            check(f"the input {node.name}", node, zeros)
        elif isinstance(node, Tabled):
            check(f"node {node.name}", node, (0, 0))


def check(word: str, node: Node, zeros: Pair) -> None:
    """Refuse one value if it is too large."""
    _, rows, columns = node.shape
    taken = positions((rows, columns), zeros)
    if taken <= POSITIONS:
        return
    share = sqrt(POSITIONS / taken)
    fit = int(rows * share) + 1, int(columns * share) + 1
    while positions(fit, zeros) > POSITIONS and max(fit) > 1:
        fit = max(fit[0] - 1, 1), max(fit[1] - 1, 1)
    with_zeros = f", {taken} with the zeros that windows read around them" if any(zeros) else ""
    raise NetworkError(
        f"{word} has channels of {rows} x {columns} = {rows * columns} values{with_zeros}; one "
        f"ciphertext holds {POSITIONS}: {fit[0]} x {fit[1]} would fit; use smaller images"
    )
