"""BGV with manual modulus switching and hybrid key switching."""

import math

import openfhe
from shared import Integers, Operation, context_of, hoisted_rotations, make_keys

# Special moduli have 60 bits here, three of them for digits of three moduli: with moduli of 48 bits
# log2(QP) would be 900, above the 881 that N = 2^15 allows at 128 bits.
MODULUS_BITS = 46
SPECIAL_BITS = 60


class Bgv(Integers):
    """As many moduli and digits as defined."""

    def __init__(self, _technique, definition):
        moduli, digits = definition["moduli"], definition["digits"]
        rotations = list(range(1, definition["rotations"] + 1))
        spec = openfhe.CCParamsBGVRNS()
        spec.SetPlaintextModulus(definition["t"])
        spec.SetMultiplicativeDepth(moduli - 1)
        spec.SetScalingTechnique(openfhe.ScalingTechnique.FIXEDMANUAL)
        spec.SetScalingModSize(MODULUS_BITS)
        spec.SetFirstModSize(MODULUS_BITS)
        spec.SetRingDim(1 << definition["log_n"])
        spec.SetSecurityLevel(openfhe.SecurityLevel.HEStd_128_classic)
        spec.SetKeySwitchTechnique(openfhe.KeySwitchTechnique.HYBRID)
        spec.SetNumLargeDigits(digits)
        super().__init__(context_of(spec), definition["t"], rotations)
        self.rotations = len(rotations)
        special = math.ceil(moduli // digits * MODULUS_BITS / SPECIAL_BITS)
        self.parameters = {
            "log_n": definition["log_n"],
            "t": self.t,
            "log_q": round(math.log2(self.context.GetModulus())),
            "log_p": special * SPECIAL_BITS,
            "moduli": moduli,
            "key_switching": f"special moduli, digits of {moduli // digits} moduli",
        }
        self.product = self.context.EvalMult(self.a, self.b)

    def operations(self):
        c, a, b = self.context, self.a, self.b
        return [
            Operation("bgv keygen", lambda: make_keys(c, [1])),
            # A plaintext keeps the slots it is given: "encrypt" tells whether they were encoded.
            Operation("bgv encode", lambda: self.encode(self.a_slots)),
            Operation("bgv encrypt", lambda: self.encrypt(self.a_plain), self.decrypt),
            Operation("bgv sum", lambda: c.EvalAdd(a, b), self.decrypt),
            Operation("bgv plaintext product", lambda: c.EvalMult(a, self.b_plain), self.decrypt),
            Operation("bgv product, relin.", lambda: c.EvalMult(a, b), self.decrypt),
            Operation("bgv modulus switch", lambda: c.ModReduce(self.product), self.decrypt),
            Operation("bgv rotation", lambda: c.EvalRotate(a, 1), self.decrypt),
            Operation(
                "bgv hoisted rotation",
                lambda: hoisted_rotations(c, a, self.rotations),
                self.decrypt,
                self.rotations,
            ),
        ]
