package main

import (
	"math"
	"slices"

	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/bgv"
)

// Bits of each modulus, and of the two special moduli: log2(QP) = 842 at N = 2^15 is 128-bit.
const modulusBits, specialBits = 60, 61

// bfv is Lattigo's BFV, which is its BGV with another product, with two encrypted inputs.
type bfv struct {
	params    bgv.Parameters
	encoder   *bgv.Encoder
	encryptor *rlwe.Encryptor
	decryptor *rlwe.Decryptor
	evaluator *bgv.Evaluator // with the scale-invariant product
	modular   *bgv.Evaluator // with BGV's
	a, b      *rlwe.Ciphertext
	bPlain    *rlwe.Plaintext
}

func newBfv(d definitions) *bfv {
	params, err := bgv.NewParametersFromLiteral(bgv.ParametersLiteral{
		LogN:             d.Bfv.LogN,
		LogQ:             slices.Repeat([]int{modulusBits}, d.Bfv.LogQ/modulusBits),
		LogP:             []int{specialBits, specialBits},
		PlaintextModulus: d.Bfv.T,
	})
	must(err)
	keygen := rlwe.NewKeyGenerator(params)
	secret := keygen.GenSecretKeyNew()
	keys := rlwe.NewMemEvaluationKeySet(
		keygen.GenRelinearizationKeyNew(secret),
		keygen.GenGaloisKeysNew([]uint64{
			params.GaloisElementForColRotation(1),
			params.GaloisElementForRowRotation(),
		}, secret)...)
	s := &bfv{
		params:    params,
		encoder:   bgv.NewEncoder(params),
		encryptor: rlwe.NewEncryptor(params, secret),
		decryptor: rlwe.NewDecryptor(params, secret),
		evaluator: bgv.NewEvaluator(params, keys, true),
		modular:   bgv.NewEvaluator(params, keys, false),
	}
	n := 1 << d.Bfv.LogN
	s.a = s.encrypt(s.encode(words(1, n, d.Bfv.T)))
	s.bPlain = s.encode(words(2, n, d.Bfv.T))
	s.b = s.encrypt(s.bPlain)
	return s
}

func (s *bfv) encode(slots []uint64) *rlwe.Plaintext {
	plaintext := bgv.NewPlaintext(s.params, s.params.MaxLevel())
	must(s.encoder.Encode(slots, plaintext))
	return plaintext
}

func (s *bfv) encrypt(plaintext *rlwe.Plaintext) *rlwe.Ciphertext {
	ciphertext, err := s.encryptor.EncryptNew(plaintext)
	must(err)
	return ciphertext
}

func (s *bfv) decrypt(ciphertext *rlwe.Ciphertext) []uint64 {
	slots := make([]uint64, s.params.MaxSlots())
	must(s.encoder.Decode(s.decryptor.DecryptNew(ciphertext), slots))
	return slots
}

func (s *bfv) parameters() object {
	return object{
		"log_n":         s.params.LogN(),
		"t":             s.params.PlaintextModulus(),
		"log_q":         math.Round(s.params.LogQ()),
		"log_p":         math.Round(s.params.LogP()),
		"key_switching": "special moduli, digits of 2 moduli",
	}
}

// operation writes into a ciphertext made beforehand.
type operation struct {
	name string
	out  *rlwe.Ciphertext
	run  func()
}

func (s *bfv) operations() (all []operation) {
	add := func(name string, degree int, run func(out *rlwe.Ciphertext) error) {
		out := bgv.NewCiphertext(s.params, degree, s.params.MaxLevel())
		all = append(all, operation{name, out, func() { must(run(out)) }})
	}
	add("bfv product, relin.", 1, func(out *rlwe.Ciphertext) error {
		return s.evaluator.MulRelin(s.a, s.b, out)
	})
	add("bfv product", 2, func(out *rlwe.Ciphertext) error {
		return s.evaluator.Mul(s.a, s.b, out)
	})
	// BGV's product is the residual product; its rescaling is the modulus switch.
	product := bgv.NewCiphertext(s.params, 1, s.params.MaxLevel())
	add("bfv residual product", 1, func(out *rlwe.Ciphertext) error {
		if err := s.modular.MulRelin(s.a, s.b, product); err != nil {
			return err
		}
		return s.modular.Rescale(product, out)
	})
	add("bfv rotation", 1, func(out *rlwe.Ciphertext) error {
		return s.evaluator.RotateColumns(s.a, 1, out)
	})
	add("bfv row swap", 1, func(out *rlwe.Ciphertext) error {
		return s.evaluator.RotateRows(s.a, out)
	})
	add("bfv plaintext product", 1, func(out *rlwe.Ciphertext) error {
		return s.evaluator.Mul(s.a, s.bPlain, out)
	})
	add("bfv sum", 1, func(out *rlwe.Ciphertext) error {
		return s.evaluator.Add(s.a, s.b, out)
	})
	return
}

func timeBfv(d definitions) (rows []object) {
	s := newBfv(d)
	for _, o := range s.operations() {
		rows = append(rows, measure(o.name, s.parameters(), d.Bfv.Samples, o.run))
	}
	return
}

func valuesBfv(d definitions) (lines []object) {
	s := newBfv(d)
	for _, o := range s.operations() {
		o.run()
		lines = append(lines, object{
			"name": o.name, "parameters": s.parameters(), "slots": s.decrypt(o.out),
		})
	}
	return
}
