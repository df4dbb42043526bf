"""Circuits in Python: encrypted against in the clear, predictions from both sides, refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import palladion
import pytest
from numpy.typing import NDArray
from palladion import bfv, bgv, circuit, ckks

T = 65537
RING_INSECURE = 9

Exact = bfv.Params | bgv.Params
Each = list[list[circuit.Value | float]]


@pytest.fixture(scope="module", params=[bfv, bgv], ids=["bfv", "bgv"])
def exact(request: pytest.FixtureRequest) -> Exact:
    """Six levels."""
    params: Exact = request.param.Params(RING_INSECURE, [50] + [45] * 6, [50, 50], T, insecure=True)
    return params


@pytest.fixture(scope="module")
def approximate() -> ckks.Params:
    """Six levels."""
    return ckks.Params(RING_INSECURE, [50] + [40] * 6, [50, 50], 2.0**40, insecure=True)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(41)


def scheme_of(params: circuit.written.Params) -> ModuleType:
    return {"ckks": ckks, "bfv": bfv, "bgv": bgv}[params.schemes[0]]


def results(
    c: circuit.Written, inputs: dict[str, NDArray[Any]]
) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """Results that were decrypted, ciphertexts, and the secret key; the trace gives them too."""
    secret = scheme_of(c.params).keygen(c.params)
    levels = c.inputs
    encrypted = c.encrypt(secret, {n: x for n, x in inputs.items() if levels[n] is not None})
    plain = {n: x for n, x in inputs.items() if levels[n] is None}
    given, keys = {**encrypted, **plain}, c.keys(secret)
    found = c.run(given, keys)
    replayed = c.replay(c.lower(plain), given, keys)
    for name, x in found.items():
        assert replayed[name].to_bytes() == x.to_bytes(), name
    return c.decrypt(secret, found), found, secret


def check_exact(c: circuit.Written, inputs: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Encrypted as in the clear, with at least the margin of noise that was promised."""
    clear, predicted = c.run_clear(inputs), c.predict_noise()
    decrypted, found, secret = results(c, inputs)
    assert decrypted.keys() == clear.keys() == predicted.keys() == c.outputs.keys()
    for name, values in decrypted.items():
        assert values.tolist() == clear[name].tolist(), name
        assert found[name].level == c.outputs[name]
        assert secret.budget(found[name]) >= predicted[name].margin_bits
    return clear


