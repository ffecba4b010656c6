package cli

import (
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/lazy"
)

// longestReset is the most distant reset of a quota that is believed.
const longestReset = 32 * 24 * time.Hour

// maxReset is the longest text that is parsed.
const maxReset = 100

// parseReset parses the time at which a quota is reset, as CLIs write it: seconds since
// 1970, an RFC 3339 time, "in 3 hours 20 minutes", "3:30 PM", "Nov 20th, 2026 3pm
// (Europe/Berlin)". It returns the zero time if the text is invalid, or the time is in the
// past or too far in the future.
func parseReset(text string, now time.Time) time.Time {
	if text = strings.TrimSpace(text); len(text) > maxReset {
		return time.Time{}
	}
	for _, read := range []func(string, time.Time) time.Time{resetNumber, resetMoment, resetSpan, resetClock} {
		at := read(text, now)
		if !at.IsZero() && at.After(now) && at.Sub(now) <= longestReset {
			return at
		}
	}
	return time.Time{}
}

// resetNumber parses a number: milliseconds or seconds since 1970, or seconds from now.
func resetNumber(text string, now time.Time) time.Time {
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || n <= 0 || n > 1e14:
		return time.Time{}
	case n >= 1e12:
		return time.UnixMilli(int64(n))
	case n >= 1e9:
		return time.Unix(int64(n), 0)
	default:
		return now.Add(time.Duration(min(n, longestReset.Seconds()+1) * float64(time.Second)))
	}
}

func resetMoment(text string, _ time.Time) time.Time {
	at, _ := time.Parse(time.RFC3339, text) // else zero
	return at
}

var (
	spanPart  = lazy.Regexp(`(?i)^(\d{1,9}(?:\.\d{1,9})?)\s*(days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s|ms)\b[\s,]*(?:and\s+)?`)
	clockText = lazy.Regexp(`(?i)^(?:([a-z]{3})[a-z]*\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(?:(\d{4}),?\s+)?(?:at\s+)?)?(\d{1,2})(?::(\d{2}))?\s*(am|pm)?\s*(?:\(([A-Za-z_/+-]+)\))?\.?$`)
)

// resetSpan parses a duration from now: 1h2m3s, 3 days 4 hours.
func resetSpan(text string, now time.Time) time.Time {
	text = strings.TrimPrefix(text, "in ")
	span, rest := time.Duration(0), joined(text)
	for rest != "" {
		part := spanPart().FindStringSubmatch(rest)
		if part == nil {
			return time.Time{}
		}
		n, _ := strconv.ParseFloat(part[1], 64) // the pattern allows nothing else
		span += time.Duration(min(n, 1e6) * float64(unit(part[2])))
		rest = rest[len(part[0]):]
	}
	if span <= 0 {
		return time.Time{}
	}
	return now.Add(span)
}

// joined puts a space after each unit: 1h2m becomes 1h 2m.
func joined(text string) string {
	return strings.TrimRight(spanJoint().ReplaceAllString(strings.TrimSpace(text), "$1 $2"), " .")
}

var spanJoint = lazy.Regexp(`([a-zA-Z])(\d)`)

func unit(word string) time.Duration {
	switch word = strings.ToLower(word); {
	case word == "ms":
		return time.Millisecond
	case word[0] == 'd':
		return 24 * time.Hour
	case word[0] == 'h':
		return time.Hour
	case word[0] == 'm':
		return time.Minute
	default:
		return time.Second
	}
}

// resetClock parses a time of day, the next one or that of a given day.
func resetClock(text string, now time.Time) time.Time {
	part := clockText().FindStringSubmatch(strings.TrimPrefix(text, "at "))
	if part == nil || part[5] == "" && part[6] == "" { // a number alone is not a time of day
		return time.Time{}
	}
	zone := now.Location()
	if part[7] != "" {
		named, err := time.LoadLocation(part[7])
		if err != nil {
			return time.Time{}
		}
		zone = named
	}
	hour, _ := strconv.Atoi(part[4]) // digits; minutes may be missing
	minute, _ := strconv.Atoi(part[5])
	if hour > 23 || minute > 59 || part[6] != "" && (hour < 1 || hour > 12) {
		return time.Time{}
	}
	if part[6] != "" {
		hour %= 12
		if strings.EqualFold(part[6], "pm") {
			hour += 12
		}
	}
	return onDay(part, now.In(zone), hour, minute)
}

func onDay(part []string, now time.Time, hour, minute int) time.Time {
	if part[1] == "" {
		at := time.Date(now.Year(), now.Month(), now.Day(), hour, minute, 0, 0, now.Location())
		if !at.After(now) {
			at = at.AddDate(0, 0, 1)
		}
		return at
	}
	month, err := time.Parse("Jan", strings.ToUpper(part[1][:1])+strings.ToLower(part[1][1:]))
	if err != nil {
		return time.Time{}
	}
	day, _ := strconv.Atoi(part[2]) // digits; the year may be missing
	year, _ := strconv.Atoi(part[3])
	if year == 0 {
		year = now.Year()
	}
	at := time.Date(year, month.Month(), day, hour, minute, 0, 0, now.Location())
	if part[3] == "" && !at.After(now) {
		at = at.AddDate(1, 0, 0)
	}
	return at
}
