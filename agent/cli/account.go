package cli

import (
	"math"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/sorted"
)

// account collects the usage that a CLI reports: figures that we add up, and totals for the
// whole conversation that the CLI adds up itself. Both are per model, since prices are.
type account struct {
	added map[string]*figure
	total map[string]*figure
}

// figure is the usage of one model.
type figure struct {
	tokens agent.Tokens
	all    int64 // input including tokens read from or written to a cache; zero: not reported
	cost   float64
	priced bool // the CLI reported the cost
}

// count adds the figures of an event. They belong to the model that the rule extracts, if
// any.
func (a *account) count(rule *rule, e event, model string) {
	if own := rule.text("model", e); own != "" {
		model = own
	}
	for name, paths := range rule.add {
		if n, ok := number(paths, e); ok {
			a.added = ensure(a.added, model)
			a.added[model].set(name, n, true)
		}
	}
	for name, paths := range rule.total {
		if n, ok := number(paths, e); ok {
			a.total = ensure(a.total, model)
			a.total[model].set(name, n, false)
		}
	}
}

func ensure(m map[string]*figure, model string) map[string]*figure {
	if m == nil {
		m = map[string]*figure{}
	}
	if m[model] == nil {
		m[model] = &figure{}
	}
	return m
}

// maxCount keeps an absurd figure from overflowing.
const maxCount = 1e15

func (f *figure) set(name string, n float64, add bool) {
	n = min(max(n, 0), maxCount)
	if name == "cost_usd" {
		f.priced = true
		if add {
			n += f.cost
		}
		f.cost = n
		return
	}
	field := map[string]*int64{
		"tokens_in": &f.tokens.Input, "tokens_in_all": &f.all, "tokens_out": &f.tokens.Output,
		"cache_read": &f.tokens.CacheRead, "cache_write": &f.tokens.CacheWrite,
	}[name]
	if add {
		n += float64(*field)
	}
	*field = int64(n)
}

// told reports whether the CLI reported any usage.
func (a *account) told() bool { return len(a.added)+len(a.total) > 0 }

// usage returns the usage of the run: totals for the conversation count minus what was used
// before.
func (a *account) usage(prices agent.Prices, before agent.Usage) agent.Usage {
	if !a.told() {
		return agent.Usage{CostUnknown: true}
	}
	used, total := sum(a.added, prices), sum(a.total, prices)
	if len(a.total) > 0 && total.TokensIn >= before.TokensIn && total.TokensOut >= before.TokensOut {
		total.TokensIn -= before.TokensIn
		total.TokensOut -= before.TokensOut
		total.CostUSD = max(0, math.Round((total.CostUSD-before.CostUSD)*1e9)/1e9) // the difference has a rounding error
		total.CostUnknown = total.CostUnknown || before.CostUnknown
	}
	return used.Plus(total)
}

// sum adds up the models. A cost that the CLI reported counts; otherwise it is computed
// from tokens and prices.
func sum(figures map[string]*figure, prices agent.Prices) agent.Usage {
	var out agent.Usage
	priced, cost := false, 0.0
	for _, model := range sorted.Keys(figures) {
		f := figures[model]
		if f.all > 0 {
			f.tokens.Input = max(0, f.all-f.tokens.CacheRead-f.tokens.CacheWrite)
		}
		priced, cost = priced || f.priced, cost+f.cost
		if f.tokens == (agent.Tokens{}) {
			continue
		}
		var price agent.Price
		known := false
		if prices != nil {
			price, known = prices(model)
		}
		out = out.Plus(f.tokens.Usage(price, known))
	}
	if priced {
		out.CostUSD, out.CostUnknown = cost, false
	}
	return out
}
