"""Benes networks: 2 log2(n) - 1 layers of n / 2 switches take n words to any order of them.

A network of n words is a layer of switches of two, two networks of half the size, and another
layer. Each switch of the first layer sends a word to either half, and each of the last one takes a
word from either (Benes 1964). Layers of all the halves are side by side here, so a layer has n / 2
switches everywhere, and switch p has lanes 2 p and 2 p + 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from palladion_hardware.circuit import Circuit, Node
from palladion_hardware.errors import ParameterError


def layers_of(lanes: int) -> int:
    return 2 * (lanes.bit_length() - 1) - 1


def permute_freely(c: Circuit, words: Node, switches: Node) -> Node:
    """The words in the order of the switches of :func:`route`, without a register."""
    lanes, half = words.lanes, words.lanes // 2
    layers = layers_of(lanes)
    for layer in range(layers):
        block = lanes >> min(layer, layers - 1 - layer)
        if layer > layers // 2:
            words = words.take(halves_to_pairs(lanes, block))
        crossed = switches.take(range(layer * half, (layer + 1) * half))
        even, odd = words.take(range(0, lanes, 2)), words.take(range(1, lanes, 2))
        both = c.join(c.select(crossed, odd, even), c.select(crossed, even, odd))
        words = both.take(halves_to_pairs(lanes, lanes))
        if layer < layers // 2:
            order = halves_to_pairs(lanes, block)
            words = words.take([order.index(lane) for lane in range(lanes)])
    return words


def halves_to_pairs(lanes: int, block: int) -> list[int]:
    """In each block the words of both halves in turn."""
    return [
        lane - lane % block + lane % block // 2 + lane % 2 * (block // 2) for lane in range(lanes)
    ]


def route(targets: Sequence[int]) -> list[int]:
    """The switches, layer by layer, that take word l to lane ``targets[l]``: 1 where they cross.

    The looping algorithm (Opferman and Tsao-Wu 1971), in n log2(n) steps.

    Raises
    ------
    ParameterError
        If the targets are no permutation of a power of 2 of lanes, from 2 on.
    """
    n = len(targets)
    if n < 2 or n & (n - 1) or sorted(targets) != list(range(n)):
        raise ParameterError(
            f"{n} targets: expected each lane once, for 2, 4, 8, .. lanes; lanes that do not "
            "matter get the targets that are left"
        )
    return [switch for layer in route_layers(targets) for switch in layer]


def route_layers(targets: Sequence[int]) -> list[list[int]]:
    n = len(targets)
    if n == 2:
        return [[targets[0]]]
    sources = [0] * n
    for source, target in enumerate(targets):
        sources[target] = source
    # Words of one switch go to different halves, at both ends. That closes loops of words.
    side = [-1] * n
    for start in range(n):
        word = start
        while side[word] < 0:
            side[word] = 0
            partner = sources[targets[word] ^ 1]
            side[partner] = 1
            word = partner ^ 1
    inner: list[list[int]] = [[0] * (n // 2) for _ in range(2)]
    for word, target in enumerate(targets):
        inner[side[word]][word // 2] = target // 2
    first = side[::2]
    last = [side[sources[target]] for target in range(0, n, 2)]
    between = zip(*(route_layers(half) for half in inner), strict=True)
    return [first, *(low + high for low, high in between), last]
