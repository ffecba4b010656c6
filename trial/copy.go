package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/trial/cassette"
	"github.com/hocket-dev/hocket/workflow"
)

// Copy makes a cassette of a run that was not recorded as a test, and a case that plays it. It runs the workflow, as it is
// now, with the outcomes of the run, so the requests are those that a test makes. notes say what is missing, such as changes of
// files that agents did not report.
func Copy(ctx context.Context, p *hocket.Project, run *hocket.Run, o Options) (c *cassette.Cassette, made *Case, notes []string, err error) {
	s, err := run.State(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	if !s.Status.Done() {
		return nil, nil, nil, fmt.Errorf("run %s is not over", run.ID())
	}
	replies, err := run.Replies(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	from := &original{run: run, root: p.Root()}
	outcomes, err := from.outcomes(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	file := &File{Path: filepath.Join(p.Root(), filepath.FromSlash(Dir), s.Workflow+".yml"), Name: s.Workflow}
	made = &Case{File: file, Name: "as in " + run.ID(), Workflow: workflowOf(p.Root(), s), Inputs: s.Inputs, Replies: replies}
	made.Expect = Expect{Status: s.Result.Status}
	if text := workflow.FormatText(s.Result.Output); s.Result.Output != nil && from.places().Hide(text) == text { // otherwise it is not the same in a test
		made.Expect.Output = &Match{Value: s.Result.Output}
	}
	r := &running{Options: o, c: made, root: p.Root(), out: &Outcome{Case: made, covered: newCovered()}, copies: from}
	from.left = outcomes
	if err := r.run(ctx); err != nil {
		r.fail(err)
	}
	if !r.out.Passed() {
		return nil, nil, nil, &CopyError{Run: run.ID(), Outcome: r.out}
	}
	c = &cassette.Cassette{Workflow: r.out.covered.bundle.Root.Name, Interactions: r.player.made}
	if len(c.Interactions) == 0 {
		return nil, nil, nil, fmt.Errorf("run %s has nothing to record: all its answers come from replies", run.ID())
	}
	r.out.covered.decisions(c)
	return c, made, from.notes, nil
}

// CopyError reports that the workflow does not do what it did in a run.
type CopyError struct {
	Run     string
	Outcome *Outcome
}

func (e *CopyError) Error() string {
	why := e.Outcome.Invalid.String()
	if len(e.Outcome.Problems) > 0 {
		why = e.Outcome.Problems[0].Summary
	}
	return fmt.Sprintf("the workflow does not do what it did in run %s: %s", e.Run, strings.TrimSpace(why))
}

// Hint returns what to do about it.
func (*CopyError) Hint() string {
	return "it may have changed since; start a new run, or record a test with `hocket test --record`"
}

// workflowOf returns the name of a run's workflow in a test: its file, if that is in the project.
func workflowOf(root string, s *hocket.State) string {
	file := s.Bundle.Root.Pos.File
	if abs, err := filepath.Abs(file); err == nil && file != "" {
		file = abs
	}
	if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) && filepath.IsAbs(file) {
		return filepath.ToSlash(rel)
	}
	return s.Workflow
}

// original is the run that is copied.
type original struct {
	run   *hocket.Run
	root  string
	left  []cassette.Interaction
	notes []string
}

// outcomes returns the ends of all attempts, and all answers.
func (o *original) outcomes(ctx context.Context) ([]cassette.Interaction, error) {
	places := o.places()
	var all []cassette.Interaction
	began, asked := map[string]time.Time{}, map[string]int{}
	for e, err := range o.run.History(ctx, hocket.EventID{}) {
		if err != nil {
			return nil, err
		}
		if f := e.Fact; f != nil {
			if f.Kind == engine.AttemptStarted || f.Kind == engine.QuestionAsked {
				began[f.Address] = f.Time
			}
			continue
		}
		switch ev := e.Event.(type) {
		case *engine.TaskEnded:
			i := cassette.Interaction{Address: ev.Address, Attempt: ev.Attempt}
			i.Reply = cassette.Reply{Output: places.Hide(ev.Output), Usage: ev.Usage, Took: cassette.Rounded(e.Time.Sub(began[ev.Address]))}
			switch {
			case ev.Fault == nil:
			case ev.Fault.Kind == engine.FaultCancelled:
				i.Reply.Error = &cassette.Failure{Kind: cassette.Cancelled}
			default:
				i.Reply.Error = cassette.FailureOf(errorOf(ev.Fault), e.Time, places)
			}
			all = append(all, i)
		case *engine.Answered:
			if strings.Contains(ev.ID, "@") { // of an agent that was working
				continue
			}
			asked[ev.ID]++
			text := ev.Value
			if ev.Comment != "" {
				text += "\n\n" + ev.Comment
			}
			all = append(all, cassette.Interaction{Address: ev.ID, Attempt: asked[ev.ID], Reply: cassette.Reply{Output: places.Hide(text), Took: cassette.Rounded(e.Time.Sub(began[ev.ID]))}})
		case *engine.Replanned, *engine.Forked:
			return nil, errors.New("a run that was forked or got a new plan cannot be copied")
		case *engine.Started, *engine.Asked, *engine.Withdrawn, *engine.HandoffAsked, *engine.Queued, *engine.TimerFired, *engine.CancelAsked, *engine.LimitRaised, *engine.Recovered:
		}
	}
	return all, nil
}

// places are what has placeholders in the copy.
func (o *original) places() *cassette.Places { return &cassette.Places{Run: o.run.ID(), Dir: o.root} }

// errorOf returns the error of an executor that became a fault.
func errorOf(f *engine.Fault) error {
	e := &agent.Error{Kind: agent.Failed, Message: f.Message, Permanent: f.Permanent, Until: f.Until}
	switch f.Kind {
	case engine.FaultTimeout:
		e.Kind = agent.TimedOut
	case engine.FaultBadOutput:
		e.Kind = agent.BadOutput
	case engine.FaultQuota:
		e.Kind = agent.Quota
	case engine.FaultError, engine.FaultCancelled, engine.FaultLost:
	}
	return e
}

// copy returns the outcome of an attempt of the other run, and records it.
func (u *understudy) copy(ctx context.Context, task *agent.Task, request cassette.Request) (agent.Result, error) {
	found := u.take(task.Address, task.Attempt)
	if found == nil {
		u.report(&u.problems, Problem{Summary: fmt.Sprintf("%s, attempt %d, was not made", task.Address, task.Attempt)})
		return agent.Result{}, agent.Permanentf("no such attempt")
	}
	u.working.Lock()
	defer u.working.Unlock()
	before, err := cassette.ReadFiles(task.Dir)
	if err == nil {
		err = u.edits(task.Address, task.Attempt, task.Dir)
	}
	var after cassette.Files
	if err == nil {
		after, err = cassette.ReadFiles(task.Dir)
	}
	if err != nil {
		u.report(&u.problems, Problem{Summary: fmt.Sprintf("%s: %v", task.Address, err)})
		return agent.Result{}, agent.Permanentf("%v", err)
	}
	found.Request = request
	if found.Cancelled() {
		u.keep(*found)
		return u.hang(ctx, found)
	}
	found.Reply.Files = before.Hide(u.places).Changes(after.Hide(u.places))
	u.keep(*found)
	return found.Reply.Result(u.clock.Now(), u.places)
}

// edit repeats the changes of files that the agent of an attempt reported.
func (o *original) edit(ctx context.Context, address string, attempt int, dir string) error {
	var text bytes.Buffer
	for piece, err := range o.run.Read(ctx, address, attempt, hocket.Transcript, 0, false) {
		if err != nil {
			return nil //nolint:nilerr // it has no transcript
		}
		text.Write(piece.Text)
	}
	for line := range bytes.Lines(text.Bytes()) {
		entry, err := agent.ParseEntry(bytes.TrimSpace(line))
		change, ok := entry.(*agent.FileChange)
		if value, is := entry.(agent.FileChange); is {
			change, ok = &value, true
		}
		if err != nil || !ok {
			continue
		}
		if why := edited(dir, change); why != "" {
			o.notes = append(o.notes, fmt.Sprintf("%s: the change of %s is not in the cassette: %s", address, change.Path, why))
		}
	}
	return nil
}

// edited makes a change that an agent reported, or says why it cannot.
func edited(dir string, c *agent.FileChange) string {
	path := filepath.ToSlash(c.Path)
	files, err := cassette.ReadFiles(dir)
	if err != nil {
		return err.Error()
	}
	now, exists := files[path]
	after := cassette.Files{}
	for name, f := range files {
		after[name] = f
	}
	switch {
	case projectfile.CheckPath(path) != nil:
		return "it is outside of the project"
	case c.Cut > 0 || c.Change != agent.Deleted && c.Old == "" && c.New == "":
		return "the agent did not say what it wrote"
	case c.Change == agent.Deleted:
		if !exists {
			return "it is not among the files of the test"
		}
		delete(after, path)
	case c.Old == "":
		after[path] = cassette.File{Content: []byte(c.New)}
	case !bytes.Contains(now.Content, []byte(c.Old)):
		return "its text before is not among the files of the test"
	default:
		after[path] = cassette.File{Content: bytes.Replace(now.Content, []byte(c.Old), []byte(c.New), 1), Executable: now.Executable}
	}
	if err := cassette.Apply(dir, files.Changes(after), &cassette.Places{}); err != nil {
		return err.Error()
	}
	return ""
}

// Text returns a case as a test file of its own.
func (c *Case) Text() []byte {
	expect := map[string]any{"status": string(c.Expect.Status)}
	if c.Expect.Output != nil {
		expect["output"] = map[string]any{"equals": c.Expect.Output.Value}
	}
	one := map[string]any{"name": c.Name, "cassette": near(filepath.Dir(c.File.Path), c.Cassette), "expect": expect}
	if len(c.Inputs) > 0 {
		one["inputs"] = c.Inputs
	}
	return strictyaml.Write(map[string]any{"workflow": c.Workflow, "cases": []any{one}}, []string{"workflow", "cases", "name", "inputs", "cassette", "expect", "status", "output"})
}

// CheckPrivate returns an error if a text that others read contains something private. what describes it.
func CheckPrivate(p *hocket.Project, what string, text []byte) error {
	c := &cassette.Cassette{Interactions: []cassette.Interaction{{Address: what, Reply: cassette.Reply{Output: string(text)}}}}
	return c.Check(privateOf(p))
}

// privateOf returns what recordings of a project must not contain.
func privateOf(p *hocket.Project) cassette.Private {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	return cassette.Private{Home: home, User: hocket.UserName(), Secret: func(text string) bool { return p.CheckSecret("", text) != nil }}
}
