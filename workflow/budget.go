package workflow

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Bound is the most that something can come to: an amount, [NoBound], or, as its zero
// value, unknown. Nothing is said by a zero that means something else.
type Bound struct {
	Known bool
	Most  float64 // infinite: no bound
}

// NoBound is that of what may come to anything.
var NoBound = AtMost(math.Inf(1))

// AtMost is the bound that is an amount.
func AtMost[N int | int64 | float64](n N) Bound { return Bound{true, float64(n)} }

// Amount is the number that is not exceeded, if there is one.
func (b Bound) Amount() (n float64, ok bool) {
	if !b.Known || math.IsInf(b.Most, 1) {
		return 0, false
	}
	return b.Most, true
}

// Exceeded says whether a number is above the bound.
func (b Bound) Exceeded(by float64) bool { return b.Known && by > b.Most }

// Plus bounds the sum of two.
func (b Bound) Plus(c Bound) Bound {
	if !b.Known || !c.Known {
		return Bound{}
	}
	return AtMost(b.Most + c.Most)
}

// Times bounds something that happens a number of times. What never happens is
// known, whatever it would come to.
func (b Bound) Times(c Bound) Bound {
	if b == AtMost(0) || c == AtMost(0) {
		return AtMost(0)
	}
	if !b.Known || !c.Known {
		return Bound{}
	}
	return AtMost(b.Most * c.Most)
}

// Lower is the lower of two bounds. An unknown one gives way to an amount.
func (b Bound) Lower(c Bound) Bound {
	if n, ok := c.Amount(); ok && (!b.Known || n < b.Most) {
		return c
	}
	return b
}

// Higher is the higher of two bounds, unknown if one of them is.
func (b Bound) Higher(c Bound) Bound {
	if !b.Known || !c.Known {
		return Bound{}
	}
	return AtMost(max(b.Most, c.Most))
}

func (b Bound) String() string {
	switch n, ok := b.Amount(); {
	case ok:
		return strconv.FormatFloat(n, 'f', -1, 64)
	case b.Known:
		return "no bound"
	default:
		return "unknown"
	}
}

// MarshalJSON writes a number, null for unknown, and "none" for [NoBound].
func (b Bound) MarshalJSON() ([]byte, error) {
	switch _, ok := b.Amount(); {
	case ok:
		return json.Marshal(b.Most)
	case b.Known:
		return []byte(`"none"`), nil
	default:
		return []byte("null"), nil
	}
}

// UnmarshalJSON reads what MarshalJSON writes.
func (b *Bound) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case "null":
		*b = Bound{}
		return nil
	case `"none"`:
		*b = NoBound
		return nil
	}
	*b = AtMost(0)
	return json.Unmarshal(data, &b.Most)
}

// Budget is what work may use at most: one attempt, a run, what a limit leaves. What
// it has used is [Usage].
type Budget struct {
	CostUSD Bound `json:"cost_usd"`
	Tokens  Bound `json:"tokens"`
}

// Free is the budget of work that uses nothing.
var Free = Budget{CostUSD: AtMost(0), Tokens: AtMost(0)}

// Budget is what the limits leave a run that has used nothing.
func (l Limits) Budget() Budget { return l.Left(Usage{}) }

// Left is what the limits leave after some use.
func (l Limits) Left(used Usage) Budget {
	b := Budget{CostUSD: NoBound, Tokens: NoBound}
	if l.CostUSD > 0 {
		b.CostUSD = AtMost(l.CostUSD - used.CostUSD)
	}
	if l.Tokens > 0 {
		b.Tokens = AtMost(l.Tokens - used.Tokens())
	}
	return b
}

// Lower has the lower bound of each kind.
func (b Budget) Lower(c Budget) Budget {
	return Budget{CostUSD: b.CostUSD.Lower(c.CostUSD), Tokens: b.Tokens.Lower(c.Tokens)}
}

// Exceeded says whether more was used than the budget allows.
func (b Budget) Exceeded(by Usage) bool {
	return b.CostUSD.Exceeded(by.CostUSD) || b.Tokens.Exceeded(float64(by.Tokens()))
}

// String lists the amounts of the budget; "" if it has none.
func (b Budget) String() string {
	var parts []string
	if usd, ok := b.CostUSD.Amount(); ok {
		parts = append(parts, FormatUSD(usd))
	}
	if _, ok := b.Tokens.Amount(); ok {
		parts = append(parts, b.Tokens.String()+" tokens")
	}
	return strings.Join(parts, " and ")
}
