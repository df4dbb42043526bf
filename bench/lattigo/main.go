// Lattigo under the benchmark's protocol: see ../common/src/lib.rs.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"
)

// definitions is ../definitions.json.
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
}

// object is one line of output, and the parameters within it.
type object map[string]any

// measure times samples calls of f one by one, after one call to warm up.
func measure(name string, parameters object, samples int, f func()) object {
	f()
	seconds := make([]float64, samples)
	for i := range seconds {
		start := time.Now()
		f()
		seconds[i] = time.Since(start).Seconds()
	}
	slices.Sort(seconds)
	return object{
		"name":       name,
		"parameters": parameters,
		"threads":    1,
		"seconds":    (seconds[(samples-1)/2] + seconds[samples/2]) / 2,
		"samples":    samples,
		"min":        seconds[0],
	}
}

// words is the input named seed: output of SplitMix64 reduced modulo modulus.
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

// must ends the program on an error: the harness reports its last line.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	groups := map[string]func(definitions) []object{
		"time ntt":   timeNtt,
		"values ntt": valuesNtt,
		"time bfv":   timeBfv,
		"values bfv": valuesBfv,
	}
	if len(os.Args) != 4 || groups[os.Args[1]+" "+os.Args[2]] == nil {
		fmt.Fprintln(os.Stderr, "usage: lattigo time|values ntt|bfv DEFINITIONS")
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
