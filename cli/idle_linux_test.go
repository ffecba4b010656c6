package cli

import (
	"os"
	"strings"
	"testing"
)

// A program whose code was unmapped takes less memory, and goes on.
func TestUnmapCode(t *testing.T) {
	before := mappedCode(t)
	unmapCode()
	if after := mappedCode(t); after > before/2 || before == 0 {
		t.Errorf("%d KB of code are mapped, %d before", after, before)
	}
}

// mappedCode returns how many KB of this program's code are mapped.
func mappedCode(t *testing.T) (kb int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	_, code, _ := strings.Cut(string(text), " r-xp ")
	head, rest, _ := strings.Cut(code, "\n")
	if !strings.HasSuffix(head, self) {
		t.Fatalf("the first code is that of %s", head)
	}
	_, rest, _ = strings.Cut(rest, "Rss:")
	for _, c := range strings.TrimSpace(rest) {
		if c < '0' || c > '9' {
			return kb
		}
		kb = kb*10 + int(c-'0')
	}
	return kb
}
