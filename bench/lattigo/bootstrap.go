package main

import (
	"math"
	"math/cmplx"
	"time"

	"github.com/tuneinsight/lattigo/v6/circuits/ckks/bootstrapping"
	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/ckks"
)

// timeBootstrap bootstraps a ciphertext of level 0 with all slots full, with Lattigo's first
// default set for N = 2^16: a secret of weight 192, an ephemeral one of weight 32 (Bossuat et al.,
// 2022/024).
func timeBootstrap(d definitions) []object {
	set := bootstrapping.N16QP1546H192H32
	params, err := ckks.NewParametersFromLiteral(set.SchemeParams)
	must(err)
	boot, err := bootstrapping.NewParametersFromLiteral(params, set.BootstrappingParams)
	must(err)

	stage("making keys")
	start := time.Now()
	secret := rlwe.NewKeyGenerator(params).GenSecretKeyNew()
	keys, _, err := boot.GenEvaluationKeys(secret)
	must(err)
	keygenSeconds := time.Since(start).Seconds()

	stage("preparing matrices")
	evaluator, err := bootstrapping.NewEvaluator(boot, keys)
	must(err)
	encoder := ckks.NewEncoder(params)
	slots := complexes(1, params.MaxSlots())
	plaintext := ckks.NewPlaintext(params, 0)
	must(encoder.Encode(slots, plaintext))
	input, err := rlwe.NewEncryptor(params, secret).EncryptNew(plaintext)
	must(err)

	stage("bootstrapping")
	var output *rlwe.Ciphertext
	full := boot.BootstrappingParameters
	row := measure(operation{name: "bootstrap", calls: 1, run: func(int) {
		output, err = evaluator.Bootstrap(input.CopyNew())
		must(err)
	}}, object{
		"log_n":         full.LogN(),
		"log_q":         math.Round(full.LogQ()),
		"log_p":         math.Round(full.LogP()),
		"moduli":        full.QCount(),
		"slots":         params.MaxSlots(),
		"log_scale":     params.LogDefaultScale(),
		"secret":        "weight 192, ephemeral of 32",
		"key_switching": "special moduli, digits of 5 moduli",
	}, d.Bootstrap.Samples, 1)

	refreshed := make([]complex128, len(slots))
	must(encoder.Decode(rlwe.NewDecryptor(params, secret).DecryptNew(output), refreshed))
	row["found"] = object{
		"precision_bits": precision(slots, refreshed),
		"levels":         output.Level(),
		"key_bytes":      keys.BinarySize(),
		"keygen_seconds": keygenSeconds,
	}
	return []object{row}
}

// precision returns -log2 of the largest and of the mean error of a slot.
func precision(expected, found []complex128) object {
	largest, sum := 0.0, 0.0
	for i := range expected {
		distance := cmplx.Abs(found[i] - expected[i])
		largest = max(largest, distance)
		sum += distance
	}
	return object{
		"worst": -math.Log2(largest),
		"mean":  -math.Log2(sum / float64(len(expected))),
	}
}
