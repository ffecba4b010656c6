package workflow_test

import (
	"encoding/json"
	"testing"

	"github.com/hocket-dev/hocket/workflow"
)

func TestUsage(t *testing.T) {
	known := workflow.Usage{CostUSD: 0.25, TokensIn: 3, TokensOut: 4}
	sum := known.Plus(known)
	if want := (workflow.Usage{CostUSD: 0.5, TokensIn: 6, TokensOut: 8}); sum != want || sum.Tokens() != 14 {
		t.Errorf("got %+v, want %+v", sum, want)
	}
	unknown := workflow.Usage{CostUnknown: true, TokensOut: 1}
	for _, u := range []workflow.Usage{known.Plus(unknown), unknown.Plus(known)} {
		if !u.CostUnknown || u.Tokens() != 8 || u.CostText() != "unknown" {
			t.Errorf("with an unknown cost: %+v", u)
		}
	}
	for want, u := range map[string]workflow.Usage{"$0": {}, "$0.25": known, "unknown": unknown} {
		if got := u.CostText(); got != want {
			t.Errorf("%+v: %q, want %q", u, got, want)
		}
	}
}

// Files that were written with fewer fields, or with zeros, are read in the same way.
func TestUsageJSON(t *testing.T) {
	for text, want := range map[string]workflow.Usage{
		`{}`:               {},
		`{"cost_usd":0.5}`: {CostUSD: 0.5},
		`{"tokens_in":7}`:  {TokensIn: 7},
		`{"cost_usd":0,"cost_unknown":true,"tokens_in":0,"tokens_out":2}`: {CostUnknown: true, TokensOut: 2},
	} {
		var got workflow.Usage
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	if got, want := workflow.FormatJSON(workflow.Usage{CostUSD: 0.5}), `{"cost_usd":0.5,"tokens_in":0,"tokens_out":0}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
