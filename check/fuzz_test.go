package check_test

import (
	"os"
	"testing"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// FuzzRun checks that no text makes a rule panic, and that the engine accepts what passes.
func FuzzRun(f *testing.F) {
	roots, err := os.ReadDir("testdata")
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range roots {
		if text, err := os.ReadFile("testdata/" + e.Name()); err == nil {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		w, found := yaml.Parse("fuzz.yml", text)
		if w == nil {
			return
		}
		b := workflow.Bundle{Root: w, Called: map[string]*workflow.Workflow{"self": w}}
		found = append(found, check.Run(check.Input{Bundle: b, Agents: cast{}})...)
		check.PlanOf(check.Input{Bundle: b, Agents: cast{}})
		check.RequiredInputs(b)
		if found.Errors() {
			return
		}
		if _, err := engine.New(&b); err != nil {
			t.Fatalf("nothing is wrong with it, but: %v", err)
		}
	})
}
