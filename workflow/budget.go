package workflow

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Bound is an upper bound: an amount, [NoBound], or, as its zero value, unknown.
type Bound struct {
	Known bool
	Most  float64 // infinite if there is no bound
}

// NoBound is the bound of something that is not limited.
var NoBound = AtMost(math.Inf(1))

// AtMost returns the bound n.
func AtMost[N int | int64 | float64](n N) Bound { return Bound{true, float64(n)} }

// Amount returns the highest possible number, if the bound is known and finite.
func (b Bound) Amount() (n float64, ok bool) {
	if !b.Known || math.IsInf(b.Most, 1) {
		return 0, false
	}
	return b.Most, true
}

// Exceeded reports whether a number is above the bound.
func (b Bound) Exceeded(by float64) bool { return b.Known && by > b.Most }

// Plus returns the bound of a sum.
func (b Bound) Plus(c Bound) Bound {
	if !b.Known || !c.Known {
		return Bound{}
	}
	return AtMost(b.Most + c.Most)
}

// Times returns the bound of something that happens several times. The product with zero is zero,
// even if the other bound is not known.
func (b Bound) Times(c Bound) Bound {
	if b == AtMost(0) || c == AtMost(0) {
		return AtMost(0)
	}
	if !b.Known || !c.Known {
		return Bound{}
	}
	return AtMost(b.Most * c.Most)
}

// Lower returns the lower of two bounds. If one is unknown, it returns the other.
func (b Bound) Lower(c Bound) Bound {
	if n, ok := c.Amount(); ok && (!b.Known || n < b.Most) {
		return c
	}
	return b
}

// Higher returns the higher of two bounds. If one is unknown, so is the result.
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

// Budget is what an attempt, a run or the remainder of a limit may use at most. [Usage] is what
// was actually used.
type Budget struct {
	CostUSD Bound `json:"cost_usd"`
	Tokens  Bound `json:"tokens"`
}

// Free is the budget of work that uses nothing.
var Free = Budget{CostUSD: AtMost(0), Tokens: AtMost(0)}

// Budget returns the budget of a run that has used nothing yet.
func (l Limits) Budget() Budget { return l.Left(Usage{}) }

// Left returns what remains of the limits after some usage.
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

// Lower returns the lower bound of each kind.
func (b Budget) Lower(c Budget) Budget {
	return Budget{CostUSD: b.CostUSD.Lower(c.CostUSD), Tokens: b.Tokens.Lower(c.Tokens)}
}

// Exceeded reports whether usage is above the budget.
func (b Budget) Exceeded(by Usage) bool {
	return b.CostUSD.Exceeded(by.CostUSD) || b.Tokens.Exceeded(float64(by.Tokens()))
}

// String lists the amounts of the budget. It returns "" if there are none.
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
