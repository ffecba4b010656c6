package workflow

import (
	"math"
	"strconv"
	"strings"
)

// FormatUSD formats an amount in US dollars for people: $0, $2.50, $0.0375. A small amount gets
// as many digits as needed to show it.
func FormatUSD(usd float64) string {
	digits := 2 // after the decimal point
	switch size := math.Abs(usd); {
	case size < 1e-9: // the rounding error of a sum
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
