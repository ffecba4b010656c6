package trial

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/trial/cassette"
	"github.com/hocket-dev/hocket/workflow"
)

// problems returns what is not as expected.
func (x *Expect) problems(ctx context.Context, r *running) []Problem {
	j := &judgement{r: r}
	j.status(x)
	if x.Output != nil {
		j.match("the output", x.Output, r.result.Output)
	}
	if x.Error != nil {
		j.match("the error", x.Error, r.result.Error)
	}
	for _, o := range x.Outputs {
		j.output(o)
	}
	for _, t := range x.Taken {
		j.taken(t)
	}
	for _, a := range x.Attempts {
		if got := j.attempts(a); got >= 0 && got != a.Value {
			noun := "attempts"
			if got == 1 {
				noun = "attempt"
			}
			j.add(a.Pos, "%s took %d %s, not %d", a.Name, got, noun, a.Value)
		}
	}
	j.cost(x)
	j.files(x)
	for _, w := range x.Workspaces {
		j.workspace(ctx, w)
	}
	return j.found
}

type judgement struct {
	r     *running
	found []Problem
}

func (j *judgement) add(pos workflow.Pos, format string, args ...any) {
	j.found = append(j.found, Problem{Summary: fmt.Sprintf(format, args...), Pos: pos})
}

// at returns where something is expected: the case, unless its file says it itself.
func (j *judgement) at(pos workflow.Pos) workflow.Pos {
	if pos == (workflow.Pos{}) {
		return j.r.c.Pos
	}
	return pos
}

func (j *judgement) status(x *Expect) {
	if got := j.r.result.Status; got != x.Status {
		found := Problem{Summary: fmt.Sprintf("the status is %s, not %s", got, x.Status), Pos: j.at(x.statusAt)}
		if text := j.r.result.Error; text != "" {
			found.Summary += ": " + text
		}
		for _, s := range j.r.result.Steps {
			i := slices.IndexFunc(j.r.player.silent, func(q *engine.Question) bool { return q.Address == s.Address })
			if s.Status == engine.TimedOut && i >= 0 {
				found.Detail = fmt.Sprintf("%s asks a person, and nobody answered in time: %s", s.Address, j.r.remedy(j.r.player.silent[i]))
			}
		}
		j.found = append(j.found, found)
	}
}

func (j *judgement) match(what string, m *Match, value any) {
	if m.accepts(value) {
		return
	}
	found := Problem{Summary: what + " is not as expected", Pos: m.Pos, Diff: Diff(m.String(), workflow.FormatText(value))}
	if m.Contains != "" || m.Matches != nil {
		found.Summary, found.Diff = fmt.Sprintf("%s is not %s", what, m), nil
		if text := workflow.FormatText(value); text != "" {
			for line := range strings.SplitSeq(text, "\n") {
				found.Diff = append(found.Diff, Line{Added, line})
			}
		} else {
			found.Summary += ": it is empty"
		}
	}
	j.found = append(j.found, found)
}

// named returns the results of the steps that an address or the id of a node names.
func (j *judgement) named(name string) []engine.StepResult {
	var all []engine.StepResult
	for _, s := range j.r.result.Steps {
		if isNamed(name, s.Address, s.Node) {
			all = append(all, s)
		}
	}
	return all
}

// unknown reports a name that no node of the workflow has.
func (j *judgement) unknown(name string, pos workflow.Pos) bool {
	c := j.r.out.covered
	if c.node(name) != nil || c.ran(name) { // work that was handed off is not in the workflow
		return false
	}
	found := Problem{Summary: fmt.Sprintf("no step of the workflow has the name %q", name), Pos: pos}
	id := marks().ReplaceAllString(name[strings.LastIndexByte(name, '/')+1:], "")
	if at := strings.Join(marks().FindAllString(name, -1), ""); c.node(id) != nil && at != "" {
		found.Detail = fmt.Sprintf("items and iterations are at the end of a name: write %s", id+at)
	} else {
		found.Detail = workflow.DidYouMean(id, c.names())
	}
	j.found = append(j.found, found)
	return true
}

// pure reports a node that decides or repeats, which has nothing of its own to compare.
func (j *judgement) pure(name, what string, pos workflow.Pos) bool {
	n := j.r.out.covered.node(name)
	if n == nil {
		return false
	}
	kind, hint := "", ""
	switch s := n.Step.(type) {
	case *workflow.Loop:
		kind, hint = "a loop", "name a step in it"
	case *workflow.Choice:
		if s.Ask != nil {
			return false
		}
		kind, hint = "a choice", fmt.Sprintf("name what it leads to under `taken`, such as %s -> STEP", n.ID)
	case *workflow.Each:
		if what == "output" || n.Repeats() != n {
			return false
		}
		kind, hint = "a for_each", "name a step in it"
	case *workflow.Task, *workflow.Human, *workflow.Call, *workflow.Combine:
		return false
	}
	j.found = append(j.found, Problem{Summary: fmt.Sprintf("%s is %s, which has no %s of its own", name, kind, what), Detail: hint, Pos: pos})
	return true
}

