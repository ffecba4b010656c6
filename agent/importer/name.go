package importer

import (
	"slices"
	"strings"
	"unicode"
)

// longest is the maximum length of a name.
const longest = 64

// safeID turns any name into a file name: ASCII letters, digits and a few punctuation
// characters. It is never empty, hidden, or reserved on Windows.
func safeID(name string) string {
	var b strings.Builder
	for _, c := range name {
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.':
			b.WriteRune(c)
		case !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= longest {
			break
		}
	}
	id := strings.Trim(b.String(), ".-")
	base, _, _ := strings.Cut(strings.ToLower(id), ".")
	if id == "" || slices.Contains(reserved, base) {
		return strings.TrimSuffix("agent-"+id, "-")
	}
	return id
}

// IsID reports whether a name is safe as a file name.
func IsID(name string) bool { return safeID(name) == name }

// isName reports whether an agent can keep its name: a single line that cannot be mistaken
// for a path.
func isName(name string) bool {
	odd := func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune(" _-./", c)
	}
	return len(name) <= 4*longest && strings.Trim(name, "./") == name && !strings.Contains(name, "..") && !strings.ContainsFunc(name, odd)
}

// reserved are the names of devices on Windows.
var reserved = strings.Fields("con prn aux nul com0 com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt0 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9")
