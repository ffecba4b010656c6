package draw

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/workflow"
)

// A drawing in which long edges would need too many bends is simpler, and says so.
func TestLargeDrawingsSaySo(t *testing.T) {
	const words = "This drawing is simplified"
	w := shaped("tangle", 2000, tangle(2000))
	if svg := svgOf(t, w); !strings.Contains(svg, words) {
		t.Error("the picture does not say that it is simplified")
	}
	p, err := Inline{Bundle: &workflow.Bundle{Root: w}}.Draw(t.Context())
	if err != nil || !strings.HasPrefix(p.Note, words) {
		t.Errorf("the picture of a page says %q, %v", p.Note, err)
	}
	for _, s := range large {
		if svg := svgOf(t, shaped(s.name, 1000, s.edges(1000))); strings.Contains(svg, words) {
			t.Errorf("%s with 1,000 nodes is simplified", s.name)
		}
	}
}

// The boxes of a large drawing do not overlap, either.
func TestLargeBoxesDoNotOverlap(t *testing.T) {
	for _, s := range append(large, shape{"tangle", tangle}) {
		r := laidOut(t, shaped(s.name, 400, s.edges(400)))
		for _, row := range r.rows {
			for i := 1; i < len(row.boxes); i++ {
				if a, b := row.boxes[i-1], row.boxes[i]; overlap(a, b) {
					t.Fatalf("%s: boxes %q and %q overlap", s.name, a.id, b.id)
				}
			}
		}
	}
}

// Nobody waits for a drawing that is not needed any more.
func TestDrawingStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := shaped("random", 200, large[4].edges(200))
	if _, err := Draw(ctx, w, "svg", Fold{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := (Inline{Bundle: &workflow.Bundle{Root: w}}).Draw(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
