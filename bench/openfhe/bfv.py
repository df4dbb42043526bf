"""BFV with about 720 bits."""

import math

import openfhe
from shared import Integers, Operation, context_of

# The depth whose chain is about 720 bits long. OpenFHE takes no length in bits.
DEPTH = 18
LOG_Q = 720

TECHNIQUES = {
    "BV": "one digit per modulus",
    "HYBRID": "special moduli, 6 digits",
}


class Bfv(Integers):
    """The scale-invariant product, with the key switching ``technique``."""

    def __init__(self, technique, definition):
        if definition["log_q"] != LOG_Q:
            raise SystemExit(f"the depth is known for {LOG_Q} bits only")
        spec = openfhe.CCParamsBFVRNS()
        spec.SetPlaintextModulus(definition["t"])
        spec.SetMultiplicativeDepth(DEPTH)
        spec.SetRingDim(1 << definition["log_n"])
        spec.SetSecurityLevel(openfhe.SecurityLevel.HEStd_128_classic)
        spec.SetMultiplicationTechnique(openfhe.MultiplicationTechnique.HPSPOVERQLEVELED)
        spec.SetKeySwitchTechnique(getattr(openfhe.KeySwitchTechnique, technique))
        if technique == "HYBRID":
            spec.SetNumLargeDigits(6)
        super().__init__(context_of(spec), definition["t"], [1])
        self.parameters = {
            "log_n": definition["log_n"],
            "t": self.t,
            "log_q": round(math.log2(self.context.GetModulus())),
            "key_switching": TECHNIQUES[technique],
        }

    def operations(self):
        c, a, b = self.context, self.a, self.b
        return [
            Operation("bfv product, relin.", lambda: c.EvalMult(a, b), self.decrypt),
            Operation("bfv product", lambda: c.EvalMultNoRelin(a, b), self.decrypt),
            Operation("bfv rotation", lambda: c.EvalRotate(a, 1), self.decrypt),
            Operation("bfv plaintext product", lambda: c.EvalMult(a, self.b_plain), self.decrypt),
            Operation("bfv sum", lambda: c.EvalAdd(a, b), self.decrypt),
        ]
