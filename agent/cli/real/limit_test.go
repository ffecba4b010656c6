package realtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/fakemodel"
)

// Where the task of an agent may not write, neither its commands nor its own tools do, even
// in the mode in which it may do everything. It can still store its conversation.
func TestWriteLimit(t *testing.T) {
	if why := agent.WriteLimits(); why != "" {
		t.Skip(why)
	}
	t.Setenv("TMPDIR", t.TempDir()) // otherwise that of the tests, with their homes
	for about, limit := range map[string]*agent.WriteLimit{"only": {Only: []string{"out"}}, "except": {Except: []string{"src"}}} {
		for _, name := range names {
			t.Run(about+"/"+name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, name, "dummy")
				f.project = filepath.Join(f.home, "project")
				for _, dir := range []string{"src", "out"} {
					if err := os.MkdirAll(f.file(dir), 0o755); err != nil {
						t.Fatal(err)
					}
				}
				first, err := f.run(t.Context(), t, attempt{mode: "full", writes: limit, model: writers[f.cli], steps: []fakemodel.Step{
					f.command("touch src/made.txt; (touch src/later.txt &); touch out/made.txt"), f.write("src/own.txt"), f.write("out/own.txt"), say("done it"),
				}})
				if err != nil || first.Output != "done it" {
					t.Fatalf("%q, %v", first.Output, err)
				}
				for name, want := range map[string]bool{"src/made.txt": false, "src/later.txt": false, "src/own.txt": false, "out/made.txt": true, "out/own.txt": true} {
					if f.has(name) != want {
						t.Errorf("it wrote %s: %v", name, !want)
					}
				}
				if !f.told("ermission denied") {
					t.Error("the model was not told why")
				}
				second, err := f.run(t.Context(), t, attempt{mode: "full", writes: limit, steps: []fakemodel.Step{say("again")}, conversation: first.Conversation})
				if err != nil || second.Output != "again" || !f.told("done it") {
					t.Errorf("it did not continue: %q, %v", second.Output, err)
				}
			})
		}
	}
}
