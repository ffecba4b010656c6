package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// BenchmarkFirstByte measures how long a step's output takes to reach the terminal: the
// step prints the time, and the benchmark polls the screen until it appears.
func BenchmarkFirstByte(b *testing.B) {
	dir := b.TempDir()
	flow := "name: clock\nsteps:\n  - {agent: shell, config: {command: [sh, -c, 'sleep 0.2; date +%s%N; sleep 0.3']}}\n"
	if err := os.WriteFile(filepath.Join(dir, "clock.yml"), []byte(flow), 0o600); err != nil {
		b.Fatal(err)
	}
	stamp := regexp.MustCompile(`\b1[0-9]{18}\b`)
	var waits []float64
	for b.Loop() {
		c := startConsole(b, dir, 24, 100, "run", "clock.yml")
		for deadline := time.Now().Add(20 * time.Second); ; {
			if time.Now().After(deadline) {
				b.Fatalf("the time never came; the screen shows:\n%s", c.see())
			}
			if printed := stamp.FindString(c.see()); printed != "" {
				n, err := strconv.ParseInt(printed, 10, 64)
				if err != nil {
					b.Fatal(err)
				}
				waits = append(waits, float64(time.Since(time.Unix(0, n)).Microseconds())/1000)
				break
			}
			time.Sleep(time.Millisecond)
		}
		c.exit()
	}
	worst, sum := 0.0, 0.0
	for _, w := range waits {
		worst, sum = max(worst, w), sum+w
	}
	b.ReportMetric(sum/float64(len(waits)), "ms-mean")
	b.ReportMetric(worst, "ms-worst")
}
