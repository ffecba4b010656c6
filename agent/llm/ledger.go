package llm

import (
	"context"
	"errors"

	"github.com/hocket-dev/hocket/agent"
)

// ledger counts what an attempt used, and what its budget leaves.
type ledger struct {
	tokens  agent.Tokens
	price   agent.Price
	known   bool  // the price is
	unknown bool  // something was used that nobody counted
	last    int64 // tokens that the last request began with
	tight   bool  // the budget bounds the answer more than anything else
}

// openLedger finds the price. A budget in money for a model whose price is not
// known cannot be kept.
func (c *conversation) openLedger() error {
	l := &c.ledger
	l.price, l.known = c.exec.prices(c.model)
	if !l.known {
		l.price, l.known = c.exec.prices(c.at.name + "/" + c.model)
	}
	if c.task.Agent.Budget.MaxCostUSD > 0 && !l.known {
		return agent.Permanentf("what %s costs is not known, so its budget of %g USD cannot be kept; set its price in .hocket/config.yml, or use max_tokens", c.model, c.task.Agent.Budget.MaxCostUSD)
	}
	l.last = int64(len(c.task.Prompt)+len(c.task.Agent.Prompt)) / 4 // about four bytes are a token
	return nil
}

// add counts an answer, also one that broke off. A request that was refused used
// nothing.
func (l *ledger) add(a answer, err error) {
	t := a.tokens
	l.tokens.Input += t.Input
	l.tokens.Output += t.Output
	l.tokens.CacheRead += t.CacheRead
	l.tokens.CacheWrite += t.CacheWrite
	if in := t.Input + t.CacheRead + t.CacheWrite; in > 0 {
		l.last = in + t.Output
	}
	if !a.counted && (err == nil || a.begun() || t != agent.Tokens{} || interrupted(err)) {
		l.unknown = true
	}
}

// interrupted says that we ended a request ourselves, and so do not know what
// became of it.
func interrupted(err error) bool {
	var ours *agent.Error
	return errors.As(err, &ours) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// usage is all that was used.
func (c *conversation) usage() agent.Usage {
	l := &c.ledger
	u := l.tokens.Usage(l.price, l.known)
	free := l.known && l.price == agent.Price{}
	u.CostUnknown = u.CostUnknown || l.unknown && !free
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
	if budget.MaxTokens > 0 {
		room := budget.MaxTokens - used.TokensIn - used.TokensOut - l.last
		if room < 1 {
			return 0, agent.Errorf("the budget of the agent, %d tokens, does not reach for turn %d: %d are used, and it would begin with about %d", budget.MaxTokens, c.turn, used.TokensIn+used.TokensOut, l.last)
		}
		bound(room)
	}
	if budget.MaxCostUSD > 0 {
		left := budget.MaxCostUSD - used.CostUSD - float64(l.last)*l.price.Input/1e6
		if left <= 0 {
			return 0, agent.Errorf("the budget of the agent, %g USD, does not reach for turn %d: %.4f USD are used, and it would begin with about %d tokens", budget.MaxCostUSD, c.turn, used.CostUSD, l.last)
		}
		if l.price.Output > 0 {
			bound(max(1, int64(min(left/l.price.Output*1e6, 1<<40))))
		}
	}
	return limit, nil
}
