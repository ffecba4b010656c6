//go:build unix

package cli_test

import (
	"bytes"
	"database/sql"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite" // to damage a journal

	"github.com/hocket-dev/hocket/cli"
	"github.com/hocket-dev/hocket/internal/fakemodel"
	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/jsonpath"
)

// The scripts in testdata/script run the real command in separate processes.
func TestMain(m *testing.M) {
	if os.Getenv(asHocket) == "" && filepath.Base(os.Args[0]) != "hocket" {
		os.Setenv(underAgent, trust.Supervisor(os.Environ()))
	}
	if os.Getenv(asHocket) != "" {
		hocket()
	}
	if os.Getenv(asAgent) != "" {
		callServer()
		return
	}
	testscript.Main(m, map[string]func(){
		"hocket": hocket,
	})
}

// underAgent names the agent that runs the tests, if any.
const underAgent = "HOCKET_TEST_UNDER_AGENT"

// asHocket makes the test binary act as the command.
const asHocket = "HOCKET_TEST_AS_COMMAND"

func hocket() {
	os.Exit(cli.Main(os.Args[1:], cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Agent: os.Getenv(underAgent)}))
}

func TestScripts(t *testing.T) {
	model, place := fakemodel.Start(t), t.TempDir()
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Condition: func(name string) (bool, error) {
			return projectfile.Identity(place) != "", nil // [identity], the only one
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, ".state"))
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, ".config"))
			env.Setenv(underAgent, os.Getenv(underAgent))
			env.Setenv("USER", "tester")
			env.Setenv("MODEL", model.URL)                                 // answers as the prompt demands
			env.Setenv("ALONE", filepath.SplitList(env.Getenv("PATH"))[0]) // a PATH with this program only
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"code":      exitCode,
			"json":      jsonIs,
			"keys":      keysAre,
			"setid":     setID,
			"damage":    damage,
			"until":     until,
			"trusted":   trusted,
			"lives":     lives,
			"kill9":     func(ts *testscript.TestScript, _ bool, args []string) { send(ts, args[0], syscall.SIGKILL) },
			"interrupt": func(ts *testscript.TestScript, _ bool, args []string) { send(ts, args[0], syscall.SIGINT) },
		},
	})
}

// damage makes the first event of a run unreadable, or one cell of its row in the list of
// runs, or all long outputs: damage RUN, damage RUN CELL, damage outputs.
func damage(ts *testscript.TestScript, _ bool, args []string) {
	files, err := filepath.Glob(filepath.Join(ts.Getenv("XDG_STATE_HOME"), "hocket", "*", "journal.db"))
	ts.Check(err)
	if len(files) != 1 {
		ts.Fatalf("there are %d journals", len(files))
	}
	db, err := sql.Open("sqlite", files[0])
	ts.Check(err)
	switch {
	case args[0] == "outputs":
		_, err = db.Exec("UPDATE blobs SET data = 'y' || data")
	case len(args) > 1:
		_, err = db.Exec("UPDATE runs SET "+args[1]+" = 'x' WHERE id = ?", args[0])
	default:
		_, err = db.Exec("UPDATE events SET data = '{' WHERE run = (SELECT number FROM runs WHERE id = ?) AND seq = 1", args[0])
	}
	ts.Check(errors.Join(err, db.Close()))
}

// exitCode runs a command and checks its exit code: code 3 hocket run flow.yml.
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND…")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// jsonIs checks a value in a JSON file or in the last output: json stdout $.status
// success. The expected value is plain text or compact JSON.
func jsonIs(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: json FILE PATH VALUE")
	}
	var got []string
	for _, v := range selectJSON(ts, ts.ReadFile(args[0]), args[1]) {
		got = append(got, jsonText(v))
	}
	if same := strings.Join(got, " ") == args[2]; same == neg {
		ts.Fatalf("%s is %s", args[1], strings.Join(got, " "))
	}
}

func selectJSON(ts *testscript.TestScript, text, path string) []any {
	doc, err := workflow.ParseJSON([]byte(text))
	ts.Check(err)
	parsed, err := jsonpath.Parse(path)
	ts.Check(err)
	found, err := parsed.Select(doc)
	ts.Check(err)
	return found
}

