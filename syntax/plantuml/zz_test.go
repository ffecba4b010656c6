package plantuml

import (
	"fmt"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"
	"github.com/hocket-dev/hocket/syntax/internal/modelgen"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

func TestZZ(t *testing.T) {
	f := os.Getenv("F")
	if f == "" {
		t.Skip()
	}
	text, _ := os.ReadFile(f)
	w, ds := Parse(f, text)
	fmt.Println(ds)
	fmt.Println(workflow.Print(w))
	out, err := Format(w)
	fmt.Println(string(out), err)
}

func TestYY(t *testing.T) {
	if os.Getenv("YY") == "" {
		t.Skip()
	}
	rapid.Check(t, func(t *rapid.T) {
		w := modelgen.Workflow().Draw(t, "workflow")
		p := plan{w: w, written: yaml.InDialect(w, expr.PlantUML), carried: map[string]bool{}, hard: os.Getenv("HARD") != "", flat: os.Getenv("FLAT") != ""}
		var text []byte
		var again *workflow.Workflow
		var ds workflow.Diagnostics
		for i := 0; i < 6; i++ {
			text = p.write()
			again, ds = Parse("f", text)
			if !ds.Errors() && workflow.Digest(again) == workflow.Digest(w) {
				return
			}
			if !p.carryMore(again) {
				break
			}
		}
		os.WriteFile("/tmp/hkp/fail.puml", text, 0o644)
		os.WriteFile("/tmp/hkp/fail.print", []byte(workflow.Print(w)), 0o644)
		os.WriteFile("/tmp/hkp/fail.diff", []byte(ds.String()+"\n"+cmp.Diff(workflow.Print(w), workflow.Print(again))), 0o644)
		t.Fatalf("failed")
	})
}
