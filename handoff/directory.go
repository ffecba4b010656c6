package handoff

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/handoff/attempt"
	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/internal/filelock"
)

// The files in the directory of a session.
const (
	stateFile  = "state.json"
	promptFile = attempt.PromptFile
	resultFile = "result.json"
	outputFile = "output.log"
	logFile    = "session.log"
)

// Show writes the directory of a session from the journal. The directory is for people and scripts;
// Hocket never reads it back. So a failure loses nothing and is only reported.
func (s *Sessions) Show(ctx context.Context, id string) *Session {
	one, err := s.Find(ctx, id)
	if err != nil {
		s.problem(err)
		return nil
	}
	return s.show(ctx, one.ID, func() (*Session, error) { return s.Find(ctx, one.ID) })
}

// show writes the directory of the session that read returns, unless that is nil.
func (s *Sessions) show(ctx context.Context, id string, read func() (*Session, error)) (one *Session) {
	s.showing(id, func() (err error) {
		if one, err = read(); err != nil || one == nil {
			return err
		}
		if err = s.shown(ctx, one); err == nil && one.Final() && one.Step == "" {
			err = s.unmark(one.ID)
		}
		return err
	})
	return one
}

// showDriven writes the directory of a session that is driven here. If another process has already
// shown how the session ended, nothing is written: the directory may be in an archive by now.
func (s *Sessions) showDriven(ctx context.Context, id string, read func() (*Session, error)) {
	s.show(ctx, id, func() (*Session, error) {
		one, err := read()
		if err == nil && one.Final() && !s.marked(id) {
			return nil, nil
		}
		return one, err
	})
}

// showEnd returns a session, and writes its directory unless that already says how it ended.
func (s *Sessions) showEnd(ctx context.Context, id string) *Session {
	one, err := s.Find(ctx, id)
	if err == nil && one.Final() && one.Step == "" {
		if !s.marked(id) {
			if _, err := os.Lstat(filepath.Join(s.p.Root(), one.Handoff.Dir, stateFile)); err == nil {
				return one
			}
		}
	}
	return s.Show(ctx, id)
}

// showNew writes the directory of a session that was just recorded. If it is no longer pending,
// another process drives it and writes its directory, and what we know is out of date.
func (s *Sessions) showNew(ctx context.Context, one *Session) {
	s.showing(one.ID, func() error {
		info, err := one.run.Info(ctx)
		if err != nil || listed(info).Phase != one.Phase {
			return err
		}
		return s.write(ctx, one)
	})
}

// shown writes the directory of a session, and notifies the agents that asked to be told when it ends.
func (s *Sessions) shown(ctx context.Context, one *Session) error {
	if one.Handoff.Detach { // the session has not started, and will write its own directory
		return nil
	}
	if err := s.write(ctx, one); err != nil || !one.Final() {
		return err
	}
	return s.notify(one)
}

// A session has a mark from before it is recorded until its directory shows how it ended. If a
// process is killed in between, the mark remains, and the next process that drives sessions writes
// the directory.

func (s *Sessions) marks() string { return filepath.Join(s.p.State(), "handoff-open") }

