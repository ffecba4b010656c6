package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// git runs git in the project.
func (p project) git(args ...string) string {
	p.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=ada", "-c", "user.email=ada@example.com"}, args...)...)
	cmd.Dir = p.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// newRepository is newProject in a git repository, with one commit.
func newRepository(t *testing.T, files map[string]string) project {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	p := newProject(t, files)
	p.git("init", "-q", "-b", "main")
	p.git("add", "-A")
	p.git("commit", "-q", "-m", "first")
	return p
}

// await waits until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited for a minute until %s", what)
		}
	}
}

// disturb is what the first attempt at a step does to the files of its workspace, with git, too.
const disturb = `echo more >> a.txt; rm gone.txt; echo half > left.txt; mkdir sub; echo x > sub/y; git add -A; git commit -qm mine; echo then >> a.txt; `

// TestAttemptsBeginWithTheBase ends the first attempt at a step in every way in the middle of its work. The files of the second one
// are those of the base, and what the first one left can be shown.
func TestAttemptsBeginWithTheBase(t *testing.T) {
	const list = `{ find . -path ./.git -prune -o -type f -print | sort; cat a.txt gone.txt; git status --porcelain; git log --format=%s; git stash list; } > "$SEEN.$n"; `
	for name, c := range map[string]struct {
		then     string // what the first attempt does in the end
		step     string // more keys of the step
		kill     bool   // the process of the run
		stop     bool   // the same, with SIGINT
		made     string // the flags that show what it left
		attempts int
	}{
		"fails":           {then: "exit 1", step: "retry: 2", made: "--attempt 1", attempts: 2},
		"times out":       {then: "sleep 600", step: "retry: 2, timeout: 2s", made: "--attempt 1", attempts: 2},
		"agent is killed": {then: "kill -9 $$", step: "retry: 2", made: "--attempt 1", attempts: 2},
		"hocket is killed": {then: "sleep 600", kill: true, made: "--attempt 1 --interruption 1",
			attempts: 1}, // made again with its number
		"hocket is stopped": {then: "sleep 600", stop: true, made: "--attempt 1 --interruption 1", attempts: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := filepath.Join(t.TempDir(), "seen")
			p := newRepository(t, map[string]string{"a.txt": "one\n", "gone.txt": "gone\n", "w.yml": fmt.Sprintf(`name: w
steps:
  - {id: try, agent: shell, workspace: own, config: {command: 'SEEN=%[1]s; n=1; test ! -e $SEEN.1 || n=2; %[2]s test $n = 2 && exit; %[3]s touch $SEEN.ready; %[4]s'}, %[5]s}
`, seen, list, disturb, c.then, c.step)})
			if err := os.WriteFile(filepath.Join(p.dir, "a.txt"), []byte("one\nnot committed\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if c.kill || c.stop {
				cmd := p.command(context.Background(), "run", "w.yml", "--quiet")
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				await(t, "the first attempt has changed files", func() bool { _, err := os.Stat(seen + ".ready"); return err == nil })
				how := os.Signal(os.Kill)
				if c.stop {
					how = os.Interrupt
				}
				if err := cmd.Process.Signal(how); err != nil {
					t.Fatal(err)
				}
				_ = cmd.Wait()
				run := p.runs()[0]
				if got := p.call("diff", run, "try", "--attempt", "1"); !strings.Contains(got.out, "+then") {
					t.Errorf("before it is resumed: %s%s", got.out, got.err)
				}
				if got := p.call("resume", run, "--quiet"); got.code != 0 {
					t.Fatalf("resume: %s%s", got.out, got.err)
				}
				if got := p.call("diff", run, "try", "--attempt", "1"); !strings.Contains(got.err, "--attempt 1 --interruption 1") {
					t.Errorf("nothing leads to what was left: %s%s", got.out, got.err)
				}
			} else if got := p.call("run", "w.yml", "--quiet"); got.code != 0 {
				t.Fatalf("run: %s%s", got.out, got.err)
			}

			run := p.runs()[0]
			var files []string
			for n := 1; n <= 2; n++ {
				text, err := os.ReadFile(fmt.Sprintf("%s.%d", seen, n))
				if err != nil {
					t.Fatal(err)
				}
				files = append(files, string(text))
			}
			if files[0] != files[1] || !strings.HasPrefix(files[0], "./a.txt\n./gone.txt\n./w.yml\none\nnot committed\ngone\n") {
				t.Errorf("the first attempt began with\n%s\nthe second one with\n%s", files[0], files[1])
			}
			got := p.call(append([]string{"diff", run, "try"}, strings.Fields(c.made)...)...)
			for _, want := range []string{"+more\n+then\n", "+half\n", "-gone\n", "sub/y"} {
				if !strings.Contains(got.out, want) {
					t.Errorf("no %q in what the first attempt left:\n%s%s", want, got.out, got.err)
				}
			}
			if got := p.call("diff", run, "try"); got.out != "" || got.code != 0 {
				t.Errorf("the step has changed\n%s%s", got.out, got.err)
			}
			var shown struct{ Steps []struct{ Attempts int } }
			p.decode(&shown, "show", run, "--json")
			if len(shown.Steps) != 1 || shown.Steps[0].Attempts != c.attempts {
				t.Errorf("%+v", shown)
			}
			if got := p.git("status", "--porcelain"); got != "M a.txt" {
				t.Errorf("the checkout has %q", got)
			}
			if got := p.call("workspace", "list", "--json"); strings.TrimSpace(got.out) != "[]" {
				t.Errorf("directories are left: %s%s", got.out, got.err)
			}
		})
	}
}

