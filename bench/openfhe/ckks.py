"""CKKS with manual rescaling and hybrid key switching."""

import math

import openfhe
from shared import Operation, complexes, context_of, hoisted_rotations, make_keys

# The first modulus is longer than the scale by this number of bits, for values above 1.
FIRST_MARGIN = 2
SPECIAL_BITS = 60


def values_of(plaintext, length):
    """The slots of a decrypted plaintext."""
    plaintext.SetLength(length)
    return plaintext.GetCKKSPackedValue()


class Ckks:
    """A context with its keys and two encrypted inputs that fill all slots."""

    def __init__(self, _technique, definition):
        self.definition = definition
        moduli, digits = definition["moduli"], definition["digits"]
        scale, first = definition["modulus_bits"], definition["modulus_bits"] + FIRST_MARGIN
        self.slots = 1 << (definition["log_n"] - 1)
        spec = openfhe.CCParamsCKKSRNS()
        spec.SetCKKSDataType(openfhe.CKKSDataType.COMPLEX)
        spec.SetMultiplicativeDepth(moduli - 1)
        spec.SetScalingTechnique(openfhe.ScalingTechnique.FIXEDMANUAL)
        spec.SetScalingModSize(scale)
        spec.SetFirstModSize(first)
        spec.SetRingDim(1 << definition["log_n"])
        spec.SetBatchSize(self.slots)
        spec.SetSecurityLevel(openfhe.SecurityLevel.HEStd_128_classic)
        spec.SetKeySwitchTechnique(openfhe.KeySwitchTechnique.HYBRID)
        spec.SetNumLargeDigits(digits)
        self.context = context_of(spec)
        special = math.ceil((first + (moduli // digits - 1) * scale) / SPECIAL_BITS)
        self.parameters = {
            "log_n": definition["log_n"],
            "log_q": first + (moduli - 1) * scale,
            "log_p": special * SPECIAL_BITS,
            "moduli": moduli,
            "log_scale": scale,
            "key_switching": f"special moduli, digits of {moduli // digits} moduli",
        }
        self.rotations = definition["rotations"]
        self.keys = make_keys(self.context, list(range(1, self.rotations + 1)))
        self.conjugation = 2 * self.context.GetRingDimension() - 1
        self.conjugation_key = self.context.EvalAutomorphismKeyGen(
            self.keys.secretKey, [self.conjugation]
        )
        self.a_slots = complexes(1, self.slots)
        self.a_plain = self.encode(self.a_slots)
        self.b_plain = self.encode(complexes(2, self.slots))
        self.a, self.b = self.encrypt(self.a_plain), self.encrypt(self.b_plain)
        self.product = self.context.EvalMult(self.a, self.b)

    def encode(self, slots):
        return self.context.MakeCKKSPackedPlaintext(slots)

    def encrypt(self, plaintext):
        return self.context.Encrypt(self.keys.publicKey, plaintext)

    def decrypted(self, ciphertext):
        """The slots. OpenFHE decodes with every decryption."""
        plaintext = self.context.Decrypt(self.keys.secretKey, ciphertext)
        return values_of(plaintext, self.slots)

    def pairs(self, ciphertext):
        """The slots in JSON form."""
        return _pairs(self.decrypted(ciphertext))

    def operations(self):
        c, a, b = self.context, self.a, self.b
        return [
            Operation("ckks keygen", lambda: make_keys(c, [1])),
            # A plaintext keeps the slots it is given. "encrypt" shows whether they were encoded.
            Operation("ckks encode", lambda: self.encode(self.a_slots)),
            Operation("ckks encrypt", lambda: self.encrypt(self.a_plain), self.pairs),
            Operation("ckks decrypt, decode", lambda: self.decrypted(a), _pairs),
            Operation("ckks sum", lambda: c.EvalAdd(a, b), self.pairs),
            Operation("ckks plaintext product", lambda: c.EvalMult(a, self.b_plain), self.pairs),
            Operation("ckks product, relin.", lambda: c.EvalMult(a, b), self.pairs),
            Operation("ckks square, relin.", lambda: c.EvalSquare(a), self.pairs),
            Operation("ckks rescaling", lambda: c.Rescale(self.product), self.pairs),
            Operation("ckks rotation", lambda: c.EvalRotate(a, 1), self.pairs),
            Operation(
                "ckks hoisted rotation",
                lambda: hoisted_rotations(c, a, self.rotations),
                self.pairs,
                self.rotations,
            ),
            Operation(
                "ckks conjugation",
                lambda: c.EvalAutomorphism(a, self.conjugation, self.conjugation_key),
                self.pairs,
            ),
        ]


def _pairs(slots):
    return [[slot.real, slot.imag] for slot in slots]
