"""CKKS functional bootstrapping: an arbitrary table on the coefficients of an RLWE ciphertext."""

import time

import openfhe
from shared import Operation, context_of, measure, stage, words

# As in OpenFHE's own example for 8 bits: moduli of the RLWE ciphertext before and after the switch
# to that of the scale; the factor of the interpolation's coefficients; the order of the
# interpolation.
FRESH_MODULUS = 1 << 60
MODULUS_BITS = 47
COEFFICIENT_SCALE = 32
ORDER = 1
LEVEL_BUDGET = [3, 3]
DIGITS = 3


def lookup(definition):
    """One row: a random table of ``bits`` bits on as many values as there are coefficients."""
    n, space, modulus = 1 << definition["log_n"], 1 << definition["bits"], 1 << MODULUS_BITS
    slots = n // 2
    table = words(2, space, space)
    coefficients = openfhe.GetHermiteTrigCoefficients(
        lambda x: table[x % space], space, ORDER, COEFFICIENT_SCALE
    )
    secret = openfhe.SecretKeyDist.SPARSE_ENCAPSULATED
    depth = openfhe.CryptoContext.GetFBTDepth(LEVEL_BUDGET, coefficients, space, ORDER, secret)
    spec = openfhe.CCParamsCKKSRNS()
    spec.SetSecretKeyDist(secret)
    spec.SetSecurityLevel(openfhe.SecurityLevel.HEStd_128_classic)
    spec.SetRingDim(n)
    spec.SetBatchSize(slots)
    spec.SetScalingTechnique(openfhe.ScalingTechnique.FIXEDMANUAL)
    spec.SetScalingModSize(MODULUS_BITS)
    spec.SetFirstModSize(MODULUS_BITS)
    spec.SetNumLargeDigits(DIGITS)
    spec.SetMultiplicativeDepth(depth)
    context = context_of(spec, "ADVANCEDSHE", "FHE")

    stage("making keys and matrices")
    start = time.perf_counter()
    keys = context.KeyGen()
    context.EvalFBTSetup(
        coefficients, slots, space, space, modulus, keys.publicKey,
        [0, 0], LEVEL_BUDGET, 0, 0, ORDER,
    )  # fmt: skip
    context.EvalBootstrapKeyGen(keys.secretKey, slots)
    context.EvalMultKeyGen(keys.secretKey)
    keygen_seconds = time.perf_counter() - start

    schemelet = openfhe.SchemeletRLWEMP
    values = words(1, n, space)
    element = schemelet.GetElementParams(keys.secretKey, depth)
    fresh = schemelet.EncryptCoeff(values, FRESH_MODULUS, space, keys.secretKey, element)
    schemelet.ModSwitch(fresh, modulus, FRESH_MODULUS)
    result = None

    def run():
        nonlocal result
        lifted = schemelet.ConvertRLWEToCKKS(context, fresh, keys.publicKey, modulus, slots, depth)
        evaluated = context.EvalFBT(
            lifted, coefficients, definition["bits"], element.GetModulus(), COEFFICIENT_SCALE,
            0, ORDER,
        )  # fmt: skip
        result = schemelet.ConvertCKKSToRLWE(evaluated, modulus)

    stage("looking up")
    parameters = {
        "log_n": definition["log_n"],
        "log_q": (depth + 1) * MODULUS_BITS,
        "moduli": depth + 1,
        "bits": definition["bits"],
        "secret": "sparse, encapsulated",
        "key_switching": f"special moduli, {DIGITS} digits",
    }
    row = measure(Operation("lookup", run), parameters, definition["samples"])
    found = schemelet.DecryptCoeff(result, modulus, space, keys.secretKey, element, slots, n)
    wrong = sum((f - table[v]) % space != 0 for f, v in zip(found, values))
    row["found"] = {"values": n, "wrong": wrong, "keygen_seconds": keygen_seconds}
    return row
