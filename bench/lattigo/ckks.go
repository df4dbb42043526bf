package main

import (
	"fmt"
	"math"

	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/ckks"
)

// ckksScheme is Lattigo's CKKS with all slots full, with two encrypted inputs.
type ckksScheme struct {
	params         ckks.Parameters
	workers        []ckksWorker
	inputs         [2][]complex128
	a, b           *rlwe.Ciphertext
	aPlain, bPlain *rlwe.Plaintext
	// The product of a and b, to be rescaled.
	product   *rlwe.Ciphertext
	rotations int
}

// ckksWorker is the data of one thread.
type ckksWorker struct {
	encoder   *ckks.Encoder
	encryptor *rlwe.Encryptor
	decryptor *rlwe.Decryptor
	evaluator *ckks.Evaluator
}

func newCkks(d definitions) *ckksScheme {
	q, p := d.Ckks.sizes()
	params, err := ckks.NewParametersFromLiteral(ckks.ParametersLiteral{
		LogN: d.Ckks.LogN, LogQ: q, LogP: p, LogDefaultScale: d.Ckks.ModulusBits,
	})
	must(err)
	keygen := rlwe.NewKeyGenerator(params)
	secret, public := keygen.GenKeyPairNew()
	elements := []uint64{params.GaloisElementForComplexConjugation()}
	for step := 1; step <= d.Ckks.Rotations; step++ {
		elements = append(elements, params.GaloisElement(step))
	}
	keys := rlwe.NewMemEvaluationKeySet(
		keygen.GenRelinearizationKeyNew(secret), keygen.GenGaloisKeysNew(elements, secret)...)
	s := &ckksScheme{params: params, rotations: d.Ckks.Rotations}
	for range threads() {
		s.workers = append(s.workers, ckksWorker{
			encoder:   ckks.NewEncoder(params),
			encryptor: rlwe.NewEncryptor(params, public),
			decryptor: rlwe.NewDecryptor(params, secret),
			evaluator: ckks.NewEvaluator(params, keys),
		})
	}
	for i := range s.inputs {
		s.inputs[i] = complexes(uint64(i+1), params.MaxSlots())
	}
	s.aPlain, s.bPlain = s.newPlaintext(), s.newPlaintext()
	w := s.workers[0]
	must(w.encoder.Encode(s.inputs[0], s.aPlain))
	must(w.encoder.Encode(s.inputs[1], s.bPlain))
	s.a, err = w.encryptor.EncryptNew(s.aPlain)
	must(err)
	s.b, err = w.encryptor.EncryptNew(s.bPlain)
	must(err)
	s.product, err = w.evaluator.MulRelinNew(s.a, s.b)
	must(err)
	return s
}

// complexes returns the input named seed: real parts, then imaginary parts, in [-1, 1).
func complexes(seed uint64, length int) []complex128 {
	const bits = 53
	parts := words(seed, 2*length, 1<<bits)
	part := func(i int) float64 { return math.Ldexp(float64(parts[i]), 1-bits) - 1 }
	out := make([]complex128, length)
	for i := range out {
		out[i] = complex(part(i), part(length+i))
	}
	return out
}

func (s *ckksScheme) newPlaintext() *rlwe.Plaintext {
	return ckks.NewPlaintext(s.params, s.params.MaxLevel())
}

func (s *ckksScheme) newCiphertext() *rlwe.Ciphertext {
	return ckks.NewCiphertext(s.params, 1, s.params.MaxLevel())
}

func (s *ckksScheme) decode(plaintext *rlwe.Plaintext) any {
	slots := make([]complex128, s.params.MaxSlots())
	must(s.workers[0].encoder.Decode(plaintext, slots))
	return pairs(slots)
}

// pairs returns complex numbers in JSON form.
func pairs(slots []complex128) [][2]float64 {
	out := make([][2]float64, len(slots))
	for i, slot := range slots {
		out[i] = [2]float64{real(slot), imag(slot)}
	}
	return out
}

