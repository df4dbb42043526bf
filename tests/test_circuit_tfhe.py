"""Circuits of TFHE in Python: against Python's operators in the clear, encrypted, and refusals."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import palladion
import pytest
from numpy.typing import NDArray
from palladion import bgv, circuit, tfhe

GATES: dict[str, tuple[Callable[..., circuit.Bit], Callable[..., bool]]] = {
    "and": (lambda x, y: x & y, lambda x, y: x and y),
    "or": (lambda x, y: x | y, lambda x, y: x or y),
    "xor": (lambda x, y: x ^ y, lambda x, y: x != y),
    "nand": (lambda x, y: x.nand(y), lambda x, y: not (x and y)),
    "nor": (lambda x, y: x.nor(y), lambda x, y: not (x or y)),
    "xnor": (lambda x, y: x.xnor(y), lambda x, y: x == y),
    "and_not": (lambda x, y: x.and_not(y), lambda x, y: x and not y),
    "or_not": (lambda x, y: x.or_not(y), lambda x, y: x or not y),
    "==": (lambda x, y: x == y, lambda x, y: x == y),
    "!=": (lambda x, y: x != y, lambda x, y: x != y),
    "<": (lambda x, y: x < y, lambda x, y: x < y),
    "<=": (lambda x, y: x <= y, lambda x, y: x <= y),
    ">": (lambda x, y: x > y, lambda x, y: x > y),
    ">=": (lambda x, y: x >= y, lambda x, y: x >= y),
}
COMPARISONS: dict[str, tuple[Callable[..., circuit.Integer], Callable[..., bool]]] = {
    "<": (lambda x, y: x < y, lambda x, y: x < y),
    "<=": (lambda x, y: x <= y, lambda x, y: x <= y),
    ">": (lambda x, y: x > y, lambda x, y: x > y),
    ">=": (lambda x, y: x >= y, lambda x, y: x >= y),
    "==": (lambda x, y: x == y, lambda x, y: x == y),
    "!=": (lambda x, y: x != y, lambda x, y: x != y),
    "eq": (lambda x, y: x.eq(y), lambda x, y: x == y),
    "ne": (lambda x, y: x.ne(y), lambda x, y: x != y),
}


@pytest.fixture(scope="module")
def gates() -> tfhe.Params:
    return tfhe.Params.gates()


@pytest.fixture(scope="module")
def integers() -> tfhe.Params:
    return tfhe.Params.integers()


def add(x: list[circuit.Bit], y: list[circuit.Bit]) -> list[circuit.Bit | bool]:
    """The sum of two numbers, the lowest bit first; where bits differ the carry passes through."""
    carry: circuit.Bit | bool = False
    total: list[circuit.Bit | bool] = []
    for a, b in zip(x, y, strict=True):
        differ = a ^ b
        total.append(differ ^ carry)
        carry = differ.mux(carry, a)
    return [*total, carry]


def bits_of(number: int, count: int) -> list[int]:
    return [number >> i & 1 for i in range(count)]


@pytest.mark.parametrize("name", GATES)
def test_gates_are_those_of_python(gates: tfhe.Params, name: str) -> None:
    of_circuit, of_python = GATES[name]
    c = circuit.TfheCircuit(gates)
    x, y = c.bit("x"), c.bit("y")
    c.output("out", of_circuit(x, y))
    assert (c.bootstrappings, c.depth) == (1, 1)
    for left, right in itertools.product([False, True], repeat=2):
        found = c.run_clear({"x": left, "y": right})["out"]
        assert found.shape == ()
        assert bool(found) == of_python(left, right), (left, right)
        folded = circuit.TfheCircuit(gates)
        folded.output("out", of_circuit(folded.bit("x"), right))
        assert folded.bootstrappings == 0
        assert bool(folded.run_clear({"x": left})["out"]) == of_python(left, right)


def test_choices_are_those_of_python(gates: tfhe.Params) -> None:
    c = circuit.TfheCircuit(gates)
    s, x, y = c.bits("in", 3)
    c.output("out", [s.mux(x, y), ~s, (~s).mux(y, x), s.mux(True, y), s.mux(x, ~x)])
    # The third is the first; the last two are an `or` and an equality.
    assert (c.bootstrappings, c.depth) == (4, 1)
    for given in itertools.product([False, True], repeat=3):
        s_, x_, y_ = given
        chosen = x_ if s_ else y_
        found = c.run_clear({"in": given})["out"].tolist()
        assert found == [chosen, not s_, chosen, s_ or y_, s_ == x_]


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_are_those_of_python(integers: tfhe.Params, name: str) -> None:
    of_circuit, of_python = COMPARISONS[name]
    c = circuit.TfheCircuit(integers)
    x, y = c.integer("x"), c.integer("y")
    c.output("out", [of_circuit(x, y), of_circuit(x, 2)])
    assert c.bootstrappings == 2
    for left, right in itertools.product(range(4), repeat=2):
        found = c.run_clear({"x": left, "y": right})["out"].tolist()
        assert found == [of_python(left, right), of_python(left, 2)]


def test_sums_and_tables_are_those_of_python(integers: tfhe.Params) -> None:
    c = circuit.TfheCircuit(integers)
    x, y = c.integer("x"), c.integer("y")
    linear = 3 - 2 * x + y
    assert (linear.least, linear.largest) == (-3, 6)
    quotient, rest = linear.apply_many([lambda v: v // 4, lambda v: v % 4])
    c.output("out", [linear, quotient, rest, 4 * quotient + rest, -x])
    c.output("list", x.apply([3, 1, 0, 2]))
    c.output("pair", x.apply_pair(y - 1, lambda a, b: a * b))
    c.output("rows", x.apply_pair(y, np.arange(16).reshape(4, 4)))
    assert c.bootstrappings == 4
    for a, b in itertools.product(range(4), repeat=2):
        found = c.run_clear({"x": a, "y": b})
        v = 3 - 2 * a + b
        assert found["out"].tolist() == [v, v // 4, v % 4, v, -a]
        assert int(found["list"]) == [3, 1, 0, 2][a]
        assert (int(found["pair"]), int(found["rows"])) == (a * (b - 1), 4 * a + b)


def test_random_circuits_of_bits_in_the_clear(gates: tfhe.Params, rng: np.random.Generator) -> None:
    for _ in range(20):
        c = circuit.TfheCircuit(gates)
        found = c.bits("in", 4)
        tables: list[NDArray[np.bool_]] = [np.arange(16) >> i & 1 == 1 for i in range(4)]
        for _ in range(30):
            i, j, k = rng.integers(len(found), size=3)
            match rng.integers(5):
                case 0:
                    made, table = found[i] & found[j], tables[i] & tables[j]
                case 1:
                    made, table = found[i] | ~found[j], tables[i] | ~tables[j]
                case 2:
                    made, table = found[i] ^ found[j], tables[i] ^ tables[j]
                case 3:
                    made = found[i].mux(found[j], ~found[k])
                    table = np.where(tables[i], tables[j], ~tables[k])
                case _:
                    made, table = found[i] ^ True, ~tables[i]
            found.append(made)
            tables.append(table)
        c.output("out", found[4:])
        for given in range(16):
            clear = c.run_clear({"in": bits_of(given, 4)})["out"]
            assert clear.tolist() == [bool(table[given]) for table in tables[4:]]


def check(c: circuit.TfheCircuit, inputs: dict[str, Any], replay: bool = False) -> None:
    """Encrypted as in the clear."""
    secret = tfhe.keygen(c.params)
    keys, clear = c.keys(secret), c.run_clear(inputs)
    given = c.encrypt(secret, inputs)
    results = [c.run(given, keys)]
    if replay:
        results.append(c.replay(c.lower(), given, keys))
    for found in results:
        decrypted = c.decrypt(secret, found)
        assert decrypted.keys() == clear.keys() == c.outputs.keys()
        for name, values in decrypted.items():
            assert values.shape == c.outputs[name] == found[name].shape
            assert values.dtype == clear[name].dtype
            assert values.tolist() == clear[name].tolist(), name


def test_an_adder_adds(gates: tfhe.Params) -> None:
    c = circuit.TfheCircuit(gates, "adder")
    c.output("sum", add(c.bits("x", 8), c.bits("y", 8)))
    assert (c.bootstrappings, c.depth) == (30, 9)
    assert c.counts() == {"and_not": 1, "choose": 7, "input": 16, "xor": 15}
    assert c.keys_needed() == circuit.KeysNeeded(None, {}, None, True)
    assert c.predict_failure() < -60
    for x, y in ((0, 0), (255, 1), (170, 85), (201, 99)):
        found = c.run_clear({"x": bits_of(x, 8), "y": bits_of(y, 8)})["sum"]
        assert sum(int(bit) << i for i, bit in enumerate(found)) == x + y
    check(c, {"x": bits_of(201, 8), "y": bits_of(99, 8)})


def test_bits_encrypted_and_replayed(gates: tfhe.Params) -> None:
    c = circuit.TfheCircuit(gates)
    x, y, z = c.bit("x"), c.bit("y"), c.bit("unused")
    assert z.index != x.index
    c.output("out", [x.mux(y, ~x & y), (x ^ y).nor(y), ~x, True])
    c.output("one", x ^ y)
    check(c, {"x": True, "y": False, "unused": 1}, replay=True)


def test_integers_encrypted_and_replayed(integers: tfhe.Params) -> None:
    c = circuit.TfheCircuit(integers)
    x, (y, z) = c.integer("x"), c.integers("yz", 2)
    low = (x + y - z).apply(lambda v: (v * v) % 4)
    c.output("out", [x - y, low - 3, (low < z) + 1, -2])
    c.output("one", 3 * x + 2)
    check(c, {"x": 1, "yz": [3, 2]}, replay=True)


def test_results_are_ciphertexts_like_others(integers: tfhe.Params) -> None:
    c = circuit.TfheCircuit(integers)
    x, y = c.integer("x"), c.integer("y")
    c.output("difference", x - y)
    c.output("table", (x + y).apply(lambda v: v % 4))
    secret = tfhe.keygen(integers)
    keys = c.keys(secret)
    found = c.run(c.encrypt(secret, {"x": 1, "y": 3}), keys)
    assert int(secret.decrypt(found["difference"])) == 2  # -2 modulo 4
    assert int(secret.decrypt(found["table"] + found["difference"])) == 2
    # A result with the noise of one bootstrapping is an input again.
    again = c.run({"x": found["table"], "y": found["table"]}, keys)
    assert int(c.decrypt(secret, again)["difference"]) == 0
    with pytest.raises(
        palladion.UsageError, match="input y: values of up to 7, expected at most 3"
    ):
        c.run({"x": found["table"], "y": found["difference"]}, keys)
    noisy = (x - y).apply(lambda v: v > 0) + x
    c.output("noisy", noisy.apply(lambda v: v // 4) + y.apply(lambda v: v // 3))
    sums = c.run(c.encrypt(secret, {"x": 1, "y": 3}), keys)["noisy"]
    assert (sums.largest, sums.noise) == (2, 2)
    with pytest.raises(palladion.UsageError, match="noise of bootstrappings 2, expected at most 1"):
        c.run({"x": sums, "y": sums}, keys)


def test_a_file_has_the_circuit(gates: tfhe.Params, tmp_path: Path) -> None:
    c = circuit.TfheCircuit(gates, "adder")
    c.output("sum", add(c.bits("x", 2), c.bits("y", 2)))
    path = tmp_path / "adder.json"
    c.save(path)
    again = circuit.load(path, gates)
    assert again.text() == c.text()
    assert c.text().splitlines()[0] == "circuit adder on bits"
    given = {"x": [1, 1], "y": [0, 1]}
    assert again.run_clear(given)["sum"].tolist() == [True, False, True]
    with pytest.raises(palladion.UsageError, match="the encoding of the circuit is bits, expected"):
        circuit.load(path, tfhe.Params.integers())
    path.write_text(path.read_text().replace('"left":', '"reft":'))
    with pytest.raises(palladion.FormatError, match="reft"):
        circuit.load(path, gates)


def test_what_fails_too_often_is_refused_before_keys() -> None:
    params = tfhe.Params.integers()
    c = circuit.TfheCircuit(params)
    tables = [lambda v: v, lambda v: v // 2]
    c.output("out", c.integer("x").apply_many(tables))
    failure = params.log2_failure_of(2)
    assert failure > -40
    secret = tfhe.keygen(params)
    for act in (c.predict_failure, lambda: c.keys(secret)):
        with pytest.raises(palladion.UsageError, match="expected at most -40, in all"):
            act()
    better = circuit.TfheCircuit(tfhe.Params.integers(log2_failure=-128))
    better.output("out", better.integer("x").apply_many(tables))
    assert better.predict_failure() < -40
    with pytest.raises(palladion.UsageError, match="wrong run is -3"):
        better.predict_failure(failure=-3)


def test_operands_that_do_not_fit_are_refused(gates: tfhe.Params, integers: tfhe.Params) -> None:
    c, d = circuit.TfheCircuit(gates, "c"), circuit.TfheCircuit(integers, "d")
    b, x = c.bit("b"), d.integer("x")
    other: Any = x
    two: Any = 2
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: b & other, "an integer as an operand, expected a bit"),
        (lambda: other + b, "a bit as an operand, expected an integer"),
        (lambda: b | two, "operand 2, expected a bit"),
        (lambda: x + 0.5, "an operand is 0.5, expected an integer"),  # type: ignore[operator]
        (lambda: x * x, "a product of two values, expected apply_pair"),  # type: ignore[operator]
        (lambda: b ^ circuit.TfheCircuit(gates, "e").bit("b"), r"another TfheCircuit\('e'\)"),
        (lambda: c.integer("x"), "an input of integers at .*, expected one of bits"),
        (lambda: d.bits("x", 2), "an input of bits at .*, expected one of integers"),
        (lambda: c.bit("b"), '"b" again, expected a name that is not taken'),
        (lambda: d.integer("y", bits=3), "the bits of a message is 3, expected 1 to 2"),
        (lambda: c.bits("y", 0), "the number of bits is 0, expected 1"),
        (lambda: x.apply([0, 1, 2]), "a table of 3 entries for values of 0 to 3, expected 4 to 16"),
        (lambda: (x - 1).apply([0, 1, 2]), "expected a function of them"),
        (lambda: x.apply([0, 1, 2, 0.5]), "an entry is 0.5"),  # type: ignore[list-item]
        (lambda: (9 * x).apply(lambda v: v), "values of 0 to 27, expected at most 16 of them"),
        (lambda: x.apply_pair(x, [[0] * 4] * 3), "a table of 3 rows of 4 entries"),
        (lambda: x.apply_many([lambda v: v] * 99), "99 tables in one bootstrapping, expected 1"),
        (lambda: d.output("out", 9 * x), "output out: the range of a result is 0 to 27"),
        (lambda: c.output("out", []), "messages of output out is 0, expected at least 1"),
        (lambda: c.run_clear({}), "the number of outputs is 0"),
        (lambda: circuit.Circuit(gates), "TfheCircuit"),  # type: ignore[arg-type]
        (lambda: circuit.TfheCircuit(bgv.Params.named("exact-14")), "expected parameters of TFHE"),  # type: ignore[arg-type]
    ]
    for act, words in cases:
        with pytest.raises(palladion.UsageError, match=words):
            act()


def test_inputs_that_do_not_fit_are_refused(gates: tfhe.Params, integers: tfhe.Params) -> None:
    c = circuit.TfheCircuit(integers)
    x, y = c.integer("x", bits=1), c.integers("y", 2)
    c.output("out", x + y[0])
    good: dict[str, Any] = {"x": 1, "y": [1, 2]}
    assert int(c.run_clear(good)["out"]) == 2
    secret, keys = tfhe.keygen(integers), tfhe.keygen(integers).server_key()
    given = c.encrypt(secret, good)
    client = tfhe.keygen(gates)
    bit = client.encrypt_bits(True)
    plain: Any = {"x": 1, "y": given["y"]}
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: c.run_clear({"x": 1}), "input y: it is missing"),
        (lambda: c.run_clear({**good, "z": 1}), r"input 'z', expected one of \['x', 'y'\]"),
        (lambda: c.run_clear({"x": 2, "y": [1, 2]}), "input x: the message is 2, expected 0 to 1"),
        (lambda: c.run_clear({"x": 1, "y": 1}), r"input y: shape \(\), expected \(2,\)"),
        (lambda: c.run_clear({"x": 0.5, "y": [1, 2]}), "input x: values of type float64"),
        (lambda: c.encrypt(secret, {"x": 2}), "input x: the message 2, expected 0 to 1"),
        (lambda: c.encrypt(client, good), "the secret is of other parameters"),
        (lambda: c.keys(client), "the secret is of other parameters"),
        (lambda: c.run(given, client.server_key()), "the server key is of other parameters"),
        (lambda: c.run({"x": given["x"]}, keys), "input y: it is missing"),
        (
            lambda: c.run({**given, "z": bit}, keys),
            "the name is z, expected one of the inputs x, y",
        ),
        (lambda: c.run({"x": bit, "y": given["y"]}, keys), "input x: bits, expected integers"),
        (lambda: c.run({"x": given["y"], "y": given["y"]}, keys), "2 messages, expected 1"),
        (lambda: c.run(plain, keys), "input x: 1, expected encrypted"),
        (lambda: c.decrypt(secret, {"z": given["x"]}), r"output 'z', expected one of \['out'\]"),
    ]
    for act, words in cases:
        with pytest.raises(palladion.UsageError, match=words):
            act()


def test_python_cannot_decide_on_a_value(gates: tfhe.Params, integers: tfhe.Params) -> None:
    c, d = circuit.TfheCircuit(gates), circuit.TfheCircuit(integers)
    for x, y in ((c.bit("x"), c.bit("y")), (d.integer("x"), d.integer("y"))):
        calls: list[Callable[[], object]] = [
            lambda x=x: bool(x),  # type: ignore[misc]
            lambda x=x, y=y: max(x, y),  # type: ignore[misc]
            lambda x=x, y=y: sorted([x, y]),  # type: ignore[misc]
            lambda x=x, y=y: 1 if x < y else 0,  # type: ignore[misc]
            lambda x=x, y=y: x == y or y,  # type: ignore[misc]
            lambda x=x, y=y: y in [x],  # type: ignore[misc]
            lambda x=x: {x: 1},  # type: ignore[misc]
            lambda x=x: x // 2,  # type: ignore[misc]
        ]
        for call in calls:
            with pytest.raises(TypeError, match="an encrypted value"):
                call()


def test_inputs_of_two_keys_do_not_meet(gates: tfhe.Params) -> None:
    client, stranger = tfhe.keygen(gates), tfhe.keygen(gates)
    c = circuit.TfheCircuit(gates)
    c.output("out", c.bit("x") & c.bit("y"))
    server = client.server_key()
    mine, theirs = (key.encrypt_bits(True) for key in (client, stranger))
    for inputs in ({"x": mine, "y": theirs}, {"x": theirs, "y": theirs}):
        with pytest.raises(palladion.KeyMismatch, match="made under one secret key"):
            c.run(inputs, server)
    found = c.run({"x": mine, "y": mine}, server)["out"]
    with pytest.raises(palladion.KeyMismatch, match="made under one secret key"):
        stranger.decrypt(found)
    assert client.decrypt(found)
