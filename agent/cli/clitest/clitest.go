// Package clitest tests a manifest: it replaces the CLI with a fake that prints what the
// real one printed, and that misbehaves in the ways in which programs do.
//
// The fake is the test program itself, so a test that uses this package begins with
//
//	func TestMain(m *testing.M) { os.Exit(clitest.Main(m)) }
//
//	func TestMyCLI(t *testing.T) {
//		manifest, found := cli.ReadManifest("mine.yml", text)
//		…
//		clitest.Prove(t, manifest, clitest.Sample{Name: "answer", Stdout: printed, Output: "42"})
//	}
package clitest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/cli"
)

// Sample is what the real CLI printed in one run, and the expected outcome.
type Sample struct {
	Name   string
	Stdout string
	Stderr string
	Exit   int

	Output    string      // the answer of a successful run
	Fails     agent.Kind  // of the error; "": it succeeds
	Says      string      // part of the error's message
	Permanent bool        // a retry would not help
	Until     time.Time   // when a quota is reset
	Usage     agent.Usage // zero: not checked
	Schema    any         // of the answer that is requested; nil: none
	Resumes   bool        // the conversation can be continued afterwards

	Transcript []agent.Entry // nil: not checked
	Model      string        // that did the work; "": not checked
}

// Prove runs a manifest on samples, at least one of which must be a success. That one is
// then cut off at every line, mixed with garbage, delayed, killed, and ended with another
// exit status; none of that may be mistaken for an answer or leave a process behind. It is
// also run with every permission that the manifest supports.
func Prove(t *testing.T, m *cli.Manifest, samples ...Sample) {
	t.Helper()
	var good *Sample
	for i := range samples {
		s := &samples[i]
		if s.Fails == "" && good == nil {
			good = s
		}
		t.Run(s.Name, func(t *testing.T) { s.prove(t, m) })
	}
	if good == nil {
		t.Fatal("clitest: none of the samples succeeds")
	}
	t.Run("cut off", func(t *testing.T) { cutOff(t, m, good) })
	t.Run("garbage", func(t *testing.T) { garbage(t, m, good) })
	t.Run("huge output", func(t *testing.T) { huge(t, m) })
	t.Run("exit status", func(t *testing.T) { exitStatus(t, m, good) })
	t.Run("killed", func(t *testing.T) { killed(t, m, good) })
	t.Run("hang", func(t *testing.T) { hang(t, m, good) })
	t.Run("grandchild", func(t *testing.T) { grandchild(t, m, good) })
	t.Run("permissions", func(t *testing.T) { permissions(t, m, good) })
}

// trail is what is recorded about an attempt.
type trail struct {
	entries []agent.Entry
	model   string
}

// run makes the fake do a task.
func run(t *testing.T, ctx context.Context, m *cli.Manifest, p play, schema any) (agent.Result, trail, error) {
	t.Helper()
	return runWith(t, ctx, m, p, schema, nil)
}

// runWith makes the fake do a task of an agent with permissions.
func runWith(t *testing.T, ctx context.Context, m *cli.Manifest, p play, schema any, permissions map[string]any) (agent.Result, trail, error) {
	t.Helper()
	dir := t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	x := cli.New(cli.Options{Manifest: m, Dir: filepath.Join(dir, "private"), Grace: 100 * time.Millisecond})
	task := &agent.Task{
		Run: "clitest", Key: "clitest/" + t.Name() + "/" + filepath.Base(dir), Workflow: "clitest", Node: "fake", Dir: dir, Prompt: "Do it.",
		Agent:    &agent.Definition{Name: m.Name, Permissions: permissions},
		Settings: map[string]any{"program": program, "any_version": true, "env": map[string]any{fakeVariable: p.write(t, dir)}},
	}
	task.Output.Schema = schema
	var left trail
	task.KeepEntry = func(e agent.Entry) { left.entries = append(left.entries, e) }
	task.NoteModel = func(model string) { left.model = model }
	res, err := x.Run(ctx, task, func([]byte) {})
	files, _ := filepath.Glob(filepath.Join(dir, "private", "run-*")) // fails only for a bad pattern
	if len(files) > 0 {
		t.Errorf("files left behind: %v", files)
	}
	return res, left, err
}

