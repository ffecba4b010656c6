package recorded

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
)

var recordWith = flag.String("record", "", "record journals with this hocket; see testdata/journals/README.md")

const journals = "../../testdata/journals"

// recorded is a run in a recorded journal, and its outcome according to the program that
// recorded it.
type recorded struct {
	Kind    string         `json:"kind"`
	Run     string         `json:"run"`
	Status  engine.Status  `json:"status"`
	Output  any            `json:"output"`
	Steps   []recordedStep `json:"steps"`
	Waiting []string       `json:"waiting"` // addresses
}

type recordedStep struct {
	Address  string        `json:"address"`
	Status   engine.Status `json:"status"`
	Output   any           `json:"output"`
	Attempts int           `json:"attempts"`
}

// TestJournals replays every run that earlier versions recorded. Each must have the
// outcome that was recorded with it.
func TestJournals(t *testing.T) {
	if *recordWith != "" {
		record(t)
	}
	files, err := filepath.Glob(journals + "/*/journal.db.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d journals: %v", len(files), err)
	}
	for _, file := range files {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			p, err := hocket.Open(t.TempDir(), hocket.Options{State: unpack(t, file)})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			for _, want := range readRecorded(t, dir) {
				t.Run(want.Kind+"/"+want.Run, func(t *testing.T) {
					if diff := cmp.Diff(want, replayed(t, p, want)); diff != "" {
						t.Errorf("(-then +now):\n%s", diff)
					}
				})
			}
		})
	}
}

