package workflow

// Usage is what work has used: one attempt, a run, a conversation.
type Usage struct {
	CostUSD     float64 `json:"cost_usd"`
	CostUnknown bool    `json:"cost_unknown,omitempty"` // CostUSD is then what is known of it, or a bound
	TokensIn    int64   `json:"tokens_in"`
	TokensOut   int64   `json:"tokens_out"`
}

// Plus adds what other work has used. The sum with an unknown cost is unknown.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		CostUSD: u.CostUSD + v.CostUSD, CostUnknown: u.CostUnknown || v.CostUnknown,
		TokensIn: u.TokensIn + v.TokensIn, TokensOut: u.TokensOut + v.TokensOut,
	}
}

// Tokens counts those in both directions.
func (u Usage) Tokens() int64 { return u.TokensIn + u.TokensOut }

// CostText is the cost for people: an amount, or "unknown".
func (u Usage) CostText() string {
	if u.CostUnknown {
		return "unknown"
	}
	return FormatUSD(u.CostUSD)
}
