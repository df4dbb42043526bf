"""Sort encrypted numbers by comparisons whose order does not depend on the numbers."""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator

from palladion import tfhe

Layer = list[tuple[int, int]]


def layers(count: int) -> Iterator[Layer]:
    """Pairs of places of Batcher's odd-even merge sort. The pairs of a layer are independent.

    Source: Knuth, The Art of Computer Programming 3, section 5.2.2, algorithm M.
    """
    top = 1 << max(0, (count - 1).bit_length() - 1)
    p = top
    while p > 0:
        q, r, d = top, 0, p
        while True:
            yield [(i, i + d) for i in range(count - d) if i & p == r]
            if q == p:
                break
            d, q, r = q - p, q // 2, p
        p //= 2


def sort(numbers: tfhe.Radix) -> tfhe.Radix:
    """The same numbers, the smallest first."""
    places = list(numbers)
    for layer in layers(len(places)):
        low, high = (tfhe.join(places[pair[side]] for pair in layer) for side in (0, 1))
        smaller, larger = low.min_max(high)  # all pairs at once, on all cores
        for k, (i, j) in enumerate(layer):
            places[i], places[j] = smaller[k], larger[k]
    return tfhe.join(places)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=8, help="numbers, 2 or more")
    parser.add_argument("--bits", type=int, default=8, help="bits of each number, an even count")
    parser.add_argument("--log2-failure", type=float, default=-40.0, help="of a table, at most")
    options = parser.parse_args()

    params = tfhe.Params.integers(2, 2, options.log2_failure)
    print(f"{params.name}: security {params.security}")
    client = tfhe.keygen(params)
    numbers = [random.getrandbits(options.bits) for _ in range(max(2, options.count))]
    encrypted = client.encrypt_radix(numbers, options.bits).with_keys(client.server_key())
    start = time.perf_counter()
    ordered = sort(encrypted)
    seconds = time.perf_counter() - start
    found = client.decrypt(ordered).tolist()
    pairs = sum(len(layer) for layer in layers(len(numbers)))
    print(f"{numbers} -> {found}: {pairs} comparisons in {seconds:.2f} s")
    assert found == sorted(numbers)


if __name__ == "__main__":
    main()
