package hocket_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
)

var workspaceRuns = flag.Int("workspace-runs", 12, "how many runs with workspaces TestStateOfRunsDoesNotGrow makes")

// TestStateOfRunsDoesNotGrow makes runs with ten workspaces each, of which retention keeps four. The state has what these need, and
// the repository of the user has their refs.
func TestStateOfRunsDoesNotGrow(t *testing.T) {
	const keep, each = 4, 10
	files := map[string]string{
		".hocket/config.yml": fmt.Sprintf("retention: {max_runs: %d}\n", keep),
		"w.yml": `
name: w
inputs: {items: {}}
steps:
  - {id: write, agent: editor, for_each: "${items}", as: item, workspace: own, prompt: "head -c 20000 /dev/urandom > new${item}"}
  - {id: all, merge: {}}
`,
	}
	for i := range 50 {
		files[fmt.Sprintf("dir/file%d.txt", i)] = strings.Repeat("line\n", 100)
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir()) // the retention of a project is only for its own state
	_, dir := repository(t, files, hocket.Options{})
	p, err := hocket.Open(dir, hocket.Options{Agents: agents{"editor": editor()}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	state := p.State()
	var items []any
	for i := range each {
		items = append(items, fmt.Sprint(i))
	}
	var half, most int64
	for n := range *workspaceRuns {
		writeFile(t, filepath.Join(dir, "mine.txt"), fmt.Sprintln("not committed", n))
		r := start(t, p, "w.yml", map[string]any{"items": items})
		if res := wait(t, r); res.Status != engine.Success {
			t.Fatalf("%s: %s", res.Status, res.Error)
		}
		size := int64(0)
		err := filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if strings.HasSuffix(path, "-wal") { // of the journal, with a limit of its own: how long it is says when it was last emptied
				return nil
			}
			if size += info.Size(); strings.Contains(path, "objects/pack") { // two hours pass
				err = os.Chtimes(path, time.Now(), time.Now().Add(-2*time.Hour))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if n < *workspaceRuns/2 {
			half = max(half, size)
		} else {
			most = max(most, size)
		}
	}
	t.Logf("at most %d kB in the first %d runs, %d kB in the others", half>>10, *workspaceRuns/2, most>>10)
	if most > half*5/4 {
		t.Errorf("the state grows: at most %d bytes in the first half, %d in the second one", half, most)
	}
	if runs, err := p.Runs(t.Context(), hocket.Filter{}); err != nil || len(runs) != keep {
		t.Errorf("%d runs, %v", len(runs), err)
	}
	if refs := strings.Count(git(t, dir, "for-each-ref", "refs/hocket/"), "\n") + 1; refs != keep {
		t.Errorf("the repository has %d refs", refs)
	}
	store := filepath.Join(state, "workspaces", "store.git")
	if refs := strings.Count(git(t, store, "for-each-ref", "--format=%(refname)"), "\n") + 1; refs != keep*(1+2*each+1) {
		t.Errorf("the store has %d refs", refs)
	}
	for _, name := range []string{"work", "land", "temp"} {
		if left, err := os.ReadDir(filepath.Join(state, "workspaces", name)); err != nil || len(left) > 0 {
			t.Errorf("%d entries are left in %s, %v", len(left), name, err)
		}
	}
	git(t, store, "fsck", "--full")
}
