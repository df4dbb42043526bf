"""Add two encrypted numbers gate by gate: the server sees neither them nor their sum.

What crosses between client and server is bytes, as it would on two machines.
"""

from __future__ import annotations

import argparse
import random
import time

import palladion
from palladion import tfhe


def add(x: tfhe.Bits, y: tfhe.Bits) -> tfhe.Bits:
    """The sum modulo 2^k of two numbers of k bits, the lowest first.

    Where the bits of a place differ the carry passes through, elsewhere it is either of them.
    """
    differ = x ^ y  # all places at once, on all cores
    carries = [x[0] & y[0]]
    for i in range(1, len(x) - 1):
        carries.append(differ[i].mux(carries[-1], x[i]))
    return tfhe.join([differ[:1], differ[1:] ^ tfhe.join(carries)])


def serve(params: tfhe.Params, key: bytes, query: tuple[bytes, bytes]) -> bytes:
    """Server: adds, with no secret at hand."""
    server = tfhe.ServerKey.from_bytes(params, key)
    x, y = (tfhe.Bits.from_bytes(params, data).with_keys(server) for data in query)
    start = time.perf_counter()
    total = add(x, y)
    print(f"added in {time.perf_counter() - start:.2f} s on {palladion.info()['threads']} threads")
    return total.to_bytes()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bits", type=int, default=32, help="bits of each number, 2 or more")
    parser.add_argument("--log2-failure", type=float, default=-40.0, help="of a gate, at most")
    options = parser.parse_args()
    bits = max(2, options.bits)

    # Client: makes the keys and encrypts two numbers, the lowest bit first.
    params = tfhe.Params.gates(options.log2_failure)
    print(f"{params.name}: security {params.security}")
    client = tfhe.keygen(params)
    x, y = random.getrandbits(bits), random.getrandbits(bits)
    query = [client.encrypt_bits([n >> i & 1 for i in range(bits)]).to_bytes() for n in (x, y)]
    answer = serve(params, client.server_key().to_bytes(), (query[0], query[1]))

    # Client: decrypts the answer.
    found = client.decrypt(tfhe.Bits.from_bytes(params, answer))
    total = sum(int(bit) << i for i, bit in enumerate(found))
    print(f"{x} + {y} = {total} modulo 2^{bits}; {len(query[0])} bytes a number, seeded")
    assert total == (x + y) % 2**bits


if __name__ == "__main__":
    main()
