"""CKKS bootstrapping with all slots full."""

import math
import time

import openfhe
from ckks import values_of
from shared import Operation, complexes, context_of, measure, stage

# As in OpenFHE's own example with all slots: levels for the two transforms, sizes of the moduli.
LEVEL_BUDGET = [3, 3]
SCALE_BITS, FIRST_BITS = 59, 60
DIGITS = 3
# As many levels as N = 2^16 allows at 128 bits with three digits: log2(QP) = 1660, of at most 1747.
LEVELS_AFTER = 4


def bootstrap(definition):
    """One row: a ciphertext of the last level is bootstrapped to ``LEVELS_AFTER`` levels."""
    slots = 1 << (definition["log_n"] - 1)
    secret = openfhe.SecretKeyDist.SPARSE_ENCAPSULATED
    depth = LEVELS_AFTER + openfhe.CryptoContext.GetBootstrapDepth(LEVEL_BUDGET, secret)
    spec = openfhe.CCParamsCKKSRNS()
    spec.SetCKKSDataType(openfhe.CKKSDataType.COMPLEX)
    spec.SetSecretKeyDist(secret)
    spec.SetSecurityLevel(openfhe.SecurityLevel.HEStd_128_classic)
    spec.SetRingDim(1 << definition["log_n"])
    spec.SetScalingTechnique(openfhe.ScalingTechnique.FLEXIBLEAUTO)
    spec.SetScalingModSize(SCALE_BITS)
    spec.SetFirstModSize(FIRST_BITS)
    spec.SetKeySwitchTechnique(openfhe.KeySwitchTechnique.HYBRID)
    spec.SetNumLargeDigits(DIGITS)
    spec.SetMultiplicativeDepth(depth)
    context = context_of(spec, "ADVANCEDSHE", "FHE")

    stage("preparing matrices")
    context.EvalBootstrapSetup(LEVEL_BUDGET, [0, 0], slots)
    stage("making keys")
    start = time.perf_counter()
    keys = context.KeyGen()
    context.EvalMultKeyGen(keys.secretKey)
    context.EvalBootstrapKeyGen(keys.secretKey, slots)
    keygen_seconds = time.perf_counter() - start

    values = complexes(1, slots)
    plaintext = context.MakeCKKSPackedPlaintext(values, 1, depth - 1, None, slots)
    ciphertext = context.Encrypt(keys.publicKey, plaintext)
    refreshed = None

    def run():
        nonlocal refreshed
        refreshed = context.EvalBootstrap(ciphertext)

    stage("bootstrapping")
    parameters = {
        "log_n": definition["log_n"],
        "log_q": FIRST_BITS + depth * SCALE_BITS,
        "moduli": depth + 1,
        "slots": slots,
        "log_scale": SCALE_BITS,
        "secret": "sparse, encapsulated",
        "key_switching": f"special moduli, {DIGITS} digits",
    }
    row = measure(Operation("bootstrap", run), parameters, definition["samples"])
    found = values_of(context.Decrypt(keys.secretKey, refreshed), slots)
    errors = [abs(f - v) for f, v in zip(found, values)]
    row["found"] = {
        "precision_bits": {
            "worst": -math.log2(max(errors)),
            "mean": -math.log2(sum(errors) / slots),
        },
        # A scale of higher degree still needs a rescale.
        "levels": depth - refreshed.GetLevel() - (refreshed.GetNoiseScaleDeg() - 1),
        "keygen_seconds": keygen_seconds,
    }
    return row
