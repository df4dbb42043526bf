"""The demo, really encrypted."""

from __future__ import annotations

import json

from tests.conftest import Command

FIELDS = {
    "label", "predicted", "integer_predicted", "plain_predicted", "images", "seconds", "steps",
    "threads", "security_bits", "log_n", "log_qp", "plaintext_modulus", "noise_margin_bits",
    "ciphertext_bytes", "evaluation_key_bytes", "peak_memory_bytes",
}  # fmt: skip


def test_the_demo_prints_one_documented_object(command: Command) -> None:
    result = command("demo", "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found.keys() >= FIELDS
    assert found["label"] == found["predicted"] == found["integer_predicted"] == 7
    assert found["security_bits"] >= 128
    assert (found["log_n"], found["plaintext_modulus"]) == (15, 65537)
    assert found["log_qp"] <= 868  # the limit for 128 bits at N = 2^15
    assert found["noise_margin_bits"] > 0
    assert found["peak_memory_bytes"] < 6_000_000_000
    assert all(step.keys() >= {"name", "seconds"} for step in found["steps"])
    assert result.stderr == ""
