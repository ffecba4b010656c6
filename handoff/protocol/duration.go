package protocol

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/lazy"
)

var durationPart = lazy.Regexp(`([0-9]+)(ms|s|m|h|d)`)

var durationUnits = []struct {
	name string
	size time.Duration
}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}}

const longest = 366 * 24 * time.Hour

// ParseDuration reads a duration such as 1h30m. It is more than zero.
func ParseDuration(text string) (time.Duration, bool) {
	if durationPart().ReplaceAllString(text, "") != "" {
		return 0, false
	}
	var sum time.Duration
	for _, part := range durationPart().FindAllStringSubmatch(text, -1) {
		var unit time.Duration
		for _, u := range durationUnits {
			if u.name == part[2] {
				unit = u.size
			}
		}
		n, err := strconv.ParseInt(part[1], 10, 64)
		if err != nil || n > int64(longest/unit) {
			return 0, false
		}
		if sum += time.Duration(n) * unit; sum > longest {
			return 0, false
		}
	}
	return sum, sum > 0
}

// FormatDuration writes a duration in the form that ParseDuration reads; "" for zero.
func FormatDuration(d time.Duration) string {
	var b strings.Builder
	for _, u := range durationUnits {
		if n := d / u.size; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			d -= n * u.size
		}
	}
	return b.String()
}

// IsDuration reports whether a duration is valid in a request.
func IsDuration(d time.Duration) bool {
	again, ok := ParseDuration(FormatDuration(d))
	return ok && again == d
}
