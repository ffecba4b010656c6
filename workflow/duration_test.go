package workflow_test

import (
	"testing"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", 10 * time.Second: "10s", time.Minute: "1m", 10 * time.Minute: "10m", 61 * time.Second: "1m1s",
		time.Hour: "1h", 24 * time.Hour: "24h", 20 * time.Hour: "20h", 90 * time.Minute: "1h30m", time.Hour + time.Second: "1h0m1s", 1500 * time.Millisecond: "1.5s",
	} {
		got := workflow.FormatDuration(d)
		if again, err := time.ParseDuration(got); got != want || err != nil || again != d {
			t.Errorf("%s: %s, want %s; %s, %v", d, got, want, again, err)
		}
	}
}
