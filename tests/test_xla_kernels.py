"""Kernels for XLA: every variant against definitions in integers, and against known answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from palladion.errors import UsageError

from tests import rings
from tests.conftest import Command, refused

jax = pytest.importorskip("jax")

from palladion.xla import enable  # noqa: E402
from palladion.xla.kernels import choice, permute, tune  # noqa: E402
from palladion.xla.kernels.bat import Aligned  # noqa: E402
from palladion.xla.kernels.convert import Bases  # noqa: E402
from palladion.xla.kernels.kernel_sets import KERNEL_SETS  # noqa: E402
from palladion.xla.kernels.mat import MatNtt  # noqa: E402
from palladion.xla.kernels.pallas import OfPallas  # noqa: E402
from palladion.xla.kernels.words import HIGH, Division, Residues  # noqa: E402

pytestmark = pytest.mark.long

VECTORS = Path(__file__).parent / "vectors" / "cross_ntt.json"
Rows = Any

SIZES = [28, 29, 30, 31, 32]


@pytest.fixture(scope="module", autouse=True)
def _words_of_64_bits() -> Iterator[None]:
    """Words of 64 bits are a setting of the whole process, and other tests do without them."""
    before = jax.config.jax_enable_x64
    enable()
    yield
    jax.config.update("jax_enable_x64", before)


def variants(*operations: str) -> list[Any]:
    """Every variant of some operations, as parameters of a test. Those for other devices are
    interpreted."""
    return [
        pytest.param(
            replace(kernel, interpret=True) if isinstance(kernel, OfPallas) else kernel,
            id=f"{operation}-{kernel.name}",
        )
        for operation in operations
        for kernel in choice.OPERATIONS[operation]
    ]


def moduli_of(n: int, *sizes: int) -> Rows:
    """The smallest and the largest primes of some sizes, and 65537 where it has a transform."""
    found = [q for bits in sizes for q in rings.primes(n, bits)]
    return np.array(sorted({*found, 65537}), np.uint32)


def rows_of(moduli: Rows, n: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """For each prime rows of random words, zeros, largest words, and one word; and their primes."""
    rows, prime = [], []
    for index, q in enumerate(map(int, moduli)):
        extreme = np.zeros(n), np.full(n, q - 1), np.full(n, rng.integers(q))
        rows += [rng.integers(0, q, n), *extreme, np.arange(n) % 2 * (q - 1)]
        prime += [index] * 5
    return np.array(rows).astype(np.uint32), np.array(prime, np.int32)


@cache
def compiled(kernel: Any) -> Any:
    """A kernel, which is compiled once for operands of one shape."""
    return jax.jit(kernel.apply)


def run(kernel: Any, tables: Any, *operands: Any) -> Rows:
    """The result of a compiled kernel."""
    return np.asarray(compiled(kernel)(tables, *operands))


def skip_in_between(kernel: Any, n: int) -> None:
    """Skip one degree of interpreted kernels, which take seconds. The other degrees have one block
    and several."""
    if isinstance(kernel, OfPallas) and n == 1 << 12:
        pytest.skip("interpreted at other degrees")


@pytest.mark.parametrize("kernel", variants("add", "sub", "mul"))
def test_word_by_word(kernel: Any, rng: np.random.Generator) -> None:
    moduli = moduli_of(16, *SIZES)
    a, prime = rows_of(moduli, 16, rng)
    operation = type(kernel).__name__[:3]
    found = {"Add": int.__add__, "Sub": int.__sub__, "Mul": int.__mul__}[operation]
    q = moduli[prime][:, None]
    for b in (a, np.roll(a, 3, axis=1), rows_of(moduli, 16, rng)[0], (q - a) % q):
        want = [
            [found(int(x), int(y)) % int(moduli[p]) for x, y in zip(left, right, strict=True)]
            for left, right, p in zip(a, b, prime, strict=True)
        ]
        assert np.array_equal(run(kernel, kernel.tables(moduli), prime, a, b), want)


@pytest.mark.parametrize("kernel", variants("scale"))
def test_scale(kernel: Any, rng: np.random.Generator) -> None:
    moduli = moduli_of(16, *SIZES)
    a, prime = rows_of(moduli, 16, rng)
    q = moduli[prime].astype(np.uint64)
    for factor in (rng.integers(0, q), q - np.uint64(1), q // np.uint64(2), 0 * q, 0 * q + 1):
        want = a.astype(object) * factor.astype(object)[:, None] % q.astype(object)[:, None]
        given = factor.astype(np.uint32)
        assert np.array_equal(run(kernel, kernel.tables(moduli), prime, a, given), want)


@pytest.mark.parametrize("terms", [1, 2, 16, 37])
@pytest.mark.parametrize("kernel", variants("dot"))
def test_dot(kernel: Any, terms: int, rng: np.random.Generator) -> None:
    moduli = moduli_of(16, *SIZES)
    some, prime = rows_of(moduli, 16 * terms, rng)
    left = some.reshape(-1, terms, 16)
    right = rows_of(moduli, 16 * terms, rng)[0].reshape(left.shape)
    q = moduli[prime].astype(object)[:, None]
    for other in (left, right):
        want = (left.astype(object) * other.astype(object)).sum(axis=1) % q
        assert np.array_equal(run(kernel, kernel.tables(moduli), prime, left, other), want)


@pytest.mark.parametrize("kernel", variants("ntt"))
def test_ntt_by_its_definition(kernel: Any, rng: np.random.Generator) -> None:
    n, moduli = 16, moduli_of(16, *SIZES)
    a, prime = rows_of(moduli, n, rng)
    roots = [choice.root(int(q), n) for q in moduli]
    some = np.append(moduli, np.uint32(1048583))  # a prime without a transform, and without rows
    found = run(kernel, kernel.tables(some, n), prime, a)
    for row, p, words in zip(a, prime, found, strict=True):
        assert words.tolist() == rings.ntt_by_definition(row, int(moduli[p]), roots[p])


def test_the_fast_reference_is_the_definition(rng: np.random.Generator) -> None:
    n = 32
    for q in rings.primes(n, 20):
        root, a = rings.least_root(q, n), rng.integers(0, q, n, np.uint64)
        assert rings.ntt(a, q, root).tolist() == rings.ntt_by_definition(a, q, root)
        assert choice.root(q, n) == root


@pytest.mark.parametrize("n", [32, 1 << 12, 1 << 15])
@pytest.mark.parametrize("kernel", variants("ntt"))
def test_ntt_of_all_degrees(kernel: Any, n: int, rng: np.random.Generator) -> None:
    skip_in_between(kernel, n)
    moduli = np.array([rings.primes(n, 32)[1], 65537], np.uint32)
    a = np.array([*(rng.integers(0, q, n) for q in moduli), np.full(n, moduli[0] - 1)], np.uint64)
    prime = np.array([0, 1, 0], np.int32)
    found = run(kernel, kernel.tables(moduli, n), prime, a.astype(np.uint32))
    for row, p, words in zip(a, prime, found, strict=True):
        assert np.array_equal(words, rings.ntt(row, int(moduli[p]), choice.root(int(moduli[p]), n)))


@pytest.mark.parametrize("n", [16, 1 << 12, 1 << 15])
@pytest.mark.parametrize("kernel", variants("intt"))
def test_the_inverse_takes_the_transform_back(
    kernel: Any, n: int, rng: np.random.Generator
) -> None:
    skip_in_between(kernel, n)
    moduli = np.array([*rings.primes(n, 28), *rings.primes(n, 32), 65537], np.uint32)
    a, prime = rows_of(moduli, n, rng)
    some = slice(None) if n == 16 else slice(10, 14)
    a, prime = a[some], prime[some]
    values = [
        rings.ntt(row, int(moduli[p]), choice.root(int(moduli[p]), n))
        for row, p in zip(a, prime, strict=True)
    ]
    found = run(kernel, kernel.tables(moduli, n), prime, np.array(values))
    assert np.array_equal(found, a)


@pytest.mark.parametrize("name", ["butterflies-u64", "mat-bat-s8"])
def test_products_of_values_are_products_of_polynomials(
    name: str, rng: np.random.Generator
) -> None:
    n, moduli = 64, np.array(rings.primes(64, 32), np.uint32)
    forward, back, mul = (
        choice.variant("ntt", name), choice.variant("intt", name), choice.OPERATIONS["mul"][0]
    )  # fmt: skip
    a, prime = rows_of(moduli, n, rng)
    b = a[::-1].copy() % moduli[prime][:, None]
    tables = forward.tables(moduli, n)
    left, right = run(forward, tables, prime, a), run(forward, tables, prime, b)
    product = run(mul, mul.tables(moduli), prime, left, right)
    found = run(back, back.tables(moduli, n), prime, product)
    for x, y, p, words in zip(a, b, prime, found, strict=True):
        assert words.tolist() == rings.negacyclic(x, y, int(moduli[p]))
    # Linear: the transform of a sum is the sum of the transforms.
    add = choice.OPERATIONS["add"][0]
    total = run(add, add.tables(moduli), prime, a, b)
    want = run(add, add.tables(moduli), prime, left, right)
    assert np.array_equal(run(forward, tables, prime, total), want)


@pytest.mark.parametrize("kernel", variants("ntt"))
def test_ntt_gives_the_known_answers_of_cross(kernel: Any) -> None:
    vectors = json.loads(VECTORS.read_text())
    moduli = np.array(vectors["moduli"], np.uint32)
    coefficients = np.array(vectors["coefficients"], np.uint32)
    prime = np.arange(len(moduli), dtype=np.int32)
    found = run(kernel, kernel.tables(moduli, coefficients.shape[1]), prime, coefficients)
    assert found.tolist() == vectors["values"]


@pytest.mark.parametrize("kernel", variants("mul", "intt"))
def test_a_decryption_gives_the_known_answer_of_cross(kernel: Any) -> None:
    """``c0 + c1 s`` in the evaluation domain, and its coefficients."""
    vectors = json.loads((VECTORS.parent / "cross_decrypt.json").read_text())
    moduli, secret, c0, c1, plaintext = (
        np.array(vectors[name], np.uint32) for name in ("moduli", "secret", "c0", "c1", "plaintext")
    )
    prime = np.arange(len(moduli), dtype=np.int32)
    kernels = {name: choice.OPERATIONS[name][0] for name in ("mul", "intt")}
    kernels["intt" if "Intt" in type(kernel).__name__ else "mul"] = kernel
    product = run(kernels["mul"], kernels["mul"].tables(moduli), prime, c1, secret)
    add, intt = choice.OPERATIONS["add"][0], kernels["intt"]
    phase = run(add, add.tables(moduli), prime, c0, product)
    found = run(intt, intt.tables(moduli, c0.shape[1]), prime, phase)
    assert np.array_equal(found, plaintext)


@pytest.mark.parametrize("inner", [1, 5, 64, 256])
@pytest.mark.parametrize("kernel", variants("combine", "combine-wide"))
def test_combine(kernel: Any, inner: int, rng: np.random.Generator) -> None:
    n, moduli = 16, moduli_of(16, *SIZES)
    end = 1 << (32 if kernel in choice.OPERATIONS["combine-wide"] else 17)
    prime = np.arange(len(moduli), dtype=np.int32)
    q = moduli.astype(np.int64)[:, None, None]
    matrix_shape, shape = (len(prime), 3, inner), (len(prime), inner, n)
    for matrix, values in (
        (rng.integers(0, end, matrix_shape), rng.integers(0, q, shape)),
        (np.full(matrix_shape, end - 1), q - 1 + np.zeros(shape, np.int64)),
        # The largest centred factors, and odd sums: one bit too many would be lost.
        (rng.integers(end - 99, end, matrix_shape), q // 2 - rng.integers(0, 99, shape)),
    ):
        want = matrix.astype(object) @ values.astype(object) % moduli.astype(object)[:, None, None]
        operands = matrix.astype(np.uint32), values.astype(np.uint32)
        assert np.array_equal(run(kernel, kernel.tables(moduli), prime, *operands), want)


@pytest.mark.parametrize("kernel", variants("combine", "combine-wide"))
def test_combine_in_blocks_of_columns(kernel: Any, rng: np.random.Generator) -> None:
    moduli = np.array([rings.primes(16, 32)[1]], np.uint32)
    matrix = rng.integers(0, 65537, (1, 4, 256)).astype(np.uint32)
    values = rng.integers(0, moduli[0], (1, 256, 1 << 13)).astype(np.uint32)
    low, high = values & 0xFFFF, values >> 16
    q, wide = np.uint64(moduli[0]), matrix.astype(np.uint64)
    want = (wide @ low + (wide @ high % q << np.uint64(16))) % q
    found = run(kernel, kernel.tables(moduli), np.zeros(1, np.int32), matrix, values)
    assert np.array_equal(found, want)


@pytest.mark.parametrize("kernel", variants("convert"))
def test_convert(kernel: Any, rng: np.random.Generator) -> None:
    n = 16
    moduli = np.array([q for bits in SIZES for q in rings.primes(n, bits)] + [65537], np.uint32)
    bases = [
        ([0], [1, 2, 9]), ([9], [0, 10]), ([10], [3]), ([8, 9], [0]),
        ([0, 3, 5, 7, 9], [1, 2, 4, 10]), ([*range(10)], [10]), ([4, 2], [9, 8, 7, 6, 5, 3, 1]),
    ]  # fmt: skip
    most = max(len(source) for source, _ in bases)
    which, values = [], []
    for index, (source, _) in enumerate(bases):
        q = moduli[source].astype(np.uint64)[:, None]
        near = [(int(np.prod(q.astype(object))) + k) // 2 for k in range(-n // 2, n // 2)]
        for rows in (
            rng.integers(0, q, (len(source), n)),
            0 * q + np.zeros(n, np.uint64),
            q - 1 + np.zeros(n, np.uint64),
            [[x % int(p) for x in near] for p in q[:, 0]],  # where quotients change
        ):
            given = np.full((most, n), 0xFFFFFFFF, np.uint64)  # words that are not to be read
            given[: len(source)] = rows
            which.append(index)
            values.append(given)
    given = np.array(values).astype(np.uint32)
    tables = kernel.tables(moduli, n, Bases.of(moduli, bases))
    found = run(kernel, tables, np.array(which, np.int32), given)
    for index, rows, words in zip(which, given, found, strict=True):
        source, target = ([int(moduli[i]) for i in basis] for basis in bases[index])
        want = rings.convert(rows[: len(source)], source, target)
        assert words[: len(target)].tolist() == want, bases[index]


@pytest.mark.parametrize("inner", [64, 256])
@pytest.mark.parametrize("way", choice.RESIDUES, ids=lambda way: way.name)
def test_products_of_matrices_at_the_bounds_of_their_sums(
    way: Any, inner: int, rng: np.random.Generator
) -> None:
    q = rings.primes(16, 32)[1]
    moduli = np.array([q], np.uint32)
    residues, modulus = Residues.of(moduli), moduli[:, None]
    low = 0x7F7F7F7F  # the largest word of four bytes, and above it the smallest

    def product(table: Any, words: Any) -> Any:
        zero = jax.numpy.zeros(1, np.int32)
        centred, own = way.centre(words, modulus), residues.rows(zero)
        return way.product(table, centred, "left", own)

    compiled_product = jax.jit(product)
    for near in (1, q // 2, low, low + 1, q):
        matrix = (near - rng.integers(0, min(near, 3) + 1, (2, inner))) % q
        words = (np.array([near, q, low + 2])[rng.integers(0, 3, (inner, 8))] - 1) % q
        table = way.table(matrix.astype(np.uint64), np.full(2, q, np.uint64))
        want = matrix.astype(object) @ words.astype(object) % q
        assert np.array_equal(compiled_product(table, words.astype(np.uint32)), want)


@pytest.mark.parametrize("bits", ["u64", "u32"])
def test_division(bits: str, rng: np.random.Generator) -> None:
    # The last corrections of quotients: found by a search among 2e6 pairs of words.
    rare = [
        (2147483777, 2147483775, 4294967175), (2147484161, 2147483930, 4294917539),
        (134218241, 134218185, 4294967286), (65537, 65475, 3540769843),
    ]  # fmt: skip
    divide = jax.jit(lambda division, *words: division.divide(*words, HIGH[bits]))
    for q in [*(q for q, _, _ in rare), *(q for size in SIZES for q in rings.primes(16, size))]:
        pairs = [(upper, lower) for modulus, upper, lower in rare if modulus == q]
        pairs += [(q - 1, 0xFFFFFFFF), (0, 0), (0, q), (0, q - 1), (q - 1, 0), (1, 0)]
        pairs += [
            (int(rng.integers(q)), int(rng.integers(1 << 32))) for _ in range(57 - len(pairs))
        ]
        upper, lower = (jax.numpy.array(words, np.uint32) for words in zip(*pairs, strict=True))
        quotient, rest = divide(Division.of([q]), upper, lower)
        numbers = [(a << 32) + b for a, b in pairs]
        assert quotient.tolist() == [number // q for number in numbers]
        assert rest.tolist() == [number % q for number in numbers]


def test_permutations(rng: np.random.Generator) -> None:
    n, (kernel,) = 32, choice.OPERATIONS["permute"]
    moduli = np.array(rings.primes(n, 32), np.uint32)
    a, prime = rows_of(moduli, n, rng)
    elements = [1, 3, 5, 25, 2 * n - 1]
    forward = choice.variant("ntt", "butterflies-u64")
    transforms = forward.tables(moduli, n)
    values = run(forward, transforms, prime, a)
    tables = kernel.tables(moduli)
    by_coefficient = np.stack([permute.coefficients(n, g) for g in elements])
    by_value = np.stack([permute.evaluation(n, g) for g in elements])
    for k, g in enumerate(elements):
        which = np.full(len(a), k, np.int32)
        moved = run(kernel, tables, prime, by_coefficient, which, a[:, None])
        want = [rings.automorphism(x, g, int(moduli[p])) for x, p in zip(a, prime, strict=True)]
        assert np.array_equal(moved, want)
        of_values = run(kernel, tables, prime, by_value, which, values[:, None])
        assert np.array_equal(of_values, run(forward, transforms, prime, moved))
        # And folded into the matrices of a transform.
        folded = MatNtt(Aligned("s8"))
        matrices = folded.tables(moduli, n, elements=[g] * len(moduli))
        assert np.array_equal(run(folded, matrices, prime, a), of_values)


def test_slots_are_the_values_at_powers_of_5(rng: np.random.Generator) -> None:
    n, q = 16, rings.primes(16, 32)[0]
    (kernel,) = choice.OPERATIONS["permute"]
    words, moduli = rng.integers(0, q, (1, 1, n)).astype(np.uint32), np.array([q], np.uint32)
    zero = np.zeros(1, np.int32)
    found = run(kernel, kernel.tables(moduli), zero, permute.slots(n)[None], zero, words)[0]
    exponents = [pow(5, i, 2 * n) for i in range(n // 2)]
    for slot, exponent in enumerate(exponents + [2 * n - e for e in exponents]):
        assert found[rings.reversed_bits(exponent // 2, n)] == words[0, 0, slot]


def test_extraction(rng: np.random.Generator) -> None:
    n, count, q = 16, 3, rings.primes(16, 32)[1]
    (kernel,) = choice.OPERATIONS["extract"]
    values = rng.integers(0, q, (1, count, n)).astype(np.uint32)
    values[0, 1, 3] = 0  # whose negative is 0 too
    places = np.stack([rng.integers(-1, count * n, n), rng.integers(0, 2 * n, n)]).astype(np.int32)
    places[0, :3], places[1, 1:3] = (-1, n + 3, n + 3), (0, n)
    for at_steps, entries_steps, gap in ((0, 0, 0), (3, 0, 1), (7, 5, 13)):
        words = np.array([[0, at_steps, 1, entries_steps, gap]], np.int32)
        zero = np.zeros(1, np.int32)
        given = kernel.tables(np.array([q], np.uint32)), zero, places, words, values
        found = run(kernel, *given)[0]
        at, entries = (
            np.roll(row.reshape(2, -1), -steps, axis=1).reshape(-1)
            for row, steps in zip(places, (at_steps, entries_steps), strict=True)
        )
        for place, exponent, word in zip(at, entries * gap, found, strict=True):
            shifted = [0] * n
            if place >= 0:
                for i, c in enumerate(values[0, place // n]):
                    power = (i + int(exponent)) % (2 * n)
                    shifted[power % n] = int(c) if power < n else -int(c) % q
            assert word == (shifted[place % n] if place >= 0 else 0)


def test_turn(rng: np.random.Generator) -> None:
    n, (kernel,) = 16, choice.OPERATIONS["turn"]
    moduli = np.array(rings.primes(n, 32), np.uint32)
    a, prime = rows_of(moduli, n, rng)
    for exponent in (0, 1, n - 1, n, 2 * n - 1):
        given = np.full(len(a), exponent, np.uint32)
        found = run(kernel, kernel.tables(moduli), prime, a, given)
        monomial = np.eye(n, dtype=np.int64)[exponent % n] * (1 if exponent < n else -1)
        for row, p, words in zip(a, prime, found, strict=True):
            assert words.tolist() == rings.negacyclic(row, monomial, int(moduli[p]))


@pytest.mark.parametrize("kernel", variants("round"))
def test_round(kernel: Any, rng: np.random.Generator) -> None:
    n, moduli = 64, moduli_of(16, *SIZES)
    a, prime = rows_of(moduli, n, rng)
    a[:, :8] = [[0, 1, q // 2, q // 2 + 1, q - 2, q - 1, q // 3, q // 5] for q in moduli[prime]]
    for t in (2, 257, 65536):
        to = np.full(len(a), t, np.uint32)
        want = [
            [rings.rounded(int(c), int(moduli[p]), t) for c in row]
            for row, p in zip(a, prime, strict=True)
        ]
        assert np.array_equal(run(kernel, kernel.tables(moduli), prime, a, to), want)


@pytest.mark.parametrize(
    ("bits", "count"), [(1, 1), (1, 33), (7, 5), (8, 4), (16, 2), (30, 2), (30, 3), (4, 3)]
)
def test_digit(bits: int, count: int, rng: np.random.Generator) -> None:
    n, moduli, (kernel,) = 64, moduli_of(16, *SIZES), choice.OPERATIONS["digit"]
    a, prime = rows_of(moduli, n, rng)
    a[:, :4] = [[q // 2, q // 2 + 1, 1 << 15, q - (1 << 15)] for q in moduli[prime]]
    for index in {0, count // 2, count - 1}:
        given = (np.full(len(a), word, np.uint32) for word in (index, bits, count))
        found = run(kernel, kernel.tables(moduli), prime, a, *given)
        want = [
            [rings.digit(int(c), int(moduli[p]), index, bits, count) for c in row]
            for row, p in zip(a, prime, strict=True)
        ]
        assert np.array_equal(found, want)


@pytest.mark.parametrize(
    ("modulus", "words"),
    [
        (1 << 20, "1048576 is no odd number"),
        (257, "257 is no odd number"),
        (1048577, "1048577 has no root of order 32: it is no prime"),  # 17 x 61681
    ],
)
def test_a_modulus_that_does_not_fit_is_refused(modulus: int, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        choice.variant("ntt", "butterflies-u64").tables(np.array([modulus], np.uint32), 16)


def test_the_fastest_kernels_are_kept_for_their_device(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    device = jax.devices()[0]
    names = {name: kernel.name for name, kernel in choice.choose_kernels(device).items()}
    assert names["ntt"] == "butterflies-u64"
    other = {**names, "ntt": "constant-geometry", "mul": "no such variant"}
    kept = choice.Choice(choice.name_of(device), jax.__version__, 16, other)
    assert kept.save().parent == tmp_path / "palladion"
    found = {name: kernel.name for name, kernel in choice.choose_kernels(device).items()}
    assert found == {**names, "ntt": "constant-geometry"}
    choice.Choice(kept.device, "0.0.0", 16, other).save()
    assert choice.choose_kernels(device)["ntt"].name == "butterflies-u64"
    choice.file(kept.device).write_text("{")
    assert choice.choose_kernels(device)["ntt"].name == "butterflies-u64"


def test_a_set_of_kernels_names_variants_and_ignores_a_kept_choice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for names in KERNEL_SETS.values():
        for operation, name in names.items():
            assert choice.variant(operation, name).name == name
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    device = jax.devices("cpu")[0]
    other = {"ntt": "constant-geometry", "mul": "chunks"}
    choice.Choice(choice.name_of(device), jax.__version__, 16, other).save()
    named = {name: kernel.name for name, kernel in choice.choose_kernels(device, "bat").items()}
    assert {**named, **KERNEL_SETS["bat"]} == named
    assert named["mul"] == choice.choose_kernels(device, "default")["mul"].name == "barrett-u64"
    with pytest.raises(UsageError, match="pallas-triton of ntt is not for a cpu, expected one of"):
        choice.choose_kernels(device, "pallas-gpu")
    with pytest.raises(UsageError, match="no set of kernels 'fast', expected one of default, bat,"):
        choice.choose_kernels(device, "fast")


@pytest.mark.parametrize(("unit", "platform"), [("gpu", "cuda"), ("tpu", "tpu")])
@pytest.mark.parametrize("operation", ["ntt", "intt", "dot"])
def test_pallas_is_compiled_for_its_device_and_refused_elsewhere(
    operation: str, unit: str, platform: str
) -> None:
    """Triton's and Mosaic's programs can be written without the device that runs them."""
    n, name = 1 << 14, {"gpu": "pallas-triton", "tpu": "pallas-mosaic"}[unit]
    kernel = choice.variant(operation, name, unit)
    with pytest.raises(UsageError, match=f"the variant {name} of {operation} is not for a cpu"):
        choice.variant(operation, name, "cpu")
    moduli = np.array([rings.primes(n, 32)[1]], np.uint32)
    prime, a = np.zeros(2, np.int32), np.zeros((2, n), np.uint32)
    operands = (a,) if operation != "dot" else (np.stack([a] * 3, 1),) * 2
    traced = jax.jit(kernel.apply).trace(kernel.tables(moduli, n), prime, *operands)
    text = traced.lower(lowering_platforms=(platform,)).as_text()
    assert {"gpu": "__gpu$xla.gpu.triton", "tpu": "tpu_custom_call"}[unit] in text


def test_tune_measures_and_says_what_it_kept(command: Command) -> None:
    given = "--n", 64, "--rows", 2, "--runs", 1, "--operation", "scale", "--operation", "add"
    result = command("xla", "tune", *given, "--json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    count = len(choice.OPERATIONS["scale"])
    assert [row["operation"] for row in report["measured"]] == ["scale"] * count + ["add"]
    assert sum(row["chosen"] for row in report["measured"]) == 2
    assert report["file"] is None  # some operations alone are no choice
    refused(command("xla", "tune", "--n", 100), "100", "power of two")
    refused(command("xla", "tune", "--operation", "nnt"), "'nnt'", "expected one of ntt, intt")


def test_a_measurement_on_a_cpu_is_a_loop_of_instructions() -> None:
    """As in runs: a call of one small instruction would measure its launch."""

    (kernel,) = choice.OPERATIONS["add"]
    given, values, _ = tune.operands("add", 64, 1)
    stacked = [np.stack([value] * tune.LOOPED) for value in values]
    loop = tune.loop_instructions(kernel.apply)
    text = jax.jit(loop).lower(kernel.tables(*given), *stacked).as_text()
    assert "stablehlo.while" in text
    found = np.asarray(loop(kernel.tables(*given), *stacked))
    once = np.asarray(kernel.apply(kernel.tables(*given), *values))
    assert found.shape == (tune.LOOPED, *once.shape)
    assert all(np.array_equal(one, once) for one in found)
