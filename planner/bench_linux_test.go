package planner

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/draw"
)

// BenchmarkStream reads and draws a plan of 200 steps that comes in 1,000 pieces: after every piece, and
// as often as it is shown if the model writes 100 pieces a second.
func BenchmarkStream(b *testing.B) {
	all := pieces(longPlan(200), 1000)
	for _, every := range []int{1, 5} {
		b.Run(fmt.Sprintf("every=%d", every), func(b *testing.B) {
			began := cpu(b)
			for b.Loop() {
				var s unfinished
				for i, piece := range all {
					s.Write(piece)
					if i%every > 0 {
						continue
					}
					if w := s.Workflow(); w != nil {
						draw.Tree(w)
					}
				}
			}
			b.ReportMetric(float64((cpu(b)-began).Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
}

// cpu returns the time that this process has used. The cores are shared with others.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
