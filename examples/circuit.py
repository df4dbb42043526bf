"""Look up an encrypted key in a table, and multiply a matrix by an encrypted vector."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray
from palladion import bgv, circuit, ckks


def lookup(
    params: bgv.Params, keys: NDArray[np.int64], values: NDArray[np.int64]
) -> circuit.Circuit:
    """The value of the row with the key, in every slot. It is 0 if no row has the key."""
    c = circuit.Circuit(params, name="lookup")
    difference = c.input("key") - keys
    found = 1 - difference ** (params.t - 1)  # Fermat: 1 in the slot of the row, 0 in all others
    row = (found * values).sum()
    c.output("value", row + row.swap_rows())
    return c


def product(params: ckks.Params, matrix: NDArray[np.float64]) -> circuit.Circuit:
    """The product of a square matrix and a vector, computed by diagonals."""
    n = len(matrix)
    c = circuit.Circuit(params, slots=n, name="product")
    x, rows = c.input("x"), np.arange(n)
    c.output("y", sum(x.rotate(k) * matrix[rows, (rows + k) % n] for k in range(n)))
    return c


def find_a_row() -> None:
    params = bgv.Params(15, levels=[26] + [34] * 18, special=[49, 49, 49])
    rng = np.random.default_rng()
    keys = rng.permutation(params.t)[: params.slots]
    values = rng.integers(params.t, size=params.slots)
    c = lookup(params, keys, values)
    print(f"lookup: {c.predict_noise()['value']}, {c.keys_needed()}")
    secret = bgv.keygen(params)
    evaluation = c.keys(secret)
    key = c.encrypt(secret, {"key": keys[1234]})
    start = time.perf_counter()
    results = c.run(key, evaluation)
    seconds = time.perf_counter() - start
    value = c.decrypt(secret, results)["value"]
    print(f"the value of {keys[1234]} is {value[0]}, found in {seconds:.2f} s ({params.security})")
    assert (value == values[1234]).all()


def multiply() -> None:
    params = ckks.Params.for_depth(log_n=13, depth=1, scale_bits=40)
    rng = np.random.default_rng()
    matrix, x = rng.uniform(-1, 1, (64, 64)), rng.uniform(-1, 1, 64)
    c = product(params, matrix)
    predicted = c.predict({"x": x})["y"]
    print(f"product: {c.counts()}, {predicted.bits:.1f} bits predicted")
    secret = ckks.keygen(params)
    results = c.run(c.encrypt(secret, {"x": x}), c.keys(secret))
    error = np.abs(c.decrypt(secret, results)["y"] - matrix @ x).max()
    print(f"largest error 2^{np.log2(error):.1f} ({params.security})")
    assert error < 8 * predicted.errors.max()


def main() -> None:
    multiply()
    find_a_row()


if __name__ == "__main__":
    main()
