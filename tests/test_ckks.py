"""CKKS from Python, against numpy."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import islice

import numpy as np
import palladion
import pytest
from numpy.typing import NDArray
from palladion import ckks
from palladion.schemes.keys import SchemeParams

RING_INSECURE = 10
LEVELS = [50, 40, 40, 40]
TOLERANCE = 1e-6
"""Noise at a scale of 2^40 on 2^9 slots is some 2^-28 after a product; 2^-20 is never seen."""


@pytest.fixture(scope="module")
def params() -> ckks.Params:
    return ckks.Params(RING_INSECURE, LEVELS, [50, 50], 2**40, insecure=True)


@pytest.fixture(scope="module")
def secret(params: ckks.Params) -> ckks.SecretKey:
    return ckks.keygen(params)


@pytest.fixture(scope="module")
def keys(secret: ckks.SecretKey) -> ckks.EvaluationKeys:
    return secret.evaluation_keys([1, 2, -3], conjugation=True)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


def numbers(rng: np.random.Generator, count: int) -> NDArray[np.complex128]:
    return rng.uniform(-1, 1, count) + 1j * rng.uniform(-1, 1, count)


def test_the_example_of_the_module() -> None:
    params = ckks.Params.for_depth(log_n=14, depth=4, scale_bits=40)
    assert str(params.security) == "128.3 bits (MATZOV)"
    assert params.security.bits == params.security_bits == 128.3
    assert "128.3 bits (MATZOV)" in repr(params)
    assert params.max_level == 4
    secret = ckks.keygen(params)
    keys = secret.evaluation_keys(rotations=[1])
    x = secret.encrypt([0.5, -1.0, 2.0]).with_keys(keys)
    y = (x * x + 0.5 * x - 1.0).rotate(1)
    assert y.level == 3
    assert secret.decrypt_real(y)[:3] == pytest.approx([-0.5, 4.0, -1.0], abs=TOLERANCE)


def test_operators_are_numpys(
    params: ckks.Params,
    secret: ckks.SecretKey,
    keys: ckks.EvaluationKeys,
    rng: np.random.Generator,
) -> None:
    a, b, c = (numbers(rng, params.slots) for _ in range(3))
    x, y = secret.encrypt(a).with_keys(keys), secret.public_key().encrypt(b)
    cases = {
        "sum": (x + y, a + b),
        "difference": (x - y, a - b),
        "negative": (-x, -a),
        "product": (x * y, a * b),
        "power": (x**5, a**5),
        "array left": (c - x, c - a),
        "array right": (x + c, a + c),
        "array factor": (c * x, c * a),
        "number": (2 - x, 2 - a),
        "complex number": (x + (1 - 2j), a + (1 - 2j)),
        "real factor": (0.3 * x, 0.3 * a),
        "complex factor": (x * (0.5 - 2j), a * (0.5 - 2j)),
        "integer factor": (3 * x, 3 * a),
        "numpy integer factor": (x * np.int64(-7), -7 * a),
        "conjugate": (x.conjugate(), a.conj()),
        "rotation left": (x.rotate(1), np.roll(a, -1)),
        "rotation right": (x.rotate(-3), np.roll(a, 3)),
        "no rotation": (x.rotate(0), a),
        "different depths": (x * x * x + y * 0.25 - x, a**3 + 0.25 * b - a),
        "lower level": (x.drop_to(1) * y, a * b),
    }
    for name, (found, expected) in cases.items():
        assert np.abs(secret.decrypt(found) - expected).max() < TOLERANCE, name
    assert (3 * x).level == x.level
    assert (0.3 * x).level == x.level - 1
    for found, k in zip(x.rotations([1, 2]), (1, 2), strict=True):
        assert np.abs(secret.decrypt(found) - np.roll(a, -k)).max() < TOLERANCE


def test_random_programs_are_numpys(
    params: ckks.Params,
    secret: ckks.SecretKey,
    keys: ckks.EvaluationKeys,
    rng: np.random.Generator,
) -> None:
    """Values of all depths meet in all operators, and no sum asks for a level of its own."""
    for _ in range(8):
        plain = [numbers(rng, params.slots) for _ in range(3)]
        encrypted = [secret.encrypt(values).with_keys(keys) for values in plain]
        for _ in range(12):
            i, j = rng.integers(len(plain), size=2)
            kind = rng.integers(5)
            low = min(encrypted[i].level, encrypted[j].level)
            if kind == 0 and low > 0 and np.abs(plain[i] * plain[j]).max() < 8:
                plain.append(plain[i] * plain[j])
                encrypted.append(encrypted[i] * encrypted[j])
            elif kind == 1 and encrypted[i].level > 0:
                plain.append(plain[i] * 0.7)
                encrypted.append(encrypted[i] * 0.7)
            elif kind == 2:
                plain.append(plain[i] - plain[j])
                encrypted.append(encrypted[i] - encrypted[j])
                assert encrypted[-1].level == low
            elif kind == 3:
                plain.append(np.roll(plain[i], -2))
                encrypted.append(encrypted[i].rotate(2))
            else:
                plain.append(plain[i] + plain[j])
                encrypted.append(encrypted[i] + encrypted[j])
                assert encrypted[-1].level == low
        for values, ciphertext in zip(plain, encrypted, strict=True):
            error = np.abs(secret.decrypt(ciphertext) - values).max()
            assert error < TOLERANCE * max(1, np.abs(values).max())


def test_short_arrays_are_padded(secret: ckks.SecretKey) -> None:
    found = secret.decrypt_real(secret.encrypt([1, 2]))
    assert found[:2] == pytest.approx([1, 2], abs=TOLERANCE)
    assert np.abs(found[2:]).max() < TOLERANCE


def test_everything_is_stored_and_read(
    params: ckks.Params, secret: ckks.SecretKey, keys: ckks.EvaluationKeys
) -> None:
    read = ckks.Params.from_bytes(params.to_bytes(), insecure=True)
    assert read == params
    again = ckks.SecretKey.from_bytes(read, secret.to_bytes())
    public = ckks.PublicKey.from_bytes(read, secret.public_key().to_bytes())
    server = ckks.EvaluationKeys.from_bytes(read, keys.to_bytes())
    assert server.rotations == [-3, 1, 2]
    assert server.conjugation
    for fresh in (secret.encrypt([0.5]), public.encrypt([0.5])):
        x = ckks.Ciphertext.from_bytes(read, fresh.to_bytes()).with_keys(server)
        y = ckks.Ciphertext.from_bytes(read, (x * x).rotate(-3).conjugate().to_bytes())
        assert y.level == x.level - 1
        assert again.decrypt_real(y)[3] == pytest.approx(0.25, abs=TOLERANCE)
    # A fresh ciphertext stores its mask as a seed.
    whole, fresh_size = len(public.encrypt([0]).to_bytes()), len(secret.encrypt([0]).to_bytes())
    assert fresh_size < 0.51 * whole


def test_stored_things_of_other_parameters_name_both(
    params: ckks.Params, secret: ckks.SecretKey, keys: ckks.EvaluationKeys
) -> None:
    other = ckks.Params(RING_INSECURE, LEVELS, [50], 2**40, insecure=True)
    both = f"{params.fingerprint}, expected {other.fingerprint}"
    with pytest.raises(palladion.FormatError, match=both):
        ckks.SecretKey.from_bytes(other, secret.to_bytes())
    with pytest.raises(palladion.FormatError, match=both):
        ckks.PublicKey.from_bytes(other, secret.public_key().to_bytes())
    with pytest.raises(palladion.FormatError, match=both):
        ckks.EvaluationKeys.from_bytes(other, keys.to_bytes())
    with pytest.raises(palladion.FormatError, match=both):
        ckks.Ciphertext.from_bytes(other, secret.encrypt([1]).to_bytes())
    with pytest.raises(palladion.FormatError, match="a ciphertext of a scheme"):
        ckks.Ciphertext.from_bytes(params, secret.to_bytes())


def test_damaged_bytes_are_refused(
    params: ckks.Params, secret: ckks.SecretKey, rng: np.random.Generator
) -> None:
    reads: list[tuple[bytes, Callable[[bytes], object]]] = [
        (params.to_bytes(), partial(ckks.Params.from_bytes, insecure=True)),
        (secret.to_bytes(), lambda data: ckks.SecretKey.from_bytes(params, data)),
        (secret.encrypt([1]).to_bytes(), lambda data: ckks.Ciphertext.from_bytes(params, data)),
    ]
    for data, read in reads:
        places = {0, 9, 13, 20, 50, len(data) - 1, *rng.integers(len(data), size=20).tolist()}
        for place in places:
            damaged = bytearray(data)
            damaged[place] ^= 1 << int(rng.integers(8))
            with pytest.raises(palladion.FormatError):
                read(bytes(damaged))
        for wrong in (b"", data[:40], data[:-1], data + b"x"):
            with pytest.raises(palladion.FormatError):
                read(wrong)


def test_bad_messages_name_what_was_found(params: ckks.Params, secret: ckks.SecretKey) -> None:
    cases: list[tuple[object, str]] = [
        ([0.0, float("nan")], "value 1 is NaN.*expected a finite number"),
        ([float("inf")], "value 0 is inf.*expected a finite number"),
        ([1e60], r"takes 2\d\d.\d bits at its scale, level 3 holds 170"),
        (np.zeros(params.slots + 1), "513 values in a plaintext, at most 512 fit"),
        (np.zeros((2, 2)), r"shape \(2, 2\), expected one dimension"),
        (["one"], "expected numbers"),
        ([[1], [2, 3]], "no array of numbers"),
    ]
    for values, words in cases:
        for encrypt in (secret.encrypt, secret.public_key().encrypt):
            with pytest.raises(palladion.UsageError, match=words):
                encrypt(values)  # type: ignore[arg-type]
    x = secret.encrypt([1])
    for number in (float("nan"), float("inf"), complex(0, float("nan"))):
        with pytest.raises(palladion.UsageError, match="expected a finite number"):
            x + number
        with pytest.raises(palladion.UsageError, match="expected a finite number"):
            x * number
    with pytest.raises(palladion.UsageError, match=r"at most .* fit below"):
        x * 1e60
    with pytest.raises(palladion.UsageError, match="expected a finite number"):
        x - np.array([np.nan])
    for level in (-1, 2**40, 4):
        with pytest.raises(palladion.UsageError, match="expected 0 to"):
            secret.encrypt([1], level=level)
    with pytest.raises(palladion.UsageError, match="the scale is -1"):
        secret.encrypt([1], scale=-1)


def test_used_up_levels_and_scales_that_differ(
    secret: ckks.SecretKey, keys: ckks.EvaluationKeys
) -> None:
    x = secret.encrypt([1], level=0).with_keys(keys)
    operations: list[Callable[[], ckks.Ciphertext]] = [
        lambda: x * x,
        lambda: 0.5 * x,
        lambda: x * [1.0],
        lambda: x.drop_to(1),
    ]
    for operation in operations:
        with pytest.raises(palladion.LevelError, match="1 levels needed, the ciphertext has 0"):
            operation()
    y = secret.encrypt([1], level=0, scale=2**30)
    with pytest.raises(palladion.UsageError, match=r"2\^40.* and 2\^30.*expected one scale"):
        x + y
    # One level above, they are brought together at the price of it.
    total = secret.encrypt([1], level=1) + secret.encrypt([2], level=1, scale=2**39)
    assert total.level == 0
    assert secret.decrypt_real(total)[0] == pytest.approx(3, abs=TOLERANCE)


def test_missing_keys_are_named(secret: ckks.SecretKey, keys: ckks.EvaluationKeys) -> None:
    x = secret.encrypt([1])
    operations: list[Callable[[], ckks.Ciphertext]] = [
        lambda: x * x,
        lambda: x.rotate(1),
        lambda: x.conjugate(),
    ]
    for operation in operations:
        with pytest.raises(palladion.MissingKeyError, match=r"expected with_keys\(keys\)"):
            operation()
    with pytest.raises(palladion.MissingKeyError, match=r"rotation by 5: .*\[-3, 1, 2\]"):
        x.with_keys(keys).rotate(5)
    for wrong in (2**70, 0.5):
        with pytest.raises(palladion.UsageError, match="a rotation is"):
            x.with_keys(keys).rotate(wrong)  # type: ignore[arg-type]
        with pytest.raises(palladion.UsageError, match="a rotation is"):
            secret.evaluation_keys([wrong])  # type: ignore[list-item]
    with pytest.raises(palladion.MissingKeyError, match=r"the conjugation: .*rotations \[1\]"):
        x.with_keys(secret.evaluation_keys([1])).conjugate()


def test_operands_of_other_parameters_are_refused(
    params: ckks.Params, secret: ckks.SecretKey, keys: ckks.EvaluationKeys
) -> None:
    others = ckks.Params(RING_INSECURE, LEVELS, [50], 2**40, insecure=True)
    stranger = ckks.keygen(others)
    x = secret.encrypt([1]).with_keys(keys)
    y = stranger.encrypt([1]).with_keys(stranger.evaluation_keys([1]))
    both = rf"other parameters: .*{others.fingerprint}\), expected .*{params.fingerprint}\)"
    for operation in (
        lambda: x + y,
        lambda: x - y,
        lambda: x * y,
        lambda: x.with_keys(y.keys or keys) * x,
        lambda: x.with_keys(y.keys or keys).rotate(1),
        lambda: secret.decrypt(y),
    ):
        with pytest.raises(palladion.UsageError, match=both):
            operation()
    exact = palladion.bfv.Params(RING_INSECURE, [40, 40], [40], insecure=True)
    with pytest.raises(palladion.UsageError, match="parameters of bfv, expected ckks"):
        ckks.Params.from_bytes(exact.to_bytes(), insecure=True)


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(palladion.SecurityError, match=r"at most 214 gives 128-bit.*N = 8192"):
        ckks.Params(13, [50, 40, 40, 40], [50], 2**40)
    for depth in (4, 6, 2**31 - 1):
        with pytest.raises(palladion.SecurityError, match="at most 214 gives 128-bit"):
            ckks.Params.for_depth(13, depth)
    cases: list[tuple[tuple[int, list[int | list[int]], list[int], float], str]] = [
        ((3, [40], [40], 2**30), "log_n is 3, expected 4 to 17"),
        ((10, [40, []], [40], 2**30), "level 1 has no moduli"),
        ((10, [], [40], 2**30), "1 moduli, special ones counted, expected 2 to 256 at N = 1024"),
        ((10, [40], [], 2**30), "1 moduli, special ones counted, expected 2 to 256 at N = 1024"),
        ((10, [40, 40], [], 2**30), "the basis is empty"),
        (
            (10, [40] * 300, [40], 2**30),
            "301 moduli, special ones counted, expected 2 to 256 at N = 1024",
        ),
        ((10, [61], [40], 2**30), "61"),
        ((10, [40], [40], 0.5), "the scale is 0.5"),
        ((10, [40], [40], float("nan")), "the scale is nan"),
        ((10, [-40], [40], 2**30), "a modulus in bits is -40"),
    ]
    for (log_n, levels, special, scale), words in cases:
        with pytest.raises(palladion.UsageError, match=words):
            ckks.Params(log_n, levels, special, scale, insecure=True)


def test_insecure_parameters_are_read_only_where_the_caller_says_so(params: ckks.Params) -> None:
    assert params.security_bits is None
    assert "INSECURE: no estimate reaches 128 bits" in repr(params)
    with pytest.raises(palladion.SecurityError, match="or insecure=True with it"):
        ckks.Params.from_bytes(params.to_bytes())
    again = ckks.Params.from_bytes(params.to_bytes(), insecure=True)
    assert again == params
    assert "INSECURE" in repr(again)
    assert isinstance(params, SchemeParams)
    for scheme in (palladion.bfv, palladion.bgv):
        exact = scheme.Params(RING_INSECURE, [40, 40], [40], insecure=True)
        with pytest.raises(palladion.SecurityError, match="or insecure=True with it"):
            scheme.Params.from_bytes(exact.to_bytes())
        assert scheme.Params.from_bytes(exact.to_bytes(), insecure=True) == exact


def resealed(data: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """The bytes with another payload, and the checksum and fingerprint that it would have."""
    head, payload = data[:16], change(data[56:-32])

    def sealed(fingerprint: bytes) -> bytes:
        content = head + fingerprint + len(payload).to_bytes(8, "little") + payload
        return content + hashlib.sha256(content).digest()

    return sealed(hashlib.sha256(sealed(bytes(32))).digest())


def test_no_bytes_make_an_insecure_set(params: ckks.Params) -> None:
    """Whether the mark in the file says so or not."""
    data = params.to_bytes()
    assert resealed(data, lambda payload: payload) == data
    mark = 8 + len("ckks")
    assert data[56:][mark] == 1

    def marked(value: int) -> Callable[[bytes], bytes]:
        return lambda payload: payload[:mark] + bytes([value]) + payload[mark + 1 :]

    for value in (0, 1):
        with pytest.raises(palladion.SecurityError, match="insecure=True"):
            ckks.Params.from_bytes(resealed(data, marked(value)))
    with pytest.raises(palladion.FormatError, match="fingerprint"):
        ckks.Params.from_bytes(resealed(data, marked(0)), insecure=True)
    # A secure set that is called insecure is what it is.
    called = ckks.Params(13, [45, 35], [45], 2**35, insecure=True)
    assert called == ckks.Params(13, [45, 35], [45], 2**35)
    assert "INSECURE" not in repr(called)
    assert ckks.Params.from_bytes(called.to_bytes()) == called


MANY_MODULI = """
import resource, sys
import palladion
from palladion import ckks
data = sys.stdin.buffer.read()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for insecure in (False, True):
    try:
        ckks.Params.from_bytes(data, insecure=insecure)
    except palladion.UsageError as error:
        print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
