package main

import (
	"fmt"
	"math"

	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/ring/ringqp"
	"github.com/tuneinsight/lattigo/v6/schemes/bgv"
)

// integers is Lattigo's BGV with two encrypted inputs. Lattigo's BFV is BGV with another product.
type integers struct {
	params  bgv.Parameters
	workers []integerWorker
	inputs  [2][]uint64
	a, b    *rlwe.Ciphertext
	aPlain  *rlwe.Plaintext
	bPlain  *rlwe.Plaintext
}

// integerWorker is the data of one thread.
type integerWorker struct {
	encoder        *bgv.Encoder
	encryptor      *rlwe.Encryptor
	decryptor      *rlwe.Decryptor
	scaleInvariant *bgv.Evaluator   // with BFV's product
	modular        *bgv.Evaluator   // with BGV's
	product        *rlwe.Ciphertext // to be rescaled
}

func newIntegers(literal bgv.ParametersLiteral, galois func(bgv.Parameters) []uint64) *integers {
	params, err := bgv.NewParametersFromLiteral(literal)
	must(err)
	keygen := rlwe.NewKeyGenerator(params)
	secret, public := keygen.GenKeyPairNew()
	keys := rlwe.NewMemEvaluationKeySet(
		keygen.GenRelinearizationKeyNew(secret),
		keygen.GenGaloisKeysNew(galois(params), secret)...)
	s := &integers{params: params}
	for range threads() {
		s.workers = append(s.workers, integerWorker{
			encoder:        bgv.NewEncoder(params),
			encryptor:      rlwe.NewEncryptor(params, public),
			decryptor:      rlwe.NewDecryptor(params, secret),
			scaleInvariant: bgv.NewEvaluator(params, keys, true),
			modular:        bgv.NewEvaluator(params, keys, false),
			product:        bgv.NewCiphertext(params, 1, params.MaxLevel()),
		})
	}
	for i := range s.inputs {
		s.inputs[i] = words(uint64(i+1), params.MaxSlots(), params.PlaintextModulus())
	}
	s.aPlain, s.bPlain = s.newPlaintext(), s.newPlaintext()
	w := s.workers[0]
	must(w.encoder.Encode(s.inputs[0], s.aPlain))
	must(w.encoder.Encode(s.inputs[1], s.bPlain))
	s.a, err = w.encryptor.EncryptNew(s.aPlain)
	must(err)
	s.b, err = w.encryptor.EncryptNew(s.bPlain)
	must(err)
	return s
}

func (s *integers) newPlaintext() *rlwe.Plaintext {
	return bgv.NewPlaintext(s.params, s.params.MaxLevel())
}

func (s *integers) newCiphertext(degree int) *rlwe.Ciphertext {
	return bgv.NewCiphertext(s.params, degree, s.params.MaxLevel())
}

func (s *integers) decode(plaintext *rlwe.Plaintext) any {
	slots := make([]uint64, s.params.MaxSlots())
	must(s.workers[0].encoder.Decode(plaintext, slots))
	return slots
}

func (s *integers) decrypt(ciphertext *rlwe.Ciphertext) any {
	return s.decode(s.workers[0].decryptor.DecryptNew(ciphertext))
}

func (s *integers) parameters() object {
	return object{
		"log_n":         s.params.LogN(),
		"t":             s.params.PlaintextModulus(),
		"log_q":         math.Round(s.params.LogQ()),
		"log_p":         math.Round(s.params.LogP()),
		"moduli":        s.params.QCount(),
		"key_switching": fmt.Sprintf("special moduli, digits of %d moduli", s.params.PCount()),
	}
}

// ciphertexts returns the operation that writes into ciphertexts allocated before.
func (s *integers) ciphertexts(
	name string, degree int, run func(w integerWorker, out *rlwe.Ciphertext) error,
) operation {
	var outs []*rlwe.Ciphertext
	for range s.workers {
		outs = append(outs, s.newCiphertext(degree))
	}
	return operation{
		name:  name,
		run:   func(thread int) { must(run(s.workers[thread], outs[thread])) },
		slots: func() any { return s.decrypt(outs[0]) },
		calls: 1,
	}
}

// hoistedRotations is one operation with rotations by 1, 2, ..., count. Its slots are those of the
// last.
func (s *integers) hoistedRotations(name string, count int) operation {
	steps, outs := hoisted(count, len(s.workers), func() *rlwe.Ciphertext { return s.newCiphertext(1) })
	level, special := s.params.MaxLevel(), s.params.MaxLevelP()
	// BGV has no call for several rotations. This does what CKKS does.
	digits := make([][]ringqp.Poly, len(s.workers))
	for i := range digits {
		for range s.params.BaseRNSDecompositionVectorSize(level, special) {
			digits[i] = append(digits[i], s.params.RingQP().NewPoly())
		}
	}
	return operation{
		name: name,
		run: func(i int) {
			e := s.workers[i].modular
			e.DecomposeNTT(level, special, special+1, s.a.Value[1], s.a.IsNTT, digits[i])
			for _, step := range steps {
				element := s.params.GaloisElementForColRotation(step)
				must(e.AutomorphismHoisted(level, s.a, digits[i], element, outs[i][step]))
			}
		},
		slots: func() any { return s.decrypt(outs[0][count]) },
		calls: count,
	}
}

// hoisted returns the steps 1, 2, ..., count, and for each thread an output for each step.
func hoisted(
	count, threads int, output func() *rlwe.Ciphertext,
) (steps []int, outs []map[int]*rlwe.Ciphertext) {
	for step := 1; step <= count; step++ {
		steps = append(steps, step)
	}
	for range threads {
		out := map[int]*rlwe.Ciphertext{}
		for _, step := range steps {
			out[step] = output()
		}
		outs = append(outs, out)
	}
	return
}
