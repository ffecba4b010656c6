package temporal

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// Timers are found in order, however they were set, moved and cleared.
func TestTimers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	all, set := timers{at: map[string]time.Time{}}, map[string]time.Time{}
	for range 2000 {
		id := fmt.Sprint("t", random.IntN(50))
		if random.IntN(3) == 0 {
			all.clear(id)
			delete(set, id)
		} else {
			set[id] = time.Unix(random.Int64N(30), 0)
			all.set(id, set[id])
		}
		if len(all.order) != len(set) {
			t.Fatalf("there are %d timers, want %d", len(all.order), len(set))
		}
		for i, a := range all.order {
			if !set[a.id].Equal(a.at) || i > 0 && all.order[i-1].compare(a) >= 0 {
				t.Fatalf("%v is not in order", all.order)
			}
		}
	}
}
