package realtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/internal/fakemodel"
	"github.com/hocket-dev/hocket/trace"
	"github.com/hocket-dev/hocket/trace/tracetest"
)

// place is a project in a git repository whose agents are real CLIs, each with its own model.
type place struct {
	*fixture
	hocket string
	state  string
	models map[string]*fakemodel.Server
}

// newPlace creates a project with an agent for each CLI, which has its name and may do everything. The first one
// has the home.
func newPlace(t *testing.T, names ...string) *place {
	t.Helper()
	self, err := builtHocket()
	if err != nil {
		t.Fatal(err)
	}
	p := &place{fixture: newFixture(t, names[0], "dummy"), hocket: self, models: map[string]*fakemodel.Server{}}
	p.models[names[0]] = p.server
	for _, name := range names[1:] {
		other := newFixture(t, name, "dummy")
		p.env, p.models[name] = append(other.env, p.env...), other.server
	}
	for _, name := range names {
		p.put(t, ".hocket/agents/my-"+name+".yml", fmt.Sprintf("name: my-%s\nagent: %s\nmodel: %s\npermissions: {mode: full}\n", name, name, cmp.Or(writers[name], models[name])))
	}
	p.state = filepath.Join(p.files, "state")
	p.env = append(p.env, "XDG_STATE_HOME="+p.state, "XDG_CACHE_HOME="+filepath.Join(p.files, "cache"), "GIT_CONFIG_GLOBAL=/dev/null")
	p.put(t, "README", "hello\n")
	p.git(t, "init", "-q", "-b", "main")
	p.git(t, "add", ".")
	p.git(t, "-c", "user.name=ada", "-c", "user.email=ada@example.com", "commit", "-q", "-m", "first")
	return p
}

