package extract_test

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/extract"
)

// A number that would take the validator seconds is refused at once.
func TestEnormousNumbers(t *testing.T) {
	schema := map[string]any{"type": "array", "items": map[string]any{"type": "number", "maximum": 5}}
	x, err := extract.New(workflow.Output{Mode: workflow.JSON, Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"1e999999", "1e-999999", "-1e400", strings.Repeat("9", 500)} {
		if _, err := x.Value("[" + n + "]"); err == nil || !strings.Contains(err.Error(), "too large or too small") {
			t.Errorf("%.20s: %v", n, err)
		}
	}
	if _, err := x.Value("[1e0, 0, 4.5, 0.000001]"); err != nil {
		t.Error(err)
	}
}
