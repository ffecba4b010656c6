package workflow

import (
	"math"
	"strconv"
	"strings"
)

// FormatUSD writes an amount of US dollars for people: $0, $2.50, $0.0375. A small
// one has as many digits as it takes to see it.
func FormatUSD(usd float64) string {
	digits := 2 // behind the point
	switch size := math.Abs(usd); {
	case size < 1e-9: // what is left where sums of decimals are not exact
		return "$0"
	case size < 0.0001:
		digits = 1 - int(math.Floor(math.Log10(size)))
	case size < 1:
		digits = 4
	}
	text := strconv.FormatFloat(usd, 'f', digits, 64)
	for digits > 2 && strings.HasSuffix(text, "0") {
		text, digits = text[:len(text)-1], digits-1
	}
	return "$" + text
}
