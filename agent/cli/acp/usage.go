package acp

import (
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/cli"
)

// usage is the usage of a turn as some agents report it.
type usage struct {
	Input      int64 `json:"inputTokens"`
	Output     int64 `json:"outputTokens"`
	CacheRead  int64 `json:"cachedReadTokens"`
	CacheWrite int64 `json:"cachedWriteTokens"`
}

// meta is where agents put extensions of the protocol.
type meta struct {
	Quota struct {
		Models []struct {
			Model  string `json:"model"`
			Tokens struct {
				Input  int64 `json:"input_tokens"`
				Output int64 `json:"output_tokens"`
			} `json:"token_count"`
		} `json:"model_usage"`
		Tokens struct {
			Input  int64 `json:"input_tokens"`
			Output int64 `json:"output_tokens"`
		} `json:"token_count"`
	} `json:"quota"`
}

// spent is the usage that the agent reported for a turn, or for the whole conversation.
type spent struct {
	tokens      agent.Tokens
	told        bool
	tokensTotal bool // figures are for the whole conversation
	model       string
	cost        *float64 // for the whole conversation
	prices      agent.Prices
}

func (t *talk) spent(r promptResponse) spent {
	t.client.mu.Lock()
	s := spent{model: t.client.model, cost: t.client.cost, prices: t.start.Prices}
	t.client.mu.Unlock()
	if t.start.Model != "" {
		s.model = t.start.Model
	}
	quota := r.Meta.Quota
	if len(quota.Models) == 1 && quota.Models[0].Model != "" {
		s.model = quota.Models[0].Model
	}
	switch {
	case r.Usage != nil:
		s.told, s.tokensTotal = true, t.quirks.Usage == cli.UsageTotal
		s.tokens = agent.Tokens{Input: r.Usage.Input, Output: r.Usage.Output, CacheRead: r.Usage.CacheRead, CacheWrite: r.Usage.CacheWrite}
	case quota.Tokens.Input+quota.Tokens.Output > 0:
		s.told = true
		s.tokens = agent.Tokens{Input: quota.Tokens.Input, Output: quota.Tokens.Output}
	}
	return s
}

// since returns the usage of the turn.
func (s spent) since(before agent.Usage) agent.Usage {
	used := s.priced()
	if s.tokensTotal && used.TokensIn >= before.TokensIn && used.TokensOut >= before.TokensOut {
		used.TokensIn -= before.TokensIn
		used.TokensOut -= before.TokensOut
		used.CostUSD = max(0, used.CostUSD-before.CostUSD)
	}
	if s.cost != nil {
		used.CostUSD, used.CostUnknown = *s.cost, false
		if *s.cost >= before.CostUSD { // otherwise it counts from the start of the program
			used.CostUSD -= before.CostUSD
		}
	}
	return used
}

// total returns the usage of the whole conversation.
func (s spent) total(before agent.Usage) agent.Usage {
	return before.Plus(s.since(before))
}

func (s spent) priced() agent.Usage {
	if !s.told {
		return agent.Usage{CostUnknown: true}
	}
	var price agent.Price
	known := false
	if s.prices != nil && s.model != "" {
		price, known = s.prices(s.model)
	}
	return s.tokens.Usage(price, known)
}
