package workspace

import (
	"fmt"
	"strings"
	"testing"
)

// TestMessagesThatMatterAreKept has more messages than are kept, in pieces.
func TestMessagesThatMatterAreKept(t *testing.T) {
	var m messages
	write := func(text string) {
		for len(text) > 0 {
			n := min(len(text), 1000)
			if _, err := m.Write([]byte(text[:n])); err != nil {
				t.Fatal(err)
			}
			text = text[n:]
		}
	}
	write("first\n" + strings.Repeat("warning: noise\n", maxStderr) + unopened + "'dir': no\nwarning: more noise\nerror: wrong\nfatal: cut off")
	text := m.text().String()
	if want := fmt.Sprintf("%s'dir': no\nerror: wrong\nfatal: cut off\n", unopened); !strings.HasPrefix(text, "first\n") || !strings.HasSuffix(text, want) || len(text) > 2*maxStderr {
		t.Errorf("%d bytes, which end with %q", len(text), text[max(0, len(text)-200):])
	}
}