func (s *Sample) prove(t *testing.T, m *cli.Manifest) {
	res, left, err := run(t, t.Context(), m, s.play(), s.Schema)
	if s.Usage != (agent.Usage{}) && res.Usage != s.Usage {
		t.Errorf("used %+v, want %+v", res.Usage, s.Usage)
	}
	if s.Transcript != nil && !reflect.DeepEqual(left.entries, s.Transcript) {
		t.Errorf("the transcript is\n%+v\nwant\n%+v", left.entries, s.Transcript)
	}
	if s.Model != "" && left.model != s.Model {
		t.Errorf("the model is %q, want %q", left.model, s.Model)
	}
	if s.Fails == "" {
		if err != nil || res.Output != s.Output {
			t.Errorf("got %q, %v; want %q", res.Output, err, s.Output)
		}
		if s.Resumes && (res.Conversation == nil || res.Conversation.Native == "") {
			t.Error("the conversation cannot be continued")
		}
		return
	}
	var failed *agent.Error
	if !errors.As(err, &failed) || failed.Kind != s.Fails || failed.Permanent != s.Permanent || !strings.Contains(failed.Message, s.Says) || !failed.Until.Equal(s.Until) {
		t.Errorf("got %#v\nwant %s, permanent %v, until %v, with %q", err, s.Fails, s.Permanent, s.Until, s.Says)
	}
}

func (s *Sample) play() play { return play{Stdout: s.Stdout, Stderr: s.Stderr, Exit: s.Exit} }

// cutOff ends the output in the middle of each line. A truncated stream must never yield a
// different answer, even if the exit status is 0.
func cutOff(t *testing.T, m *cli.Manifest, good *Sample) {
	if !m.Events() {
		t.Skip("not offered: plain text has no end marker")
	}
	lines := strings.SplitAfter(strings.TrimRight(good.Stdout, "\n"), "\n")
	failures := 0
	for i := range lines {
		p := good.play()
		p.Stdout = strings.Join(lines[:i], "") + lines[i][:len(lines[i])/2]
		res, _, err := run(t, t.Context(), m, p, good.Schema)
		if err != nil {
			failures++
		} else if res.Output != good.Output {
			t.Errorf("cut off in line %d: got the answer %q", i+1, res.Output)
		}
	}
	if failures == 0 {
		t.Error("no truncated stream was rejected")
	}
}

// garbage between the events changes nothing, and garbage alone is a failure.
func garbage(t *testing.T, m *cli.Manifest, good *Sample) {
	if !m.Events() {
		t.Skip("not offered: in plain text, any garbage is a valid answer")
	}
	const noise = "\x00\xff{\"type\": \n[1, 2\nnull\n\"text\"\n{}\n{\"type\":{\"type\":[]}}\n<html>\n"
	_, _, err := run(t, t.Context(), m, play{Stdout: noise}, good.Schema)
	if err == nil {
		t.Error("garbage was accepted as an answer")
	}
	p := good.play()
	p.Stdout = noise + strings.ReplaceAll(strings.TrimRight(good.Stdout, "\n"), "\n", "\n"+noise) + "\n" + noise
	if res, _, err := run(t, t.Context(), m, p, good.Schema); err != nil || res.Output != good.Output {
		t.Errorf("with garbage between: got %q, %v", res.Output, err)
	}
}

// huge prints endless output.
func huge(t *testing.T, m *cli.Manifest) {
	_, _, err := run(t, t.Context(), m, play{Mode: "huge"}, nil)
	var failed *agent.Error
	if !errors.As(err, &failed) || !failed.Permanent {
		t.Errorf("got %v", err)
	}
}

