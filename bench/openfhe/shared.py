"""The parts that the schemes share: operations, their timing, contexts, the batched integers."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Optional

import openfhe

sys.path.append(str(Path(__file__).resolve().parent.parent))
from harness.inputs import complexes, words


@dataclass(frozen=True)
class Operation:
    """One row."""

    name: str
    run: Callable[[], Any]
    # Slots of the result of ``run``, or None if there are none.
    slots: Optional[Callable[[Any], list]] = None
    # Number of operations in one call of ``run``.
    calls: int = 1


def measure(operation, parameters, samples):
    """Times calls one by one, after one call to warm up."""
    operation.run()
    seconds = []
    for _ in range(samples):
        start = time.perf_counter()
        operation.run()
        seconds.append((time.perf_counter() - start) / operation.calls)
    return {
        "name": operation.name,
        "parameters": parameters,
        "seconds": median(seconds),
        "samples": samples,
        "min": min(seconds),
    }


def stage(name):
    """Reports a long stage to the harness."""
    print("stage:", name, file=sys.stderr, flush=True)


def context_of(spec, *more_features):
    """A context with the features that every scheme needs."""
    context = openfhe.GenCryptoContext(spec)
    for feature in ("PKE", "KEYSWITCH", "LEVELEDSHE", *more_features):
        context.Enable(getattr(openfhe.PKESchemeFeature, feature))
    return context


def make_keys(context, rotations):
    """A secret and a public key. Relinearization and Galois keys stay in the context."""
    keys = context.KeyGen()
    context.EvalMultKeyGen(keys.secretKey)
    context.EvalRotateKeyGen(keys.secretKey, rotations)
    return keys


def hoisted_rotations(context, ciphertext, count):
    """The last of the rotations by 1, 2, ..., count, which share one decomposition."""
    digits = context.EvalFastRotationPrecompute(ciphertext)
    order = context.GetCyclotomicOrder()
    for step in range(1, count + 1):
        rotated = context.EvalFastRotation(ciphertext, step, order, digits)
    return rotated


class Integers:
    """Slots modulo ``t`` in a context of BFV or BGV, with two encrypted inputs."""

    def __init__(self, context, t, rotations):
        self.context, self.t = context, t
        self.n = context.GetRingDimension()
        self.keys = make_keys(context, rotations)
        self.a_slots = self.centred(words(1, self.n, t))
        self.a_plain = self.encode(self.a_slots)
        self.b_plain = self.encode(self.centred(words(2, self.n, t)))
        self.a = self.encrypt(self.a_plain)
        self.b = self.encrypt(self.b_plain)

    def centred(self, slots):
        """Centred representatives, which OpenFHE needs."""
        half = self.t // 2
        return [s - self.t if s > half else s for s in slots]

    def encode(self, slots):
        return self.context.MakePackedPlaintext(slots)

    def encrypt(self, plaintext):
        return self.context.Encrypt(self.keys.publicKey, plaintext)

    def decrypt(self, ciphertext):
        plaintext = self.context.Decrypt(self.keys.secretKey, ciphertext)
        plaintext.SetLength(self.n)
        return [slot % self.t for slot in plaintext.GetPackedValue()]
