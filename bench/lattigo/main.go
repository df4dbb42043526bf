// Lattigo under the benchmark's protocol: see ../common/src/lib.rs.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// definitions is the content of ../definitions.json.
type definitions struct {
	Ntt struct {
		LogN    []int    `json:"log_n"`
		Q       []uint64 `json:"q"`
		Samples int      `json:"samples"`
	} `json:"ntt"`
	Bfv struct {
		LogN    int    `json:"log_n"`
		T       uint64 `json:"t"`
		LogQ    int    `json:"log_q"`
		Samples int    `json:"samples"`
	} `json:"bfv"`
	Bgv struct {
		chain
		T uint64 `json:"t"`
	} `json:"bgv"`
	Ckks      chain `json:"ckks"`
	Bootstrap struct {
		Samples int `json:"samples"`
	} `json:"bootstrap"`
}

// chain is a ring with moduli of one size, and digits for key switching of equal length.
type chain struct {
	LogN        int `json:"log_n"`
	Moduli      int `json:"moduli"`
	ModulusBits int `json:"modulus_bits"`
	Digits      int `json:"digits"`
	Rotations   int `json:"rotations"`
	Samples     int `json:"samples"`
}

// object is one line of output, or the parameters within it.
type object map[string]any

// words returns the input named seed: output of SplitMix64 reduced modulo modulus.
func words(seed uint64, length int, modulus uint64) []uint64 {
	out := make([]uint64, length)
	for i := range out {
		z := seed + uint64(i+1)*0x9e3779b97f4a7c15
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
		z = (z ^ (z >> 27)) * 0x94d049bb133111eb
		out[i] = (z ^ (z >> 31)) % modulus
	}
	return out
}

// stage reports a long stage to the harness.
func stage(name string) {
	fmt.Fprintln(os.Stderr, "stage:", name)
}

// must ends the program on an error. The harness reports its last line.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	groups := map[string]func(definitions) []object{
		"time ntt":       timeNtt,
		"values ntt":     valuesNtt,
		"time bfv":       func(d definitions) []object { return timeAll(newBfv(d), d.Bfv.Samples) },
		"values bfv":     func(d definitions) []object { return valuesAll(newBfv(d)) },
		"time bgv":       func(d definitions) []object { return timeAll(newBgv(d), d.Bgv.Samples) },
		"values bgv":     func(d definitions) []object { return valuesAll(newBgv(d)) },
		"time ckks":      func(d definitions) []object { return timeAll(newCkks(d), d.Ckks.Samples) },
		"values ckks":    func(d definitions) []object { return valuesAll(newCkks(d)) },
		"time bootstrap": timeBootstrap,
	}
	if len(os.Args) != 4 || groups[os.Args[1]+" "+os.Args[2]] == nil {
		fmt.Fprintln(os.Stderr, "usage: lattigo time|values ntt|bfv|bgv|ckks|bootstrap DEFINITIONS")
		os.Exit(2)
	}
	text, err := os.ReadFile(os.Args[3])
	must(err)
	var d definitions
	must(json.Unmarshal(text, &d))
	out := json.NewEncoder(os.Stdout)
	for _, line := range groups[os.Args[1]+" "+os.Args[2]](d) {
		must(out.Encode(line))
	}
}