"""


def test_a_file_that_names_many_moduli_takes_no_memory(params: ckks.Params) -> None:
    """256 moduli at N = 2^17, which tables of a gigabyte would be made for."""
    candidates = range((1 << 42) + 1, 1 << 43, 1 << 18)
    primes = list(islice((q for q in candidates if pow(3, q - 1, q) == 1), 256))
    words = [1 << 17, 1, int(np.float64(30).view(np.int64)), 128]
    for level in range(128):
        words += [2, *primes[2 * level : 2 * level + 2]]
    words[-3:] = [1, primes[-2], 1, primes[-1]]
    content = b"".join(word.to_bytes(8, "little") for word in words)

    def many(payload: bytes) -> bytes:
        return payload[: 8 + len("ckks") + 8] + content

    data = resealed(params.to_bytes(), many)
    line = [sys.executable, "-c", MANY_MODULI]
    done = subprocess.run(line, input=data, capture_output=True, check=True)
    *errors, megabytes = done.stdout.decode().splitlines()
    expected = "256 moduli, special ones counted, expected 2 to 96 at N = 131072"
    assert errors == [expected] * 2
    assert int(megabytes) < 64


def test_other_threads_run_meanwhile(params: ckks.Params) -> None:
    """The interpreter lock is released: another thread counts while keys are made."""
    counted = 0
    stop = threading.Event()

    def count() -> None:
        nonlocal counted
        while not stop.is_set():
            counted += 1
            time.sleep(0.0005)

    secret = ckks.keygen(params)
    before = threading.Thread(target=count)
    before.start()
    try:
        start = counted
        secret.evaluation_keys(range(1, 200))
        while_making = counted - start
    finally:
        stop.set()
        before.join()
    # Held, the lock would let the other thread in once or twice, as the call begins and ends.
    assert while_making > 5


def test_bootstrapping_gives_levels_back() -> None:
    levels: list[int | list[int]] = [[30, 30], 40, 40, *[42] * 2, *[[30, 30]] * 8, *[[28, 28]] * 2]
    params = ckks.Params(8, levels, [49] * 9, 2**40, digit_limbs=15, insecure=True)
    boot = ckks.Bootstrapper(params)
    secret = ckks.keygen(params)
    keys = boot.keys(secret)
    values = np.random.default_rng(1).uniform(-1, 1, params.slots)
    x = secret.encrypt(values, level=0, scale=2**40).with_keys(keys)
    y = boot.bootstrap(x)
    assert y.level == boot.output_level == 2
    assert np.abs(secret.decrypt_real(y) - values).max() < 1e-3
    assert np.abs(secret.decrypt_real(y * y) - values**2).max() < 1e-3
    stored = keys.to_bytes()
    again = boot.keys_from_bytes(stored)
    assert again.to_bytes() == stored
    found = secret.decrypt_real(boot.bootstrap(x.with_keys(again)))
    assert np.abs(found - values).max() < 1e-3
    with pytest.raises(palladion.FormatError, match="expected evaluation keys"):
        ckks.EvaluationKeys.from_bytes(params, stored)
    with pytest.raises(palladion.FormatError, match="the file is truncated"):
        boot.keys_from_bytes(stored[:-1])
    once = ckks.Bootstrapper(params, slots=4)
    repeating = np.tile([1.0, -0.5, 0.25, 1.0], params.slots // 4)
    x = secret.encrypt(repeating, level=0, scale=2**40).with_keys(once.keys(secret))
    assert np.abs(secret.decrypt_real(once.bootstrap(x)) - repeating).max() < 1e-5
    with pytest.raises(palladion.UsageError, match="slots to bootstrap is 3, expected a power of"):
        ckks.Bootstrapper(params, slots=3)
    own = secret.evaluation_keys()
    with pytest.raises(palladion.MissingKeyError, match="no keys of bootstrapping"):
        boot.bootstrap(x.with_keys(own))
    with pytest.raises(palladion.UsageError, match="expected more than"):
        ckks.Bootstrapper(ckks.Params(8, LEVELS, [50], 2**40, insecure=True))


def refused_as_of_two_keys(call: Callable[[], object]) -> None:
    with pytest.raises(palladion.KeyMismatch, match="made under one secret key"):
        call()


def test_what_belongs_to_two_keys_does_not_meet(
    params: ckks.Params, secret: ckks.SecretKey, keys: ckks.EvaluationKeys
) -> None:
    stranger = ckks.keygen(params)
    x = secret.encrypt([1.0, 2.0]).with_keys(keys)
    y = stranger.encrypt([3.0])
    others = [
        y,
        stranger.public_key().encrypt([3.0]),
        ckks.Ciphertext.from_bytes(params, y.to_bytes()),
    ]
    uses: list[Callable[[ckks.Ciphertext], object]] = [
        lambda other: x + other,
        lambda other: x - other,
        lambda other: x * other,
        secret.decrypt,
        lambda other: other.with_keys(keys).rotate(1),
        lambda other: other.with_keys(keys) ** 2,
        lambda other: other.with_keys(keys).conjugate(),
    ]
    for other in others:
        for use in uses:
            refused_as_of_two_keys(partial(use, other))
    refused_as_of_two_keys(lambda: stranger.decrypt((x * x + 1.0).rotate(1)))
    again = ckks.SecretKey.from_bytes(params, secret.to_bytes())
    assert again.decrypt_real(x + 1.0)[:2] == pytest.approx([2.0, 3.0], abs=TOLERANCE)
    read = ckks.EvaluationKeys.from_bytes(params, keys.to_bytes())
    refused_as_of_two_keys(lambda: y.with_keys(read) ** 2)


def test_messages_that_do_not_fit_are_no_numbers(keys: ckks.EvaluationKeys) -> None:
    params = ckks.Params(RING_INSECURE, [40, 30, 30], [40], 2**30, insecure=True)
    secret = ckks.keygen(params)
    evaluation = secret.evaluation_keys([1])
    a, b = (secret.encrypt(np.full(params.slots, v)).with_keys(evaluation) for v in (300.0, -400.0))
    few = secret.encrypt([1e6, 2e6]).with_keys(evaluation)
    low = a.drop_to(0)
    wrong = [
        (few**2).drop_to(0),
        (few * few).drop_to(0),
        (a * b).drop_to(0),
        low + low,
        low - b,
        low * 3,
        low + 300.0,
        (a * 2.5).drop_to(0),
        (a * np.full(params.slots, 2.0)).drop_to(0),
        low.rotate(1) + low,
        (a * a - b).drop_to(0),
    ]
    for x in wrong:
        with pytest.raises(palladion.NoiseError, match=r"takes \d+\.\d bits, and 9\.0 fit"):
            secret.decrypt(x)
    right = [
        (low, 300.0),
        (a + b, -100.0),
        (a * a, 9e4),
        (low + low + b, 200.0),
        (a * 1.5, 450.0),
        (-low, -300.0),
    ]
    for x, expected in right:
        assert secret.decrypt_real(x)[0] == pytest.approx(expected, rel=1e-4)

    # Bytes do not contain a size. So what comes close is doubted, and what fills it is refused.
    def strange(x: ckks.Ciphertext) -> ckks.Ciphertext:
        return ckks.Ciphertext.from_bytes(params, x.to_bytes())

    with pytest.warns(palladion.OverflowWarning, match=r"7\.6 bits, 9\.0 fit"):
        found = secret.decrypt_real(strange(low) - 100.0)
    assert found[0] == pytest.approx(200.0, rel=1e-4)
    with pytest.raises(palladion.NoiseError, match="does not seem to fit"):
        secret.decrypt(strange(low))
    assert secret.decrypt_real(strange(low).bounded(310))[0] == pytest.approx(300.0, rel=1e-4)
    with pytest.raises(palladion.UsageError, match=r"the bound on the message is 513"):
        low.bounded(513)


def test_python_cannot_look_into_a_ciphertext(secret: ckks.SecretKey) -> None:
    x, y = secret.encrypt([1.0]), secret.encrypt([2.0])
    calls: list[Callable[[], object]] = [
        lambda: bool(x),
        lambda: x == y,
        lambda: x != y,
        lambda: x < y,
        lambda: max(x, y),
        lambda: sorted([x, y]),
        lambda: {x: 1},
        lambda: int(x),
        lambda: float(x),
        lambda: x / 2,
        lambda: x @ np.eye(2),
        lambda: x[0],
        lambda: list(x),
        lambda: 1.0 in x,
        lambda: y in [x],
    ]
    for call in calls:
        with pytest.raises(TypeError, match=r"an encrypted value \(Ciphertext\): "):
            call()


def test_moduli_fit_the_words_of_a_machine() -> None:
    params = ckks.Params.in_words(13, [42, 28, 28], 2.0**28, digit_limbs=2)
    bits = [[q.bit_length() for q in level] for level in params.moduli]
    assert bits == [[21, 21], [28], [28]]
    assert [p.bit_length() for p in params.special] == [32, 32]
    with pytest.raises(palladion.UsageError, match="word_bits is 0"):
        ckks.Params.in_words(13, [28], 2.0**28, word_bits=0)
    with pytest.raises(palladion.SecurityError):
        ckks.Params.in_words(12, [28] * 9, 2.0**28)
