package hocket_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
)

// crowded has one step for each of 50 items, each in its own workspace. No command goes on before all of them have begun.
const crowded = `
name: w
inputs: {names: {}, place: string}
limits: {max_steps: 200, max_parallel: 50}
steps:
  - id: write
    agent: shell
    for_each: "${inputs.names}"
    as: name
    max_parallel: 50
    workspace: own
    inputs: {name: "${name}", place: "${inputs.place}"}
    config:
      command: |
        set -e
        touch "$place/$name"
        while [ "$(ls "$place" | wc -l)" -lt 50 ]; do sleep 0.1; done
        echo "$name" > "$name.txt"
        git add -A
        git commit -qm mine
        git mv "$name.txt" "moved-$name.txt"
        git stash -q
        git stash pop -q
        git commit -qam moved
        git reflog expire --expire=now --all
        git gc -q --prune=now
  - {id: all, merge: {}}
  - {id: look, agent: shell, workspace: own, config: {command: "cat a.txt moved-*.txt; ls *.txt | grep -c ."}}
`

// Fifty agents commit, stash and prune in their workspaces at the same time, and what all of them made is merged.
func TestFiftyWorkspacesAtOnce(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh")
	}
	p, dir := repository(t, map[string]string{"a.txt": "one\n", "w.yml": crowded}, hocket.Options{
		Trust: func(context.Context, *hocket.UntrustedError) (bool, error) { return true, nil },
	})
	writeFile(t, filepath.Join(dir, "b.txt"), "not committed\n")
	before := git(t, dir, "for-each-ref") + git(t, dir, "status", "--porcelain")
	var names []any
	want := []string{"one"}
	for i := range 50 {
		names = append(names, fmt.Sprintf("n%02d", i))
		want = append(want, fmt.Sprintf("n%02d", i))
	}
	r := start(t, p, "w.yml", map[string]any{"names": names, "place": t.TempDir()})
	res := wait(t, r)
	if got, want := output(res, "look"), strings.Join(append(want, "52"), "\n"); res.Status != engine.Success || got != want {
		t.Fatalf("%s: %s: %s", res.Status, res.Error, got)
	}
	if d, err := r.Diff(t.Context(), hocket.Made{Address: "write[49]"}, 1<<20); err != nil || len(d.Files) != 1 || d.Files[0].Path != "moved-n49.txt" {
		t.Errorf("the diff of the last one: %+v, %v", d, err)
	}
	if err := r.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := git(t, dir, "for-each-ref") + git(t, dir, "status", "--porcelain"); after != before {
		t.Errorf("the repository had\n%s\nand has\n%s", before, after)
	}
	git(t, dir, "fsck", "--full", "--strict")
}
