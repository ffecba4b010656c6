package workflow

import (
	"strings"
	"time"
)

// FormatDuration formats a duration for people, and for files: 10m rather than 10m0s. time.ParseDuration reads both.
func FormatDuration(d time.Duration) string {
	text := d.String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}
