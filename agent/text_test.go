package agent_test

import (
	"testing"

	"github.com/hocket-dev/hocket/agent"
)

func TestNotText(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "abc": 0, "\x00": 0, "caf\u00e9": 0, "\uFFFD": 0, "\U0001F3B5": 0,
		"\xff": 1, "caf\xe9": 4, "\u00e9\xe9": 3, "cut \xf0\x9f": 5, "\xed\xa0\x80": 1,
	} {
		if got := agent.NotText([]byte(text)); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}
