package main

import (
	"slices"

	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/bgv"
)

// Bits of each modulus, and of the two special moduli: log2(QP) = 842 is 128-bit secure at N =
// 2^15.
const modulusBits, specialBits = 60, 61

type bfv struct{ *integers }

func newBfv(d definitions) bfv {
	s := newIntegers(bgv.ParametersLiteral{
		LogN:             d.Bfv.LogN,
		LogQ:             slices.Repeat([]int{modulusBits}, d.Bfv.LogQ/modulusBits),
		LogP:             []int{specialBits, specialBits},
		PlaintextModulus: d.Bfv.T,
	}, func(p bgv.Parameters) []uint64 {
		return []uint64{p.GaloisElementForColRotation(1), p.GaloisElementForRowRotation()}
	})
	return bfv{s}
}

func (s bfv) operations() []operation {
	return []operation{
		s.ciphertexts("bfv product, relin.", 1, func(w integerWorker, out *rlwe.Ciphertext) error {
			return w.scaleInvariant.MulRelin(s.a, s.b, out)
		}),
		s.ciphertexts("bfv product", 2, func(w integerWorker, out *rlwe.Ciphertext) error {
			return w.scaleInvariant.Mul(s.a, s.b, out)
		}),
		// BGV's product is the residual product. Its rescaling is the modulus switch.
		s.ciphertexts("bfv residual product", 1, func(w integerWorker, out *rlwe.Ciphertext) error {
			if err := w.modular.MulRelin(s.a, s.b, w.product); err != nil {
				return err
			}
			return w.modular.Rescale(w.product, out)
		}),
		s.ciphertexts("bfv rotation", 1, func(w integerWorker, out *rlwe.Ciphertext) error {
			return w.scaleInvariant.RotateColumns(s.a, 1, out)
		}),
		s.ciphertexts("bfv row swap", 1, func(w integerWorker, out *rlwe.Ciphertext) error {
			return w.scaleInvariant.RotateRows(s.a, out)
		}),
		s.ciphertexts("bfv plaintext product", 1, func(w integerWorker, out *rlwe.Ciphertext) error {
			return w.scaleInvariant.Mul(s.a, s.bPlain, out)
		}),
		s.ciphertexts("bfv sum", 1, func(w integerWorker, out *rlwe.Ciphertext) error {
			return w.scaleInvariant.Add(s.a, s.b, out)
		}),
	}
}
