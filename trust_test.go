package hocket_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/trust"
)

// Whatever needs trust is refused with a list of it, decided by the embedding program, or
// approved by digest.
func TestTrust(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	files := map[string]string{
		".hocket/config.yml":    "mcp: {notes: {command: [sh, server.sh]}}\n",
		".hocket/clis/poet.yml": "program: cat\nstdin: \"{prompt}\"\nargs: []\nreply: {format: text}\n",
		"w.yml":                 "name: w\nsteps:\n  - {id: a, agent: poet, prompt: A rose is a rose}\n",
		"exact.yml":             "name: exact\nsteps:\n  - {id: a, agent: shell, config: {command: [echo, hi]}}\n",
	}
	ctx := context.Background()
	run := func(o hocket.Options) (engine.Result, error) {
		p := open(t, files, o)
		w, err := p.Load("w.yml")
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Start(ctx, w, nil)
		if err != nil {
			all, unread := p.Runs(ctx, hocket.Filter{})
			if unread != nil || len(all) != 0 {
				t.Errorf("a run was recorded: %v, %v", all, unread)
			}
			return engine.Result{}, err
		}
		return r.Wait(ctx)
	}
	// A step whose settings fully specify what to do uses none of that.
	if res := wait(t, start(t, open(t, files, hocket.Options{}), "exact.yml", nil)); res.Output != "hi" {
		t.Errorf("exact: %+v", res)
	}
	_, err := run(hocket.Options{})
	var untrusted *hocket.UntrustedError
	if !errors.As(err, &untrusted) || len(untrusted.Missing) != 2 || !strings.Contains(err.Error(), "starts the MCP server notes: sh server.sh") {
		t.Fatalf("without a decision: %v", err)
	}
	if _, err := run(hocket.Options{TrustDigest: "sha256:0"}); !errors.As(err, &untrusted) {
		t.Errorf("with another digest: %v", err)
	}
	no := func(context.Context, *hocket.UntrustedError) (bool, error) { return false, nil }
	if _, err := run(hocket.Options{Trust: no}); !errors.As(err, &untrusted) {
		t.Errorf("after a no: %v", err)
	}
	yes := func(_ context.Context, e *hocket.UntrustedError) (bool, error) { return len(e.Missing) == 2, nil }
	for _, o := range []hocket.Options{{TrustDigest: untrusted.Digest}, {Trust: yes}} {
		if res, err := run(o); err != nil || !strings.Contains(fmt.Sprint(res.Output), "A rose is a rose") {
			t.Errorf("trusted: %+v, %v", res, err)
		}
	}
}

// The steps of a workflow that the user runs need no trust, but until the project is
// trusted they see no variable that may hold a key, and the user is notified.
func TestStepsNeedNoTrust(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("HOCKET_TEST_TOKEN", "tok-0123456789")
	t.Setenv("TEST_OWL", "owl-0123456789")
	t.Setenv("GOFLAGS", "-v")
	p := open(t, map[string]string{
		"w.yml": "name: w\nsteps:\n  - {id: a, agent: shell, config: {command: 'echo \"[$HOCKET_TEST_TOKEN$TEST_OWL$GOFLAGS]\"'}}\n",
		"x.yml": "name: x\nsteps:\n  - {id: a, agent: shell, config: {command: [date]}}\n",
	}, hocket.Options{})
	first := start(t, p, "w.yml", nil)
	if res := wait(t, first); res.Output != "[-v]" {
		t.Errorf("not trusted: %+v", res)
	}
	const told = "do not see these environment variables: HOCKET_TEST_TOKEN, TEST_OWL; run `hocket trust` to pass them on"
	if notes := strings.Join(first.Notes, "\n"); !strings.Contains(notes, told) {
		t.Errorf("told %q", notes)
	}
	for i, want := range []bool{true, false} { // the notice appears once
		r := start(t, p, "x.yml", nil)
		wait(t, r)
		if notes := strings.Join(r.Notes, "\n"); strings.Contains(notes, "do not see these environment variables") != want {
			t.Errorf("time %d: %q", i, notes)
		}
	}
	powers, err := p.Powers()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Trust(powers); err != nil {
		t.Fatal(err)
	}
	trusted := start(t, p, "w.yml", nil)
	if res := wait(t, trusted); res.Output != "[tok-0123456789owl-0123456789-v]" || strings.Contains(strings.Join(trusted.Notes, ""), "variables") {
		t.Errorf("trusted: %+v, told %q", res, trusted.Notes)
	}
}

