package realtest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/internal/fakemodel"
	"github.com/hocket-dev/hocket/trust"
)

// A command that a CLI agent starts is recognized by the variables that the agent sets,
// so that it cannot answer in place of a person.
func TestSupervisor(t *testing.T) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, name, "dummy")
			_, err := f.run(t.Context(), t, attempt{mode: "full", steps: []fakemodel.Step{shell("env > env.txt"), say("done")}})
			text, wrong := os.ReadFile(f.file("env.txt"))
			env := slices.DeleteFunc(strings.Split(string(text), "\n"), func(pair string) bool { return strings.HasPrefix(pair, "HOCKET_") }) // those are set for an attempt
			if got := trust.ByVariables(env); got != name {
				t.Errorf("it is %q, %v, %v, with\n%s", got, err, wrong, text)
			}
		})
	}
}
