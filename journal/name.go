package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

const maxName = 100

// fileNameOf turns a run's id or a node's address into a name that is valid on every file
// system: it keeps letters, digits and -_.[], and writes the rest as %XX. If two names
// could collide (on a file system that ignores case, or because a name is too long), a hash
// of the whole name distinguishes them.
func fileNameOf(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '[', c == ']':
			b.WriteByte(c)
		case c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	safe := b.String()
	if safe == "" || len(safe) > maxName || strings.ToLower(name) != name || reserved(name) {
		sum := sha256.Sum256([]byte(name))
		safe = safe[:min(len(safe), maxName)] + "~" + hex.EncodeToString(sum[:4])
	}
	return safe
}

// reserved are the names that Windows reserves for devices, with any extension.
func reserved(name string) bool {
	stem, _, _ := strings.Cut(name, ".")
	switch stem {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(stem) == 4 && (stem[:3] == "com" || stem[:3] == "lpt") && stem[3] >= '0' && stem[3] <= '9'
}
