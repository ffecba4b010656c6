package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/cli"
	"github.com/hocket-dev/hocket/trust"
)

var (
	binary    = flag.String("hocket", "", "the program to test, instead of one inside this test")
	kills     = flag.Int("kills", 12, "how often a run is killed")
	sessions  = flag.Int("session-kills", 12, "how often a batch of sessions is killed")
	landings  = flag.Int("landing-kills", 9, "how often a landing is killed")
	replans   = flag.Int("replan-kills", 8, "how often a change of a plan is killed")
	journals  = flag.Int("journals", 40, "how many damaged journals are read")
	workflows = flag.Int("workflows", 25, "how many random workflows are run")
	only      = flag.Int("only", -1, "run only this one of the random workflows")
	seed      = flag.Uint64("seed", 1, "of the random numbers")
)

// asHocket makes this test binary act as the command.
const asHocket = "HOCKET_CHAOS_AS_COMMAND"

// underAgent names the agent that runs the tests, if any. It may answer in place of
// people, but not through another program.
const underAgent = "HOCKET_CHAOS_UNDER_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(asHocket) != "" {
		os.Exit(cli.Main(os.Args[1:], cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Agent: os.Getenv(underAgent)}))
	}
	os.Setenv(underAgent, trust.Supervisor(os.Environ()))
	os.Exit(m.Run())
}

// project is a directory with workflows and the state of its runs.
type project struct {
	t          *testing.T
	dir, state string
}

func newProject(t *testing.T, files map[string]string) project {
	t.Helper()
	p := project{t, t.TempDir(), filepath.Join(t.TempDir(), "state")}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// remove removes the files of the project before the test ends.
func (p project) remove() {
	for _, dir := range []string{p.dir, p.state} {
		if err := os.RemoveAll(dir); err != nil {
			p.t.Error(err)
		}
	}
}

// command returns a command that runs the program. It ends with the test.
func (p project) command(ctx context.Context, args ...string) *exec.Cmd {
	program := *binary
	if program == "" {
		var err error
		if program, err = os.Executable(); err != nil {
			p.t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(ctx, program, append(args, "--state", p.state)...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), asHocket+"=1", "XDG_CONFIG_HOME="+p.dir, "NO_COLOR=1")
	return cmd
}

// said is what a command printed, and how it ended.
type said struct {
	out, err string
	code     int
}

// call runs a command to its end. A command that takes more than a minute is broken: no
// workflow here takes a second.
func (p project) call(args ...string) said {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := p.command(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		p.t.Fatalf("hocket %s does not end\n%s%s", strings.Join(args, " "), &out, &errs)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return said{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// event is the part of a line of `hocket events` that the tests use.
type event struct {
	Type    string
	Address string `json:"address"`
	Fault   json.RawMessage
	Error   json.RawMessage
}

func (p project) events(run string) (all []event, raw string) {
	p.t.Helper()
	got := p.call("events", run)
	if got.code != 0 {
		p.t.Fatalf("events of %s: %s", run, got.err)
	}
	for line := range strings.Lines(got.out) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			p.t.Fatal(err)
		}
		all = append(all, e)
	}
	return all, got.out
}

// decode runs a command and reads the JSON that it prints.
func (p project) decode(into any, args ...string) {
	p.t.Helper()
	got := p.call(args...)
	if err := json.Unmarshal([]byte(got.out), into); err != nil {
		p.t.Fatalf("hocket %s: %v\n%s%s", strings.Join(args, " "), err, got.out, got.err)
	}
}