// mark marks a session. It does not change an existing mark, which may belong to another session
// with the same id.
func (s *Sessions) mark(id string) error {
	if err := os.MkdirAll(s.marks(), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(s.marks(), id), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func (s *Sessions) marked(id string) bool {
	_, err := os.Lstat(filepath.Join(s.marks(), id))
	return !errors.Is(err, fs.ErrNotExist)
}

// ClearObstacle removes the reason why a session could not be driven, before another process tries again.
func (s *Sessions) ClearObstacle(id string) {
	if s.Obstacle(id) != "" {
		s.obstacle(id, "")
	}
}

// obstacle stores in the mark of a session why it cannot be driven, so that other processes can
// show it; "" means that it can be driven.
func (s *Sessions) obstacle(id, why string) {
	if err := os.WriteFile(filepath.Join(s.marks(), id), []byte(why), 0o600); err != nil {
		s.problem(fmt.Errorf("session %s: %w", id, err))
	}
}

// Interrupted records that a person interrupted the process that drove a session. Other processes
// must not continue a blocking session on their own. It ignores runs that are not sessions.
func (s *Sessions) Interrupted(id string) {
	if _, err := os.Stat(filepath.Join(s.marks(), id)); err == nil {
		s.obstacle(id, interrupted)
	}
}

const interrupted = "it was interrupted"

// Hold records that a person decides when a session starts that repeats another one, see
// [Sessions.Again].
func (s *Sessions) Hold(id string) {
	if err := s.mark(id); err != nil {
		s.problem(fmt.Errorf("session %s: %w", id, err))
	}
	s.obstacle(id, "it was not started")
}

// Obstacle returns why the last attempt to drive a session failed; "" if it did not.
func (s *Sessions) Obstacle(id string) string {
	text, _ := os.ReadFile(filepath.Join(s.marks(), id)) // no mark means no obstacle
	return string(text)
}

func (s *Sessions) unmark(id string) error {
	if err := os.Remove(filepath.Join(s.marks(), id)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// showMarked writes the directories of sessions that ended without it.
func (s *Sessions) showMarked(ctx context.Context) {
	entries, _ := os.ReadDir(s.marks()) // no marks, nothing to show
	for _, e := range entries {
		run, err := s.exact(ctx, e.Name())
		var unknown *hocket.UnknownRunError
		if errors.As(err, &unknown) {
			if info, err := e.Info(); err == nil && s.now().Sub(info.ModTime()) > time.Hour { // it was never recorded
				_ = s.unmark(e.Name()) // if that fails, the next process tries again
			}
			continue
		}
		if err != nil {
			s.problem(err)
			continue
		}
		info, err := run.Info(ctx)
		switch {
		case err == nil && !IsSession(info): // another run got the id first
			_ = s.unmark(e.Name()) // if that fails, the next process tries again
		case err == nil && info.Status.Done():
			s.Show(ctx, run.ID())
		}
	}
}

// showing calls do, which writes the directory of a session, and reports its error. A lock orders
// concurrent writers, so that the one that writes last has also read the journal last.
func (s *Sessions) showing(id string, do func() error) {
	lock, err := s.lock(id)
	if err == nil {
		err = errors.Join(do(), lock.Release())
	}
	if err != nil {
		s.problem(fmt.Errorf("the directory of session %s is not up to date: %w", id, err))
	}
}

// lock locks the directory of a session.
func (s *Sessions) lock(id string) (*filelock.Lock, error) {
	locks := filepath.Join(s.p.State(), "handoff-locks")
	if err := os.MkdirAll(locks, 0o700); err != nil {
		return nil, err
	}
	return filelock.Wait(filepath.Join(locks, id), 30*time.Second)
}

// write writes the files of a session. state.json comes last, so that the result exists once
// state.json says that the session has ended.
func (s *Sessions) write(ctx context.Context, one *Session) error {
	dir, err := attempt.OpenSession(s.p.Root(), one.Handoff.Dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	files := []struct {
		name string
		text func() ([]byte, error)
	}{
		{promptFile, func() ([]byte, error) { return []byte(one.Handoff.Source), nil }},
		{outputFile, func() ([]byte, error) { return s.output(ctx, one) }},
		{logFile, func() ([]byte, error) { return one.logText(), nil }},
		{resultFile, one.result},
		{stateFile, func() ([]byte, error) { return indented(one.State) }},
	}
	for _, f := range files {
		if f.name == resultFile && !one.Final() || f.name == outputFile && one.Attempts == 0 {
			continue
		}
		if _, err := dir.Lstat(promptFile); f.name == promptFile && err == nil && one.Attempts > 0 {
			continue // the agent may have read it, and it never changes
		}
		text, err := f.text()
		if err == nil {
			err = replace(dir, f.name, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// replace replaces a file atomically, so that readers see either the old content or the new. It
// does not sync to disk: after a power failure the directory is written again. If the agent has
// created a folder with this name, the folder is renamed.
func replace(dir *os.Root, name string, text []byte) error {
	temp := "." + name + "-" + rand.Text() // a random name, because writing would block if the agent had created a pipe with this name
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		if info, lost := dir.Lstat(name); lost == nil && info.IsDir() {
			err = dir.Rename(name, name+".moved-"+rand.Text())
		}
	}
	if err == nil {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		_ = dir.Remove(temp) // the first error matters more
	}
	return err
}

func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}

// Result is Hocket's part of result.json, under the key handoff.
type Result struct {
	ID           string             `json:"session_id"`
	Status       Status             `json:"status"`
	Error        string             `json:"error,omitempty"`
	Response     *protocol.Response `json:"response,omitempty"`
	Deliverables []Delivered        `json:"deliverables"`
	Scripted     bool               `json:"scripted,omitempty"` // no agent worked: deliverables were not checked
}

// Delivered is the result of checking a deliverable.
type Delivered struct {
	Kind     protocol.Kind `json:"kind"`
	Path     string        `json:"path,omitempty"`
	Text     string        `json:"text"`
	Required bool          `json:"required"`
	OK       *bool         `json:"ok,omitempty"`  // nil if it was not checked
	Why      string        `json:"why,omitempty"` // why it was not accepted; "" if it was
}

// ResultJSON returns the content of result.json.
func (one *Session) ResultJSON() ([]byte, error) { return one.result() }

// result returns the content of result.json: the agent's own object, with one more key.
func (one *Session) result() ([]byte, error) {
	all := map[string]json.RawMessage{}
	if one.Answer != nil && one.Answer.Own != nil {
		if err := json.Unmarshal(one.Answer.Own, &all); err != nil {
			return nil, err
		}
	}
	r := Result{ID: one.ID, Status: one.Status, Error: one.Error, Response: one.Answer, Deliverables: []Delivered{}, Scripted: one.Scripted}
	for i, d := range one.Handoff.Request.Deliverables {
		ok, why := one.finding(i)
		r.Deliverables = append(r.Deliverables, Delivered{Kind: d.Kind, Path: d.PathIn(one.ID), Text: d.Text, Required: d.Required, OK: ok, Why: why})
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	all["handoff"] = text
	return indented(all)
}

// finding returns the result of checking a deliverable. Older versions did not record it; for
// those, a completed session means that everything required was accepted.
func (one *Session) finding(i int) (ok *bool, why string) {
	if i < len(one.found) {
		return &one.found[i].OK, one.found[i].Why
	}
	if accepted := true; one.Status == Completed && one.Handoff.Request.Deliverables[i].Required && !one.Scripted {
		return &accepted, ""
	}
	return nil, "it was not checked"
}

// logText returns the content of session.log.
func (one *Session) logText() []byte {
	var b bytes.Buffer
	for _, l := range one.Log {
		fmt.Fprintf(&b, "[%s] %s\n", l.Time.UTC().Format(time.RFC3339), l.Text)
	}
	return b.Bytes()
}

// maxOutput limits how much of an attempt's output is copied to the directory. `hocket logs` shows
// all of it.
const maxOutput = 10 << 20

// output returns what all attempts printed, and the answer.
func (s *Sessions) output(ctx context.Context, one *Session) ([]byte, error) {
	var b bytes.Buffer
	for n := 1; n <= one.Attempts; n++ {
		if one.Attempts > 1 {
			fmt.Fprintf(&b, "--- attempt %d\n", n)
		}
		size := 0
		for piece, err := range one.run.Read(ctx, one.address, n, hocket.Output, 0, false) {
			var damaged *hocket.DamagedLogError
			if errors.As(err, &damaged) {
				fmt.Fprintf(&b, "\n[%v]\n", err)
				break
			}
			if err != nil {
				return nil, err
			}
			if size += len(piece.Text); size > maxOutput {
				b.WriteString("\n[`hocket logs` shows the rest]\n")
				break
			}
			b.Write(piece.Text)
		}
	}
	if text := strings.TrimRight(one.Output, "\n"); text != "" && !strings.HasSuffix(strings.TrimRight(b.String(), "\n"), text) {
		fmt.Fprintf(&b, "--- answer\n%s\n", text)
	}
	return b.Bytes(), nil
}

// notify leaves a message for the agents in notify_on_completion when a session has ended.
func (s *Sessions) notify(one *Session) error {
	q := one.Handoff.Request
	if len(q.Notify) == 0 {
		return nil
	}
	text := fmt.Sprintf("The session %s (%s) has ended: %s.\n", one.ID, q.Summary, one.Status)
	if one.Error != "" {
		text += "\n" + one.Error + "\n"
	}
	if one.Output != "" {
		text += "\nThe answer:\n\n" + one.Output + "\n"
	}
	var failed error
	for _, name := range q.Notify {
		def, _, err := s.p.Agents().Resolve(name)
		if missing(err) {
			continue // the check has already warned about it
		}
		if err == nil {
			name = def.Name
		}
		if takesPrompt(s.p, name) {
			_, err := s.p.LeaveMessage(name, "ended "+one.ID, attempt.Message{From: one.Agent, Text: text})
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
