package agent

// Price is what a model costs, in USD per million tokens.
type Price struct {
	Input      float64
	Output     float64
	CacheRead  float64 // zero: same as Input
	CacheWrite float64 // zero: same as Input
}

// Tokens counts the tokens of one or more model responses. Input excludes tokens read from
// or written to a cache.
type Tokens struct {
	Input, Output, CacheRead, CacheWrite int64
}

// In returns how many tokens were sent.
func (t Tokens) In() int64 { return t.Input + t.CacheRead + t.CacheWrite }

// Usage returns the usage for the given tokens. If the price is unknown, the cost is
// unknown, not zero.
func (t Tokens) Usage(p Price, known bool) Usage {
	u := Usage{TokensIn: t.In(), TokensOut: t.Output, CostUnknown: !known}
	if !known {
		return u
	}
	read, write := p.CacheRead, p.CacheWrite
	if read == 0 {
		read = p.Input
	}
	if write == 0 {
		write = p.Input
	}
	u.CostUSD = (float64(t.Input)*p.Input + float64(t.Output)*p.Output + float64(t.CacheRead)*read + float64(t.CacheWrite)*write) / 1e6
	return u
}

// Prices returns the price of a model; false if it is unknown.
type Prices func(model string) (Price, bool)
