"""Transpositions of streams: bits of the lane's number change places with bits of the time's.

A stage swaps one bit. For bit m of the time it holds half of the lanes back by 2^m vectors, swaps
them with the other half in the second 2^m vectors of each 2^(m+1), and holds the other half back.
So E x E words pass in E - 1 cycles with E (E - 1) words of buffers, a vector a cycle, and any
polynomial of G <= E vectors passes in the same cycles: its stages beyond G never swap. The paper
has a unit of its own for this, from its longer version; that these stages are the same is inferred.
"""

from __future__ import annotations

from collections.abc import Sequence

from palladion_hardware.circuit import Circuit, Node


def swap_bit(c: Circuit, words: Node, control: Node, *, lane_bit: int, time_bit: int) -> Node:
    """One stage. ``control`` is 1 in vectors whose time has the bit, and whose stage is active."""
    distance, span = 1 << lane_bit, 1 << time_bit
    zeros = [lane for lane in range(words.lanes) if not lane & distance]
    control, words = c.aligned(control, words)
    assert words.time is not None
    low = words.take(zeros)
    high = words.take([lane | distance for lane in zeros]).held_back(span)
    first = c.select(control, high, low).delay(span)
    second = c.select(control, low, high).relabelled(words.time + span)
    place = {lane: index for index, lane in enumerate(zeros)}
    order = [
        place[lane & ~distance] + (len(zeros) if lane & distance else 0)
        for lane in range(words.lanes)
    ]
    return c.join(first, second).take(order)


def transpose(
    c: Circuit, words: Node, controls: Sequence[Node], *, lane_bits: Sequence[int]
) -> Node:
    """Bit m of the time changes places with bit ``lane_bits[m]`` of the lane, for all m.

    ``controls[m]`` is as in :func:`swap_bit`, at any time before the words.
    """
    for time_bit, (control, lane_bit) in enumerate(zip(controls, lane_bits, strict=True)):
        assert words.time is not None
        words = swap_bit(c, words, c.at(control, words.time), lane_bit=lane_bit, time_bit=time_bit)
    return words


def permute_bits(
    c: Circuit, words: Node, controls: Sequence[Node], *, source: Sequence[int]
) -> Node:
    """Word i moves so that bit p of its new place is bit ``source[p]`` of its old one.

    Bits of the time are the lowest ones of a place, and bits of the lane are above them. A bit of
    the time is swapped once if it ends in a lane: then all of them take E - 1 cycles for E vectors.
    """
    times = len(controls)
    here = list(range(len(source)))
    while waiting := [p for p in range(times) if here[p] != source[p]]:
        # A bit that comes from a lane first: what it throws out is in a lane then.
        place = next((p for p in waiting if here.index(source[p]) >= times), waiting[0])
        other = max(here.index(source[place]), times)
        control = c.at(controls[place], words.time or 0)
        words = swap_bit(c, words, control, lane_bit=other - times, time_bit=place)
        here[place], here[other] = here[other], here[place]
    moves = [(p, here.index(source[p])) for p in range(times, len(source))]
    order = [
        sum((lane >> (new - times) & 1) << (old - times) for new, old in moves)
        for lane in range(words.lanes)
    ]
    return words.take(order)