// exitStatus ends a successful run with a failing exit status: both the output and the
// status must indicate success.
func exitStatus(t *testing.T, m *cli.Manifest, good *Sample) {
	p := good.play()
	p.Exit = 7
	if _, _, err := run(t, t.Context(), m, p, good.Schema); err == nil {
		t.Error("exit status 7 counted as a success")
	}
}

func killed(t *testing.T, m *cli.Manifest, good *Sample) {
	p := good.play()
	p.Mode, p.Stdout = "killed", good.Stdout[:len(good.Stdout)/2]
	_, _, err := run(t, t.Context(), m, p, good.Schema)
	var failed *agent.Error
	if !errors.As(err, &failed) || failed.Permanent {
		t.Errorf("got %v", err)
	}
}

// hang prints half of a run and does not exit, with a child that has left its process
// group.
func hang(t *testing.T, m *cli.Manifest, good *Sample) {
	p := good.play()
	p.Mode, p.Stdout = "hang", good.Stdout[:len(good.Stdout)/2]
	p.Pids = filepath.Join(t.TempDir(), "pids")
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	go func() {
		waitFor(p.Pids)
		stop(context.DeadlineExceeded)
	}()
	_, _, err := run(t, ctx, m, p, good.Schema)
	var failed *agent.Error
	if !errors.As(err, &failed) || failed.Kind != agent.TimedOut {
		t.Errorf("got %v", err)
	}
	expectGone(t, p.Pids)
}

// grandchild leaves a process behind that keeps the pipe open.
func grandchild(t *testing.T, m *cli.Manifest, good *Sample) {
	p := good.play()
	p.Mode, p.Pids = "grandchild", filepath.Join(t.TempDir(), "pids")
	res, _, err := run(t, t.Context(), m, p, good.Schema)
	if err != nil || res.Output != good.Output {
		t.Errorf("got %q, %v", res.Output, err)
	}
	expectGone(t, p.Pids)
}

// permissions that the manifest supports must not change a successful run. For all others
// it must suggest an alternative, and the CLI must not be started.
func permissions(t *testing.T, m *cli.Manifest, good *Sample) {
	x := cli.New(cli.Options{Manifest: m})
	for _, mode := range []cli.Mode{cli.ReadOnly, cli.Edit, cli.Full} {
		if len(x.Traits().Permissions(map[string]any{"mode": string(mode)})) > 0 {
			continue
		}
		for _, power := range agent.Powers {
			for _, permission := range []any{"allow", "deny", "ask", map[string]any{"some *": "allow", "some more*": "deny"}} {
				written := map[string]any{"mode": string(mode), string(power): permission}
				problems := x.Traits().Permissions(written)
				res, _, err := runWith(t, t.Context(), m, good.play(), good.Schema, written)
				var failed *agent.Error
				switch {
				case len(problems) == 0 && (err != nil || res.Output != good.Output):
					t.Errorf("%v: got %q, %v", written, res.Output, err)
				case len(problems) > 0 && (!errors.As(err, &failed) || !failed.Permanent || !strings.Contains(failed.Message, problems[0].Summary) || problems[0].Detail == ""):
					t.Errorf("%v: expected the task to report %v, got %v", written, problems, err)
				}
			}
		}
	}
}

// waitFor waits until a process of the fake has written its id.
func waitFor(file string) {
	for range 2000 {
		if data, err := os.ReadFile(file); err == nil && strings.HasSuffix(string(data), "\n") {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func expectGone(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for field := range strings.FieldsSeq(string(data)) {
		var pid int
		if _, err := fmt.Sscan(field, &pid); err != nil {
			continue
		}
		// A process that was killed takes a moment to disappear.
		for deadline := time.Now().Add(5 * time.Second); lives(pid); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Errorf("process %d is still running", pid)
				break
			}
		}
	}
}