def excess(c: circuit.Written, inputs: dict[str, NDArray[Any]]) -> list[float]:
    """Bits by which each result is more precise than predicted; of results that have an error.

    Over all slots of a ciphertext, in which values repeat and errors do not.
    """
    clear, predicted = c.run_clear(inputs), c.predict(inputs)
    decrypted, found, secret = results(c, inputs)
    bits = []
    for name, values in decrypted.items():
        np.testing.assert_allclose(predicted[name].values, clear[name], atol=1e-12)
        np.testing.assert_allclose(values, clear[name], atol=2.0**-20)
        repeated = np.tile(clear[name], c.params.slots // c.slots)
        if (difference := secret.decrypt(found[name]) - repeated).any():
            measured = -np.log2(np.sqrt(np.mean(np.abs(difference) ** 2)))
            bits.append(float(measured - predicted[name].bits))
    return bits


# Twelve lines, as the matrix-vector product of F1's language (MICRO 2021, listing 2).
def product(params: Exact | ckks.Params, matrix: NDArray[Any]) -> circuit.Circuit:
    """A square matrix times an encrypted vector, by its diagonals."""
    n = len(matrix)
    c = circuit.Circuit(params, slots=n)
    x = c.input("x")
    rows = np.arange(n)
    diagonals = (matrix[rows, (rows + k) % n] for k in range(n))
    c.output("y", sum(x.rotate(k) * d for k, d in enumerate(diagonals)))
    return c


def test_a_matrix_times_a_vector(approximate: ckks.Params, rng: np.random.Generator) -> None:
    matrix, x = rng.uniform(-1, 1, (16, 16)), rng.uniform(-1, 1, 16)
    c = product(approximate, matrix)
    np.testing.assert_allclose(c.run_clear({"x": x})["y"], matrix @ x, atol=1e-12)
    assert c.counts()[approximate.max_level]["rescale"] == 1
    assert c.keys_needed().rotations == dict.fromkeys(range(1, 16), 6)
    assert abs(excess(c, {"x": x})[0]) < 0.5


def test_a_dense_layer_and_its_square(approximate: ckks.Params, rng: np.random.Generator) -> None:
    """Twenty-four inputs to eight outputs, three blocks of eight: folded after the product."""
    weights, bias = rng.uniform(-0.5, 0.5, (8, 32)), rng.uniform(-0.5, 0.5, 8)
    c = circuit.Circuit(approximate, slots=32)
    x = c.input("x")
    place = np.arange(32)
    terms = [weights[place % 8, (place + k) % 32] for k in range(8)]
    dense = circuit.dot([x.rotate(k) for k in range(8)], terms).sum(8, 4)
    c.output("y", (dense + np.tile(bias, 4)) ** 2)
    inputs = {"x": rng.uniform(-1, 1, 32)}
    found = c.run_clear(inputs)["y"][:8].real
    np.testing.assert_allclose(found, (weights @ inputs["x"] + bias) ** 2, atol=1e-12)
    assert abs(excess(c, inputs)[0]) < 0.5


def lookup(params: Exact, keys: NDArray[Any], values: NDArray[Any]) -> circuit.Circuit:
    """The value of the row with an encrypted key, in every slot; 0 if no row has it."""
    c = circuit.Circuit(params)
    difference = c.input("key") - keys
    found = 1 - difference ** (T - 1)  # Fermat: 1 in the slot of the row, 0 in all others
    row = (found * values).sum()
    c.output("value", row + row.swap_rows())
    return c


@pytest.mark.parametrize("scheme", [bfv, bgv], ids=["bfv", "bgv"])
def test_a_database_lookup(scheme: ModuleType, rng: np.random.Generator) -> None:
    params = scheme.Params(RING_INSECURE, [50] + [45] * 17, [50] * 4, T, insecure=True)
    keys = rng.permutation(T)[: params.slots]
    values = rng.integers(T, size=params.slots)
    c = lookup(params, keys, values)
    assert c.outputs == {"value": 0}
    clear = check_exact(c, {"key": np.full(params.slots, keys[77])})
    assert set(clear["value"]) == {values[77]}
    absent = np.setdiff1d(np.arange(T), keys)[0]
    assert not c.run_clear({"key": absent})["value"].any()


def apply(
    x: circuit.Value, y: circuit.Value, p: circuit.Value, rng: np.random.Generator, slots: int
) -> circuit.Value:
    """An operation, chosen at random."""
    exact = x.circuit.t is not None
    array = rng.integers(-9, 9, slots) if exact else rng.uniform(-1, 1, slots)
    operations: list[Callable[[], circuit.Value]] = [
        lambda: x + y,
        lambda: y - x,
        lambda: x - array,
        lambda: array[: slots // 2] - x,
        lambda: p + x,
        lambda: p - x,
        lambda: -x,
        lambda: x * -2 + 1,
        lambda: x.rotate(int(rng.integers(-40, 40))),
        lambda: x.swap_rows() if exact else x.conjugate(),
        lambda: x.sum(2, 2) * (1 if exact else 0.5),
        lambda: x.drop(max(0, (x.level or 0) - 1)),
        lambda: x * y,
        lambda: x**2 + y * p,
        lambda: x * array + y,
        lambda: circuit.dot([x, y], [y, p]),
        lambda: circuit.dot([x, array], [array, x.rotate(1)]),
        lambda: (x * p).rescale(),
    ]
    return operations[int(rng.integers(len(operations)))]()


def random_circuit(params: Exact | ckks.Params, slots: int, seed: int) -> circuit.Circuit:
    """Two encrypted inputs at two levels, one in plain, and up to twelve operations."""
    rng = np.random.default_rng(seed)
    c = circuit.Circuit(params, slots)
    hand = [c.input("x"), c.input("y", level=params.max_level - 1)]
    plain = c.input("p", encrypted=False)
    for _ in range(rng.integers(3, 13)):
        x, y = (hand[int(rng.integers(len(hand)))] for _ in range(2))
        # A level is left for the last rescales, and products do not use up all noise.
        if min(x.level or 0, y.level or 0) >= 2:
            hand.append(apply(x, y, plain, rng, slots))
    for i, value in enumerate(hand[-3:]):
        c.output(f"out {i}", value)
    return c


@pytest.mark.parametrize("seed", range(24))
def test_random_circuits_of_integers(exact: Exact, seed: int) -> None:
    rng = np.random.default_rng(seed)
    slots = [exact.slots, 32][seed % 2]
    c = random_circuit(exact, slots, seed)
    check_exact(c, {name: rng.integers(T, size=slots) for name in ("x", "y", "p")})


def test_random_circuits_of_complex_numbers(approximate: ckks.Params) -> None:
    found = []
    for seed in range(24):
        rng = np.random.default_rng(seed)
        slots = [approximate.slots, 32][seed % 2]
        c = random_circuit(approximate, slots, seed)
        parts = rng.uniform(-0.7, 0.7, (3, 2, slots))
        inputs = {name: re + 1j * im for name, (re, im) in zip("xyp", parts, strict=True)}
        found += excess(c, inputs)
    # Sums in which terms cancel, and products with a number near a modulus, are more precise than
    # predicted, so the worst and the middle one are held. The mean square of 256 errors, each of
    # two parts, has a relative deviation of 0.06, and of 0.25 where sums relate 16 of them: half a
    # bit is four of these.
    assert min(found) > -0.5
    assert abs(np.median(found)) < 0.1


def test_operators_are_numpys(exact: Exact, rng: np.random.Generator) -> None:
    a, b, w = (rng.integers(T, size=exact.slots) for _ in range(3))
    c = circuit.Circuit(exact, name="operators")
    x, y, key = c.input("x"), c.input("y"), c.input("key", encrypted=False)
    constant = c.constant(w, "w")
    rolled = np.roll(a.reshape(2, -1), -3, axis=1).ravel()
    cases = {
        "sum": (x + y, a + b),
        "of Python": (sum([x, y, x]), a + b + a),
        "difference": (x - y, a - b),
        "nothing": (x - x, 0 * a),
        "twice": (x + x, 2 * a),
        "negative": (-x, -a),
        "product": (x * y, a * b),
        "power": (x**3, a * a % T * a),
        "constant": ((constant - x) * constant, (w - a) % T * w),
        "plaintext": (key * x - key, w * a - w),
        "array left": (w[:5] - x, np.pad(w[:5], (0, len(a) - 5)) - a),
        "array factor": (w * x, w * a),
        "number": (2 - x * 70000, 2 - a * 70000),
        "numpy's number": (np.int64(3) + x * np.int64(-5), 3 - 5 * a),
        "rotation": (x.rotate(3), rolled),
        "rows": (x.swap_rows(), np.roll(a, len(a) // 2)),
        "row sums": (x.sum(), np.repeat(a.reshape(2, -1).sum(axis=1), len(a) // 2)),
        "dot": (circuit.dot([x, y], [y, 3]), a * b + 3 * b),
        "levels": (x * y + x.drop(2) - y.rescale(), a * b + a - b),
    }
    for name, (value, _) in cases.items():
        assert isinstance(value, circuit.Value)
        c.output(name, value)
    found = check_exact(c, {"x": a, "y": b, "key": w})
    for name, (_, expected) in cases.items():
        assert found[name].tolist() == (expected % T).tolist(), name


def test_levels_are_chosen(approximate: ckks.Params) -> None:
    c = circuit.Circuit(approximate)
    x = c.input("x")
    assert [v.level for v in (x, 3 * x, 0.5 * x, x**4, x**7, x.drop(1))] == [6, 6, 5, 4, 3, 1]
    assert (x**4 + 0.5 * x).level == 4
    assert c.input("p", encrypted=False).level is None
    c.output("y", x * x + x * c.constant([0.5, 1.5]))
    assert (c.inputs, c.outputs) == ({"x": 6, "p": None}, {"y": 5})
    assert c.keys_needed() == circuit.KeysNeeded(6, {}, None)
    assert [c.counts()[6][kind] for kind in ("relinearize", "rescale")] == [1, 1]
    assert c.text().startswith("circuit circuit on 256 slots\n  levels of 50.0 40.0")
    assert repr(x) == "Value(level 6, of Circuit('circuit', 256 slots))"


def test_results_are_ciphertexts_of_the_scheme(exact: Exact) -> None:
    c = circuit.Circuit(exact)
    x = c.input("x")
    c.output("y", x * x)
    secret = scheme_of(exact).keygen(exact)
    keys = c.keys(secret)
    again = type(keys).from_bytes(exact, keys.to_bytes())
    y = c.run({"x": secret.public_key().encrypt([5, 6])}, again)["y"]
    assert secret.decrypt(y * y + 1)[:3].tolist() == [626, 1297, 1]
    with pytest.raises(palladion.MissingKeyError, match="rotation by 1: found keys of"):
        y.rotate(1)


def test_a_circuit_without_products_needs_no_key_for_them(exact: Exact) -> None:
    c = circuit.Circuit(exact)
    c.output("y", c.input("x").rotate(1))
    secret = scheme_of(exact).keygen(exact)
    keys = c.keys(secret)
    assert (keys.rotations, keys.conjugation) == ([1], False)
    again = type(keys).from_bytes(exact, keys.to_bytes())
    x = secret.encrypt([1, 2])
    assert secret.decrypt(c.run({"x": x}, again)["y"])[0] == 2
    with pytest.raises(palladion.MissingKeyError, match="no relinearization key for products"):
        x.with_keys(keys) * x


def test_a_circuit_is_read_as_it_was_written(
    tmp_path: Path, exact: Exact, approximate: ckks.Params
) -> None:
    c = random_circuit(exact, 32, 3)
    c.save(tmp_path / "c.json")
    found = circuit.load(tmp_path / "c.json", exact)
    assert found.text() == c.text()
    inputs: dict[str, Any] = {"x": [1, 2], "y": [3], "p": 4}
    for name, values in found.run_clear(inputs).items():
        assert values.tolist() == c.run_clear(inputs)[name].tolist()
    assert (found.slots, found.inputs, found.outputs) == (32, c.inputs, c.outputs)
    with pytest.raises(palladion.UsageError, match="arithmetic of the circuit is exact modulo"):
        circuit.load(tmp_path / "c.json", approximate)
    fewer = bgv.Params(RING_INSECURE, [50, 45], [50], T, insecure=True)
    with pytest.raises(
        palladion.UsageError, match="levels of the circuit is 7, expected at most 2"
    ):
        circuit.load(tmp_path / "c.json", fewer)
    with pytest.raises(palladion.DataError, match="cannot read"):
        circuit.load(tmp_path / "none", exact)
    for wrong in (b"", b"{}", b"\xff\xfe", (tmp_path / "c.json").read_bytes()[:-9]):
        (tmp_path / "wrong").write_bytes(wrong)
        with pytest.raises(palladion.FormatError):
            circuit.load(tmp_path / "wrong", exact)


def test_operands_that_do_not_fit_are_refused(exact: Exact, approximate: ckks.Params) -> None:
    whole, real = circuit.Circuit(exact), circuit.Circuit(approximate, name="real")
    x, z = whole.input("x"), real.input("z")
    p = whole.input("p", encrypted=False)
    one = np.ones(exact.slots + 1)
    nothing: Any = None
    half: Any = 0.5
    refused: list[tuple[Callable[[], object], str]] = [
        (
            lambda: x + z,
            "a value of another Circuit.'real', 256 slots., expected one of this Circuit.'circuit'",
        ),
        (lambda: x * 0.5, "number 0.5, expected an integer"),
        (lambda: x - [0.5, 1.0], "values of type float64, expected integers"),
        (lambda: x - 1j, "number 1j, expected an integer"),
        (lambda: z * 1j, "number 1j, expected a real one"),
        (lambda: z * [1j, 2], "values of type complex128, expected real numbers"),
        (lambda: z * float("nan"), "value 0 is NaN, expected a finite number"),
        (lambda: z - [0, float("inf")], "value 1 is inf, expected a finite number"),
        (lambda: z * 10**400, "expected a finite number"),
        (lambda: x - [T], "value 0 is 65537, expected an integer from -65536 to 65536"),
        (lambda: x + np.ones((2, 2), int), r"shape \(2, 2\), expected one dimension"),
        (lambda: x * one.astype(int), "513 values in a plaintext, at most 512 fit"),
        (lambda: x + "one", "values of type <U3, expected integers"),
        (lambda: x + nothing, "values of type object, expected integers"),
        (lambda: p + p, "two plaintexts, expected a ciphertext among them"),
        (lambda: p.rotate(1), "a rotated operand is a plaintext, expected a ciphertext"),
        (lambda: whole.output("p", p), "an output is a plaintext, expected a ciphertext"),
        (lambda: x.conjugate(), "the operation is conjugate, expected swap"),
        (lambda: z.swap_rows(), "the operation is swap, expected conjugate"),
        (lambda: z.rescale(), "expected a product that was not rescaled"),
        (lambda: x**0, "the exponent is 0, expected 1 to"),
        (lambda: x**half, "the exponent is 0.5, expected an integer"),
        (lambda: x.rotate(half), "a rotation is 0.5, expected an integer"),
        (lambda: x.sum(2), "stride 2 without a count"),
        (lambda: x.sum(1, 0), "is 0, expected at least 1"),
        (lambda: x.drop(7), "the level of a drop is 7, expected 0 to 6"),
        (lambda: circuit.dot([x], []), "1 and 0 factors"),
        (lambda: circuit.dot([1], [2]), "without a value of a circuit"),
        (lambda: whole.input("x"), '"x" again'),
        (lambda: whole.input("q", encrypted=False, level=1), "level 1 of the plaintext 'q'"),
        (lambda: whole.input("q", level=7), "the level is 7, expected less than 7"),
        (lambda: whole.run_clear({}), "the number of outputs is 0"),
        (lambda: circuit.Circuit(exact, slots=3), "is 3, expected a power of two"),
        (lambda: circuit.Circuit(exact, slots=1024), "1024 slots, expected at most 512"),
    ]
    for operation, words in refused:
        with pytest.raises(palladion.UsageError, match=words):
            operation()
    with pytest.raises(palladion.LevelError, match="a product needs level 1 or above"):
        z.drop(0) * z
    with pytest.raises(palladion.LevelError, match="a rescale needs level 1 or above"):
        x.drop(0).rescale()
    # The refused operations have left no step in the circuit.
    whole.output("y", x + 1)
    assert whole.run_clear({"x": 4, "p": 0})["y"][0] == 5


def test_inputs_that_do_not_fit_are_refused(exact: Exact, approximate: ckks.Params) -> None:
    scheme = scheme_of(exact)
    c = circuit.Circuit(exact)
    x = c.input("x")
    c.output("y", (x * c.input("p", encrypted=False)).rotate(1))
    real = circuit.Circuit(approximate)
    real.output("y", real.input("x") + real.input("p", encrypted=False))
    secret = scheme.keygen(exact)
    keys, ct = c.keys(secret), secret.encrypt([1])
    other = scheme.Params(RING_INSECURE, [50] + [45] * 6, [49, 49], T, insecure=True)
    stranger = scheme.keygen(other)
    coefficients = secret.encrypt([1], coefficients=True)
    refused: list[tuple[Callable[[], object], str]] = [
        (lambda: c.run_clear({"x": 1}), "the input p is missing"),
        (lambda: c.run_clear({"x": 1, "p": 1, "z": 1}), 'an input is "z"'),
        (lambda: c.run_clear({"x": [T], "p": 1}), "input x: value 0 is 65537, expected -32768 to"),
        (lambda: c.run_clear({"x": 0.5, "p": 1}), "input x: values of type float64, expected int"),
        (lambda: c.run_clear({"x": [1j], "p": 1}), "input x: values of type complex128"),
        (lambda: c.run_clear({"x": np.ones((2, 2)), "p": 1}), "input x: "),
        (lambda: real.run_clear({"x": float("nan"), "p": 1}), "input x: value 0 is NaN"),
        (lambda: real.predict({"x": 1, "p": [0, float("inf")]}), "input p: value 1 is inf"),
        (lambda: real.predict({"x": 2.0**260, "p": 1}), "less than 290.0, which level 6 holds"),
        (lambda: real.predict_noise(), "parameters of ckks.*, expected bfv or bgv"),
        (lambda: c.predict({"x": 1, "p": 1}), "parameters of b.v.*, expected ckks"),
        (lambda: c.keys(stranger), "the secret key is of other parameters"),
        (
            lambda: c.run({"x": ct, "p": 1}, scheme_of(other).keygen(other).evaluation_keys()),
            "keys",
        ),
        (lambda: c.run({"x": stranger.encrypt([1]), "p": 1}, keys), "input x is of other param"),
        (lambda: c.run({"x": 1, "p": 1}, keys), "the input x is in plain, expected encrypted"),
        (lambda: c.run({"x": ct, "p": ct}, keys), "the input p is encrypted, expected in plain"),
        (lambda: c.run({"x": ct}, keys), "the input p is missing"),
        (lambda: c.run({"x": ct.switch_down(), "p": 1}, keys), "the input x is of degree 1, level"),
        (lambda: c.run({"x": coefficients, "p": 1}, keys), "input x: the ciphertext holds coeff"),
        (lambda: c.encrypt(secret, {"p": 1}), r"input 'p', expected one of .* \['x'\]"),
    ]
    for operation, words in refused:
        with pytest.raises(palladion.UsageError, match=words):
            operation()
    with pytest.raises(palladion.MissingKeyError, match="the rotation by 1: found keys of the"):
        c.run({"x": ct, "p": 1}, secret.evaluation_keys())


def test_a_circuit_is_lowered(exact: Exact) -> None:
    c = circuit.Circuit(exact)
    c.output("y", (c.input("x") * [3, 4]).rotate(1) + 1)
    lowered = c.lower()
    assert "mul_plain" in lowered.recording
    assert lowered.text.startswith("palladion-trace/")
    counts = lowered.counts()
    assert counts.instructions["automorphism"] == 2
    assert counts.passes["ntt"] > 0
    with pytest.raises(palladion.UsageError, match='an input is "z", expected one of'):
        c.lower({"z": 1})


def test_noise_that_reaches_the_modulus_is_refused_before_there_are_keys() -> None:
    params = bgv.Params(RING_INSECURE, [50, 45], [50], T, insecure=True)
    c = circuit.Circuit(params)
    c.output("y", c.input("x") ** 16)
    with pytest.raises(palladion.UsageError, match=r"the noise of step %\d+ .mul. is"):
        c.predict_noise()


@pytest.fixture(scope="module")
def bootstrapped() -> ckks.Params:
    """Two levels after a bootstrapping."""
    levels: list[int | list[int]] = [[30, 30], 40, 40, 42, 42, 42]
    levels += [[30, 30]] * 8 + [[28, 28]] * 3
    return ckks.Params(
        10,
        levels,
        [49] * 9,
        2.0**40,
        digit_limbs=15,
        insecure=True,
    )


def iteration(params: ckks.Params) -> circuit.Circuit:
    """``w ** 2 * g + z``, after a bootstrapping."""
    body = circuit.Circuit(params, name="iteration")
    w, g = body.input("w", level=0), body.input("g", encrypted=False)
    body.output("w", w.bootstrap() ** 2 * g + body.input("z", level=0))
    return body


def test_a_part_repeats_with_bootstrapping(
    bootstrapped: ckks.Params, rng: np.random.Generator, tmp_path: Path
) -> None:
    c = circuit.Circuit(bootstrapped)
    w = c.input("w", level=2)
    each: Each = [[0.5 * i, c.input(f"z.{i}", level=1)] for i in range(3)]
    c.output("w", c.repeat(iteration(bootstrapped), [w], each)[0])
    inputs = {name: rng.uniform(-0.5, 0.5, c.slots) for name in c.inputs}
    expected = inputs["w"]
    for i in range(3):
        expected = expected**2 * (0.5 * i) + inputs[f"z.{i}"]
    np.testing.assert_allclose(c.run_clear(inputs)["w"], expected, atol=1e-12)
    assert c.counts()[2]["bootstrap"] == 3
    needed = c.keys_needed()
    assert needed.bootstrapping
    assert needed.conjugation == needed.relinearization == bootstrapped.max_level
    predicted = c.predict(inputs)["w"]
    assert -110 < predicted.log2_failure < -90  # that of the multiples of q_0
    assert abs(excess(c, inputs)[0]) < 0.5
    c.save(tmp_path / "repeated.json")
    read = circuit.load(tmp_path / "repeated.json", bootstrapped)
    assert read.text() == c.text()
    assert "repeat body 0 3 times" in c.text()


def test_keys_of_bootstrapping_serve_circuits_and_are_read_again(
    bootstrapped: ckks.Params, rng: np.random.Generator
) -> None:
    c = circuit.Circuit(bootstrapped)
    c.output("y", c.input("x", level=0).bootstrap())
    secret, boot = ckks.keygen(bootstrapped), ckks.Bootstrapper(bootstrapped)
    x = rng.uniform(-0.5, 0.5, c.slots)
    encrypted = c.encrypt(secret, {"x": x})
    for keys in (boot.keys(secret), boot.keys_from_bytes(c.keys(secret).to_bytes())):
        found = c.decrypt(secret, c.run(encrypted, keys))["y"]
        assert np.abs(found - x).max() < 2.0**-18
    with pytest.raises(palladion.MissingKeyError, match="no "):
        c.run(encrypted, secret.evaluation_keys())


def test_what_repeats_must_fit(bootstrapped: ckks.Params, approximate: ckks.Params) -> None:
    body = iteration(bootstrapped)
    c = circuit.Circuit(bootstrapped)
    w, z = c.input("w", level=0), c.input("z", level=0)
    cases: list[tuple[Each, str]] = [
        ([[1.0]], "the number of operands of an iteration is 1, expected 2"),
        ([[z, 1.0]], "an operand of a repeated part is a ciphertext, expected a plaintext"),
        ([], "the number of iterations is 0, expected at least 1"),
    ]
    for each, words in cases:
        with pytest.raises(palladion.UsageError, match=words):
            c.repeat(body, [w], each)
    with pytest.raises(palladion.UsageError, match="the number of carried values is 0, expected 1"):
        c.repeat(body, [], [[1.0, z]])
    with pytest.raises(palladion.UsageError, match="the circuit itself"):
        c.repeat(c, [w], [])
    # Six levels are too few for a bootstrapping.
    with pytest.raises(palladion.UsageError, match="the number of levels is 6, expected more than"):
        circuit.Circuit(approximate).input("x").bootstrap()


def test_failure_is_told_and_held_to_what_is_asked_for(
    exact: Exact, approximate: ckks.Params
) -> None:
    c = circuit.Circuit(exact)
    c.output("y", c.input("x") ** 16)
    found = c.predict_noise()["y"].log2_failure
    assert found < -100
    secret = scheme_of(exact).keygen(exact)
    for refused in (c.predict_noise, lambda failure: c.keys(secret, failure=failure)):
        with pytest.raises(palladion.UsageError, match="in all"):
            refused(failure=-1e300)
        with pytest.raises(palladion.UsageError, match="is -30, expected at most -40"):
            refused(failure=-30)
    c = circuit.Circuit(approximate)
    x = c.input("x")
    c.output("y", x.drop(0))
    # Half of the modulus of 50 bits, at the scale of level 0.
    room = approximate.moduli[0][0] / 2 / approximate.scale
    small, large = np.full(c.slots, 1.0), np.full(c.slots, room * (1 - 2.0**-48))
    assert c.predict({"x": small})["y"].log2_failure < -1000
    with pytest.raises(palladion.UsageError, match="a run is wrong with"):
        c.predict({"x": large})


def test_inputs_of_two_keys_do_not_meet(exact: Exact, approximate: ckks.Params) -> None:
    for params in (exact, approximate):
        scheme = scheme_of(params)
        secret, stranger = scheme.keygen(params), scheme.keygen(params)
        c = circuit.Circuit(params)
        c.output("out", c.input("x") * c.input("y") + 1)
        mine, theirs = (c.encrypt(key, {"x": [1], "y": [2]}) for key in (secret, stranger))
        keys = c.keys(secret)
        for inputs in ({**mine, "y": theirs["y"]}, theirs):
            with pytest.raises(palladion.KeyMismatch, match="made under one secret key"):
                c.run(inputs, keys)
        found = c.run(mine, keys)
        with pytest.raises(palladion.KeyMismatch, match="made under one secret key"):
            c.decrypt(stranger, found)
        assert c.decrypt(secret, found)["out"][0] == pytest.approx(3, abs=1e-3)


def test_a_run_refuses_messages_that_a_prediction_refuses() -> None:
    params = ckks.Params(RING_INSECURE, [40, 30, 30], [40, 40], 2.0**30, insecure=True)
    secret = ckks.keygen(params)
    x = np.full(params.slots, 300.0)
    programs: dict[str, tuple[int, Callable[[circuit.Value], circuit.Value]]] = {
        "square": (1, lambda v: v * v),
        "product": (1, lambda v: v * (v + 1)),
        "plain factor": (1, lambda v: v * np.full(params.slots, 2.5)),
        "sum": (0, lambda v: v + v),
        "plain sum": (0, lambda v: v + 400.0),
        "rotations": (0, lambda v: v + v.rotate(1)),
    }
    for name, (level, program) in programs.items():
        c = circuit.Circuit(params)
        c.output("out", program(c.input("x", level=level)))
        with pytest.raises(palladion.UsageError, match="bits, expected less than"):
            c.predict({"x": x})
        keys = c.keys(secret)
        with pytest.raises(palladion.UsageError, match=r"message of step .* expected less than"):
            c.run(c.encrypt(secret, {"x": x}), keys)
        # The same circuit takes what fits.
        small = x / 300
        found = c.decrypt(secret, c.run(c.encrypt(secret, {"x": small}), keys))["out"]
        expected = c.run_clear({"x": small})["out"]
        assert found == pytest.approx(expected, abs=1e-3), name
