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

// ledger counts what an attempt uses, and what remains of its budget.
type ledger struct {
	tokens  agent.Tokens
	price   agent.Price
	known   bool        // whether the price is known
	unknown bool        // there may be usage that was not counted
	last    int64       // tokens at the beginning of the last request
	tight   bool        // the budget is the tightest limit for the answer
	asked   atomic.Bool // the current request has begun to reach the API
}

// openLedger looks up the price. A budget in money cannot be enforced for a model whose
// price is unknown.
func (c *conversation) openLedger() error {
	l := &c.ledger
	l.price, l.known = c.exec.priceOf(c.at)
	if usd, bound := c.task.Agent.Budget.CostUSD.Amount(); bound && !l.known {
		return agent.Permanentf("the price of %s is unknown, so a budget of %s cannot be enforced; set the price under prices in .hocket/config.yml, or use max_tokens", c.model, workflow.FormatUSD(usd))
	}
	l.last = int64(len(c.task.Prompt)+len(c.task.Agent.Prompt)) / 4 // a token is about four bytes
	return nil
}

// priceOf returns the price of a model at its provider, otherwise its price anywhere.
func (e *Executor) priceOf(at place) (agent.Price, bool) {
	if price, known := e.prices(at.name + "/" + at.model); known {
		return price, true
	}
	return e.prices(at.model)
}

// unbounded reports that a budget in money cannot be enforced if the price of the model is
// unknown.
func (e *Executor) unbounded(task *agent.Task, most workflow.Budget) string {
	var set settings
	if _, bound := most.CostUSD.Amount(); !bound || e.schema.Decode(task.Settings, &set) != nil {
		return ""
	}
	at, err := e.find(task.Agent, &set)
	if err != nil {
		return "" // the attempt reports it
	}
	if _, known := e.priceOf(at); known {
		return ""
	}
	return "the price of " + at.model + " is unknown; set it under prices in .hocket/config.yml"
}

// watch records whether a request in a context reaches an API.
func (l *ledger) watch(ctx context.Context) context.Context {
	l.asked.Store(false)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { l.asked.Store(true) }})
}

// add counts an answer, even an incomplete one. If the API does not report the usage, it is
// certain to be zero only if the request was never sent or was rejected.
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

// free reports whether a failed request certainly generated nothing: the API rejected it,
// was too busy to begin, or could not be reached. If the server or a gateway failed, the
// connection broke, or we closed it ourselves, there may have been an answer that was never
// received.
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

// usage returns the total usage.
func (c *conversation) usage() agent.Usage {
	l := &c.ledger
	u := l.tokens.Usage(l.price, l.known)
	unpriced := !l.known && l.tokens != agent.Tokens{}
	costly := !l.known || l.price != agent.Price{}
	u.CostUnknown = unpriced || l.unknown && costly
	return u
}

// room returns how many tokens the next answer may have; 0 means no limit. The next request
// begins with everything said before.
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
			return 0, agent.Errorf("the budget of %.0f tokens is not enough for turn %d: %d are used, and the turn would begin with about %d", most, c.turn, used.Tokens(), l.last)
		}
		bound(room)
	}
	if most, ok := budget.CostUSD.Amount(); ok {
		left := most - used.CostUSD - float64(l.last)*l.price.Input/1e6
		if left <= 0 {
			return 0, agent.Errorf("the budget of %s is not enough for turn %d: %s is used, and the turn would begin with about %d tokens", workflow.FormatUSD(most), c.turn, workflow.FormatUSD(used.CostUSD), l.last)
		}
		if l.price.Output > 0 {
			bound(max(1, int64(min(left/l.price.Output*1e6, 1<<40))))
		}
	}
	return limit, nil
}
