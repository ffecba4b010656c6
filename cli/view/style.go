package view

import (
	"fmt"
	"strconv"
	"time"
)

// Style is what the output can show. The zero Style is plain text of any width.
type Style struct {
	Color bool
	ASCII bool // draw with ASCII characters only
	Width int  // columns; zero: unlimited
}

// Paint is one way to colour a text.
type Paint string

// The paints use the sixteen colours of the terminal, so that they match its theme.
const (
	None       Paint = ""
	Bold       Paint = "1"
	Dim        Paint = "2"
	Red        Paint = "31"
	Green      Paint = "32"
	Yellow     Paint = "33"
	Blue       Paint = "34"
	Cyan       Paint = "36"
	BoldRed    Paint = "1;31"
	BoldYellow Paint = "1;33"
	BoldBlue   Paint = "1;34"
	BoldCyan   Paint = "1;36"
)

// Paint colours a text if colours are enabled.
func (s Style) Paint(p Paint, text string) string {
	if !s.Color || p == None || text == "" {
		return text
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[m"
}

// pick returns the first text, or the second if only ASCII can be shown.
func (s Style) pick(fine, ascii string) string {
	if s.ASCII {
		return ascii
	}
	return fine
}

// Duration formats a duration that is still growing, in a steady width: 0.3s, 42s, 3m05s,
// 2h07m, 3d04h.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Truncate(100*time.Millisecond).Seconds(), 'f', 1, 64) + "s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
	}
}

// Took formats a final duration: like Duration, but in milliseconds if it is short.
func Took(d time.Duration) string {
	if d >= 0 && d < time.Second {
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	}
	return Duration(d)
}

// Count formats a number with its noun: 1 step, 2 steps.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Tokens formats a number of tokens: 950, 1.2k, 3.4M.
func Tokens(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 1_000_000:
		return strconv.FormatFloat(float64(n)/1000, 'f', 1, 64) + "k"
	default:
		return strconv.FormatFloat(float64(n)/1_000_000, 'f', 1, 64) + "M"
	}
}

// Bytes formats a size: 12 kB, 3.4 GB.
func Bytes(n uint64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	size, unit := float64(n), 0
	for size >= 1000 && unit < len(units)-1 {
		size, unit = size/1000, unit+1
	}
	if unit == 0 || size >= 100 {
		return fmt.Sprintf("%.0f %s", size, units[unit])
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}
