package journal

import (
	"context"
	"testing"
)

// BenchmarkBeat is what one look at the journal costs.
func BenchmarkBeat(b *testing.B) {
	s := openStore(b, b.TempDir())
	createRun(b, s, "a-1")
	p, err := s.Pulse(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	for b.Loop() {
		if _, err := p.Beat(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
