"""Sums, powers, polynomials, matrices, tables and re-encryption on ciphertexts, against numpy."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import palladion
import pytest
from palladion import bfv, bgv, circuit, ckks

T = 65537


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(38)


def ckks_insecure(depth: int) -> ckks.SecretKey:
    levels = [50, *[40] * depth]
    return ckks.keygen(ckks.Params(10, levels, [50, 50], 2.0**40, insecure=True))


@pytest.mark.parametrize("scheme", [bfv, bgv], ids=["bfv", "bgv"])
def test_exact_sums_powers_and_rotations(scheme: ModuleType, rng: np.random.Generator) -> None:
    params = scheme.Params(10, [50] * 5, [50, 50], T, insecure=True)
    secret = scheme.keygen(params)
    keys = secret.evaluation_keys([*scheme.sum_rotations(3, 11), *scheme.sum_rotations(1, 512)])
    a = rng.integers(T, size=params.slots)
    x = secret.encrypt(a).with_keys(keys)

    def rows(k: int) -> list[int]:
        found: list[int] = np.roll(a.reshape(2, -1), -k, axis=1).ravel().tolist()
        return found

    terms = np.sum([rows(3 * i) for i in range(11)], axis=0) % T
    assert secret.decrypt(x.sum(3, 11)).tolist() == terms.tolist()
    row = a.reshape(2, -1).sum(axis=1, keepdims=True) % T
    assert secret.decrypt(x.sum()).tolist() == np.repeat(row, params.slots // 2).tolist()
    for k, y in zip([3, 1], x.rotations([3, 1]), strict=True):
        assert secret.decrypt(y).tolist() == rows(k)
    cube = a * a % T * a % T
    assert secret.decrypt(x**3).tolist() == cube.tolist()
    assert secret.decrypt(x**1).tolist() == a.tolist()
    with pytest.raises(palladion.UsageError, match="exponent 0, expected"):
        x**0
    with pytest.raises(palladion.UsageError, match="without a count"):
        x.sum(2)
    with pytest.raises(palladion.MissingKeyError, match="rotation by 5"):
        x.sum(5, 2)


@pytest.mark.parametrize("scheme", [bfv, bgv], ids=["bfv", "bgv"])
def test_a_depth_gives_a_set(scheme: ModuleType, rng: np.random.Generator) -> None:
    params = scheme.Params.for_depth(log_n=13, depth=2)
    assert params.t == T
    assert params.security.enough
    secret = scheme.keygen(params)
    a = rng.integers(T, size=params.slots)
    x = secret.public_key().encrypt(a).with_keys(secret.evaluation_keys())
    y = (4 * x) ** 2
    assert secret.decrypt(y * y).tolist() == [pow(4 * int(v), 4, T) for v in a]
    with pytest.raises(palladion.SecurityError, match="128-bit security at N = 8192"):
        scheme.Params.for_depth(log_n=13, depth=9)
    with pytest.raises(palladion.UsageError, match="65539 is no prime"):
        scheme.Params.for_depth(log_n=13, depth=1, t=65539)
    with pytest.raises(palladion.UsageError, match="log_n is 9, expected 10 to 17"):
        scheme.Params.for_depth(log_n=9, depth=1)


def test_powers_take_the_fewest_levels_and_sums_any_count(rng: np.random.Generator) -> None:
    secret = ckks_insecure(3)
    slots = secret.params.slots
    keys = secret.evaluation_keys(ckks.sum_rotations(1, slots) + ckks.sum_rotations(-2, 5))
    a = rng.uniform(-1, 1, slots)
    x = secret.encrypt(a).with_keys(keys)
    assert (x**7).level == 0
    np.testing.assert_allclose(secret.decrypt_real(x**7), a**7, atol=1e-6)
    np.testing.assert_allclose(secret.decrypt_real(x.sum()), np.full(slots, a.sum()), atol=1e-5)
    terms = sum(np.roll(a, 2 * i) for i in range(5))
    np.testing.assert_allclose(secret.decrypt_real(x.sum(-2, 5)), terms, atol=1e-6)


def test_polynomials_and_series(rng: np.random.Generator) -> None:
    secret = ckks_insecure(6)
    a = rng.uniform(-1, 1, secret.params.slots)
    x = secret.encrypt(a).with_keys(secret.evaluation_keys())
    for degree in (0, 1, 3, 16):
        c = rng.uniform(-1, 1, degree + 1)
        y = x.polynomial(c)
        assert y.level == 6 - degree.bit_length()
        np.testing.assert_allclose(
            secret.decrypt_real(y), np.polynomial.polynomial.polyval(a, c), atol=1e-6
        )
    wide = secret.encrypt(4 * a).with_keys(x.keys)  # type: ignore[arg-type]
    logistic = ckks.approximate(lambda v: 1 / (1 + np.exp(-v)), -4, 4, 27)
    expected = 1 / (1 + np.exp(-4 * a))
    np.testing.assert_allclose(logistic(4 * a), expected, atol=1e-5)
    y = wide.evaluate(logistic)
    assert logistic.depth == 6 - y.level == 6
    np.testing.assert_allclose(secret.decrypt_real(y), logistic(4 * a), atol=1e-6)
    half = ckks.approximate(np.sqrt, 0.0, 1.0, 3)
    assert half.depth == 2  # the factor of x is 2
    with pytest.raises(palladion.UsageError, match="expected a < b"):
        ckks.approximate(np.exp, 1, 1, 3)
    with pytest.raises(palladion.UsageError, match="expected finite real numbers"):
        ckks.approximate(lambda v: v + np.inf, 0, 1, 3)
    with pytest.raises(palladion.UsageError, match="expected finite real numbers"):
        x.polynomial([1j])
    with pytest.raises(palladion.LevelError, match="7 levels needed, the ciphertext has 6"):
        x.polynomial(np.ones(65))


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (2, 512), (100, 300)])
def test_matrices_multiply_vectors(shape: tuple[int, int], rng: np.random.Generator) -> None:
    secret = ckks_insecure(1)
    m = rng.uniform(-1, 1, shape) + 1j * rng.uniform(-1, 1, shape)
    matrix = ckks.Matrix(secret.params, m)
    assert len(matrix.rotations) < sum(shape) ** 0.5 + 3
    a = rng.uniform(-1, 1, secret.params.slots)  # the product reads the first slots only
    x = secret.encrypt(a).with_keys(secret.evaluation_keys(matrix.rotations))
    expected = np.zeros(a.size, complex)
    expected[: shape[0]] = m @ a[: shape[1]]
    for y in (matrix @ x, matrix @ x, m @ x):
        assert y.level == 0
        np.testing.assert_allclose(secret.decrypt(y), expected, atol=1e-5)


def test_matrices_that_do_not_fit() -> None:
    secret = ckks_insecure(1)
    x = secret.encrypt([1.0]).with_keys(secret.evaluation_keys())
    with pytest.raises(palladion.UsageError, match=r"shape \(2,\).*expected two dimensions"):
        ckks.Matrix(secret.params, [1.0, 2.0])
    with pytest.raises(palladion.UsageError, match="columns of a matrix is 513, expected 1 to 512"):
        ckks.Matrix(secret.params, np.ones((1, 513)))
    with pytest.raises(palladion.UsageError, match=r"NaN.*expected a finite number"):
        ckks.Matrix(secret.params, [[np.nan]])
    with pytest.raises(palladion.MissingKeyError, match="Galois key for the rotation by -1"):
        np.ones((2, 2)) @ x
    with pytest.raises(TypeError, match="with the matrix on the left"):
        x @ np.ones((2, 2))


@pytest.fixture(scope="module")
def tables() -> bfv.SecretKey:
    return bfv.keygen(bfv.Params.named("bfv-tables"))


def test_a_table_of_all_values_is_exact(tables: bfv.SecretKey, rng: np.random.Generator) -> None:
    entries = rng.integers(T, size=T)
    keys = tables.evaluation_keys()
    values = rng.permutation(T)[: 1 << 15]
    x = tables.encrypt(values).with_keys(keys)
    y = x.lookup(entries)
    assert tables.decrypt(y).tolist() == entries[values].tolist()
    assert x.level - y.level == 17


def test_tables_of_functions_and_short_ones(tables: bfv.SecretKey) -> None:
    keys = tables.evaluation_keys()
    x = tables.encrypt(np.arange(100)).with_keys(keys)
    square = bfv.Table(bfv.Params.named("bfv-tables"), [v * v for v in range(100)])
    assert tables.decrypt(x.lookup(square))[:100].tolist() == [v * v for v in range(100)]
    with pytest.raises(palladion.LevelError):
        x.switch_down(12).lookup(square)
    with pytest.raises(palladion.UsageError, match="value 0 is 65537, expected -32768 to 65536"):
        x.lookup([T])
    with pytest.raises(palladion.UsageError, match="number of entries of a table is 0"):
        x.lookup([])
    secret = bgv.keygen(bgv.Params.named("exact-12"))
    with pytest.raises(palladion.UsageError, match="expected bfv"):
        secret.encrypt([1]).with_keys(secret.evaluation_keys()).lookup([1, 2])


def test_keys_re_encrypt() -> None:
    for scheme, params in (
        (bfv, bfv.Params.named("exact-12")),
        (bgv, bgv.Params.named("exact-12")),
        (ckks, ckks.Params.named("ckks-12")),
    ):
        old, new = scheme.keygen(params), scheme.keygen(params)
        key = scheme.SwitchKey.from_bytes(params, new.switch_key(old).to_bytes())
        x = old.encrypt([3, 4])
        y = x.switch_key(key)
        np.testing.assert_allclose(new.decrypt(y)[:2].real, [3, 4], atol=1e-3)
        with pytest.raises(palladion.KeyMismatch):
            old.decrypt(y)
        with pytest.raises(palladion.KeyMismatch):
            y.switch_key(key)


def test_a_circuit_computes_equal_powers_once() -> None:
    params = ckks.Params(10, [50, *[40] * 5], [50, 50], 2.0**40, insecure=True)
    c = circuit.Circuit(params)
    x = c.input("x")
    c.output("y", sum(1 / (k + 1) * x**k for k in range(1, 17)))
    counts = c.counts()
    assert sum(level.get("mul", 0) for level in counts.values()) == 15, counts


def test_a_circuit_sums_any_number_of_slots(rng: np.random.Generator) -> None:
    params = ckks.Params(10, [50, 40], [50, 50], 2.0**40, insecure=True)
    c = circuit.Circuit(params)
    x = c.input("x")
    c.output("y", x.sum(2, 11))
    a = rng.uniform(-1, 1, params.slots)
    expected = np.sum([np.roll(a, -2 * i) for i in range(11)], axis=0)
    np.testing.assert_allclose(c.run_clear({"x": a})["y"], expected, atol=1e-12)
    secret = ckks.keygen(params)
    found = c.run({"x": secret.encrypt(a)}, c.keys(secret))["y"]
    assert isinstance(found, ckks.Ciphertext)
    np.testing.assert_allclose(secret.decrypt_real(found), expected, atol=1e-6)
