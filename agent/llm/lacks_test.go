package llm

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/file"
)

// That no model is named, or at no provider, is known before anything runs.
func TestLacks(t *testing.T) {
	e := New(Options{Providers: map[string]Provider{"here": {API: Compatible}, "there": {API: Compatible}}})
	t.Cleanup(e.Close)
	for _, c := range []struct {
		model    string
		settings map[string]any
		want     string
		files    string // the same with files
	}{
		{"here/m", nil, "", ""},
		{"", map[string]any{"model": "here/m"}, "", ""},
		{"", map[string]any{"model": "${inputs.model}"}, "", ""},
		{"", nil, "no model is named; set model", "do not say what to do, so it takes a model, and none is named"},
		{"", map[string]any{"action": "list"}, "", ""},
		{"m", nil, `which provider has the model "m" is not known; `, `which provider has the model "m" is not known; `},
		{"m", map[string]any{"provider": "her"}, `there is no provider "her"; did you mean here?`, `there is no provider "her"; did you mean here?`},
	} {
		tk := &agent.Task{Agent: &agent.Definition{Model: c.model}, Settings: c.settings}
		files, ok := Toolset(file.New(), e).(agent.Demanding)
		if !ok {
			t.Fatal("a toolset lacks nothing")
		}
		for exec, want := range map[agent.Demanding]string{e: c.want, files: c.files} {
			if !exec.Thinks(tk) {
				continue
			}
			if got := exec.Lacks(tk); !strings.Contains(got, want) || (got == "") != (want == "") {
				t.Errorf("%T with %q and %v: %q", exec, c.model, c.settings, got)
			}
		}
	}
}
