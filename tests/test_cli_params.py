"""``palladion params``, and the sets by name."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from click.testing import CliRunner
from palladion import bfv, ckks, tfhe
from palladion.cli.params import params
from palladion.schemes.sets import named, named_sets


def output(*arguments: str) -> str:
    result = CliRunner().invoke(params, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_all_sets_are_listed_with_their_security() -> None:
    sets = {entry["name"]: entry for entry in json.loads(output("--json"))["sets"]}
    ours = [entry for entry in sets.values() if entry["source"] == "ours"]
    assert {entry["log_n"] for entry in ours if entry["scheme"] == "ckks"} == set(range(12, 18))
    assert {entry["log_n"] for entry in ours if entry["scheme"] != "ckks"} == set(range(12, 18))
    assert all(entry["secure"] for entry in ours)
    # CROSS calls all six 128-bit; by the table with ternary secrets these three are not.
    published = {name: sets[f"cross-{name}"]["secure"] for name in range(1, 7)}
    assert published == {1: True, 2: True, 3: True, 4: False, 5: False, 6: False}
    # log2(Q) = 512 at N = 2^14, where the table ends at 430.
    assert sets["f1"]["secure"] is False
    table = output().splitlines()
    assert table.index("") == len(sets) + 1
    assert "INSECURE, below 128" in next(line for line in table if line.startswith("f1 "))


def test_known_figures() -> None:
    # CROSS, table 5: 60.84 MB for the ciphertext of set 1; the 11.15 of set 6 are one component.
    first, found = (json.loads(output(name, "--json")) for name in ("cross-1", "cross-6"))
    assert first["ciphertext_bytes"] / 2**20 == pytest.approx(60.84, abs=0.01)
    assert found["ciphertext_bytes"] / 2 / 2**20 == pytest.approx(11.15, abs=0.01)
    assert (found["slots"], found["levels"], found["limit_128"]) == (2**15, 50, 1747)
    one = output("ckks-14")
    assert "50 40 40 40 40 40 40 40" in one
    # log2(QP) = 430 at N = 2^14 has 128.3 bits by MATZOV; less QP has no fewer.
    assert "128.3 bits (MATZOV)" in one
    assert "lattice estimator 27a581b, n = 16384, log2(q) = 430" in one
    assert (found["secure"], found["security"]["bits"]) == (False, None)


@pytest.mark.parametrize("name", ["ckks-12", "ckks-13", "ckks-14"])
def test_figures_are_those_of_the_core(name: str) -> None:
    found, made = named(name), ckks.Params.named(name)
    secret = ckks.keygen(made)
    check(found.name, made.native.describe())
    fresh = secret.encrypt([1])
    assert_close(len(fresh.to_bytes()), found.fresh_bytes)
    assert_close(len((fresh + 1).to_bytes()), found.ciphertext_bytes)
    assert_close(len(secret.evaluation_keys().to_bytes()), found.key_bytes)
    assert secret.decrypt_real(fresh)[0] == pytest.approx(1, abs=2**-12)


@pytest.mark.parametrize("name", ["exact-12", "exact-14"])
def test_figures_of_exact_sets_are_those_of_the_core(name: str) -> None:
    check(name, bfv.Params.named(name).native.describe())


def check(name: str, core: dict[str, object]) -> None:
    found = named(name)
    assert core["digits"] == found.digits
    assert core["slots"] == found.slots
    assert found.security is not None
    assert core["security"] == asdict(found.security)
    assert core["security_bits"] == found.security.bits
    # Primes are below the power of two of their size, by far less than a bit.
    assert core["log_qp"] == pytest.approx(found.log_qp, abs=0.1)


def assert_close(found: int, expected: int | None) -> None:
    """Up to headers, checksums and counts."""
    assert expected is not None
    assert expected <= found < expected + 300


def test_sets_of_tfhe_say_how_often_they_fail() -> None:
    sets = {entry["name"]: entry for entry in json.loads(output("--json"))["tfhe"]}
    assert list(sets) == tfhe.Params.names()
    for name, entry in sets.items():
        assert entry["secure"] != name.endswith("insecure")
        assert not entry["secure"] or entry["security_bits"] >= 132
        assert entry["security"]["text"].startswith("INSECURE: ") == name.endswith("insecure")
        assert entry["log2_failure"] < (-40 if entry["secure"] else 0)
        one = output(name)
        assert "estimator" in one
        assert f"2^{entry['log2_failure']:.1f}" in one
        assert "average over keys" in one
    # By the lattice estimator; the fits alone said 113 and 117.
    for number, bits in ((1, "110.1"), (2, "115.0")):
        name = f"tfhe-paper-{number}-insecure"
        assert f"INSECURE: {bits} bits (MATZOV)" in output(name)
        line = next(line for line in output().splitlines() if line.startswith(name))
        assert f"INSECURE, {bits} bits" in line


def test_sets_of_bootstrapping_state_their_sparse_secret() -> None:
    for name, bits in (("ckks-bootstrap", 172), ("ckks-bootstrap-precise", 165)):
        found = json.loads(output(name, "--json"))
        assert found["sparse_security"]["bits"] == bits
        assert found["security"]["bits"] == 128.2
        assert f"{bits}.0 bits (MATZOV)" in output(name)
    assert json.loads(output("ckks-14", "--json"))["sparse_security"] is None


def test_unknown_names_are_refused() -> None:
    result = CliRunner().invoke(params, ["nothing"])
    assert "expected one of ckks-12" in str(result.exception)
    assert next(iter(named_sets())) == "ckks-12"
