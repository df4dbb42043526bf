"""BFV and BGV from Python, against numpy modulo t."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import palladion
import pytest
from numpy.typing import NDArray
from palladion import bfv, bgv, ckks

RING_INSECURE = 10
LEVELS = [50, 50, 50, 50]
T = 65537

Setup = tuple[bfv.Params | bgv.Params, bfv.SecretKey, bfv.EvaluationKeys]


@pytest.fixture(scope="module", params=[bfv, bgv], ids=["bfv", "bgv"])
def setup(request: pytest.FixtureRequest) -> Setup:
    scheme = request.param
    params = scheme.Params(RING_INSECURE, LEVELS, [50, 50], T, insecure=True)
    secret = scheme.keygen(params)
    return params, secret, secret.evaluation_keys([1, -2], swap_rows=True)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(21)


def rows(values: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Both rows rotated left."""
    return np.roll(values.reshape(2, -1), -k, axis=1).ravel()


@pytest.mark.parametrize("scheme", [bfv, bgv], ids=["bfv", "bgv"])
def test_the_examples_of_the_modules(scheme: ModuleType) -> None:
    params = scheme.Params.named("exact-13")
    assert params.security_bits == 128.3
    secret = scheme.keygen(params)
    keys = secret.evaluation_keys(rotations=[1])
    x = secret.encrypt([1, 2, 3]).with_keys(keys)
    y = (x * x + 3 * x - 1).rotate(1)
    assert secret.decrypt(y)[:3].tolist() == [9, 17, T - 1]
    assert secret.decrypt(y, signed=True)[2] == -1
    assert secret.budget(y) > 10


