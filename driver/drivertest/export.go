package drivertest

import (
	"slices"
	"sync"
)

// exported: of all processes that want to export the events of a run, exactly one gets each of them, and none is left out.
func exported(t *scene, w World) {
	one, other := open(t, w, echo), open(t, w, echo)
	s := starting(bundle(chain(task("a", "x"))))
	if _, err := one.raw.Start(t.Context(), s.spec()); err != nil {
		t.Fatal(err)
	}
	const last = 12
	if n, mine, err := other.raw.ClaimExport(t.Context(), runID, 0, 0); n != 0 || mine || err != nil {
		t.Errorf("at first: %d, %t, %v", n, mine, err)
	}
	var mu sync.Mutex
	var got []int
	var all sync.WaitGroup
	for i := range 4 {
		d := []*process{one, other}[i%2]
		all.Go(func() {
			for after := 0; after < last; {
				claimed, mine, err := d.raw.ClaimExport(t.Context(), runID, after, min(after+1+i, last))
				if err != nil || !mine && claimed <= after {
					t.Errorf("after %d: %d, %t, %v", after, claimed, mine, err)
					return
				}
				mu.Lock()
				for n := after + 1; mine && n <= claimed; n++ {
					got = append(got, n)
				}
				mu.Unlock()
				after = claimed
			}
		})
	}
	all.Wait()
	slices.Sort(got)
	want := []int{}
	for n := range last {
		want = append(want, n+1)
	}
	if !slices.Equal(got, want) {
		t.Errorf("claimed %v, want %v", got, want)
	}
	if n, mine, err := other.raw.ClaimExport(t.Context(), runID, 0, last); n != last || mine || err != nil {
		t.Errorf("in the end: %d, %t, %v", n, mine, err)
	}
}
