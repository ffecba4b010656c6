package llm

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync/atomic"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// ledger counts what an attempt used, and what its budget leaves.
type ledger struct {
	tokens  agent.Tokens
	price   agent.Price
	known   bool        // the price is
	unknown bool        // something may have been used that nobody counted
	last    int64       // tokens that the last request began with
	tight   bool        // the budget bounds the answer more than anything else
	asked   atomic.Bool // the request at hand has begun to reach the API
}

// openLedger finds the price. A budget in money for a model whose price is not
// known cannot be kept.
func (c *conversation) openLedger() error {
	l := &c.ledger
	l.price, l.known = c.exec.priceOf(c.at)
	if usd, bound := c.task.Agent.Budget.CostUSD.Amount(); bound && !l.known {
		return agent.Permanentf("what %s costs is not known, so a budget of %s cannot be kept; set its price under prices in .hocket/config.yml, or use max_tokens", c.model, workflow.FormatUSD(usd))
	}
	l.last = int64(len(c.task.Prompt)+len(c.task.Agent.Prompt)) / 4 // about four bytes are a token
	return nil
}

// priceOf is the price of a model at its provider, else its price anywhere.
func (e *Executor) priceOf(at place) (agent.Price, bool) {
	if price, known := e.prices(at.name + "/" + at.model); known {
		return price, true
	}
	return e.prices(at.model)
}

// unbounded reports that a budget in money cannot be enforced where the price of the
// model is not known.
func (e *Executor) unbounded(task *agent.Task, most workflow.Budget) string {
	var set settings
	if _, bound := most.CostUSD.Amount(); !bound || e.schema.Decode(task.Settings, &set) != nil {
		return ""
	}
	at, err := e.find(task.Agent, &set)
	if err != nil {
		return "" // the attempt says so
	}
	if _, known := e.priceOf(at); known {
		return ""
	}
	return "what " + at.model + " costs is not known; set its price under prices in .hocket/config.yml"
}

// watch notes whether a request in a context reaches an API.
func (l *ledger) watch(ctx context.Context) context.Context {
	l.asked.Store(false)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { l.asked.Store(true) }})
}

// add counts an answer, also one that broke off. Where the API does not count it
// itself, only what was never asked or was refused is certain to have used nothing.
func (l *ledger) add(a answer, err error) {
	t := a.tokens
	l.tokens.Input += t.Input
	l.tokens.Output += t.Output
	l.tokens.CacheRead += t.CacheRead
	l.tokens.CacheWrite += t.CacheWrite
	if in := t.Input + t.CacheRead + t.CacheWrite; in > 0 {
		l.last = in + t.Output
	}
	if !a.counted && (err == nil || a.begun() || t != agent.Tokens{} || l.asked.Load() && !free(err)) {
		l.unknown = true
	}
}

// free says of the failure of a request that nothing was generated for it: the API
// refused it, was too busy to begin, or is not there at all. A server that fails, a
// gateway that has lost its server, a connection that breaks or that we end ourselves
// may have left an answer behind that nobody saw.
func free(err error) bool {
	var r *refusal
	var elsewhere *misled
	if !errors.As(err, &r) {
		return errors.As(err, &elsewhere)
	}
	switch r.trouble() {
	case keyRefused, unpaid, unknownModel, limited, tooLong:
		return true
	case overloaded:
		busy := r.status == http.StatusServiceUnavailable || r.status == 529
		return busy || slices.Contains(r.codes, "overloaded_error") || slices.Contains(r.codes, "UNAVAILABLE")
	case unknownTrouble:
	}
	return r.status != 0 && r.status < http.StatusInternalServerError
}

// usage is all that was used.
func (c *conversation) usage() agent.Usage {
	l := &c.ledger
	u := l.tokens.Usage(l.price, l.known)
	unpriced := !l.known && l.tokens != agent.Tokens{}
	costly := !l.known || l.price != agent.Price{}
	u.CostUnknown = unpriced || l.unknown && costly
	return u
}

// room is how many tokens the next answer may have; 0: as many as it likes. The
// next request begins with all that was said before.
func (l *ledger) room(c *conversation) (int64, error) {
	limit := c.set.MaxTokens
	budget := c.task.Agent.Budget
	used := l.tokens.Usage(l.price, l.known)
	l.tight = false
	bound := func(room int64) {
		if limit == 0 || room < limit {
			limit, l.tight = room, true
		}
	}
	if most, ok := budget.Tokens.Amount(); ok {
		room := int64(most) - used.Tokens() - l.last
		if room < 1 {
			return 0, agent.Errorf("the budget of %.0f tokens does not reach for turn %d: %d are used, and it would begin with about %d", most, c.turn, used.Tokens(), l.last)
		}
		bound(room)
	}
	if most, ok := budget.CostUSD.Amount(); ok {
		left := most - used.CostUSD - float64(l.last)*l.price.Input/1e6
		if left <= 0 {
			return 0, agent.Errorf("the budget of %s does not reach for turn %d: %s is used, and it would begin with about %d tokens", workflow.FormatUSD(most), c.turn, workflow.FormatUSD(used.CostUSD), l.last)
		}
		if l.price.Output > 0 {
			bound(max(1, int64(min(left/l.price.Output*1e6, 1<<40))))
		}
	}
	return limit, nil
}
