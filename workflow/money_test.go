package workflow_test

import (
	"math"
	"testing"

	"github.com/hocket-dev/hocket/workflow"
)

func TestFormatUSD(t *testing.T) {
	for usd, want := range map[float64]string{
		0: "$0", 0.5: "$0.50", 2: "$2.00", 1.255: "$1.25", 1234.5: "$1234.50",
		0.004: "$0.004", 0.0149: "$0.0149", 0.00375: "$0.0037", 0.99999: "$1.00", 0.30000000000000004: "$0.30",
		0.0001: "$0.0001", 0.00004: "$0.00004", 0.0000043: "$0.0000043", 0.00000432109: "$0.0000043", 0.00012345: "$0.0001", 1e-9: "$0.000000001", 0.99: "$0.99", 1: "$1.00", -1e-6: "$-0.000001", 0.000099: "$0.000099",
		1e-17: "$0", math.NaN(): "$NaN", -0.5: "$-0.50", math.Inf(1): "$+Inf",
	} {
		if got := workflow.FormatUSD(usd); got != want {
			t.Errorf("%g is %s, want %s", usd, got, want)
		}
	}
}
