package llm

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/file"
)

// A missing model, or a model without a provider, is reported before anything runs.
func TestIncomplete(t *testing.T) {
	e := New(Options{Providers: map[string]Provider{"here": {API: Compatible}, "there": {API: Compatible}}})
	t.Cleanup(e.Close)
	files := Toolset(file.New(), e)
	for _, c := range []struct {
		model    string
		settings map[string]any
		want     string
		files    string // the same with files
	}{
		{"here/m", nil, "", ""},
		{"", map[string]any{"model": "here/m"}, "", ""},
		{"", map[string]any{"model": "${inputs.model}"}, "", ""},
		{"", nil, "no model is named; set model", "do not say what to do, so it needs a model, and none is named"},
		{"", map[string]any{"action": "list"}, "", ""},
		{"m", nil, `no known provider for the model "m"; `, `no known provider for the model "m"; `},
		{"m", map[string]any{"provider": "her"}, `unknown provider "her"; did you mean here?`, `unknown provider "her"; did you mean here?`},
	} {
		tk := &agent.Task{Agent: &agent.Definition{Model: c.model}, Settings: c.settings}
		for i, traits := range []agent.Traits{e.Traits(), files.Traits()} {
			if !traits.FromPrompt(tk) {
				continue
			}
			want := []string{c.want, c.files}[i]
			if got := traits.Incomplete(tk); !strings.Contains(got, want) || (got == "") != (want == "") {
				t.Errorf("%s with %q and %v: %q", traits.About, c.model, c.settings, got)
			}
		}
	}
}