// TestCurrentJournals fails if the version of the journal or of the engine has changed
// and there is no recording of each kind of run.
func TestCurrentJournals(t *testing.T) {
	kinds, err := filepath.Glob(journals + "/kinds/*.txtar")
	if err != nil || len(kinds) == 0 {
		t.Fatal(err)
	}
	state := filepath.Join(t.TempDir(), "state")
	p, err := hocket.Open(t.TempDir(), hocket.Options{State: state})
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.LoadText("none.yml", []byte("name: none\nsteps: [{agent: shell, config: {command: 'true'}}]"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Record(context.Background(), w, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	dir := versionDir(t, state)
	more, err := filepath.Glob(dir + "-*") // later recordings of the same versions
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, dir := range append(more, dir) {
		for _, r := range readRecorded(t, dir) {
			have[r.Kind] = true
		}
	}
	for _, file := range kinds {
		if kind := kindOf(file); !have[kind] {
			t.Errorf("%s has no recording of %q; see %s/README.md", dir, kind, journals)
		}
	}
}

func kindOf(file string) string { return strings.TrimSuffix(filepath.Base(file), ".txtar") }

// versionDir returns the folder for recordings with the version of the journal in a state
// directory and the version of this engine.
func versionDir(t *testing.T, state string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(state, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	// The user_version is in the header of an SQLite file.
	return fmt.Sprintf("%s/journal-%d-engine-%d", journals, binary.BigEndian.Uint32(data[60:]), engine.Version)
}

// unpack returns a state directory with a recorded journal.
func unpack(t *testing.T, file string) string {
	t.Helper()
	packed, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	if err := os.WriteFile(filepath.Join(state, "journal.db"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return state
}

func readRecorded(t *testing.T, dir string) (list []recorded) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "runs.json"))
	if err != nil {
		t.Fatalf("%v; see %s/README.md", err, journals)
	}
	decode(t, data, &list)
	return list
}

func decode(t *testing.T, data []byte, to any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(to); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
}

// replayed returns the outcome of a run today.
func replayed(t *testing.T, p *hocket.Project, then recorded) recorded {
	t.Helper()
	r, err := p.Run(context.Background(), then.Run)
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.State(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	now := recorded{Kind: then.Kind, Run: then.Run, Status: s.Result.Status, Output: s.Result.Output}
	for i := range s.Result.Steps {
		step := &s.Result.Steps[i]
		value, err := step.Value()
		if err != nil {
			t.Fatal(err)
		}
		now.Steps = append(now.Steps, recordedStep{step.Address, step.Status, value, step.Attempts})
	}
	for _, q := range s.Questions {
		now.Waiting = append(now.Waiting, q.ID)
	}
	return now
}

// record has a program run one workflow of each kind, and keeps its journal. Kinds that
// the program does not support are not recorded.
func record(t *testing.T) {
	t.Helper()
	work, state := "/tmp/journals", "/tmp/journals/state" // the same on every machine, because journals contain it
	if err := os.RemoveAll(work); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(journals + "/kinds/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var list []recorded
	version := engine.Version
	for _, file := range files {
		known := map[string]bool{}
		for _, r := range list {
			known[r.Run] = true
		}
		rec := &recorder{t: t, dir: filepath.Join(work, kindOf(file)), state: state}
		if !rec.play(file) {
			continue
		}
		for _, run := range rec.runs() {
			if !known[run] {
				r := rec.show(run)
				r.Kind = kindOf(file)
				list = append(list, r)
				version = rec.version(run)
			}
		}
	}
	first := strings.TrimSuffix(versionDir(t, state), fmt.Sprint(engine.Version)) + fmt.Sprint(version)
	dir := first
	for n := 2; os.Mkdir(dir, 0o777) != nil; n++ { // what was recorded is never replaced
		dir = fmt.Sprintf("%s-%d", first, n)
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(state, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(data)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"runs.json": append(text, '\n'), "journal.db.gz": packed.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// recorder runs a program in a directory.
type recorder struct {
	t          *testing.T
	dir, state string
}

func (r *recorder) command(args ...string) *exec.Cmd {
	cmd := exec.Command(*recordWith, append(args, "--state", r.state)...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+r.state, "XDG_STATE_HOME="+r.state, "NO_COLOR=1")
	return cmd
}

// play executes the commands of a kind of run. It reports whether the program supports
// it.
func (r *recorder) play(file string) bool {
	r.t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := os.MkdirAll(r.dir, 0o777); err != nil {
		r.t.Fatal(err)
	}
	for _, f := range archive.Files {
		name := filepath.Join(r.dir, f.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, f.Data, 0o666)); err != nil {
			r.t.Fatal(err)
		}
	}
	before := r.runs()
	for line := range strings.Lines(string(archive.Comment)) {
		args := strings.Fields(line)
		for i, arg := range args {
			if arg == "RUN" {
				args[i] = slices.DeleteFunc(r.runs(), func(id string) bool { return slices.Contains(before, id) })[0]
			}
		}
		switch args[0] {
		case "kill":
			r.kill(args[1:])
			continue
		case "trust":
			digest := bytes.Fields(r.output("trust", args[1], "--print"))
			args = append(args, "--trust", string(digest[len(digest)-1]))
		}
		var exit *exec.ExitError
		out, err := r.command(args...).CombinedOutput()
		if err != nil {
			if exit, _ = err.(*exec.ExitError); exit == nil {
				r.t.Fatal(err)
			}
		}
		if exit != nil && exit.ExitCode() == 2 {
			r.t.Logf("%s: %s%s", kindOf(file), line, out)
			return false
		}
	}
	return true
}

// kill starts a command, and kills it when a step has created the file "started".
func (r *recorder) kill(args []string) {
	r.t.Helper()
	cmd := r.command(args...)
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	for range 3000 {
		if _, err := os.Stat(filepath.Join(r.dir, "started")); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func (r *recorder) output(args ...string) []byte {
	r.t.Helper()
	out, err := r.command(args...).Output()
	if err != nil {
		r.t.Fatalf("%q: %v", args, err)
	}
	return out
}

func (r *recorder) runs() (ids []string) {
	r.t.Helper()
	var list []struct {
		ID string `json:"run_id"`
	}
	decode(r.t, r.output("runs", "--json"), &list)
	for _, run := range list {
		ids = append(ids, run.ID)
	}
	return ids
}

func (r *recorder) show(run string) recorded {
	r.t.Helper()
	var shown struct {
		recorded
		Waiting []struct{ Address string } `json:"waiting"`
	}
	decode(r.t, r.output("show", run, "--json"), &shown)
	shown.Run = run
	if shown.Status == "interrupted" {
		shown.Status = engine.Running
	}
	for _, w := range shown.Waiting {
		shown.recorded.Waiting = append(shown.recorded.Waiting, w.Address)
	}
	return shown.recorded
}

// version returns the version of the engine that recorded a run.
func (r *recorder) version(run string) int {
	r.t.Helper()
	first, _, _ := bytes.Cut(r.output("events", run), []byte("\n"))
	e, err := engine.Decode(first)
	if err != nil {
		r.t.Fatal(err)
	}
	return e.Event.(*engine.Started).Version
}
