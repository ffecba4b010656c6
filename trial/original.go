package trial

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/trial/cassette"
	"github.com/hocket-dev/hocket/workflow"
)

// original is the run that is copied.
type original struct {
	run    *hocket.Run
	places *cassette.Places // what has placeholders in the copy
	left   []cassette.Interaction
	notes  []string

	rounds map[string][][]hocket.FileChange // what attempts changed that have resolved conflicts and go on, one list for each conflict

	unused []cassette.Interaction // attempts that nothing has asked for
	unable string                 // why no test can be made of it; "": it can

	commands []string // steps that may have changed files without a report
}

// outcomes returns the ends of all attempts, and all answers.
func (o *original) outcomes(ctx context.Context) ([]cassette.Interaction, error) {
	places := o.places
	var all []cassette.Interaction
	began, asked, agents := map[string]time.Time{}, map[string]int{}, map[string]string{}
	unended := map[string]cassette.Interaction{} // landings, merges and picks that asked, by address
	for e, err := range o.run.History(ctx, hocket.EventID{}) {
		if err != nil {
			return nil, err
		}
		if f := e.Fact; f != nil {
			if f.Kind == engine.AttemptStarted || f.Kind == engine.QuestionAsked {
				began[f.Address] = f.Time
			}
			if f.Kind == engine.AttemptStarted {
				agents[f.Address] = f.Agent
				if first, err := o.run.FirstPort(ctx, f.Address, f.Attempt); err == nil { // otherwise it had no workspace
					places.AddPorts(f.Address, first)
				}
			}
			continue
		}
		switch ev := e.Event.(type) {
		case *engine.TaskEnded:
			i := cassette.Interaction{Address: ev.Address, Attempt: ev.Attempt, Request: cassette.Request{Agent: agents[ev.Address]}}
			if ev.Asks != nil { // it is made again with the answer, if that comes
				if i.Reply.Error = (&cassette.Failure{Kind: cassette.Cancelled}); i.Request.Agent == workflow.LandAgent || i.Request.Agent == workflow.MergeAgent {
					unended[ev.Address] = i
				}
				continue
			}
			delete(unended, ev.Address)
			i.Reply = cassette.Reply{Output: places.Hide(ev.Output), Usage: ev.Usage, Took: cassette.Rounded(e.Time.Sub(began[ev.Address]))}
			switch {
			case ev.Fault == nil:
			case ev.Fault.Kind == engine.FaultCancelled:
				i.Reply.Error = &cassette.Failure{Kind: cassette.Cancelled}
			case ev.Fault.Kind == engine.FaultConflict && i.Request.Agent == workflow.MergeAgent: // a person who resolves nothing
				i.Reply.Output = hocket.GiveUp
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
		case *engine.Forked:
			return nil, &UncopiedError{o.run.ID(), fmt.Sprintf("it was retried or forked, and its first steps are those of run %s", ev.From)}
		case *engine.Replanned:
			return nil, &UncopiedError{o.run.ID(), "it got a new plan when it had begun"}
		case *engine.Started, *engine.Asked, *engine.Withdrawn, *engine.HandoffAsked, *engine.Queued, *engine.TimerFired, *engine.CancelAsked, *engine.LimitRaised, *engine.Recovered:
		}
	}
	for _, address := range sorted.Keys(unended) { // what is said about them comes in the same order every time
		all = append(all, unended[address])
	}
	return all, nil
}

// placesOf returns what has placeholders in the copy of a run. Its ports are added when its attempts are read.
func placesOf(run *hocket.Run) *cassette.Places {
	p := run.Project()
	return &cassette.Places{Run: run.ID(), Dir: p.Root(), State: p.State(), Secret: privateOf(p).Secret}
}

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

// goesOn reports whether an attempt at a merge had to resolve another conflict after this one. If it was cancelled, or had to wait for
// a quota, it ends with the first one, because it left nothing that counts.
func (o *original) goesOn(ctx context.Context, found *cassette.Interaction) bool {
	if found.Cancelled() || found.Waited() {
		return false
	}
	if _, read := o.rounds[found.String()]; !read {
		rounds, err := o.run.Changes(ctx, found.Address, found.Attempt, cassette.MostFile)
		if err != nil || len(rounds) < 2 {
			return false
		}
		o.rounds[found.String()] = rounds
	}
	return len(o.rounds[found.String()]) > 1
}

// changes returns what an attempt changed in its workspace; of a merge, what resolved the next conflict.
func (o *original) changes(ctx context.Context, found *cassette.Interaction) ([]hocket.FileChange, error) {
	rounds := o.rounds[found.String()]
	if len(rounds) == 0 {
		var err error
		if rounds, err = o.run.Changes(ctx, found.Address, found.Attempt, cassette.MostFile); err != nil {
			return nil, err
		}
		return slices.Concat(rounds...), nil
	}
	o.rounds[found.String()] = rounds[1:]
	return rounds[0], nil
}

// files returns the files with which the run began that its attempts changed in workspaces: so changes are the same in a test, and merges of them.
func (o *original) files(ctx context.Context, outcomes []cassette.Interaction) map[string]Source {
	all, seen := map[string]Source{}, map[string]bool{}
	for _, i := range outcomes {
		if i.IsAnswer() {
			continue
		}
		since, err := o.run.ChangesSince(ctx, i.Address, i.Attempt, cassette.MostFile)
		if err != nil { // it is noted when the attempt is copied, unless it had no workspace
			continue
		}
		for _, c := range since {
			if c.Was == nil || seen[c.Path] {
				continue
			}
			seen[c.Path] = true
			why := unfit(c.Path, c.Was)
			if why == "" && !strictyaml.IsPrintable(string(c.Was.Content)) {
				why = "it is no text"
			}
			if why != "" {
				o.note("%s: the test does not begin with %s, which the step changed: %s", i, c.Path, why)
				continue
			}
			all[c.Path] = Source{Text: string(c.Was.Content)}
		}
	}
	return all
}

// difference says which step was the first one that went otherwise than in the run; "": none. A test that passes may have
// stopped steps earlier or later, but resolves the same conflicts.
func (o *original) difference(ctx context.Context, was engine.Result, r *running) string {
	for _, step := range was.Steps {
		at := slices.IndexFunc(r.result.Steps, func(s engine.StepResult) bool { return s.Address == step.Address })
		switch {
		case at >= 0 && r.result.Steps[at].Status == step.Status:
			if o.conflicted(ctx, step.Address) {
				return step.Address + " resolved conflicts or picked a workspace in the run, and has no need to now"
			}
		case r.out.Passed():
		case at < 0:
			return fmt.Sprintf("%s %s, and is not reached now", step.Address, ended(step, "in the run"))
		default:
			return fmt.Sprintf("%s %s, and %s", step.Address, ended(step, "in the run"), ended(r.result.Steps[at], "now"))
		}
	}
	return ""
}

// conflicted reports whether somebody worked on a merge or pick in the run, and nobody has to now. Only these need no attempt at all.
func (o *original) conflicted(ctx context.Context, address string) bool {
	return slices.ContainsFunc(o.unused, func(i cassette.Interaction) bool {
		if i.Address != address || i.Attempt > 1 || i.Cancelled() {
			return false
		}
		_, err := o.run.Changes(ctx, address, 1, 0)
		return err == nil
	})
}

// ended says how a step ended.
func ended(s engine.StepResult, when string) string {
	text := fmt.Sprintf("ended with %s %s", s.Status, when)
	if s.Error != "" {
		text += " (" + s.Error + ")"
	}
	return text
}

func (o *original) note(format string, args ...any) {
	o.notes = append(o.notes, fmt.Sprintf(format, args...))
}

// edit repeats the changes of files that the agent of an attempt reported, also among the files that were read before.
func (o *original) edit(ctx context.Context, task *agent.Task, files cassette.Files) {
	var text bytes.Buffer
	for piece, err := range o.run.Read(ctx, task.Address, task.Attempt, hocket.Transcript, 0, false) {
		if err != nil {
			return // it has no transcript
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
		if why := edited(task.Dir, files, change); why != "" {
			o.note("%s: the change of %s is not in the cassette: %s", task.Address, change.Path, why)
		}
	}
}

// edited makes a change that an agent reported, or says why it cannot.
func edited(dir string, files cassette.Files, c *agent.FileChange) string {
	path := filepath.ToSlash(c.Path)
	now, exists := files[path]
	was, is := cassette.Files{}, cassette.Files{}
	if exists {
		was[path] = now
	}
	switch {
	case projectfile.CheckPath(path) != nil:
		return unfitPath(projectfile.CheckPath(path))
	case c.Cut > 0 || c.Change != agent.Deleted && c.Old == "" && c.New == "":
		return "the agent did not say what it wrote"
	case c.Change == agent.Deleted && !exists:
		return "it is not among the files of the test"
	case c.Change == agent.Deleted:
	case c.Old == "":
		is[path] = cassette.File{Content: []byte(c.New)}
	case !bytes.Contains(now.Content, []byte(c.Old)):
		return "its text before is not among the files of the test"
	default:
		is[path] = cassette.File{Content: bytes.Replace(now.Content, []byte(c.Old), []byte(c.New), 1), Executable: now.Executable}
	}
	if err := cassette.Apply(dir, was.Changes(is), nil); err != nil {
		return err.Error()
	}
	delete(files, path)
	maps.Copy(files, is)
	return ""
}