// output compares the output of a step: the last one, if it ran several times. That of a for_each is a list.
func (j *judgement) output(o Named[*Match]) {
	if j.unknown(o.Name, o.Pos) || j.pure(o.Name, "output", o.Pos) {
		return
	}
	if list := j.r.out.covered.list(o.Name); list != nil {
		value, err := list.Value()
		if err != nil {
			j.add(o.Pos, "cannot read the output of %s: %v", o.Name, err)
			return
		}
		j.match("the output of "+o.Name, o.Value, value)
		return
	}
	steps := slices.DeleteFunc(j.named(o.Name), func(s engine.StepResult) bool { return s.Status == engine.Skipped })
	if len(steps) == 0 {
		j.add(o.Pos, "%s did not run, so it has no output", o.Name)
		return
	}
	value, err := steps[len(steps)-1].Value()
	if err != nil {
		j.add(o.Pos, "cannot read the output of %s: %v", o.Name, err)
		return
	}
	j.match("the output of "+o.Name, o.Value, value)
}

func (j *judgement) taken(t Named[bool]) {
	from, to, edge := strings.Cut(t.Name, "->")
	if edge {
		from, to = strings.TrimSpace(from), strings.TrimSpace(to)
		if j.unknown(from, t.Pos) || to != "again" && to != "end" && j.unknown(to, t.Pos) {
			return
		}
		took, exists := j.r.out.covered.took(from, to)
		if !exists {
			j.found = append(j.found, Problem{Summary: fmt.Sprintf("no edge leads from %s to %s", from, to), Detail: edgesText(from, j.r.out.covered.targets(from)), Pos: t.Pos})
		} else if took != t.Value {
			j.add(t.Pos, "the edge from %s to %s was %s", from, to, takenText(took))
		}
		return
	}
	if j.unknown(t.Name, t.Pos) {
		return
	}
	ran := j.r.out.covered.ran(t.Name)
	if ran != t.Value {
		if ran {
			j.add(t.Pos, "%s ran, but should not", t.Name)
		} else {
			j.add(t.Pos, "%s did not run", t.Name)
		}
	}
}

// edgesText says where the edges from a node lead.
func edgesText(from string, targets []string) string {
	if len(targets) == 0 {
		return "no edge begins at " + from
	}
	return fmt.Sprintf("from %s, edges lead to %s", from, strings.Join(targets, ", "))
}

func takenText(took bool) string {
	if took {
		return "taken, but should not have been"
	}
	return "not taken"
}

func (j *judgement) attempts(a Named[int]) (sum int) {
	if j.unknown(a.Name, a.Pos) || j.pure(a.Name, "attempt", a.Pos) {
		return -1
	}
	for _, s := range j.named(a.Name) {
		sum += s.Attempts
	}
	return sum
}

func (j *judgement) cost(x *Expect) {
	got := j.r.result.Usage.CostUSD
	switch {
	case x.Cost != nil && math.Abs(got-*x.Cost) > 1e-9:
		j.add(j.at(x.costAt), "the run cost %s, not $%g", j.r.result.Usage.CostText(), *x.Cost)
	case x.MaxCost != nil && got > *x.MaxCost+1e-9:
		j.add(j.at(x.costAt), "the run cost %s, more than $%g", j.r.result.Usage.CostText(), *x.MaxCost)
	}
}

func (j *judgement) files(x *Expect) {
	if len(x.Files) == 0 {
		return
	}
	files, err := cassette.ReadFiles(j.r.dir)
	if err != nil {
		j.add(j.r.c.Pos, "cannot read the files: %v", err)
		return
	}
	for _, f := range x.Files {
		got, exists := files[f.Name]
		j.file(f, "", exists, string(got.Content))
	}
}

// file compares a file. where is empty or says where it is, after its name.
func (j *judgement) file(f Named[*Match], where string, exists bool, content string) {
	switch {
	case f.Value == nil && exists:
		j.add(f.Pos, "there is a file %s%s, but there should be none", f.Name, where)
	case f.Value != nil && !exists:
		j.add(f.Pos, "there is no file %s%s", f.Name, where)
	case f.Value != nil:
		j.match("the file "+f.Name+where, f.Value, content)
	}
}

// workspace compares files of the workspace that a step made: the last one, if it ran several times.
func (j *judgement) workspace(ctx context.Context, w Named[[]Named[*Match]]) {
	if j.unknown(w.Name, w.Pos) || j.pure(w.Name, "workspace", w.Pos) {
		return
	}
	steps := slices.DeleteFunc(j.named(w.Name), func(s engine.StepResult) bool { return s.Workspace == "" })
	switch {
	case len(steps) > 0:
	case !j.r.out.covered.ran(w.Name):
		j.add(w.Pos, "%s did not run, so it made no workspace", w.Name)
		return
	default:
		j.found = append(j.found, Problem{Summary: w.Name + " made no workspace", Detail: "only a step with `workspace: own`, or one that merges or picks, makes one, and only if it succeeds; `files` are those of the directory", Pos: w.Pos})
		return
	}
	var paths []string
	for _, f := range w.Value {
		paths = append(paths, f.Name)
	}
	files, err := j.r.ran.Files(ctx, steps[len(steps)-1].Address, paths, cassette.MostFile)
	if err != nil {
		j.add(w.Pos, "cannot read the workspace of %s: %v", w.Name, err)
		return
	}
	for _, f := range w.Value {
		got := files[f.Name]
		if why := unfit(f.Name, got); why != "" && f.Value != nil {
			j.add(f.Pos, "cannot compare the file %s in the workspace of %s: %s", f.Name, w.Name, why)
			continue
		}
		content := ""
		if got != nil {
			content = string(got.Content)
		}
		j.file(f, " in the workspace of "+w.Name, got != nil, content)
	}
}
