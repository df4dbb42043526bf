package main

import (
	"slices"

	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/bgv"
)

type bgvScheme struct {
	*integers
	rotations int
	// The product of a and b, for the switch to a smaller modulus.
	product *rlwe.Ciphertext
}

func newBgv(d definitions) bgvScheme {
	q, p := d.Bgv.sizes()
	s := newIntegers(bgv.ParametersLiteral{
		LogN: d.Bgv.LogN, LogQ: q, LogP: p, PlaintextModulus: d.Bgv.T,
	}, func(params bgv.Parameters) (elements []uint64) {
		for step := 1; step <= d.Bgv.Rotations; step++ {
			elements = append(elements, params.GaloisElementForColRotation(step))
		}
		return
	})
	product, err := s.workers[0].modular.MulRelinNew(s.a, s.b)
	must(err)
	return bgvScheme{s, d.Bgv.Rotations, product}
}

// sizes returns the bits of the moduli and of the special moduli, of which there are as many as a
// digit has.
func (c chain) sizes() (q, p []int) {
	return slices.Repeat([]int{c.ModulusBits}, c.Moduli),
		slices.Repeat([]int{c.ModulusBits}, c.Moduli/c.Digits)
}

func (s bgvScheme) operations() []operation {
	plaintexts := make([]*rlwe.Plaintext, len(s.workers))
	for i := range plaintexts {
		plaintexts[i] = s.newPlaintext()
	}
	return []operation{
		{name: "bgv keygen", calls: 1, run: func(int) {
			makeKeys(s.params, s.params.GaloisElementForColRotation(1))
		}},
		{
			name: "bgv encode", calls: 1,
			run:   func(i int) { must(s.workers[i].encoder.Encode(s.inputs[0], plaintexts[i])) },
			slots: func() any { return s.decode(plaintexts[0]) },
		},
		s.ciphertexts("bgv encrypt", 1, func(w integerWorker, out *rlwe.Ciphertext) error {
			return w.encryptor.Encrypt(s.aPlain, out)
		}),
		s.ciphertexts("bgv sum", 1, func(w integerWorker, out *rlwe.Ciphertext) error {
			return w.modular.Add(s.a, s.b, out)
		}),
		s.ciphertexts("bgv plaintext product", 1, func(w integerWorker, out *rlwe.Ciphertext) error {
			return w.modular.Mul(s.a, s.bPlain, out)
		}),
		s.ciphertexts("bgv product, relin.", 1, func(w integerWorker, out *rlwe.Ciphertext) error {
			return w.modular.MulRelin(s.a, s.b, out)
		}),
		s.ciphertexts("bgv modulus switch", 1, func(w integerWorker, out *rlwe.Ciphertext) error {
			return w.modular.Rescale(s.product, out)
		}),
		s.ciphertexts("bgv rotation", 1, func(w integerWorker, out *rlwe.Ciphertext) error {
			return w.modular.RotateColumns(s.a, 1, out)
		}),
		s.hoistedRotations("bgv hoisted rotation", s.rotations),
	}
}

// makeKeys generates a secret and a public key, a relinearization key and one Galois key.
func makeKeys(params rlwe.ParameterProvider, element uint64) {
	keygen := rlwe.NewKeyGenerator(params)
	secret, _ := keygen.GenKeyPairNew()
	keygen.GenRelinearizationKeyNew(secret)
	keygen.GenGaloisKeyNew(element, secret)
}
