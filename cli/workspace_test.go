package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// inRepository returns a git repository with files, and what runs git or hocket there and returns all that it prints.
func inRepository(t *testing.T, files map[string]string) (dir string, run func(name string, args ...string) string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir = t.TempDir()
	files[".gitignore"] = ".state/\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run = func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		if name == "hocket" {
			cmd = exec.Command(self, args...)
		}
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), asHocket+"=1", "XDG_STATE_HOME="+dir+"/.state", "GIT_AUTHOR_NAME=ada", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=ada", "GIT_COMMITTER_EMAIL=a@example.org")
		out, err := cmd.CombinedOutput()
		if err != nil && name != "hocket" {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	run("git", "init", "-q")
	run("git", "add", "-A")
	run("git", "commit", "-qm", "first")
	return dir, run
}

// A landing that fails says how to get at the work: the branch can be renamed, and git can merge what conflicts.
func TestWorkAfterAFailedLanding(t *testing.T) {
	dir, run := inRepository(t, map[string]string{
		"a.txt": "one\n", "b.txt": "one\n",
		"w.yml": `name: w
steps:
  - {id: a, agent: shell, workspace: own, config: {command: "echo two > a.txt; echo two > b.txt"}}
  - {id: ship, land: branch, branch: topic}
`,
	})
	says := func(got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Fatalf("%s\nwant: %s", got, want)
		}
	}
	started := func(out string) string { return regexp.MustCompile(`w-[a-z0-9]{8}`).FindString(out) }
	id := started(run("hocket", "run", "w.yml"))
	run("git", "branch", "topic")
	got := run("hocket", "answer", id, "ship", "land", "--resume")
	says(got, "Nothing has landed: branch topic exists already: rename or remove it, or choose another name. Try again?")
	says(run("hocket", "diff", id), "+two")
	got = run("hocket", "answer", id, "ship", "reject", "--resume")
	says(got, "\nthe change has not landed; what the steps have made is kept\n  hocket show "+id+"\n  hocket diff "+id+"\n")
	run("git", "branch", "-m", "topic", "other")
	says(run("hocket", "retry", id), "as the new branch topic?")

	id = started(run("hocket", "retry", id))
	for _, c := range []struct{ change, apply, a string }{
		{"echo mine > a.txt", "git apply -3", "<<<<<<< ours\nmine\n=======\ntwo\n>>>>>>> theirs\n"},
		{"rm a.txt", "git apply --reject", ""},
	} {
		run("sh", "-c", c.change)
		run("git", "commit", "-qam", "mine")
		if got = run("hocket", "answer", id, "ship", "land", "--resume"); strings.Contains(got, "no open question") {
			got = run("hocket", "retry", id)
		}
		says(got, "the change conflicts with the checkout in a.txt; ")
		command := regexp.MustCompile("`hocket (diff w-[a-z0-9]+) \\| " + c.apply + "`").FindStringSubmatch(got)
		if command == nil {
			t.Fatalf("it does not suggest %s:\n%s", c.apply, got)
		}
		if err := os.WriteFile(filepath.Join(dir, ".state", "diff"), []byte(run("hocket", strings.Fields(command[1])...)), 0o600); err != nil {
			t.Fatal(err)
		}
		run("sh", "-c", c.apply+" < .state/diff || true") // it reports the conflict
		for name, want := range map[string]string{"a.txt": c.a, "b.txt": "two\n"} {
			if text, _ := os.ReadFile(filepath.Join(dir, name)); string(text) != want {
				t.Errorf("%s: %s has %q", c.apply, name, text)
			}
		}
		run("git", "reset", "-q", "--hard")
	}
}

// When a landing asks again, the command below the question is accepted: it names the change.
func TestCommandOfALandingThatAsksAgain(t *testing.T) {
	dir, run := inRepository(t, map[string]string{
		"a.txt": "1\n2\n3\n4\n",
		"w.yml": `name: w
steps:
  - {id: a, agent: shell, workspace: own, config: {command: "echo 5 >> a.txt"}}
  - {id: ship, land: patch}
`,
	})
	id := regexp.MustCompile(`w-[a-z0-9]{8}`).FindString(run("hocket", "run", "w.yml"))
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n2\n3\n4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	again := run("hocket", "answer", id, "ship", "land", "--resume")
	command := regexp.MustCompile(`hocket (answer \S+ ship land --change [0-9a-f]{8} --resume)\n`).FindStringSubmatch(again)
	if command == nil || !strings.Contains(again, "hocket answer "+id+" ship reject --resume\n") || !strings.Contains(again, "\n  land    exactly this change\n") {
		t.Fatalf("it asks again:\n%s", again)
	}
	if shown := run("hocket", "show", id, "--json"); !strings.Contains(shown, command[1]) {
		t.Errorf("hocket show --json: %s", shown)
	}
	if got := run("hocket", strings.Fields(command[1])...); !strings.Contains(got, "changed 1 file") {
		t.Error(got)
	}
}

