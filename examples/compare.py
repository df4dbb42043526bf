"""Compare encrypted numbers: who has more, and how much, without anyone seeing either."""

from __future__ import annotations

import argparse
import random
import time

from palladion import tfhe


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bits", type=int, default=16, help="bits of each number, an even count")
    parser.add_argument("--count", type=int, default=4, help="pairs that are compared at once")
    parser.add_argument("--log2-failure", type=float, default=-40.0, help="of a table, at most")
    options = parser.parse_args()

    # Two bits in each digit, and two above them for carries.
    params = tfhe.Params.integers(2, 2, options.log2_failure)
    print(f"{params.name}: security {params.security}")
    client = tfhe.keygen(params)
    server = client.server_key()
    left, right = (
        [random.getrandbits(options.bits) for _ in range(options.count)] for _ in range(2)
    )
    x, y = (
        client.encrypt_radix(values, options.bits).with_keys(server) for values in (left, right)
    )

    # The server: all pairs at once, on all cores.
    start = time.perf_counter()
    less, equal, (smaller, larger) = x < y, x.eq(y), x.min_max(y)
    difference = larger - smaller
    print(f"computed in {time.perf_counter() - start:.2f} s")

    for i, (a, b) in enumerate(zip(left, right, strict=True)):
        apart = int(client.decrypt(difference[i]))
        sign = "<" if client.decrypt(less[i]) else "=" if client.decrypt(equal[i]) else ">"
        print(f"{a} {sign} {b}, {apart} apart")
        assert sign == ("<" if a < b else "=" if a == b else ">")
        assert apart == abs(a - b)
        assert int(client.decrypt(smaller[i])) == min(a, b)


if __name__ == "__main__":
    main()
