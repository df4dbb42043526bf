"""Add two encrypted numbers gate by gate. The server sees neither the numbers nor their sum.

The circuit is described once. Before any key exists, it tells the cost of a run and how probable a
wrong one is."""

from __future__ import annotations

import argparse
import random
import time

import palladion
from palladion import circuit, tfhe


def add(x: list[circuit.Bit], y: list[circuit.Bit]) -> list[circuit.Bit]:
    """The sum modulo 2^k of two numbers of k bits, the lowest first.

    If the bits of a place differ, the carry passes through. Otherwise the carry is either of them.
    """
    total: list[circuit.Bit] = []
    carry: circuit.Bit | bool = False
    for a, b in zip(x, y, strict=True):
        differ = a ^ b
        total.append(differ ^ carry)
        carry = differ.mux(carry, a)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bits", type=int, default=32, help="bits of each number")
    parser.add_argument("--log2-failure", type=float, default=-64.0, help="of a gate, at most")
    options = parser.parse_args()
    bits = max(1, options.bits)

    params = tfhe.Params.gates(options.log2_failure)
    c = circuit.TfheCircuit(params, "adder")
    c.output("sum", add(c.bits("x", bits), c.bits("y", bits)))
    print(f"{params.name}: security {params.security}")
    print(f"{c.bootstrappings} bootstrappings, {c.depth} of them one after another")
    print(f"wrong in one of 2^{-c.predict_failure():.1f} runs")

    # Client: generates the keys and encrypts two numbers, the lowest bit first.
    secret = tfhe.keygen(params)
    keys = c.keys(secret)
    numbers = {name: random.getrandbits(bits) for name in ("x", "y")}
    inputs = {name: [n >> i & 1 for i in range(bits)] for name, n in numbers.items()}
    query = c.encrypt(secret, inputs)

    # Server: adds, without any secret.
    start = time.perf_counter()
    results = c.run(query, keys)
    print(f"added in {time.perf_counter() - start:.2f} s on {palladion.info()['threads']} threads")

    # Client: decrypts the answer.
    total = sum(int(bit) << i for i, bit in enumerate(c.decrypt(secret, results)["sum"]))
    print(f"{numbers['x']} + {numbers['y']} = {total} modulo 2^{bits}")
    assert total == sum(numbers.values()) % 2**bits


if __name__ == "__main__":
    main()