def test_operators_are_numpys(setup: Setup, rng: np.random.Generator) -> None:
    params, secret, keys = setup
    a, b, c = (rng.integers(T, size=params.slots) for _ in range(3))
    x, y = secret.encrypt(a).with_keys(keys), secret.public_key().encrypt(b)
    cases = {
        "sum": (x + y, a + b),
        "difference": (x - y, a - b),
        "negative": (-x, -a),
        "product": (x * y, a * b),
        "square": (x * x, a * a),
        "cube": (x * x * y, a * a % T * b),
        "array left": (c - x, c - a),
        "array right": (x - c, a - c),
        "array factor": (c * x, c * a),
        "number": (2 - x, 2 - a),
        "factor": (x * -5, a * -5),
        "rotation left": (x.rotate(1), rows(a, 1)),
        "rotation right": (x.rotate(-2), rows(a, -2)),
        "rows": (x.swap_rows(), np.roll(a, params.slots // 2)),
        "lower level": (x.switch_down() + y, a + b),
        "different depths": (x * y + x - y.switch_down(2), a * b + a - b),
    }
    for name, (found, expected) in cases.items():
        assert secret.decrypt(found).tolist() == (expected % T).tolist(), name


def test_random_programs_are_numpys(setup: Setup, rng: np.random.Generator) -> None:
    params, secret, keys = setup
    for _ in range(6):
        plain = [rng.integers(T, size=params.slots) for _ in range(3)]
        encrypted = [secret.encrypt(values).with_keys(keys) for values in plain]
        depth = [0, 0, 0]
        for _ in range(10):
            i, j = rng.integers(len(plain), size=2)
            kind = rng.integers(4)
            deepest = max(depth[i], depth[j])
            if kind == 0 and deepest < 2:
                plain.append(plain[i] * plain[j] % T)
                encrypted.append(encrypted[i] * encrypted[j])
                deepest += 1
            elif kind == 1:
                plain.append((plain[i] - plain[j]) % T)
                encrypted.append(encrypted[i] - encrypted[j])
            elif kind == 2:
                plain.append(rows(plain[i], -2))
                encrypted.append(encrypted[i].rotate(-2))
            else:
                plain.append((plain[i] + plain[j]) % T)
                encrypted.append(encrypted[i] + encrypted[j])
            depth.append(deepest)
        for values, ciphertext in zip(plain, encrypted, strict=True):
            if secret.budget(ciphertext) > 1:
                assert secret.decrypt(ciphertext).tolist() == values.tolist()
        assert sum(secret.budget(x) > 1 for x in encrypted) >= len(encrypted) - 1


def test_coefficients_multiply_as_polynomials(setup: Setup) -> None:
    params, secret, keys = setup
    x = secret.encrypt([1, 2], coefficients=True).with_keys(keys)
    last = [0] * (params.n - 1) + [1]  # X^(N-1): X^N is -1
    y = secret.encrypt(last, coefficients=True)
    assert secret.decrypt(x * x)[:4].tolist() == [1, 4, 4, 0]
    assert secret.decrypt(x * y)[[0, -1]].tolist() == [T - 2, 1]
    assert secret.decrypt(x + 5)[:3].tolist() == [6, 2, 0]
    with pytest.raises(palladion.UsageError, match="holds slots, expected coefficients"):
        x + secret.encrypt([1])


def test_noise_that_fills_the_modulus_is_an_error(setup: Setup) -> None:
    params, secret, keys = setup
    x = secret.encrypt(np.arange(params.slots), level=0).with_keys(keys)
    before = secret.budget(x)
    assert 20 < before < 50
    with pytest.raises(palladion.NoiseError, match="expected at least 1"):
        secret.decrypt(x * x * x)


def test_everything_is_stored_and_read(setup: Setup) -> None:
    params, secret, keys = setup
    read = type(params).from_bytes(params.to_bytes(), insecure=True)
    assert read == params
    again = bfv.SecretKey.from_bytes(read, secret.to_bytes())
    public = bfv.PublicKey.from_bytes(read, secret.public_key().to_bytes())
    server = bfv.EvaluationKeys.from_bytes(read, keys.to_bytes())
    assert server.rotations == [-2, 1]
    for fresh in (secret.encrypt([3]), public.encrypt([3])):
        x = bfv.Ciphertext.from_bytes(read, fresh.to_bytes()).with_keys(server)
        y = bfv.Ciphertext.from_bytes(read, (x * x).rotate(-2).to_bytes())
        assert again.decrypt(y)[:4].tolist() == [0, 0, 9, 0]
    data = secret.encrypt([3]).to_bytes()
    assert len(data) < 0.51 * len(public.encrypt([3]).to_bytes())
    for wrong in (data[:-1], data[:60] + b"\1" + data[61:], secret.to_bytes()):
        with pytest.raises(palladion.FormatError):
            bfv.Ciphertext.from_bytes(read, wrong)


def test_schemes_do_not_take_each_others() -> None:
    one, other = (s.Params(RING_INSECURE, LEVELS, [50], T, insecure=True) for s in (bfv, bgv))
    secret = bfv.keygen(one)
    both = f"{one.fingerprint}, expected {other.fingerprint}"
    with pytest.raises(palladion.FormatError, match=both):
        bgv.Ciphertext.from_bytes(other, secret.encrypt([1]).to_bytes())
    with pytest.raises(palladion.UsageError, match="the ciphertext is of other parameters: bgv"):
        secret.encrypt([1]) + bgv.keygen(other).encrypt([1])
    with pytest.raises(palladion.UsageError, match="parameters of bfv, expected bgv"):
        bgv.Params.from_bytes(one.to_bytes(), insecure=True)


def test_bad_messages_name_what_was_found(setup: Setup) -> None:
    params, secret, _keys = setup
    cases: list[tuple[object, str]] = [
        ([0, T], "value 1 is 65537, expected -32768 to 65536"),
        ([-32769], "value 0 is -32769, expected -32768"),
        ([0.5], "float64, expected integers"),
        (0.5, "float64, expected integers"),
        (ckks, "object, expected integers"),
        ([float("nan")], "float64, expected integers"),
        ([2**63], "expected less than"),
        ([2**70], "expected integers"),
        (np.zeros(params.slots + 1, int), "1025 values in a plaintext, at most 1024 fit"),
        (np.zeros((2, 2), int), "expected one dimension"),
        (np.ma.masked_array([1, 2], mask=[False, True]), "1 masked values"),
    ]
    x = secret.encrypt([-1])
    assert secret.decrypt(x, signed=True)[0] == -1
    for values, words in cases:
        for take in (secret.encrypt, secret.public_key().encrypt, x.__add__, x.__mul__):
            with pytest.raises(palladion.UsageError, match=words):
                take(values)  # type: ignore[arg-type, operator]
    with pytest.raises(palladion.UsageError, match="expected 64 bits"):
        x * 2**80
    with pytest.raises(palladion.UsageError, match="expected -32768"):
        x + T


def test_used_up_levels_and_missing_keys(setup: Setup) -> None:
    _params, secret, keys = setup
    x = secret.encrypt([1])
    with pytest.raises(palladion.LevelError, match="4 levels needed, the ciphertext has 3 left"):
        x.switch_down(4)
    with pytest.raises(palladion.UsageError, match="-1, expected 0"):
        x.switch_down(-1)
    with pytest.raises(palladion.MissingKeyError, match="expected with_keys"):
        x * x
    with pytest.raises(palladion.MissingKeyError, match=r"rotation by 3: .*\[-2, 1\]"):
        x.with_keys(keys).rotate(3)
    with pytest.raises(palladion.MissingKeyError, match="the swap of rows"):
        x.with_keys(secret.evaluation_keys([1])).swap_rows()


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(palladion.SecurityError, match="at most 214"):
        bfv.Params(13, [50] * 4, [50])
    cases = [
        ((10, [50], [50], 65539), "plaintext modulus 65539 is no prime with t = 1 mod 2N"),
        ((16, [50], [50], 65537), "plaintext modulus 65537"),
        ((10, [50], [50], -1), "plaintext modulus -1"),
        ((18, [50], [50], 65537), "log_n is 18"),
    ]
    for (log_n, levels, special, t), words in cases:
        with pytest.raises(palladion.UsageError, match=words):
            bgv.Params(log_n, levels, special, t, insecure=True)
    with pytest.raises(palladion.UsageError, match="ckks-13 is a set of ckks"):
        bfv.Params.named("ckks-13")
    with pytest.raises(palladion.UsageError, match="exact-13 is a set of bfv, bgv"):
        ckks.Params.named("exact-13")
    with pytest.raises(palladion.UsageError, match="total sizes"):
        ckks.Params.named("cross-6")
    with pytest.raises(palladion.UsageError, match="no parameter set 'ckks-99'"):
        ckks.Params.named("ckks-99")


def test_what_belongs_to_two_keys_does_not_meet(setup: Setup) -> None:
    params, secret, keys = setup
    scheme = {"bfv": bfv, "bgv": bgv}[params.schemes[0]]
    stranger = scheme.keygen(params)
    x, y = secret.encrypt([1, 2]).with_keys(keys), stranger.encrypt([3])
    calls: list[Callable[[], object]] = [
        lambda: x + y,
        lambda: x - y,
        lambda: x * y,
        lambda: x + type(y).from_bytes(params, y.to_bytes()),
        lambda: x * stranger.public_key().encrypt([3]),
        lambda: y.with_keys(keys) * y,
        lambda: y.with_keys(keys).rotate(1),
        lambda: y.with_keys(keys).swap_rows(),
        lambda: secret.decrypt(y),
        lambda: secret.budget(y),
        lambda: stranger.decrypt(x * x + 1),
    ]
    for call in calls:
        with pytest.raises(palladion.KeyMismatch, match="made under one secret key"):
            call()
    asks: list[Callable[[], object]] = [
        lambda: bool(x),
        lambda: x == y,
        lambda: max(x, y),
        lambda: hash(x),
    ]
    for ask in asks:
        with pytest.raises(TypeError, match="an encrypted value"):
            ask()
    assert secret.decrypt(x**3)[:2].tolist() == [1, 8]
