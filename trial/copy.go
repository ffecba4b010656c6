package trial

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/trial/cassette"
	"github.com/hocket-dev/hocket/workflow"
)

// Copy makes a cassette of a run that was not recorded as a test, and a case that plays it. It runs the workflow, as it is
// now, with the outcomes of the run, so the requests are those that a test makes. What changed in workspaces is what the run has
// recorded. notes say what is missing, such as changes in the project that agents did not report.
func Copy(ctx context.Context, p *hocket.Project, run *hocket.Run, o Options) (c *cassette.Cassette, made *Case, notes []string, err error) {
	s, err := run.State(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	if !s.Status.Done() {
		return nil, nil, nil, fmt.Errorf("run %s is not over", run.ID())
	}
	from := &original{run: run, root: p.Root(), rounds: map[string][][]hocket.FileChange{}}
	outcomes, err := from.outcomes(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	file := &File{Path: filepath.Join(p.Root(), filepath.FromSlash(Dir), s.Workflow+".yml"), Name: s.Workflow}
	made = &Case{File: file, Name: "as in " + run.ID(), Workflow: workflowOf(p.Root(), s), Inputs: s.Inputs} // what replies of the run said is recorded, too
	made.Expect = Expect{Status: s.Result.Status}
	switch text := workflow.FormatText(s.Result.Output); {
	case s.Result.Output == nil:
	case (&cassette.Places{Run: runID}).Show(from.places().Hide(text)) == text: // as in a test
		made.Expect.Output = &Match{Value: s.Result.Output}
	default:
		from.notes = append(from.notes, "the test does not check the output, because it contains the id, a path or a port of the run, which differ in a test")
	}
	if s.Bundle.Isolates() {
		made.Files = from.files(ctx, outcomes)
	}
	r := &running{Options: o, c: made, root: p.Root(), out: &Outcome{Case: made, covered: newCovered()}, copies: from}
	from.left = outcomes
	if err := r.run(ctx); err != nil {
		r.fail(err)
	}
	if from.unable != "" { // other differences follow from it
		return nil, nil, nil, &UncopiedError{run.ID(), from.unable}
	}
	if first := from.difference(ctx, s.Result, r); first != "" || !r.out.Passed() {
		return nil, nil, nil, &CopyError{Run: run.ID(), Outcome: r.out, First: first, Missing: from.notes}
	}
	switch text := s.Result.Error; {
	case text == "":
	case text == r.result.Error:
		made.Expect.Error = &Match{Value: text}
	default:
		from.note("the test does not check the error, because it contains something that differs in a test")
	}
	c = &cassette.Cassette{Copied: true, Workflow: r.out.covered.bundle.Root.Name, Interactions: r.player.made, Bases: r.player.bases}
	if len(c.Interactions) == 0 {
		return nil, nil, nil, fmt.Errorf("run %s has nothing to record: no agent and no person did anything in it", run.ID())
	}
	r.out.covered.decisions(c)
	if len(from.commands) > 0 {
		slices.Sort(from.commands)
		from.note("what commands did to files is not in the cassette: %s; if they matter, record the test with `hocket test --record`", strings.Join(slices.Compact(from.commands), ", "))
	}
	return c, made, from.notes, nil
}

// UncopiedError reports that a run is one of which no test can be made.
type UncopiedError struct{ Run, Why string }

func (e *UncopiedError) Error() string {
	return fmt.Sprintf("run %s cannot be copied: %s", e.Run, e.Why)
}

// Hint returns what to do about it.
func (e *UncopiedError) Hint() string {
	return "write a case that names a cassette, and record it with `hocket test --record`"
}

// CopyError reports that the workflow does not do what it did in a run.
type CopyError struct {
	Run     string
	Outcome *Outcome
	First   string   // the first step that went differently, and how; "": unknown
	Missing []string // what could not be copied before
}

func (e *CopyError) Error() string {
	var why []string
	if e.First != "" {
		why = append(why, e.First)
	}
	if len(e.Outcome.Problems) > 0 {
		why = append(why, e.Outcome.Problems[0].Summary)
	} else if text := strings.TrimSpace(e.Outcome.Invalid.String()); text != "" {
		why = append(why, text)
	}
	return fmt.Sprintf("the workflow does not do what it did in run %s: %s", e.Run, strings.Join(why, "; "))
}

// Hint returns what to do about it.
func (e *CopyError) Hint() string {
	hint := "it may have changed since; start a new run, or record a test with `hocket test --record`"
	if len(e.Missing) > 0 {
		hint += "; this could not be copied: " + strings.Join(e.Missing, "; ")
	}
	return hint
}

// workflowOf returns the name of a run's workflow in a test: its file, if that is in the project.
func workflowOf(root string, s *hocket.State) string {
	file := filepath.FromSlash(s.File)
	if file == "" { // of a run that an older version recorded
		file = s.Bundle.Root.Pos.File
		if rel, err := filepath.Rel(root, file); err == nil && filepath.IsAbs(file) {
			file = rel
		}
	}
	if info, err := os.Stat(filepath.Join(root, file)); filepath.IsLocal(file) && err == nil && info.Mode().IsRegular() {
		return filepath.ToSlash(file)
	}
	return s.Workflow
}

// original is the run that is copied.
type original struct {
	run   *hocket.Run
	root  string
	left  []cassette.Interaction
	notes []string

	rounds map[string][][]hocket.FileChange // what attempts changed that have resolved conflicts and go on, one list for each conflict

	unused []cassette.Interaction // attempts that nothing has asked for
	unable string                 // why no test can be made of it; "": it can

	commands []string // steps that may have changed files without a report
}

// outcomes returns the ends of all attempts, and all answers.
func (o *original) outcomes(ctx context.Context) ([]cassette.Interaction, error) {
	places := o.places()
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
	for _, address := range slices.Sorted(maps.Keys(unended)) { // what is said about them comes in the same order every time
		all = append(all, unended[address])
	}
	return all, nil
}

// places are what has placeholders in the copy.
func (o *original) places() *cassette.Places {
	p := o.run.Project()
	return &cassette.Places{Run: o.run.ID(), Dir: o.root, State: p.State(), Secret: privateOf(p).Secret}
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

// copy returns the outcome of an attempt of the other run, and records it.
func (u *understudy) copy(ctx context.Context, task *agent.Task, request cassette.Request, files cassette.Files) (agent.Result, error) {
	found := u.take(task.Address, task.Attempt, false)
	if found == nil {
		summary := fmt.Sprintf("%s, attempt %d, was not made", task.Address, task.Attempt)
		if u.hasMade(task) {
			u.copies.unable = fmt.Sprintf("%s, attempt %d, resolved more conflicts than what is left of the run says", task.Address, task.Attempt)
		}
		u.report(&u.problems, Problem{Summary: summary})
		return agent.Result{}, agent.Permanentf("no such attempt")
	}
	found, err := u.redo(ctx, task, found, files)
	found.Request = request
	if err != nil && ctx.Err() == nil {
		u.report(&u.problems, Problem{Summary: fmt.Sprintf("%s: %v", task.Address, err)})
		return agent.Result{}, agent.Permanentf("%v", err)
	}
	u.keep(*found)
	if found.Cancelled() {
		return u.hang(ctx, found)
	}
	return found.Reply.Result(u.clock.Now(), u.places)
}

// redo makes the changes of files of an attempt of the other run, and notes them unless it was cancelled. Attempts take turns,
// as in a recording. files are what its own workspace began with; nil: it has none. If the attempt had to resolve another conflict
// afterwards, what is returned is only a part of it.
func (u *understudy) redo(ctx context.Context, task *agent.Task, found *cassette.Interaction, files cassette.Files) (*cassette.Interaction, error) {
	done, err := u.turn(ctx)
	if err != nil {
		return found, err
	}
	defer done()
	if u.copies.goesOn(ctx, found) {
		u.giveBack(*found)
		found = &cassette.Interaction{Address: task.Address, Attempt: task.Attempt} // what it said and used is known when it ends
	}
	if files, err = filesOf(task, files); err != nil {
		return found, err
	}
	changes, err := u.change(ctx, task, found, files)
	if err == nil && !found.Cancelled() {
		found.Reply.Files = changes
	}
	return found, err
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

// giveBack undoes take.
func (p *player) giveBack(i cassette.Interaction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = slices.Insert(p.left, 0, i)
}

// hasMade reports whether an attempt was made before.
func (p *player) hasMade(task *agent.Task) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.made, func(i cassette.Interaction) bool {
		return i.Address == task.Address && i.Attempt == task.Attempt && !i.IsAnswer()
	})
}

// change makes the changes of files of an attempt of the other run, and returns them. What a file step does is known from its
// settings.
func (u *understudy) change(ctx context.Context, task *agent.Task, found *cassette.Interaction, files cassette.Files) ([]cassette.Change, error) {
	if task.Dir != u.dir {
		return u.repeat(ctx, task, found, files.Hide(u.places))
	}
	after := maps.Clone(files)
	switch local := isLocal(task, u.traits.FromPrompt(task)); {
	case local && task.Agent.Agent == "file" && found.Reply.Error != nil:
		return nil, nil
	case local && task.Agent.Agent == "file":
		if _, err := u.Executor.Run(ctx, task, func([]byte) {}); err != nil {
			u.copies.note("%s: its change is not in the cassette: %v", task.Address, err)
		}
		var err error
		if after, err = cassette.ReadFiles(task.Dir); err != nil {
			return nil, err
		}
	default:
		if local {
			u.copies.commands = append(u.copies.commands, task.Address)
		}
		u.copies.edit(ctx, task, after)
	}
	return files.Hide(u.places).Changes(after.Hide(u.places)), nil
}

// repeat makes the changes that an attempt made in its workspace, and returns them.
func (u *understudy) repeat(ctx context.Context, task *agent.Task, found *cassette.Interaction, before cassette.Files) ([]cassette.Change, error) {
	picked := task.Agent.Name == workflow.MergeAgent && len(task.Decide) > 0
	if task.Agent.Name == workflow.LandAgent || picked || found.Waited() || found.Cancelled() {
		return nil, nil
	}
	own, err := u.copies.changes(ctx, found)
	if err != nil {
		u.copies.note("%s: its changes of files are not in the cassette: %v", found, err)
		return nil, nil
	}
	after, made := maps.Clone(before), cassette.Files{}
	for _, c := range own {
		switch why := unfit(c.Path, c.Is); {
		case why != "":
			u.copies.note("%s: the change of %s is not in the cassette: %s", found, c.Path, why)
		case c.Is == nil:
			delete(after, c.Path)
		default:
			made[c.Path] = cassette.File{Content: c.Is.Content, Executable: c.Is.Executable}
		}
	}
	maps.Copy(after, made.Hide(u.copies.places()))
	changes := before.Changes(after)
	return changes, cassette.Apply(task.Dir, changes, u.places)
}

// unfit says why a file of a workspace cannot be in a cassette; nil is none.
func unfit(path string, f *hocket.FileVersion) string {
	switch {
	case projectfile.CheckPath(path) != nil:
		return "it is outside of the project"
	case !utf8.ValidString(path):
		return "its name is not UTF-8"
	case f == nil:
	case f.Special:
		return "it is a link or another special file"
	case f.Large:
		return "it is too large"
	}
	return ""
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
		return "it is outside of the project"
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

// Text returns a case as a test file of its own.
func (c *Case) Text() []byte {
	expect := map[string]any{"status": string(c.Expect.Status)}
	if c.Expect.Output != nil {
		expect["output"] = map[string]any{"equals": c.Expect.Output.Value}
	}
	if c.Expect.Error != nil {
		expect["error"] = map[string]any{"equals": c.Expect.Error.Value}
	}
	one := map[string]any{"name": c.Name, "cassette": near(filepath.Dir(c.File.Path), c.Cassette), "expect": expect}
	if len(c.Inputs) > 0 {
		one["inputs"] = c.Inputs
	}
	if len(c.Files) > 0 {
		files := map[string]any{}
		for path, f := range c.Files {
			files[path] = f.Text
		}
		one["files"] = files
	}
	return strictyaml.Write(map[string]any{"workflow": c.Workflow, "cases": []any{one}}, []string{"workflow", "cases", "name", "inputs", "files", "cassette", "expect", "status", "output", "error"})
}

// WriteCopy writes the cassette of a copied run, and the file of the case that plays it. Nothing is written if one of them
// contains something private, or is so large that no test could read it.
func WriteCopy(p *hocket.Project, c *cassette.Cassette, made *Case) error {
	test := made.Text()
	if err := checkPrivate(p, made.Name, test); err != nil {
		return err
	}
	if err := made.checkSize(test); err != nil {
		return err
	}
	tape, err := textOf(p, c)
	if err != nil {
		return err
	}
	if err := writeFile(p.Root(), made.Cassette, tape); err != nil {
		return err
	}
	return writeFile(p.Root(), made.File.Path, test)
}

// checkPrivate returns an error if a text that others read contains something private. what describes it.
func checkPrivate(p *hocket.Project, what string, text []byte) error {
	c := &cassette.Cassette{Interactions: []cassette.Interaction{{Address: what, Reply: cassette.Reply{Output: string(text)}}}}
	return c.Check(privateOf(p))
}

// checkSize returns an error if a case is so large that its file could not be read.
func (c *Case) checkSize(text []byte) error {
	if len(text) <= projectfile.MaxSize {
		return nil
	}
	e := &cassette.SizeError{What: "the test", Size: len(text), Part: "its inputs", Remedy: "write a case that begins with fewer or smaller files, and record it with `hocket test --record`"}
	for _, path := range slices.Sorted(maps.Keys(c.Files)) {
		if size := len(c.Files[path].Text); size > e.PartSize {
			e.Part, e.PartSize = "the file "+path, size
		}
	}
	return e
}

// privateOf returns what recordings of a project must not contain.
func privateOf(p *hocket.Project) cassette.Private {
	var homes []string
	if home, err := os.UserHomeDir(); err == nil {
		homes = append(homes, home)
		if real, err := filepath.EvalSymlinks(home); err == nil {
			homes = append(homes, real)
		}
	}
	return cassette.Private{Homes: homes, User: hocket.UserName(), Secret: func(text string) bool { return p.CheckSecret("", text) != nil }}
}
