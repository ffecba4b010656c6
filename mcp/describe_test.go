package mcp

import (
	"testing"

	"github.com/hocket-dev/hocket/engine"
)

func TestDescribe(t *testing.T) {
	for want, f := range map[string]engine.Fact{
		"the plan was changed":   {Kind: engine.PlanChanged, Text: "add c"},
		"a: success":             {Kind: engine.StepEnded, Address: "a", Status: engine.Success},
		"the run ended: success": {Kind: engine.RunEnded, Status: engine.Success},
	} {
		if got := describe(&f); got != want {
			t.Errorf("%s: %q, want %q", f.Kind, got, want)
		}
	}
}
