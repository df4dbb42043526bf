"""Words that are accepted, gathered into full vectors in their order."""

from __future__ import annotations

from palladion_hardware.circuit import Circuit, Node

LEVELS = 4
"""Layers of adders or of choices in a cycle."""


def gather(c: Circuit, words: Node, accept: Node, valid: Node, first: Node) -> tuple[Node, Node]:
    """Whether a vector is full, and the vector. Lanes are a power of 2.

    Accepted words of a vector that is ``valid`` go behind those that wait. ``first`` marks a vector
    before which the waiting ones are dropped.
    """
    lanes, bits = words.lanes, words.lanes.bit_length() - 1
    words, count = concentrate(c, words, accept)
    assert words.time is not None
    valid, first = c.at(valid, words.time), c.at(first, words.time)
    waiting = c.state(bits=bits, time=words.time)
    base = c.select(first, c.constant(0, bits=bits), waiting)
    total = (base + count).low(bits + 1)
    c.follow(waiting, c.select(valid, total.low(bits), waiting))
    full = valid & total.bit(bits)
    words, before = rotate(c, words, base)
    assert words.time is not None
    valid, full = c.at(valid, words.time), c.at(full, words.time)
    held = c.state(bits=words.bits, time=words.time, lanes=lanes)
    vector = c.select(before, held, words)
    c.follow(held, c.select(valid, c.select(full, words, vector), held))
    return full.delay(), vector.delay()


def concentrate(c: Circuit, words: Node, accept: Node) -> tuple[Node, Node]:
    """The accepted words in the lowest lanes, and their number; other lanes hold anything.

    Each word moves down by the number of rejected ones below it, by 1, 2, 4, .. lanes in turn. No
    two words meet: those of two lanes are as far apart as their numbers differ, and more.
    """
    lanes, bits = words.lanes, words.lanes.bit_length() - 1
    moves = accept.inverted()
    for level in range(bits):
        distance = 1 << level
        sums = moves.take(range(distance, lanes)) + moves.take(range(lanes - distance))
        moves = c.join(moves.take(range(distance)).low(sums.bits), sums)
        moves = moves.delay(int(level % LEVELS == LEVELS - 1))
    count = (c.constant(lanes, bits=bits + 1) - moves.lane(lanes - 1)).low(bits + 1)
    for level in range(bits):
        words, accept, moves = c.aligned(words, accept, moves)
        distance = 1 << level
        moving = accept & moves.bit(level)
        kept = c.concatenate(words, moves, accept & moving.inverted())
        above = [(lane + distance) % lanes for lane in range(lanes)]
        zeros = c.constant([0] * distance, bits=1)
        comes = c.join(moving.take(range(distance, lanes)), zeros)
        packed = c.select(comes, c.concatenate(words, moves, accept).take(above), kept)
        packed = packed.delay(int(level % LEVELS == LEVELS - 1))
        words, accept = packed.low(words.bits), packed.bit(packed.bits - 1)
        moves = packed.part_of_bits(words.bits, packed.bits - 1)
    words, count = c.aligned(words.delay(), count.delay())
    return words, count


def rotate(c: Circuit, words: Node, amount: Node) -> tuple[Node, Node]:
    """The word of lane l to lane l + amount modulo the lanes, and whether it passed the last one.

    So the second result is 1 in the lanes below the amount.
    """
    lanes = words.lanes
    passed = c.constant(0, bits=1).take([0] * lanes)
    for level in range(amount.bits):
        distance = 1 << level
        ones = c.constant([1] * distance, bits=1)
        turned = c.concatenate(
            words.take([(lane - distance) % lanes for lane in range(lanes)]),
            c.join(ones, passed.take(range(lanes - distance))),
        )
        assert words.time is not None
        stays = c.concatenate(words, passed)
        both = c.select(c.at(amount.bit(level), words.time), turned, stays)
        both = both.delay(int(level % LEVELS == LEVELS - 1))
        words, passed = both.low(words.bits), both.bit(words.bits)
    return words.delay(), passed.delay()
