package acp

import (
	"encoding/json"
	"testing"
)

// TestNameOfTool covers agents whose calls have no name but their input.
func TestNameOfTool(t *testing.T) {
	for _, c := range []struct{ title, meta, want string }{
		{"Terminal", `{"toolName":"shell"}`, "Terminal"},
		{`{"a":2}`, `{"toolName":"mcp__engine__add"}`, "mcp__engine__add"},
		{`{"a":2}`, `{"toolName":7}`, `{"a":2}`},
		{`{"a":2}`, ``, `{"a":2}`},
		{"", `{"toolName":"shell"}`, ""},
	} {
		if got := (&toolUpdate{Title: c.title, Meta: json.RawMessage(c.meta)}).name(); got != c.want {
			t.Errorf("%s with %s is called %q", c.title, c.meta, got)
		}
	}
}
