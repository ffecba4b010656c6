package shell

import (
	"regexp"
	"testing"

	"github.com/hocket-dev/hocket/agent"
)

func TestVariable(t *testing.T) {
	for input, want := range map[string]string{
		"target": "target", "_x1": "_x1", "PATH": "PATH", "the-file": "HOCKET_INPUT_the_file", "2nd": "HOCKET_INPUT_2nd",
		"größe": "HOCKET_INPUT_gr__e", "a.b c": "HOCKET_INPUT_a_b_c", "": "HOCKET_INPUT_", "HOCKET_KEY": "HOCKET_INPUT_HOCKET_KEY",
	} {
		if got := variable(input); got != want {
			t.Errorf("%q: got %s, want %s", input, got, want)
		}
	}
}

// Every input gets a valid name for an environment variable, and never one of Hocket's
// own.
func FuzzVariable(f *testing.F) {
	f.Add("target", "x")
	f.Add("HOCKET_RUN=1", "a\x00b")
	legal := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	f.Fuzz(func(t *testing.T, name, value string) {
		v := variable(name)
		if !legal.MatchString(v) || isOurs(v) && v[:len(inputPrefix)] != inputPrefix {
			t.Errorf("%q becomes %q", name, v)
		}
		env, err := inputVariables([]agent.Input{{Name: name, Value: value}})
		if err == nil && (len(env) != 2 || env[0] != v+"="+value) {
			t.Errorf("%q=%q becomes %q", name, value, env)
		}
	})
}