// A run continues if the project can do no more than when the run was recorded. If it can
// do more, it needs a new decision, and until then the run is unchanged.
func TestTrustIsPinned(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	config := filepath.Join(dir, ".hocket", "config.yml")
	writeFile(t, config, "mcp: {notes: {command: [sh, server.sh]}}\n")
	writeFile(t, filepath.Join(dir, "w.yml"), "name: w\nsteps:\n  - {id: ask, human: {question: 'Go?', options: ['yes']}}\n  - {id: a, agent: poet, prompt: A rose is a rose}\n")
	writeFile(t, filepath.Join(dir, ".hocket", "clis", "poet.yml"), "program: cat\nstdin: \"{prompt}\"\nargs: []\nreply: {format: text}\n")
	ctx := context.Background()
	first := openDir(t, dir, hocket.Options{Trust: func(context.Context, *hocket.UntrustedError) (bool, error) { return true, nil }})
	run := start(t, first, "w.yml", nil)
	wait(t, run)

	writeFile(t, config, "mcp: {notes: {command: [sh, server.sh]}, more: {command: [sh, more.sh]}}\n")
	more, err := openDir(t, dir, hocket.Options{}).Run(ctx, run.ID())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := more.Answer(ctx, "ask", hocket.Answer{Value: "yes"}); err != nil {
		t.Fatal(err)
	}
	var untrusted *hocket.UntrustedError
	if _, err := more.Drive(ctx, hocket.Front{}); !errors.As(err, &untrusted) {
		t.Errorf("with more powers: %v", err)
	}
	if state, err := more.State(ctx); err != nil || state.Status.Done() {
		t.Errorf("the run has changed: %v, %v", state, err)
	}

	writeFile(t, config, "agent: shell\n")
	fewer, err := openDir(t, dir, hocket.Options{}).Run(ctx, run.ID())
	if err != nil {
		t.Fatal(err)
	}
	if res, err := fewer.Drive(ctx, hocket.Front{}); err != nil || res.Status != engine.Success {
		t.Errorf("with fewer powers: %+v, %v", res, err)
	}
}

// A task is limited to what was approved, whatever values its settings get.
func TestHeldToApproval(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("HOCKET_TEST_TOKEN", "tok-0123456789")
	var sent atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X") != "" {
			sent.Add(1)
		}
	}))
	t.Cleanup(server.Close)
	const poet = "program: echo\nargs: [poet, {if: isolated, args: isolated}]\nstdin: \"{prompt}\"\nreply: {format: text}\nproject_files: [poet.json]\n"
	for name, c := range map[string]struct{ step, want string }{
		"a variable that is shown":          {"agent: http, config: {url: 'URL/${path}', headers: {X: {env: HOCKET_TEST_TOKEN}}}", ""},
		"a variable that a value names":     {"agent: http, config: {url: 'URL', headers: {X: '${header}'}}", "not approved: sends the variable HOCKET_TEST_TOKEN"},
		"a server that a value names":       {"agent: http, config: {url: '${url}', headers: {X: {env: HOCKET_TEST_TOKEN}}}", "not approved: sends the variable HOCKET_TEST_TOKEN"},
		"settings in a folder":              {"agent: poet, prompt: x, config: {dir: sub}", "poet"},
		"settings in a folder by its value": {"agent: poet, prompt: x, config: {dir: '${dir}'}", "poet isolated"},
	} {
		sent.Store(0)
		p := open(t, map[string]string{
			".hocket/clis/poet.yml": poet, "sub/poet.json": "{}",
			"w.yml": strings.ReplaceAll("name: w\ninputs: {header: {type: object, default: {env: HOCKET_TEST_TOKEN}}, url: {default: URL}, path: {default: a}, dir: {default: sub}}\nsteps:\n  - {id: a, "+c.step+"}\n", "URL", server.URL),
		}, hocket.Options{Trust: func(context.Context, *hocket.UntrustedError) (bool, error) { return true, nil }})
		res := wait(t, start(t, p, "w.yml", nil))
		if res.Output != c.want && !strings.Contains(fmt.Sprint(res.Error), c.want) || c.want == "" && sent.Load() != 1 || c.want != "" && sent.Load() != 0 {
			t.Errorf("%s: %d sent, %+v", name, sent.Load(), res)
		}
	}
}

