"""TFHE from Python, against plain Python."""

from __future__ import annotations

import importlib.util
import operator
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import palladion
import pytest
from palladion import _native, tfhe

ROOT = Path(__file__).parent.parent

Keys = tuple[tfhe.ClientKey, tfhe.ServerKey]


@pytest.fixture(scope="module")
def gates() -> Keys:
    client = tfhe.keygen(tfhe.Params.gates(-40))
    return client, client.server_key()


@pytest.fixture(scope="module")
def integers() -> Keys:
    client = tfhe.keygen(tfhe.Params.integers(2, 2, -40))
    return client, client.server_key()


def test_sets_are_picked_by_what_they_can_do() -> None:
    for params in (tfhe.Params.gates(), tfhe.Params.integers(2, 2), tfhe.Params.integers(1, 1)):
        assert params.log2_failure <= -64
        assert params.security_bits is not None
        assert params.security_bits >= 132
        assert params.name is not None
        assert tfhe.Params.named(params.name) == params
        assert tfhe.Params.from_bytes(params.to_bytes()) == params
    assert (tfhe.Params.gates().layout, tfhe.Params.integers().values) == ("gates", 16)
    params = tfhe.Params.integers()
    assert params.log2_failure_of(1) == params.log2_failure < params.log2_failure_of(2) < 0
    with pytest.raises(palladion.UsageError, match="1000 tables in one bootstrapping, expected 1"):
        params.log2_failure_of(1000)
    with pytest.raises(palladion.UsageError, match=r"is -1000000 for Gates, expected at least"):
        tfhe.Params.gates(-1e6)
    with pytest.raises(palladion.UsageError, match="expected an encoding that a named set has"):
        tfhe.Params.integers(1, 7)
    with pytest.raises(palladion.UsageError, match="message_bits is 0, expected 1"):
        tfhe.Params.integers(0, 2)
    with pytest.raises(palladion.UsageError, match='no set "nothing", expected one of tfhe-'):
        tfhe.Params.named("nothing")


def test_sets_of_papers_are_asked_for_as_insecure() -> None:
    name = "tfhe-paper-2-insecure"
    with pytest.raises(
        palladion.SecurityError, match=r"INSECURE: 115.0 bits \(MATZOV\), expected 128"
    ):
        tfhe.Params.named(name)
    params = tfhe.Params.named(name, insecure=True)
    assert params.security_bits == params.security.bits == 115.0
    assert "INSECURE: 115.0 bits" in repr(params)
    with pytest.raises(palladion.SecurityError, match=r"expected 128 bits: sigma .* insecure=True"):
        tfhe.Params.from_bytes(params.to_bytes())
    for number in (1, 2):
        params = tfhe.Params.named(f"tfhe-paper-{number}-insecure", insecure=True)
        again = tfhe.Params.from_bytes(params.to_bytes(), insecure=True)
        assert again == params
        assert "INSECURE" in repr(again)
    secure = tfhe.Params.gates()
    assert "INSECURE" not in repr(secure)
    assert "a partial secret, assumed as hard as one of its own dimension" in secure.security.basis


def test_gates_on_all_inputs(gates: Keys) -> None:
    client, server = gates
    a = np.array([False, False, True, True])
    b = np.array([False, True, False, True])
    x, y = (client.encrypt_bits(v).with_keys(server) for v in (a, b))
    cases = {
        "and": (x & y, a & b),
        "or": (x | y, a | b),
        "xor": (x ^ y, a ^ b),
        "not": (~x, ~a),
        "nand": (x.nand(y), ~(a & b)),
        "nor": (x.nor(y), ~(a | b)),
        "xnor": (x.xnor(y), a == b),
        "and not": (x.and_not(y), a & ~b),
        "or not": (x.or_not(y), a | ~b),
        "plain right": (x & b, a & b),
        "plain left": (True ^ x, ~a),
        "single": (x[3] & y, b),
    }
    for name, (found, expected) in cases.items():
        assert client.decrypt(found).tolist() == expected.tolist(), name
    c = tfhe.join([x, ~x])
    chosen = client.decrypt(c.mux(tfhe.join([y, y]), tfhe.join([~y, x])))
    expected = np.where([*a, *~a], [*b, *b], [*~b, *a])
    assert chosen.tolist() == expected.tolist()
    assert client.decrypt(x[0].mux(y, True)).tolist() == [True] * 4


