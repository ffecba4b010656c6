package workflow

// Usage is what an attempt, a run or a conversation has used.
type Usage struct {
	CostUSD     float64 `json:"cost_usd"`
	CostUnknown bool    `json:"cost_unknown,omitempty"` // CostUSD is then the known part, or a bound
	TokensIn    int64   `json:"tokens_in"`
	TokensOut   int64   `json:"tokens_out"`
}

// Plus adds the usage of other work. If one cost is unknown, so is the sum.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		CostUSD: u.CostUSD + v.CostUSD, CostUnknown: u.CostUnknown || v.CostUnknown,
		TokensIn: u.TokensIn + v.TokensIn, TokensOut: u.TokensOut + v.TokensOut,
	}
}

// Tokens returns the number of tokens in both directions.
func (u Usage) Tokens() int64 { return u.TokensIn + u.TokensOut }

// CostText returns the cost for people: an amount, or "unknown".
func (u Usage) CostText() string {
	if u.CostUnknown {
		return "unknown"
	}
	return FormatUSD(u.CostUSD)
}