// TestCancelledRunsLeaveNothing kills a run and cancels it: its directories are recorded, and removed when another one ends.
func TestCancelledRunsLeaveNothing(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready")
	p := newRepository(t, map[string]string{
		"w.yml":     fmt.Sprintf("name: w\nsteps:\n  - {id: try, agent: shell, workspace: own, config: {command: '%s touch %s; sleep 600'}}\n", disturb, ready),
		"gone.txt":  "gone\n",
		"other.yml": "name: other\nsteps:\n  - {id: try, agent: shell, workspace: own, config: {command: 'true'}}\n",
	})
	cmd := p.command(context.Background(), "run", "w.yml", "--quiet")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the attempt has changed files", func() bool { _, err := os.Stat(ready); return err == nil })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	run := p.runs()[0]
	if got := p.call("workspace", "rm", "--all"); got.code != 0 {
		t.Errorf("rm: %s%s", got.out, got.err)
	}
	if got := p.call("workspace", "list", "--json"); !strings.Contains(got.out, run) {
		t.Errorf("what is not recorded was removed: %s%s", got.out, got.err)
	}
	if got := p.call("cancel", run); got.code != 0 {
		t.Fatalf("cancel: %s%s", got.out, got.err)
	}
	if got := p.call("run", "other.yml", "--quiet"); got.code != 0 {
		t.Fatalf("run: %s%s", got.out, got.err)
	}
	if got := p.call("workspace", "list", "--json"); strings.TrimSpace(got.out) != "[]" {
		t.Errorf("directories are left: %s%s", got.out, got.err)
	}
	if got := p.call("diff", run, "try", "--attempt", "1"); !strings.Contains(got.out, "+half") {
		t.Errorf("what it left is lost: %s%s", got.out, got.err)
	}
	if got := p.call("runs", "delete", run); got.code != 0 {
		t.Errorf("delete: %s%s", got.out, got.err)
	}
	if got := p.git("for-each-ref", "refs/hocket/"); strings.Contains(got, run) {
		t.Errorf("the repository has %s", got)
	}
}

// cancelLanding cancels a run whose process was killed while it landed.
func (p project) cancelLanding(run string, mine map[string]string) {
	p.t.Helper()
	if got := p.call("cancel", run); got.code != 0 && !strings.Contains(got.err, "success") {
		p.t.Fatalf("cancel: %s%s", got.out, got.err)
	}
	landed, _ := filepath.Glob(filepath.Join(p.dir, "many", "*"))
	if len(landed) != 0 && len(landed) != 10 {
		p.t.Errorf("%d files of the landing are left", len(landed))
	}
	for name, text := range mine {
		if name == "a.txt" && len(landed) > 0 {
			text += "four\n"
		}
		if got, err := os.ReadFile(filepath.Join(p.dir, name)); err != nil || string(got) != text {
			p.t.Errorf("after it was cancelled, %s has %q, %v", name, got, err)
		}
	}
	if _, err := os.Stat(filepath.Join(p.dir, "gone.txt")); (err == nil) != (len(landed) == 0) {
		p.t.Errorf("gone.txt: %v, with %d files that landed", err, len(landed))
	}
	if left, _ := filepath.Glob(filepath.Join(p.dir, ".git", "index?*")); len(left) > 0 {
		p.t.Errorf("left over: %v", left)
	}
	if got := p.call("doctor"); strings.Contains(got.out, "landed a change") {
		p.t.Errorf("doctor: %s", got.out)
	}
}