// The commands for workspaces say which step they mean, and what they keep.
func TestWorkspaceMessages(t *testing.T) {
	_, run := inRepository(t, map[string]string{
		"w.yml": `name: w
steps:
  - {id: plain, agent: shell, config: {command: echo plain}}
  - {id: a, agent: shell, workspace: own, config: {command: echo a > a.txt}}
  - {id: tries, for_each: '["x", "y"]', agent: shell, workspace: own, config: {command: echo b > b.txt}}
  - {id: all, merge: {}}
  - {id: bad, agent: shell, workspace: own, config: {command: "echo c > c.txt; exit 3"}}
`,
		"c.yml": `name: c
steps:
  - {id: x, agent: shell, workspace: own, parallel_group: p, config: {command: echo x > new.txt}}
  - {id: y, agent: shell, workspace: own, parallel_group: p, config: {command: echo y > new.txt}}
  - {id: z, agent: shell, workspace: own, parallel_group: p, config: {command: echo z > new.txt}}
  - {id: all, merge: {}}
`,
	})
	id := regexp.MustCompile(`w-[a-z0-9]{8}`).FindString(run("hocket", "run", "w.yml"))
	says := func(want string, args ...string) {
		t.Helper()
		if got := run("hocket", args...); !strings.Contains(got, want) {
			t.Errorf("hocket %s: %s\nwant: %s", strings.Join(args, " "), got, want)
		}
	}
	says(`no step "nosuch" has run in `+id, "diff", id, "nosuch")
	says("tries has several workspaces: tries[0], tries[1]", "diff", id, "tries")
	says("step plain of run "+id+" has made no workspace", "diff", id, "plain")
	says("step bad of run "+id+" failed, so it has made no workspace", "diff", id, "bad")
	says("hocket diff "+id+" bad --attempt 1", "diff", id, "bad")
	says("+c", "diff", id, "bad", "--attempt", "1")
	says("hocket workspace open "+id+" bad --attempt 1", "workspace", "open", id, "bad")
	says("hocket workspace open "+id+" 'tries[0]'", "workspace", "open", id, "tries")
	if got := run("hocket", "diff", id); strings.Contains(got, "not merged") {
		t.Errorf("hocket diff: %s", got)
	}
	conflict := regexp.MustCompile(`c-[a-z0-9]{8}`).FindString(run("hocket", "run", "c.yml"))
	says("+z\nthis is only what led to the workspace of z; others were not merged with it:\n  hocket diff "+conflict+" x\n  hocket diff "+conflict+" y\n", "diff", conflict)
	for _, verb := range []string{"diff", "workspace open"} { // a merge without anybody who resolves conflicts leaves nothing
		got := run("hocket", append(strings.Fields(verb), conflict, "all")...)
		if !strings.Contains(got, "failed, so it has made no workspace") || strings.Contains(got, "--attempt") {
			t.Errorf("%s: %s", verb, got)
		}
		try := regexp.MustCompile("`hocket (" + verb + " [^`]*)`").FindStringSubmatch(got)
		if try == nil {
			t.Fatalf("%s suggests no command: %s", verb, got)
		}
		if got := run("hocket", strings.Fields(try[1])...); strings.Contains(got, "error:") {
			t.Errorf("%s: %s", try[1], got)
		}
	}
	for _, verb := range []string{"diff", "workspace open"} {
		for _, n := range []string{"0", "-1"} {
			says("invalid --attempt "+n+": attempts are counted from 1", append(strings.Fields(verb), id, "a", "--attempt="+n)...)
		}
	}
	run("hocket", "workspace", "rm", conflict)
	says("no directories of workspaces; they are removed when a run ends", "workspace", "list")

	copied := strings.TrimSpace(run("hocket", "workspace", "open", id, "a"))
	says("opened  ", "workspace", "list")
	says(`"address":"a",`, "workspace", "list", "--json")
	if err := os.WriteFile(filepath.Join(copied, "mine.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	says("opened, edited", "workspace", "list")
	says(`"recorded":false,"opened":true`, "workspace", "list", "--json")
	says(": you have changed it; remove it if you need nothing in it", "workspace", "rm", id)
	if _, err := os.Stat(filepath.Join(copied, "mine.txt")); err != nil {
		t.Error(err)
	}
}
