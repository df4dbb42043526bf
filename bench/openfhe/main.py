"""OpenFHE under the benchmark's protocol: see ../common/src/lib.rs.

Called as ``main.py BV|HYBRID time|values bfv DEFINITIONS``. Runs on CPython 3.10, for which the
wheel on PyPI is built. The chain is OpenFHE's own choice for a depth: 18 gives about 720 bits.
"""

import json
import math
import sys
import time
from pathlib import Path
from statistics import median

import openfhe

sys.path.append(str(Path(__file__).resolve().parent.parent))
from harness.inputs import words

# The depth whose chain is about 720 bits long; OpenFHE takes no length in bits.
DEPTH = 18
LOG_Q = 720

TECHNIQUES = {
    "BV": "one digit per modulus",
    "HYBRID": "special moduli, 6 digits",
}


def measure(name, parameters, samples, operation):
    """Times calls one by one, after one call to warm up."""
    operation()
    seconds = []
    for _ in range(samples):
        start = time.perf_counter()
        operation()
        seconds.append(time.perf_counter() - start)
    return {
        "name": name,
        "parameters": parameters,
        "threads": 1,
        "seconds": median(seconds),
        "samples": samples,
        "min": min(seconds),
    }


class Bfv:
    """A context with its keys and two encrypted inputs."""

    def __init__(self, technique, definition):
        if definition["log_q"] != LOG_Q:
            raise SystemExit(f"the depth is known for {LOG_Q} bits only")
        self.t = definition["t"]
        self.n = 1 << definition["log_n"]
        spec = openfhe.CCParamsBFVRNS()
        spec.SetPlaintextModulus(self.t)
        spec.SetMultiplicativeDepth(DEPTH)
        spec.SetRingDim(self.n)
        spec.SetSecurityLevel(openfhe.SecurityLevel.HEStd_128_classic)
        spec.SetMultiplicationTechnique(openfhe.MultiplicationTechnique.HPSPOVERQLEVELED)
        spec.SetKeySwitchTechnique(getattr(openfhe.KeySwitchTechnique, technique))
        if technique == "HYBRID":
            spec.SetNumLargeDigits(6)
        self.context = openfhe.GenCryptoContext(spec)
        for feature in ("PKE", "KEYSWITCH", "LEVELEDSHE"):
            self.context.Enable(getattr(openfhe.PKESchemeFeature, feature))
        self.keys = self.context.KeyGen()
        self.context.EvalMultKeyGen(self.keys.secretKey)
        self.context.EvalRotateKeyGen(self.keys.secretKey, [1])
        self.parameters = {
            "log_n": definition["log_n"],
            "t": self.t,
            "log_q": round(math.log2(self.context.GetModulus())),
            "key_switching": TECHNIQUES[technique],
        }
        self.a = self.encrypt(self.encode(words(1, self.n, self.t)))
        self.b_plain = self.encode(words(2, self.n, self.t))
        self.b = self.encrypt(self.b_plain)

    def encode(self, slots):
        """OpenFHE wants representatives around zero."""
        half = self.t // 2
        return self.context.MakePackedPlaintext([s - self.t if s > half else s for s in slots])

    def encrypt(self, plaintext):
        return self.context.Encrypt(self.keys.publicKey, plaintext)

    def decrypt(self, ciphertext):
        plaintext = self.context.Decrypt(self.keys.secretKey, ciphertext)
        plaintext.SetLength(self.n)
        return [slot % self.t for slot in plaintext.GetPackedValue()]

    def operations(self):
        """Name and call of each operation."""
        c, a, b = self.context, self.a, self.b
        return [
            ("bfv product, relin.", lambda: c.EvalMult(a, b)),
            ("bfv product", lambda: c.EvalMultNoRelin(a, b)),
            ("bfv rotation", lambda: c.EvalRotate(a, 1)),
            ("bfv plaintext product", lambda: c.EvalMult(a, self.b_plain)),
            ("bfv sum", lambda: c.EvalAdd(a, b)),
        ]


def main():
    technique, verb, group, path = sys.argv[1:]
    if group != "bfv":
        raise SystemExit(f"no group {group}")
    definition = json.loads(Path(path).read_text(encoding="utf-8"))["bfv"]
    bfv = Bfv(technique, definition)
    for name, operation in bfv.operations():
        if verb == "time":
            line = measure(name, bfv.parameters, definition["samples"], operation)
        else:
            slots = bfv.decrypt(operation())
            line = {"name": name, "parameters": bfv.parameters, "slots": slots}
        print(json.dumps(line))


main()
