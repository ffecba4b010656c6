package draw

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hocket-dev/hocket/workflow"
)

type shape struct {
	name  string
	edges func(n int) [][2]int
}

// large are workflows, by the number of their nodes. All edges lead to later nodes.
var large = []shape{
	{"chain", func(n int) (all [][2]int) {
		for i := 1; i < n; i++ {
			all = append(all, [2]int{i - 1, i})
		}
		return all
	}},
	{"star", func(n int) (all [][2]int) {
		for i := 1; i < n-1; i++ {
			all = append(all, [2]int{0, i}, [2]int{i, n - 1})
		}
		return all
	}},
	{"tree", func(n int) (all [][2]int) {
		for i := 1; i < n; i++ {
			all = append(all, [2]int{(i - 1) / 3, i})
		}
		return all
	}},
	{"layers", func(n int) (all [][2]int) {
		const wide = 20
		for i := wide; i < n; i++ {
			for k := range 3 {
				all = append(all, [2]int{i/wide*wide - wide + (i+k*7)%wide, i})
			}
		}
		return all
	}},
	{"random", func(n int) (all [][2]int) {
		r := rand.New(rand.NewPCG(1, 2))
		for range 2 * n {
			a, b := r.IntN(n), r.IntN(n)
			if a != b {
				all = append(all, [2]int{min(a, b), max(a, b)})
			}
		}
		return all
	}},
}

// tangle is a chain with edges between nodes that are far apart.
func tangle(n int) (all [][2]int) {
	all = large[0].edges(n)
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		if a, b := r.IntN(n), r.IntN(n); a != b {
			all = append(all, [2]int{min(a, b), max(a, b)})
		}
	}
	return all
}

func shaped(name string, n int, edges [][2]int) *workflow.Workflow {
	w := &workflow.Workflow{Name: name}
	for i := range n {
		w.Body.Nodes = append(w.Body.Nodes, task(fmt.Sprintf("step-%d", i), "shell"))
	}
	seen := map[[2]int]bool{}
	for _, e := range edges {
		if !seen[e] {
			seen[e] = true
			w.Body.Edges = append(w.Body.Edges, plain(fmt.Sprintf("step-%d", e[0]), fmt.Sprintf("step-%d", e[1]))...)
		}
	}
	return w
}

func BenchmarkSVG(b *testing.B) {
	for _, n := range []int{1000, 5000} {
		for _, s := range append(large, shape{"tangle", tangle}) {
			w := shaped(s.name, n, s.edges(n))
			b.Run(fmt.Sprintf("%s/%d", s.name, n), func(b *testing.B) {
				b.ReportAllocs()
				size := 0
				for b.Loop() {
					size = len(svgOf(b, w))
				}
				b.ReportMetric(float64(size), "bytes")
			})
		}
	}
}