// TestLandingsAreKilled kills the process that lands at random moments, and resumes the run. The person is not asked again,
// everything lands once, and what was not committed stays as it was.
func TestLandingsAreKilled(t *testing.T) {
	random := rand.New(rand.NewPCG(*seed, 7))
	took := map[string]time.Duration{}
	met := map[string]int{}
	for i := range *landings {
		how := []string{"patch", "commit", "branch"}[i%3]
		p := newRepository(t, map[string]string{"a.txt": "one\ntwo\nthree\n", "b.txt": "b\n", "w.yml": fmt.Sprintf(`name: w
steps:
  - {id: write, agent: shell, workspace: own, config: {command: 'echo four >> a.txt; rm -f gone.txt; mkdir many; for i in 0 1 2 3 4 5 6 7 8 9; do echo $i > many/$i; done'}}
  - {id: ship, land: %s}
`, how), "gone.txt": "gone\n"})
		mine := map[string]string{"b.txt": "not committed\n", "new.txt": "new\n"}
		if how != "branch" {
			mine["a.txt"] = "mine\none\ntwo\nthree\n"
		}
		for name, text := range mine {
			if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p.git("add", "b.txt")
		if got := p.call("run", "w.yml", "--quiet"); got.code != 3 {
			t.Fatalf("run: %d %s%s", got.code, got.out, got.err)
		}
		run := p.runs()[0]
		if got := p.call("answer", run, "ship", "land"); got.code != 0 {
			t.Fatalf("answer: %s%s", got.out, got.err)
		}
		if took[how] == 0 { // the first one of each kind is not killed
			began := time.Now()
			if got := p.call("resume", run, "--quiet"); got.code != 0 {
				t.Fatalf("resume: %s%s", got.out, got.err)
			}
			took[how] = time.Since(began)
		}
		p.kill(time.Duration(random.Int64N(int64(took[how]))), "resume", run, "--quiet")
		for name, text := range mine { // before anybody repairs it
			got, err := os.ReadFile(filepath.Join(p.dir, name))
			if err != nil || string(got) != text && string(got) != text+"four\n" {
				t.Errorf("after the kill, %s has %q, %v", name, got, err)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(p.dir, "many", "*")); len(left) > 0 && len(left) < 10 {
			met["in the middle of the files"]++
		}
		met[how]++
		if i%4 == 3 { // what a run that is cancelled has landed partly is taken back
			p.cancelLanding(run, mine)
			p.remove()
			continue
		}
		if got := p.call("resume", run, "--quiet"); got.code != 0 && !strings.Contains(got.err, "success") {
			t.Fatalf("kill %d, %s: resume: %d %s%s", i, how, got.code, got.out, got.err)
		}
		if got := p.call("show", run, "ship"); !strings.Contains(got.out, map[string]string{"patch": "changed 12 files", "commit": "landed 12 files on main", "branch": "landed 12 files on hocket/" + run}[how]) {
			t.Errorf("kill %d, %s: the landing says %s", i, how, got.out)
		}
		for name, text := range mine {
			if name == "a.txt" {
				text += "four\n"
			}
			if got, err := os.ReadFile(filepath.Join(p.dir, name)); err != nil || string(got) != text {
				t.Errorf("%s has %q, %v", name, got, err)
			}
		}
		status := map[string]string{
			"patch": "M a.txt\nM  b.txt\n D gone.txt\n?? many/\n?? new.txt", "commit": "M a.txt\nM  b.txt\n?? new.txt", "branch": "M  b.txt\n?? new.txt",
		}[how]
		if got := p.git("status", "--porcelain"); got != status {
			t.Errorf("the status is\n%s\nwant\n%s", got, status)
		}
		branch := map[string]string{"patch": "main", "commit": "main", "branch": "hocket/" + run}[how]
		if got, want := p.git("rev-list", "--count", branch), map[string]string{"patch": "1", "commit": "2", "branch": "2"}[how]; got != want {
			t.Errorf("%s has %s commits", branch, got)
		}
		if how != "patch" {
			if got := p.git("show", branch+":a.txt") + p.git("show", branch+":b.txt") + p.git("ls-tree", "--name-only", branch); got != "one\ntwo\nthree\nfourba.txt\nb.txt\nmany\nw.yml" {
				t.Errorf("%s has %q", branch, got)
			}
		}
		for _, dir := range []string{p.dir, filepath.Join(p.dir, "many"), filepath.Join(p.dir, ".git")} {
			for _, pattern := range []string{".hocket-*", "*.hocket-*", "*.lock"} {
				if left, _ := filepath.Glob(filepath.Join(dir, pattern)); len(left) > 0 {
					t.Errorf("left over: %v", left)
				}
			}
		}
		p.git("fsck", "--full", "--strict")
		if t.Failed() {
			t.Fatalf("kill %d, %s", i, how)
		}
		p.remove()
	}
	t.Logf("%d kills met landings %v", *landings, met)
}