def test_shapes_are_those_of_arrays(gates: Keys) -> None:
    client, server = gates
    values = np.array([True, False, False, True, True])
    x = client.encrypt_bits(values).with_keys(server)
    assert (x.shape, len(x), x[2].shape, x[1:4].shape) == ((5,), 5, (), (3,))
    mask = np.array([True, False, True, False, True])
    for where in (slice(None, None, -1), [4, 0], mask, slice(2, 2)):
        assert client.decrypt(x[where]).tolist() == values[where].tolist()
    assert [bool(client.decrypt(bit)) for bit in x] == values.tolist()
    assert client.decrypt(x[-1]).shape == ()
    assert (x[0] & x[1]).shape == ()
    assert client.decrypt(client.encrypt_bits([])).shape == (0,)
    with pytest.raises(IndexError):
        x[5]
    with pytest.raises(TypeError, match="no length"):
        len(x[0])


def test_integers_and_their_bounds(integers: Keys) -> None:
    client, server = integers
    values = np.arange(4)
    x = client.encrypt(values).with_keys(server)
    y = client.encrypt(values[::-1]).with_keys(server)
    assert client.decrypt_with_carry(x + y).tolist() == [3, 3, 3, 3]
    assert client.decrypt_with_carry(3 * x + [0, 1, 2, 6]).tolist() == [0, 4, 8, 15]
    assert client.decrypt(x - y).tolist() == [1, 3, 1, 3]
    assert client.decrypt(x - 3).tolist() == [1, 2, 3, 0]
    assert client.decrypt(2 - x).tolist() == [2, 1, 0, 3]
    assert client.decrypt(-x).tolist() == [0, 3, 2, 1]
    assert ((x + y).largest, (x + y).noise) == (6, 2)
    with pytest.raises(palladion.UsageError, match="a value of up to 18, at most 15 fits"):
        6 * x
    few = x.apply(lambda v: v // 2)
    with pytest.raises(palladion.NoiseError, match=r"noise of 6 .* the parameters allow 5"):
        6 * few


def test_tables(integers: Keys) -> None:
    client, server = integers
    x = client.encrypt([0, 1, 2, 3]).with_keys(server)
    y = client.encrypt([3, 1, 3, 2]).with_keys(server)
    square = x.apply(lambda v: v * v)
    assert client.decrypt_with_carry(square).tolist() == [0, 1, 4, 9]
    assert (square.largest, square.noise) == (9, 1)
    assert client.decrypt(x.apply([3, 2, 1, 0])).tolist() == [3, 2, 1, 0]
    double, half = x.apply_many([lambda v: 2 * v, np.array([0, 0, 1, 1])])
    assert client.decrypt_with_carry(double).tolist() == [0, 2, 4, 6]
    assert client.decrypt(half).tolist() == [0, 0, 1, 1]
    each = x.apply_each([[k] * 4 for k in (1, 0, 3, 2)])
    assert client.decrypt(each).tolist() == [1, 0, 3, 2]
    assert client.decrypt_with_carry(x.apply_pair(y, lambda a, b: a * b)).tolist() == [0, 1, 6, 6]
    assert client.decrypt(x < y).tolist() == [1, 0, 1, 0]
    assert client.decrypt(x >= y).tolist() == [0, 1, 0, 1]
    assert client.decrypt(x.eq(y)).tolist() == [0, 1, 0, 0]
    total = x + y
    assert client.decrypt(total.message()).tolist() == [3, 2, 1, 1]
    assert client.decrypt(total.carry()).tolist() == [0, 0, 1, 1]
    with pytest.raises(palladion.UsageError, match="3 entries for values of 0 to 3, expected 4"):
        x.apply([1, 2, 3])
    with pytest.raises(palladion.UsageError, match="message 16, expected at most 15"):
        x.apply(lambda v: 16)
    with pytest.raises(palladion.UsageError, match=r"entry -1, expected 0 or more"):
        x.apply(lambda v: -v)
    with pytest.raises(palladion.UsageError, match=r"entry 0\.5, expected an integer"):
        x.apply([0.5] * 4)  # type: ignore[list-item]
    with pytest.raises(palladion.UsageError, match="1 tables, expected one for each of 4"):
        x.apply_each([[0] * 16])
    with pytest.raises(palladion.UsageError, match=r"expected apply_pair"):
        x * y  # type: ignore[operator]


def test_numbers_of_many_digits(integers: Keys) -> None:
    client, server = integers
    a, b = np.array([60, 33]), np.array([5, 33])
    x, y = (client.encrypt_radix(v, bits=6).with_keys(server) for v in (a, b))
    assert (x.digits, x.bits) == (3, 6)
    assert client.decrypt(x + y).tolist() == ((a + b) % 64).tolist()
    assert client.decrypt(1 - y).tolist() == ((1 - b) % 64).tolist()
    assert client.decrypt(y < x).tolist() == [1, 0]
    assert client.decrypt(x.eq(y)).tolist() == [0, 1]
    smaller, larger = x.min_max(y)
    assert client.decrypt(smaller).tolist() == np.minimum(a, b).tolist()
    assert client.decrypt(larger).tolist() == np.maximum(a, b).tolist()
    with pytest.raises(palladion.UsageError, match="message 65536, expected at most 65535"):
        client.encrypt_radix(65536, bits=16)
    with pytest.raises(palladion.UsageError, match="numbers of 15 bits, expected a multiple of"):
        client.encrypt_radix(1, bits=15)
    with pytest.raises(palladion.UsageError, match="numbers of 3 and 1 blocks"):
        x + client.encrypt_radix(1, bits=2).with_keys(server)


def test_what_does_not_fit_is_refused(gates: Keys, integers: Keys) -> None:
    client, server = gates
    x = client.encrypt_bits([True, False]).with_keys(server)
    small = integers[0].encrypt([1, 2])
    with pytest.raises(palladion.MissingKeyError, match="expected with_keys"):
        client.encrypt_bits(True) & True
    with pytest.raises(palladion.UsageError, match="batches of 2 and 3, expected one length"):
        x & [True, False, True]
    with pytest.raises(palladion.UsageError, match="bit 2, expected 0 or 1"):
        client.encrypt_bits([0, 2])
    with pytest.raises(palladion.UsageError, match="type float64, expected integers"):
        integers[0].encrypt([0.5])
    with pytest.raises(palladion.UsageError, match="value -1, expected 0 or more"):
        integers[0].encrypt([-1])
    with pytest.raises(palladion.UsageError, match="message 4, expected at most 3"):
        integers[0].encrypt([0, 4])
    with pytest.raises(palladion.UsageError, match=r"parameters for Gates, expected .* integers"):
        client.encrypt([1])
    with pytest.raises(palladion.UsageError, match="expected ones for gates"):
        integers[0].encrypt_bits([True])
    with pytest.raises(palladion.UsageError, match="ciphertext is of other parameters"):
        client.decrypt(small)
    with pytest.raises(palladion.UsageError, match="is of other parameters"):
        small.with_keys(server) + 1
    with pytest.raises(palladion.UsageError, match="Integers to join, expected Bits"):
        tfhe.join([x, small])


def test_everything_is_stored_and_read(gates: Keys, integers: Keys, tmp_path: Path) -> None:
    for client, server in (gates, integers):
        params = tfhe.Params.from_bytes(client.params.to_bytes())
        (tmp_path / "secret").write_bytes(client.to_bytes())
        (tmp_path / "server").write_bytes(server.to_bytes())
        assert len(server.to_bytes()) < params.describe()["key_bytes"] + 300
        again = tfhe.ClientKey.from_bytes(params, (tmp_path / "secret").read_bytes())
        keys = tfhe.ServerKey.from_bytes(params, (tmp_path / "server").read_bytes())
        if params.layout == "gates":
            fresh: tfhe.Bits | tfhe.Integers = client.encrypt_bits([True, False, True])
            there = tfhe.Bits.from_bytes(params, fresh.to_bytes()).with_keys(keys)
            sent = tfhe.Bits.from_bytes(params, (there ^ True).to_bytes())
            assert again.decrypt(sent).tolist() == [False, True, False]
        else:
            fresh = client.encrypt([0, 1, 3])
            values = tfhe.Integers.from_bytes(params, fresh.to_bytes()).with_keys(keys)
            sums = tfhe.Integers.from_bytes(params, (values + 1).to_bytes())
            assert again.decrypt_with_carry(sums).tolist() == [1, 2, 4]
            assert (sums.largest, sums.noise) == (4, 1)
            single = client.encrypt_radix(200, bits=8)
            number = tfhe.Radix.from_bytes(params, single.to_bytes()).with_keys(keys)
            assert (number.shape, number.digits, int(again.decrypt(number))) == ((), 4, 200)
            other = tfhe.Radix.from_bytes(params, (number + 56).to_bytes())
            assert int(again.decrypt(other)) == 0
            with pytest.raises(palladion.FormatError, match=r"batch of numbers.*expected integers"):
                tfhe.Integers.from_bytes(params, single.to_bytes())
        # Seeds and a word of each, beside headers.
        assert len(fresh.to_bytes()) < 3 * 8 + 400


def test_damage_and_other_parameters_are_found(gates: Keys, integers: Keys) -> None:
    params, other = gates[0].params, integers[0].params
    data = gates[0].encrypt_bits([True]).to_bytes()
    with pytest.raises(palladion.FormatError, match=f"{params.fingerprint}.*{other.fingerprint}"):
        tfhe.Bits.from_bytes(other, data)
    for broken in (b"", data[:-1], data[:80] + bytes([data[80] ^ 1]) + data[81:]):
        with pytest.raises(palladion.FormatError):
            tfhe.Bits.from_bytes(params, broken)
    with pytest.raises(palladion.FormatError):
        tfhe.ServerKey.from_bytes(params, gates[0].to_bytes())
    with pytest.raises(palladion.FormatError):
        tfhe.Params.from_bytes(data)


def test_the_interpreter_goes_on_meanwhile(gates: Keys) -> None:
    client, server = gates
    x = client.encrypt_bits([True] * 64).with_keys(server)
    done: list[tfhe.Bits] = []
    worker = threading.Thread(target=lambda: done.append(x & x))
    ticks = 0
    worker.start()
    while worker.is_alive():
        time.sleep(0.001)
        ticks += 1
    assert client.decrypt(done[0]).all()
    assert ticks > 5


def test_the_benchmark_names_its_sets() -> None:
    rows: list[dict[str, Any]] = []

    class EnoughError(Exception):
        pass

    def hear(row: dict[str, Any]) -> None:
        rows.append(row)
        if len(rows) == 5:
            raise EnoughError

    with pytest.raises(EnoughError):
        _native.bench("tfhe", 1, hear)
    names = ["gate_and", "gate_xor", "mux", "gates_batch", "pbs_1_1"]
    assert [row["name"] for row in rows] == names
    for row in rows:
        assert row["parameters"]["security_bits"] >= 128
        assert row["parameters"]["minus_log2_failure"] >= 64
        assert 0 < row["seconds"] < 60
    assert rows[3]["parameters"]["batch"] == 64


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("adder_32", ["--bits", "4"]),
        ("compare", ["--bits", "4", "--count", "2"]),
        ("sort", ["--bits", "2", "--count", "4"]),
    ],
)
def test_examples_check_themselves(
    name: str, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ROOT / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(sys, "argv", [str(path), *options])
    module.main()


def test_comparisons_are_encrypted_and_python_cannot_see_them(gates: Keys, integers: Keys) -> None:
    client, server = integers
    x, y = client.encrypt([0, 3, 2]).with_keys(server), client.encrypt([1, 3, 1])
    bits = gates[0].encrypt_bits([False, True, True]).with_keys(gates[1])
    others = gates[0].encrypt_bits([True, True, False])
    plain, order = np.array([0, 3, 2]), np.array([1, 3, 1])
    for symbol in ("eq", "ne", "lt", "le", "gt", "ge"):
        compare = getattr(operator, symbol)
        expected = compare(plain, order)
        assert client.decrypt(compare(x, y)).tolist() == expected.tolist(), symbol
        assert client.decrypt(compare(x, 2)).tolist() == compare(plain, 2).tolist(), symbol
        assert client.decrypt(compare(x, order)).tolist() == expected.tolist(), symbol
        left, right = np.array([False, True, True]), np.array([True, True, False])
        found = gates[0].decrypt(compare(bits, others))
        assert found.tolist() == compare(left, right).tolist(), symbol
    small, large = (client.encrypt_radix([v], bits=4).with_keys(server) for v in (3, 12))
    assert client.decrypt(small == large).tolist() == [0]
    assert client.decrypt(small != large).tolist() == [1]
    calls: list[Callable[[], object]] = [
        lambda: max(small, large),
        lambda: min(large, small),
        lambda: sorted([large, small]),
        lambda: 1 if small < large else 0,
        lambda: small == large and True,
        lambda: not bits,
        lambda: y in [x],
        lambda: 3 in x,
        lambda: {x: 1},
        lambda: int(x[0]),
        lambda: x[0] // 2,
        lambda: range(x[0]),
        lambda: 0 <= x <= 2,
        lambda: all([x]),
        lambda: [x, y].index(y),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="an encrypted value"):
            call()
    with pytest.raises(TypeError, match="no comparison with None"):
        _ = x == None  # noqa: E711  the comparison is what is tested


def test_what_belongs_to_two_keys_does_not_meet(gates: Keys, integers: Keys) -> None:
    client, server = integers
    stranger = tfhe.keygen(client.params)
    x, y = client.encrypt([1]).with_keys(server), stranger.encrypt([2])
    numbers = [key.encrypt_radix([5], bits=4) for key in (client, stranger)]
    bits = gates[0].encrypt_bits([True]).with_keys(gates[1])
    other = tfhe.keygen(gates[0].params)
    calls: list[Callable[[], object]] = [
        lambda: x + y,
        lambda: x - y,
        lambda: x < y,
        lambda: x == y,
        lambda: x.apply_pair(y, lambda a, b: a + b),
        lambda: y.with_keys(server).apply(lambda v: v),
        lambda: x + tfhe.Integers.from_bytes(client.params, y.to_bytes()),
        lambda: client.decrypt(y),
        lambda: stranger.decrypt(x + 1),
        lambda: numbers[0].with_keys(server) + numbers[1],
        lambda: bits & other.encrypt_bits([True]),
        lambda: bits.mux(other.encrypt_bits([True]), bits),
        lambda: other.decrypt(~bits),
    ]
    for call in calls:
        with pytest.raises(palladion.KeyMismatch, match="made under one secret key"):
            call()
