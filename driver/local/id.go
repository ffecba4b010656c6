package local

import (
	"crypto/rand"
	"strings"
)

// NewID returns an id for a run: its workflow's name and eight random characters, e.g.
// full-review-3k7q2m9a.
func NewID(workflow string) string {
	const letters = "0123456789abcdefghjkmnpqrstvwxyz" // 32 characters that are hard to confuse
	var chance [8]byte
	rand.Read(chance[:]) // never fails
	for i, b := range chance {
		chance[i] = letters[b%32]
	}
	return slug(workflow) + "-" + string(chance[:])
}

// slug keeps characters that are easy to type and to quote.
func slug(name string) string {
	const most = 40
	s := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '_', r == '.':
			return r
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, name)
	s = strings.Trim(s[:min(len(s), most)], "-.")
	if s == "" {
		return "run"
	}
	return s
}
