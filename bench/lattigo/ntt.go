package main

import "github.com/tuneinsight/lattigo/v6/ring"

// nttCase is one prime with one ring degree.
type nttCase struct {
	parameters object
	n          int
	q          uint64
	ring       *ring.SubRing
}

func nttCases(d definitions) (cases []nttCase) {
	for _, logN := range d.Ntt.LogN {
		for _, q := range d.Ntt.Q {
			r, err := ring.NewRing(1<<logN, []uint64{q})
			must(err)
			cases = append(cases, nttCase{object{"log_n": logN, "q": q}, 1 << logN, q, r.SubRings[0]})
		}
	}
	return
}

func timeNtt(d definitions) (rows []object) {
	for _, c := range nttCases(d) {
		limbs := make([][]uint64, threads())
		for i := range limbs {
			limbs[i] = words(1, c.n, c.q)
		}
		for _, o := range []operation{
			{name: "ntt forward", run: func(i int) { c.ring.NTT(limbs[i], limbs[i]) }, calls: 1},
			{name: "ntt inverse", run: func(i int) { c.ring.INTT(limbs[i], limbs[i]) }, calls: 1},
		} {
			rows = append(rows, measure(o, c.parameters, d.Ntt.Samples, threads()))
		}
	}
	return
}

func valuesNtt(d definitions) (lines []object) {
	for _, c := range nttCases(d) {
		points := make([]uint64, c.n)
		points[1] = 1 // the polynomial X: its transform gives the points of evaluation
		c.ring.NTT(points, points)
		values, b := words(1, c.n, c.q), words(2, c.n, c.q)
		c.ring.NTT(values, values)
		c.ring.NTT(b, b)
		product := make([]uint64, c.n)
		c.ring.MulCoeffsBarrett(values, b, product)
		c.ring.INTT(product, product)
		lines = append(lines, object{
			"name": "ntt", "parameters": c.parameters,
			"points": points, "values": values, "product": product,
		})
	}
	return
}