// Files that an agent changes during a run are not started.
func TestChangedWhileRunning(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	p := open(t, map[string]string{
		".hocket/clis/poet.yml": "program: sh\nargs: [poet.sh]\nstdin: \"{prompt}\"\nreply: {format: text}\n", "poet.sh": "echo a rose\n",
		"w.yml": "name: w\nsteps:\n  - {id: a, agent: poet, prompt: x}\n  - {id: b, agent: file, config: {action: write, path: poet.sh, content: 'echo evil'}}\n  - {id: c, agent: poet, prompt: x}\n",
	}, hocket.Options{Trust: func(context.Context, *hocket.UntrustedError) (bool, error) { return true, nil }})
	res := wait(t, start(t, p, "w.yml", nil))
	if len(res.Steps) != 3 || res.Steps[0].Output != "a rose" || !strings.Contains(res.Error, "not approved: ") {
		t.Errorf("%+v", res)
	}
}

// Approvals of what different files of a project can do coexist.
func TestApprovalsCoexist(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	p := openDir(t, dir, hocket.Options{})
	var lists []trust.Powers
	for _, name := range []string{"a", "b"} {
		writeFile(t, filepath.Join(dir, name+".yml"), "name: "+name+"\nsteps:\n  - {id: s, agent: http, config: {url: 'https://"+name+".example', headers: {Authorization: {env: KEY}}}}\n")
		w, err := p.Load(name + ".yml")
		if err != nil {
			t.Fatal(err)
		}
		if lists = append(lists, w.Powers()); len(w.Powers()) == 0 {
			t.Fatal("no powers")
		}
		if err := p.Trust(w.Powers()); err != nil {
			t.Fatal(err)
		}
	}
	for i, powers := range lists {
		if d, err := p.Trusted(powers, ""); err != nil || !d.Trusted {
			t.Errorf("list %d: %+v, %v", i, d, err)
		}
	}
}

