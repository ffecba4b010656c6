package workflow_test

import (
	"encoding/json"
	"testing"

	"github.com/hocket-dev/hocket/workflow"
)

func TestBound(t *testing.T) {
	unknown, none, two, three := workflow.Bound{}, workflow.NoBound, workflow.AtMost(2), workflow.AtMost(3.0)
	nothing := workflow.AtMost(0)
	for _, c := range []struct {
		name      string
		got, want workflow.Bound
	}{
		{"a sum", two.Plus(three), workflow.AtMost(5)},
		{"a sum without bound", two.Plus(none), none},
		{"a sum with an unknown", none.Plus(unknown), unknown},
		{"a product", two.Times(three), workflow.AtMost(6)},
		{"nothing, of an unknown", unknown.Times(nothing), nothing},
		{"nothing, without bound", nothing.Times(none), nothing},
		{"an unknown product", unknown.Times(two), unknown},
		{"the lower", three.Lower(two), two},
		{"the lower of an amount and none", none.Lower(two), two},
		{"the lower of an unknown and an amount", unknown.Lower(two), two},
		{"the lower of an amount and an unknown", two.Lower(unknown), two},
		{"the lower of an unknown and none", unknown.Lower(none), unknown},
		{"the higher", three.Higher(two), three},
		{"the higher of an unknown", two.Higher(unknown), unknown},
	} {
		if c.got != c.want {
			t.Errorf("%s is %v, not %v", c.name, c.got, c.want)
		}
	}
	for b, want := range map[workflow.Bound]float64{unknown: 0, none: 0, nothing: 0, two: 2} {
		if n, ok := b.Amount(); n != want || ok != (b == nothing || b == two) {
			t.Errorf("the amount of %v is %v, %v", b, n, ok)
		}
	}
	if two.Exceeded(2) || !two.Exceeded(2.1) || none.Exceeded(1e300) || unknown.Exceeded(1e300) || !nothing.Exceeded(1) {
		t.Error("wrong bounds are exceeded")
	}
	for want, b := range map[string]workflow.Bound{"null": unknown, `"none"`: none, "2": two, "0": nothing} {
		data, err := json.Marshal(b)
		var back workflow.Bound
		if err != nil || string(data) != want || json.Unmarshal(data, &back) != nil || back != b {
			t.Errorf("%v is %s in JSON and %v afterwards (%v)", b, data, back, err)
		}
	}
	if err := json.Unmarshal([]byte(`"some"`), &two); err == nil {
		t.Error("a word is a bound")
	}
	two = workflow.AtMost(2)
	for want, b := range map[string]workflow.Bound{"unknown": unknown, "no bound": none, "2": two} {
		if b.String() != want {
			t.Errorf("got %q, want %q", b, want)
		}
	}
}

func TestBudget(t *testing.T) {
	limits := workflow.Limits{CostUSD: 2}
	left := limits.Left(workflow.Usage{CostUSD: 1.5, TokensIn: 9})
	if want := (workflow.Budget{CostUSD: workflow.AtMost(0.5), Tokens: workflow.NoBound}); left != want {
		t.Errorf("%v is left, not %v", left, want)
	}
	if left.Exceeded(workflow.Usage{CostUSD: 0.5, TokensOut: 1 << 40}) || !left.Exceeded(workflow.Usage{CostUSD: 0.51}) {
		t.Error("wrong usages exceed what is left")
	}
	tokens := workflow.Limits{Tokens: 10}
	if got, want := tokens.Left(workflow.Usage{TokensIn: 2, TokensOut: 3}), (workflow.Budget{CostUSD: workflow.NoBound, Tokens: workflow.AtMost(5)}); got != want {
		t.Errorf("%v is left, not %v", got, want)
	}
	small := workflow.Limits{CostUSD: 0.5, Tokens: 1}
	if got, want := small.Budget(), (workflow.Budget{CostUSD: workflow.AtMost(0.5), Tokens: workflow.AtMost(1)}); got != want || !got.Exceeded(workflow.Usage{TokensIn: 2}) {
		t.Errorf("%v is left, not %v", got, want)
	}
	if got, want := limits.Budget().Lower(tokens.Budget()), (workflow.Budget{CostUSD: workflow.AtMost(2), Tokens: workflow.AtMost(10)}); got != want {
		t.Errorf("the lower is %v, not %v", got, want)
	}
	for want, b := range map[string]workflow.Budget{
		"": {Tokens: workflow.NoBound}, "$0.50": {CostUSD: workflow.AtMost(0.5)}, "9 tokens": {Tokens: workflow.AtMost(9)},
		"$0.004 and 9 tokens": {CostUSD: workflow.AtMost(0.004), Tokens: workflow.AtMost(9)},
	} {
		if b.String() != want {
			t.Errorf("got %q, want %q", b, want)
		}
	}
}