func jsonText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return workflow.FormatJSON(v)
}

// keysAre checks the sorted keys of an object: keys stdout $ 'a b c'.
func keysAre(ts *testscript.TestScript, neg bool, args []string) {
	found := selectJSON(ts, ts.ReadFile(args[0]), args[1])
	if len(found) != 1 {
		ts.Fatalf("%s selects %d values", args[1], len(found))
	}
	object, ok := found[0].(map[string]any)
	if !ok {
		ts.Fatalf("%s is no object", args[1])
	}
	got := strings.Join(slices.Sorted(maps.Keys(object)), " ")
	if (got == args[2]) == neg {
		ts.Fatalf("%s has the keys %s", args[1], got)
	}
}

// setID stores a value from the last output, or its only word, in a variable: setid RUN
// stdout $.run_id.
func setID(ts *testscript.TestScript, neg bool, args []string) {
	text := strings.TrimSpace(ts.ReadFile(args[1]))
	if len(args) == 3 {
		found := selectJSON(ts, text, args[2])
		if neg || len(found) != 1 {
			ts.Fatalf("%s selects %d values", args[2], len(found))
		}
		text = jsonText(found[0])
	}
	ts.Setenv(args[0], text)
}

// patience is how long a test waits before it fails. It does not measure the speed of
// the program: every machine that runs the tests is faster.
const patience = 2 * time.Minute

// until repeats a command until it succeeds and its output contains a text: until
// 'status": "success"' hocket show X --json.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until TEXT COMMAND…")
	}
	deadline := time.Now().Add(patience)
	for {
		err := ts.Exec(args[1], args[2:]...)
		if strings.Contains(ts.ReadFile("stdout"), args[0]) || strings.Contains(ts.ReadFile("stderr"), args[0]) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("never saw %q (last error: %v)", args[0], err)
		}
		time.Sleep(30 * time.Millisecond)
	}
}

// send waits for a file with a process id and sends the process a signal.
func send(ts *testscript.TestScript, file string, sig syscall.Signal) {
	deadline := time.Now().Add(patience)
	for {
		text, err := os.ReadFile(ts.MkAbs(file))
		pid, convErr := strconv.Atoi(strings.TrimSpace(string(text)))
		if err == nil && convErr == nil {
			ts.Check(syscall.Kill(pid, sig))
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("no process id in %s", file)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// lives checks that the process whose id is in a file is running: lives FILE. A process
// that has exited may stay in the process table until its parent waits for it.
func lives(ts *testscript.TestScript, neg bool, args []string) {
	pid := strings.TrimSpace(ts.ReadFile(args[0]))
	state, _ := exec.Command("ps", "-o", "stat=", "-p", pid).Output() // fails if there is no such process
	if runs := len(state) > 0 && state[0] != 'Z'; runs == neg {
		ts.Fatalf("process %s: %q", pid, state)
	}
}

// trusted makes the user trust the project with the given workflows.
func trusted(ts *testscript.TestScript, _ bool, files []string) {
	ts.Check(ts.Exec("hocket", append([]string{"trust", "--print"}, files...)...))
	digest := strings.TrimSpace(ts.ReadFile("stdout"))
	ts.Check(ts.Exec("hocket", append([]string{"trust", "--trust", digest}, files...)...))
}

// trustDir makes the user of this process trust a project with the given workflows.
func trustDir(t *testing.T, dir string, files ...string) {
	t.Helper()
	trust := func(args ...string) string {
		var out, errs bytes.Buffer
		args = append(append([]string{"-C", dir, "trust"}, args...), files...)
		if code := cli.Main(args, cli.Stdio{In: strings.NewReader(""), Out: &out, Err: &errs, Agent: trust.Supervisor(os.Environ())}); code != 0 {
			t.Fatalf("%q: exit code %d\n%s", args, code, &errs)
		}
		return strings.TrimSpace(out.String())
	}
	trust("--trust", trust("--print"))
}