func (p *place) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = p.project, p.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p *place) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(p.file(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// trust approves what is in the project, for the commands that follow.
func (p *place) trust(t *testing.T) {
	t.Helper()
	digest, err := p.command(t, "trust", "--print").Output()
	if err != nil {
		t.Fatal(err)
	}
	p.env = append(p.env, "HOCKET_TRUST="+strings.TrimSpace(string(digest)))
}

func (p *place) command(t *testing.T, args ...string) *exec.Cmd {
	ctx, stop := context.WithTimeout(t.Context(), patience)
	t.Cleanup(stop)
	cmd := exec.CommandContext(ctx, p.hocket, append([]string{"-C", p.project}, args...)...)
	cmd.Env = p.env
	return cmd
}

// mustSay runs hocket, and fails the test unless it prints all words.
func (p *place) mustSay(t *testing.T, args []string, code int, words ...string) string {
	t.Helper()
	cmd := p.command(t, args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		t.Fatalf("hocket %v: %v\n%s", args, err, out)
	}
	for _, word := range words {
		if !strings.Contains(string(out), word) {
			t.Fatalf("hocket %v does not print %q:\n%s", args, word, out)
		}
	}
	return string(out)
}

// onlyRun returns the id of the only run.
func (p *place) onlyRun(t *testing.T) string {
	t.Helper()
	listed, err := p.command(t, "runs", "--json").Output()
	var runs []struct {
		ID string `json:"run_id"`
	}
	if err = errors.Join(err, json.Unmarshal(listed, &runs)); err != nil || len(runs) != 1 {
		t.Fatalf("%v\n%s", err, listed)
	}
	return runs[0].ID
}

// writeHere returns a step in which the model of a CLI writes a file of its directory, with the CLI's tool.
func writeHere(cli, name, text string) fakemodel.Step {
	switch cli {
	case "claude":
		return fakemodel.Step{Tool: "Write", Args: map[string]any{"file_path": name, "content": text}}
	case "codex":
		return fakemodel.Step{Tool: "apply_patch", Cmd: "*** Begin Patch\n*** Add File: " + name + "\n+" + text + "\n*** End Patch\n"}
	case "opencode":
		return fakemodel.Step{Tool: "write", Args: map[string]any{"filePath": name, "content": text}}
	}
	return fakemodel.Step{Tool: "write_file", Args: map[string]any{"file_path": name, "content": text}}
}

// step returns a step of a workflow whose agent is a CLI with its own workspace.
func step(id, cli, more string, steps ...fakemodel.Step) string {
	return fmt.Sprintf("  - {id: %s, agent: my-%s, workspace: own%s, prompt: %q}\n", id, cli, more, fakemodel.Prompt(steps...))
}

// answer answers a question of a run, and resumes it.
func (p *place) answer(t *testing.T, run, address, value string) {
	t.Helper()
	states, _ := filepath.Glob(filepath.Join(p.state, "hocket", "*", "workspaces"))
	if len(states) != 1 {
		t.Fatalf("states %q", states)
	}
	project, err := hocket.Open(p.project, hocket.Options{State: filepath.Dir(states[0])})
	if err != nil {
		t.Fatal(err)
	}
	defer project.Close()
	r, err := project.Run(t.Context(), run)
	if err == nil {
		_, err = r.Answer(t.Context(), address, hocket.Answer{Value: value})
	}
	if err != nil {
		t.Fatal(err)
	}
	p.mustSay(t, []string{"resume", run}, 0)
}

// killed starts hocket, and kills it when a file exists.
func (p *place) killed(t *testing.T, file string, args ...string) {
	t.Helper()
	cmd := p.command(t, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	when(ctx, func() bool { return isFile(file) || len(ended) > 0 }, func() { _ = cmd.Process.Kill() }) // an error is reported below
	if err := <-ended; err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("it was not killed: %v\n%s", err, said.String())
	}
}

func isFile(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// A CLI writes files in a workspace of its own. The program is killed while it works, and its attempt is made again in the same
// directory, which is clean. Later steps have the files and continue the conversation, each in a directory of its own. What has been
// made lands after an answer. All spans of the run are in one trace, each once, and those of a CLI that joins it are below its attempts.
func TestWorkspaces(t *testing.T) {
	for _, name := range []string{"claude", "codex", "gemini", "opencode"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, c := newPlace(t, name), tracetest.New(t)
			notes := t.TempDir()
			note := func(step string) fakemodel.Step { // where it works, and what is there
				return p.fixture.command(fmt.Sprintf("(pwd; git status --short; cat *.txt; true) >>%s/%s 2>/dev/null", notes, step))
			}
			const talk = ", config: {session: talk}"
			p.put(t, "demo.yml", "name: demo\nsteps:\n"+
				step("first", name, talk, note("first"), writeHere(name, "a.txt", "text-of-a"), p.fixture.command("test -e "+notes+"/killed || { touch "+notes+"/begun; sleep 600; }"), say("wrote it"))+
				step("second", name, talk, note("second"), writeHere(name, "b.txt", "text-of-b"), say("wrote more"))+
				step("third", name, talk, note("third"), say("that is all"))+
				"  - {id: ship, land: branch, branch: made}\n")
			p.trust(t)
			p.env = append(p.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
			p.killed(t, filepath.Join(notes, "begun"), "run", "demo.yml", "--quiet")
			if err := os.WriteFile(filepath.Join(notes, "killed"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			id := p.onlyRun(t)
			p.mustSay(t, []string{"resume", id}, 3, "Land this change as the new branch made?", "+text-of-a", "+text-of-b")
			p.mustSay(t, []string{"show", id}, 0, "wrote it", "wrote more", "that is all")

			dirs := map[string]bool{}
			for step, want := range map[string]string{"first": "", "second": "text-of-a", "third": "text-of-atext-of-b"} {
				text, err := os.ReadFile(filepath.Join(notes, step))
				if err != nil {
					t.Fatal(err)
				}
				lines := strings.Split(string(text), "\n")
				dirs[lines[0]] = true
				if step == "first" { // twice in the same directory, without what the attempt that was killed has left
					want = lines[0]
				}
				if got := strings.Join(lines[1:], ""); got != want || !strings.HasSuffix(lines[0], "/"+step+"/tree") {
					t.Errorf("%s found %q in %s, want %q", step, got, lines[0], want)
				}
			}
			if len(dirs) != 3 || p.has("a.txt") {
				t.Errorf("directories %v, in the project %v", dirs, p.has("a.txt"))
			}
			turns := 0 // since it got the messages in its prompt
			if roaming[name] {
				turns = 4
			}
			if !slices.ContainsFunc(p.server.Requests(), func(r *fakemodel.Request) bool {
				return r.Turns == turns && strings.Contains(r.Prompt, "wrote more") && bytes.Contains(r.Body, []byte("wrote it"))
			}) {
				t.Error("the second step did not continue the conversation")
			}

			p.answer(t, id, "ship", "land")
			if got := p.git(t, "show", "made:a.txt") + p.git(t, "show", "made:b.txt"); got != "text-of-atext-of-b" || p.has("a.txt") {
				t.Errorf("landed %q", got)
			}
			checkTrace(t, c, id, name)
		})
	}
}

// checkTrace checks the spans of a run of TestWorkspaces.
func checkTrace(t *testing.T, c *tracetest.Collector, run, cli string) {
	t.Helper()
	spans := c.Await("end of the run", func(all []tracetest.Span) bool {
		return slices.ContainsFunc(all, func(s tracetest.Span) bool { return s.Name == "invoke_workflow demo" })
	})
	seen, ours, below := map[string]string{}, []tracetest.Span{}, map[string]bool{}
	for _, s := range spans {
		if other, ok := seen[s.Trace+s.ID]; ok {
			t.Errorf("%q and %q have the same id", s.Name, other)
		}
		seen[s.Trace+s.ID] = s.Name
		if s.Service == "hocket" {
			ours = append(ours, s)
		} else if s.Trace == trace.Of(run).String() {
			below[s.Parent] = true
		}
	}
	tracetest.Unique(t, ours)
	if slices.ContainsFunc(ours, func(s tracetest.Span) bool { return s.Trace != trace.Of(run).String() }) {
		t.Error("the run has several traces")
	}
	if len(ours) == len(spans) {
		t.Error("the CLI exported nothing")
	}
	for _, address := range []string{"first", "second", "third"} {
		if id := trace.Attempt(run, address, 1).String(); below[id] != joining[cli] || seen[trace.Of(run).String()+id] == "" {
			t.Errorf("%s: spans of the CLI are below its attempt: %v; the attempt is %q", address, below[id], seen[trace.Of(run).String()+id])
		}
	}
}

// Two CLIs work at once, each in a workspace of the same repository. A merge joins what they made, and it lands after an answer.
func TestWorkspacesAtOnce(t *testing.T) {
	p := newPlace(t, "claude", "codex")
	notes := t.TempDir()
	meet := func(cli, own, other string) fakemodel.Step {
		f := &fixture{cli: cli}
		return f.command(fmt.Sprintf("touch %[1]s/%[2]s; n=0; until test -e %[1]s/%[3]s; do sleep 0.1; n=$((n+1)); test $n -lt 1200 || exit 1; done; ls *.txt >%[1]s/saw-%[2]s 2>&1; true", notes, own, other))
	}
	p.put(t, "demo.yml", "name: demo\nsteps:\n"+
		step("a", "claude", ", parallel_group: both", writeHere("claude", "a.txt", "text-of-a"), meet("claude", "a", "b"), say("wrote a"))+
		step("b", "codex", ", parallel_group: both", writeHere("codex", "b.txt", "text-of-b"), meet("codex", "b", "a"), say("wrote b"))+
		"  - {id: together, merge: {}}\n  - {id: ship, land: commit, message: Add a and b}\n")
	p.trust(t)
	p.mustSay(t, []string{"run", "demo.yml", "--quiet"}, 3, "Land this change as a commit on main?", "+text-of-a", "+text-of-b")
	for own, want := range map[string]string{"a": "a.txt\n", "b": "b.txt\n"} {
		if saw, err := os.ReadFile(filepath.Join(notes, "saw-"+own)); string(saw) != want {
			t.Errorf("%s saw %q, %v", own, saw, err)
		}
	}
	id := p.onlyRun(t)
	if diff := p.mustSay(t, []string{"diff", id, "a"}, 0, "+text-of-a"); strings.Contains(diff, "text-of-b") {
		t.Errorf("a has changed\n%s", diff)
	}
	p.answer(t, id, "ship", "land")
	if log := p.git(t, "log", "--format=%s"); log != "Add a and b\nfirst" || !p.has("a.txt") || !p.has("b.txt") || p.git(t, "status", "--short", "*.txt") != "" {
		t.Errorf("log %q, a %v, b %v, status %q", log, p.has("a.txt"), p.has("b.txt"), p.git(t, "status", "--short"))
	}
}

// What a CLI says and changes is recorded, and repeated without it and its model.
func TestWorkspacesRecorded(t *testing.T) {
	for _, name := range []string{"claude", "codex"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, name)
			p.put(t, "fix.yml", "name: fix\nsteps:\n"+
				step("make", name, "", writeHere(name, "a.txt", "text-of-a"), p.fixture.command("mv old.txt sub-$(cat old.txt).txt"), say("made it"))+
				fmt.Sprintf("  - {id: here, agent: my-%s, prompt: %q}\n", name, fakemodel.Prompt(writeHere(name, "c.txt", "text-of-c"), p.fixture.command("rm old.txt"), say("removed it"))))
			p.put(t, ".hocket/tests/fix.yml", `workflow: fix.yml
cases:
  - name: makes a file
    files: {old.txt: what}
    cassette: cassettes/fix.yml
    expect: {output: removed it, outputs: {make: made it}, files: {c.txt: {contains: text-of-c}, old.txt: null}}
`)
			p.trust(t)
			p.mustSay(t, []string{"test", "--record"}, 0, "1 passed")
			tape, err := os.ReadFile(p.file(".hocket/tests/cassettes/fix.yml"))
			for _, want := range []string{"a.txt", "text-of-a", "sub-what.txt", "c.txt", "text-of-c", "deleted: true", "made it", "removed it"} {
				if !strings.Contains(string(tape), want) {
					t.Errorf("the cassette has no %q: %v\n%s", want, err, tape)
				}
			}
			asked := len(p.server.All())
			p.env = append(p.env, "PATH=/usr/bin:/bin", "HOME="+t.TempDir())
			if path, err := exec.LookPath("/usr/bin/" + name); err == nil {
				t.Skip(path + " is installed")
			}
			p.mustSay(t, []string{"test"}, 0, "1 passed")
			if now := len(p.server.All()); now != asked {
				t.Errorf("the model was asked %d times", now-asked)
			}
			p.put(t, "fix.yml", strings.Replace(p.read(t, "fix.yml"), "made it", "made that", 1))
			p.mustSay(t, []string{"test"}, 1, "made that")
		})
	}
}