// A project that sends its runs to a server is not connected to it before a person approves: not to start a run,
// and not to look at one.
func TestDriverNeedsTrust(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	files := map[string]string{
		".hocket/config.yml": "driver: temporal\ntemporal: {address: \"temporal.example.org:7233\", queue: shop}\n",
		"w.yml":              "name: w\nsteps:\n  - {id: a, agent: shell, config: {command: [echo, hi]}}\n",
	}
	dir := t.TempDir()
	for name, text := range files {
		writeFile(t, filepath.Join(dir, name), text)
	}
	ctx := context.Background()
	opened := 0
	with := func(o hocket.Options) *hocket.Project {
		o.Drivers = map[string]hocket.OpenDriver{"temporal": func(s hocket.DriverSetup) (driver.Driver, error) {
			opened++
			if s.Config.Temporal.Queue != "shop" || s.Root != dir {
				t.Errorf("opened with %+v", s)
			}
			return local.Open(s.State, local.Options{})
		}}
		return openDir(t, dir, o)
	}
	begin := func(p *hocket.Project) error {
		w, err := p.Load("w.yml")
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Start(ctx, w, nil)
		if err == nil {
			_, err = r.Wait(ctx)
		}
		return err
	}
	refused := map[string]func(*hocket.Project) error{
		"start":     begin,
		"runs":      func(p *hocket.Project) error { _, err := p.Runs(ctx, hocket.Filter{}); return err },
		"run":       func(p *hocket.Project) error { _, err := p.Run(ctx, "w-1"); return err },
		"questions": func(p *hocket.Project) error { _, err := p.Questions(ctx, hocket.QuestionFilter{}); return err },
		"collect":   func(p *hocket.Project) error { _, err := p.Collect(ctx, hocket.Retention{Runs: 1}, true); return err },
		"check":     func(p *hocket.Project) error { _, err := p.CheckRuns(ctx); return err },
		"watch": func(p *hocket.Project) (err error) {
			for _, err = range p.Watch(ctx) {
			}
			return err
		},
	}
	var untrusted *hocket.UntrustedError
	for name, do := range refused {
		p := with(hocket.Options{})
		if err := do(p); !errors.As(err, &untrusted) || !strings.Contains(err.Error(), "to the Temporal server at temporal.example.org:7233") || !strings.Contains(err.Error(), "hocket trust") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if opened > 0 {
		t.Fatal("the driver was opened without trust")
	}
	digest := untrusted.Digest
	for name, do := range map[string]func() error{
		"the digest": func() error {
			_, err := with(hocket.Options{TrustDigest: digest}).Runs(ctx, hocket.Filter{})
			return err
		},
		"the digest, to start": func() error { return begin(with(hocket.Options{TrustDigest: digest})) },
		"an answer": func() error {
			return begin(with(hocket.Options{Trust: func(context.Context, *hocket.UntrustedError) (bool, error) { return true, nil }}))
		},
	} {
		if err := do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := with(hocket.Options{})
	powers, err := p.Powers()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Trust(powers); err != nil {
		t.Fatal(err)
	}
	if all, err := p.Runs(ctx, hocket.Filter{}); err != nil || len(all) != 2 || opened != 4 {
		t.Errorf("trusted: %v, %v, opened %d times", all, err, opened)
	}
	writeFile(t, filepath.Join(dir, ".hocket/config.yml"), "driver: temporal\ntemporal: {address: \"evil.example.org:7233\", queue: shop}\n")
	if _, err := with(hocket.Options{}).Runs(ctx, hocket.Filter{}); !errors.As(err, &untrusted) || opened != 4 {
		t.Errorf("after a change of the address: %v, opened %d times", err, opened)
	}
}

// A file that a project names as a secret is not opened before the user approves that.
func TestSecretsOutsideNeedTrust(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	home := t.TempDir()
	t.Setenv("HOME", home)
	file := filepath.Join(home, "key.txt")
	writeFile(t, file, "very-secret-value\n")
	for place, config := range map[string]string{
		"one at home": "secrets: {K: {file: ~/key.txt}}\n",
		"a secret":    "secrets: {K: {file: " + strconv.Quote(file) + "}}\n",
		"a key":       "providers: {work: {api: openai, base_url: \"https://models.example\", key: {file: " + strconv.Quote(file) + "}}}\n",
	} {
		p := open(t, map[string]string{".hocket/config.yml": config, "w.yml": "steps: [{id: a, agent: shell, config: {command: [echo, very-secret-value]}}]\n"}, hocket.Options{})
		if got := p.Mask("very-secret-value"); got != "very-secret-value" {
			t.Errorf("%s was read: %s", place, got)
		}
		powers, err := p.Powers()
		if err == nil && (len(powers) != 1 || !strings.Contains(powers[0].What, file)) {
			t.Errorf("%s: the powers do not name %s: %v", place, file, powers)
		}
		if err == nil {
			err = p.Trust(powers)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Mask("very-secret-value"); got != "***" {
			t.Errorf("%s was not read after it was approved: %s", place, got)
		}
		w, err := p.Load("w.yml")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Start(t.Context(), w, nil); !errors.As(err, new(*hocket.SecretError)) {
			t.Errorf("%s in a workflow: %v", place, err)
		}
		digest := open(t, map[string]string{".hocket/config.yml": config}, hocket.Options{TrustDigest: powers.Digest()})
		if got := digest.Mask("very-secret-value"); got != "***" {
			t.Errorf("%s was not read with the digest: %s", place, got)
		}
	}
}