func (s *ckksScheme) parameters() object {
	return object{
		"log_n":         s.params.LogN(),
		"log_q":         math.Round(s.params.LogQ()),
		"log_p":         math.Round(s.params.LogP()),
		"moduli":        s.params.QCount(),
		"log_scale":     s.params.LogDefaultScale(),
		"key_switching": fmt.Sprintf("special moduli, digits of %d moduli", s.params.PCount()),
	}
}

// ciphertexts returns the operation that writes into ciphertexts allocated before.
func (s *ckksScheme) ciphertexts(
	name string, run func(w ckksWorker, out *rlwe.Ciphertext) error,
) operation {
	var outs []*rlwe.Ciphertext
	for range s.workers {
		outs = append(outs, s.newCiphertext())
	}
	return operation{
		name:  name,
		run:   func(thread int) { must(run(s.workers[thread], outs[thread])) },
		slots: func() any { return s.decode(s.workers[0].decryptor.DecryptNew(outs[0])) },
		calls: 1,
	}
}

func (s *ckksScheme) operations() []operation {
	plaintexts := make([]*rlwe.Plaintext, len(s.workers))
	decoded := make([][]complex128, len(s.workers))
	for i := range s.workers {
		plaintexts[i] = s.newPlaintext()
		decoded[i] = make([]complex128, s.params.MaxSlots())
	}
	first := func() any { return pairs(decoded[0]) }
	steps, rotated := hoisted(s.rotations, len(s.workers), s.newCiphertext)
	return []operation{
		{name: "ckks keygen", calls: 1, run: func(int) {
			makeKeys(s.params, s.params.GaloisElement(1))
		}},
		{
			name: "ckks encode", calls: 1,
			run:   func(i int) { must(s.workers[i].encoder.Encode(s.inputs[0], plaintexts[i])) },
			slots: func() any { return s.decode(plaintexts[0]) },
		},
		{
			name: "ckks decode", calls: 1, slots: first,
			run: func(i int) { must(s.workers[i].encoder.Decode(s.aPlain, decoded[i])) },
		},
		s.ciphertexts("ckks encrypt", func(w ckksWorker, out *rlwe.Ciphertext) error {
			return w.encryptor.Encrypt(s.aPlain, out)
		}),
		{
			name: "ckks decrypt, decode", calls: 1, slots: first,
			run: func(i int) {
				s.workers[i].decryptor.Decrypt(s.a, plaintexts[i])
				must(s.workers[i].encoder.Decode(plaintexts[i], decoded[i]))
			},
		},
		s.ciphertexts("ckks sum", func(w ckksWorker, out *rlwe.Ciphertext) error {
			return w.evaluator.Add(s.a, s.b, out)
		}),
		s.ciphertexts("ckks plaintext product", func(w ckksWorker, out *rlwe.Ciphertext) error {
			return w.evaluator.Mul(s.a, s.bPlain, out)
		}),
		s.ciphertexts("ckks product, relin.", func(w ckksWorker, out *rlwe.Ciphertext) error {
			return w.evaluator.MulRelin(s.a, s.b, out)
		}),
		s.ciphertexts("ckks square, relin.", func(w ckksWorker, out *rlwe.Ciphertext) error {
			return w.evaluator.MulRelin(s.a, s.a, out)
		}),
		s.ciphertexts("ckks rescaling", func(w ckksWorker, out *rlwe.Ciphertext) error {
			return w.evaluator.Rescale(s.product, out)
		}),
		s.ciphertexts("ckks rotation", func(w ckksWorker, out *rlwe.Ciphertext) error {
			return w.evaluator.Rotate(s.a, 1, out)
		}),
		{
			name: "ckks hoisted rotation", calls: s.rotations,
			run: func(i int) { must(s.workers[i].evaluator.RotateHoisted(s.a, steps, rotated[i])) },
			slots: func() any {
				return s.decode(s.workers[0].decryptor.DecryptNew(rotated[0][s.rotations]))
			},
		},
		s.ciphertexts("ckks conjugation", func(w ckksWorker, out *rlwe.Ciphertext) error {
			return w.evaluator.Conjugate(s.a, out)
		}),
	}
}
