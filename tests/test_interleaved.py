"""Batches of thousands, whose images are interleaved: the answers of every one of them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from palladion import CompiledModel, IntNetwork, UsageError

from tests.models import Array

FEATURES, BATCH = 5, 3000


def network(*, table: bool) -> IntNetwork:
    """A dense layer, and perhaps a table that rounds its sums by 200, and a second layer."""
    first = {"inputs": FEATURES, "outputs": 3, "weights": [200, 0, -200, 200, 200] * 3}
    second = {"inputs": 3, "outputs": 2, "weights": [1, 2, 3, -4, 5, -6]}
    steps = range(-24, 26)
    lut = {"starts": [-5000, *(200 * k - 100 for k in steps)], "values": [-25, *steps]}
    layer: dict[str, object] = {"product": None, "scale": 1.0, "bound": 5000, "lut": None}
    layers: list[dict[str, object]] = [
        {**layer, "name": "first", "bias": [0, 400, -200],
         "terms": [{"source": 0, "linear": {"dense": first}}]}
    ]  # fmt: skip
    if table:
        layers[0]["lut"] = lut
        terms = [{"source": 1, "linear": {"dense": second}}]
        layers.append({**layer, "name": "second", "bias": [7, -7], "terms": terms})
    given = {"shape": [FEATURES, 1, 1], "min": -3, "max": 3, "scale": 1.0, "mean": [], "std": []}
    return IntNetwork.from_json(
        json.dumps(
            {"format": "palladion-int-network/3", "name": "rows", "input": given, "layers": layers}
        )
    )


def rows(count: int) -> Array:
    return np.random.default_rng(5).integers(-3, 4, (count, FEATURES, 1, 1)).astype(float)


@pytest.mark.parametrize("table", [False, True])
def test_every_row_gets_its_own_answer(table: bool) -> None:
    own = network(table=table)
    program = CompiledModel.of_network(own, BATCH)
    assert program.facts.ciphertexts == FEATURES
    assert ("pack_all" in {step.operation for step in program.facts.steps}) == table
    client = program.client()
    # Fewer than the batch: the last rows are not given.
    given = rows(BATCH - 7)
    answer = program.run(client.keys(), client.encrypt(given))
    sums = client.decrypt(answer).integers
    x = given.reshape(len(given), FEATURES)
    weights = np.array([200, 0, -200, 200, 200])
    first = (x @ weights)[:, None] + np.array([0, 400, -200])
    expected = first
    if table:
        expected = first / 200 @ np.array([[1, 2, 3], [-4, 5, -6]]).T + np.array([7, -7])
    np.testing.assert_array_equal(np.asarray(sums).reshape(expected.shape), expected)
    with pytest.raises(UsageError, match="3001"):
        client.encrypt(rows(BATCH + 1))


def test_a_batch_that_no_ciphertext_holds_is_refused() -> None:
    with pytest.raises(UsageError, match="32768"):
        CompiledModel.of_network(network(table=False), 32_769)
