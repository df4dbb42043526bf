package main

import (
	"runtime"
	"slices"
	"sync"
	"time"
)

// operation is one row. The library does each operation on one thread. With more threads, as many
// are done at the same time, each with its own evaluator and outputs.
type operation struct {
	name string
	run  func(thread int)
	// slots of the first thread's last output; nil if there are none.
	slots func() any
	// Number of operations in one call of run.
	calls int
}

// scheme is a scheme with its keys and inputs.
type scheme interface {
	parameters() object
	operations() []operation
}

func threads() int {
	return runtime.GOMAXPROCS(0)
}

// onAllThreads returns the seconds until every thread's call has returned.
func onAllThreads(count int, run func(thread int)) float64 {
	start := time.Now()
	var group sync.WaitGroup
	for thread := 1; thread < count; thread++ {
		group.Add(1)
		go func() {
			defer group.Done()
			run(thread)
		}()
	}
	run(0)
	group.Wait()
	return time.Since(start).Seconds()
}

// measure times samples calls one by one, after one call to warm up. Each call has atOnce in
// parallel.
func measure(o operation, parameters object, samples, atOnce int) object {
	each := func() float64 { return onAllThreads(atOnce, o.run) / float64(atOnce*o.calls) }
	each()
	seconds := make([]float64, samples)
	for i := range seconds {
		seconds[i] = each()
	}
	slices.Sort(seconds)
	return object{
		"name":       o.name,
		"parameters": parameters,
		"at_once":    atOnce,
		"seconds":    (seconds[(samples-1)/2] + seconds[samples/2]) / 2,
		"samples":    samples,
		"min":        seconds[0],
	}
}

func timeAll(s scheme, samples int) (rows []object) {
	for _, o := range s.operations() {
		rows = append(rows, measure(o, s.parameters(), samples, threads()))
	}
	return
}

// valuesAll returns the slots of each operation's result.
func valuesAll(s scheme) (lines []object) {
	for _, o := range s.operations() {
		if o.slots == nil {
			continue
		}
		o.run(0)
		lines = append(lines, object{
			"name": o.name, "parameters": s.parameters(), "slots": o.slots(),
		})
	}
	return
}
