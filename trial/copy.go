package trial

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/internal/sorted"
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
	from := &original{run: run, places: placesOf(run), rounds: map[string][][]hocket.FileChange{}}
	outcomes, err := from.outcomes(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	file := &File{Path: filepath.Join(p.Root(), filepath.FromSlash(Dir), s.Workflow+".yml"), Name: s.Workflow}
	made = &Case{File: file, Name: "as in " + run.ID(), Workflow: workflowOf(p.Root(), s), Inputs: s.Inputs} // what replies of the run said is recorded, too
	made.Expect = Expect{Status: s.Result.Status}
	switch text := workflow.FormatText(s.Result.Output); {
	case s.Result.Output == nil:
	case (&cassette.Places{Run: runID}).Show(from.places.Hide(text)) == text: // as in a test
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
	for _, path := range sorted.Keys(c.Files) {
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
