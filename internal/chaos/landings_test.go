package chaos

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLandingsAtOnce has two processes land approved changes of the same file at the same time. One of them lands, and the other one asks
// again, because the file has changed. When that is approved, too, both changes are there.
func TestLandingsAtOnce(t *testing.T) {
	for i := range 4 {
		how := []string{"patch", "commit"}[i%2]
		flow := func(name, command string) string {
			return fmt.Sprintf("name: %s\nsteps:\n  - {id: write, agent: shell, workspace: own, config: {command: \"%s\"}}\n  - {id: ship, land: %s}\n", name, command, how)
		}
		p := newRepository(t, map[string]string{
			"a.txt":     "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
			"first.yml": flow("first", "sed -i s/1/first/ a.txt; echo first > first.txt"),
			"last.yml":  flow("last", "sed -i s/9/last/ a.txt; echo last > last.txt"),
		})
		for _, file := range []string{"first.yml", "last.yml"} {
			if got := p.call("run", file, "--quiet"); got.code != 3 {
				t.Fatalf("run: %d %s%s", got.code, got.out, got.err)
			}
		}
		runs := p.runs()
		for _, run := range runs {
			if got := p.call("answer", run, "ship", "land"); got.code != 0 {
				t.Fatalf("answer: %s%s", got.out, got.err)
			}
		}
		if got := p.call(p.landBoth(runs)...); got.code != 0 {
			t.Fatalf("%s: the second landing: %d %s%s", how, got.code, got.out, got.err)
		}
		commits := map[string]string{"patch": "1", "commit": "3"}[how]
		status := map[string]string{"patch": "M a.txt\n?? first.txt\n?? last.txt", "commit": ""}[how]
		if got := p.git("rev-list", "--count", "HEAD"); got != commits || p.git("status", "--porcelain") != status {
			t.Errorf("%s: %s commits, and the status is\n%s", how, got, p.git("status", "--porcelain"))
		}
		for name, want := range map[string]string{"a.txt": "first\n2\n3\n4\n5\n6\n7\n8\nlast\n", "first.txt": "first\n", "last.txt": "last\n"} {
			if got, err := os.ReadFile(filepath.Join(p.dir, name)); err != nil || string(got) != want {
				t.Errorf("%s: %s has %q, %v", how, name, got, err)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(p.dir, ".git", "*.lock")); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
		p.remove()
	}
}

// landBoth resumes two runs at once, of which one lands, and returns the command that answers the other one.
func (p project) landBoth(runs []string) (answer []string) {
	p.t.Helper()
	var all [2]struct {
		cmd  *exec.Cmd
		said bytes.Buffer
	}
	for i := range all {
		all[i].cmd = p.command(p.t.Context(), "resume", runs[i], "--quiet")
		all[i].cmd.Stdout, all[i].cmd.Stderr = &all[i].said, &all[i].said
		if err := all[i].cmd.Start(); err != nil {
			p.t.Fatal(err)
		}
	}
	codes := map[int]int{}
	for i := range all {
		_ = all[i].cmd.Wait()
		codes[all[i].cmd.ProcessState.ExitCode()]++
		if found := regexp.MustCompile(`(answer \S+ ship land --change [0-9a-f]{8} --resume)\n`).FindStringSubmatch(all[i].said.String()); found != nil {
			answer = strings.Fields(found[1])
		}
	}
	if codes[0] != 1 || codes[3] != 1 || answer == nil {
		p.t.Fatalf("the processes ended like this: %v\n%s\n%s", codes, &all[0].said, &all[1].said)
	}
	return answer
}
