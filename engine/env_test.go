package engine

import (
	"maps"
	"math/rand/v2"
	"testing"
)

// An environment is a map of variables, whatever their number, and a merge keeps the later write of
// each of them. Neither changes the environments from which it is made.
func TestEnvironments(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 5))
		vars := []int{1, 7, 8, 9, 63, 64, 65, 200, 512, 513, 600}[random.IntN(11)]
		depth := levels(vars)
		envs, wants := []*env{nil}, []map[int]*write{{}}
		for seq := range 60 {
			at := random.IntN(len(envs))
			e, want := envs[at], maps.Clone(wants[at])
			if random.IntN(3) > 0 {
				i, w := random.IntN(vars), &write{seq: seq}
				e, want[i] = e.set(depth, i, w), w
			} else {
				other := random.IntN(len(envs))
				e = merge(e, envs[other])
				for i, w := range wants[other] {
					if want[i] == nil || w.seq > want[i].seq {
						want[i] = w
					}
				}
			}
			envs, wants = append(envs, e), append(wants, want)
		}
		for k, e := range envs {
			for i := range vars {
				if got := e.get(depth, i); got != wants[k][i] {
					t.Fatalf("seed %d: variable %d of %d in environment %d is %v, want %v", seed, i, vars, k, got, wants[k][i])
				}
			}
		}
	}
}

// Environments that are equal are merged into the first, so that a merge of branches that write
// nothing needs no memory.
func TestMergeSharesMemory(t *testing.T) {
	a := (*env)(nil).set(1, 3, &write{seq: 1}).set(1, 40, &write{seq: 2})
	b := a.set(1, 3, &write{seq: 3})
	if merge(b, a) != b || merge(a, a) != a || merge(a, nil) != a || merge(nil, a) != a {
		t.Error("a merge that changes nothing returns a new environment")
	}
	if got := merge(a, b); got.below[5] != a.below[5] {
		t.Error("a merge copies what both environments share")
	}
}
