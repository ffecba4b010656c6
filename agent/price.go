package agent

// Price is what a model costs, in USD per million tokens.
type Price struct {
	Input      float64
	Output     float64
	CacheRead  float64 // zero: as Input
	CacheWrite float64 // zero: as Input
}

// Tokens are those of one or more answers of a model. Input does not count what
// came from a cache or went into one.
type Tokens struct {
	Input, Output, CacheRead, CacheWrite int64
}

// Usage is what tokens of a model cost at a price; of an unknown price the cost is
// unknown, not zero.
func (t Tokens) Usage(p Price, known bool) Usage {
	u := Usage{TokensIn: t.Input + t.CacheRead + t.CacheWrite, TokensOut: t.Output, CostUnknown: !known}
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

// Prices say what a model costs; false: that is not known.
type Prices func(model string) (Price, bool)
