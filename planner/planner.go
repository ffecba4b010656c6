// Package planner turns words into workflows: a model of the project writes a workflow for a goal, or
// changes the one of a run, and the result is checked before anybody sees it as a proposal.
//
// The model is asked through the host, each time in a run of its own, so that its costs are counted,
// its answer is in a log, and it can be cancelled. What it writes is read while it arrives. The answer
// may be in any notation, and is repaired only where it has a single meaning. Otherwise the model is
// told what is wrong and asked again. A workflow is offered only if it says what the model said and
// passes the check; a person still has to approve it.
package planner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// maxCorrections is how often an answer is sent back.
const maxCorrections = 3

// Options configure a Planner. The zero value is the default.
type Options struct {
	// Agent is the agent that plans. "" means the project's default.
	Agent string
	// Replies are the answers of the steps generate and replan, and of correct, correct-2 and
	// correct-3. Nil: an agent answers.
	Replies *hocket.Replies
	// Limits are those that a run gets with its new plan. Zero fields: it keeps its own.
	Limits workflow.Limits
	// Budget is what all answers of Generate together may cost, and their tokens; zero: as the project
	// says. Replan may use what is left of the limits of the run.
	Budget workflow.Limits
	// Notation is the notation of the result. "" means yaml.
	Notation string
	// Timeout is the time for one answer. Zero means ten minutes.
	Timeout time.Duration
	// MaxBytes is the size of one answer. Zero means one megabyte.
	MaxBytes int
}

// Planner plans for one project.
type Planner struct {
	p *hocket.Project
	o Options
}

// New returns a planner for a project.
func New(p *hocket.Project, o Options) *Planner {
	o.Notation = cmp.Or(o.Notation, "yaml")
	o.Timeout = cmp.Or(o.Timeout, 10*time.Minute)
	o.MaxBytes = cmp.Or(o.MaxBytes, 1<<20)
	return &Planner{p, o}
}

// Plan is a workflow that a model wrote. It has passed the check, and nobody has approved it.
type Plan struct {
	Name          string // for its file: lower-case letters, digits and hyphens
	Notation      string
	Text          []byte
	Workflow      *hocket.Workflow
	Thought       string            // what the model said about its plan; "" if nothing
	Reasons       map[string]string // why it chose the agents, by step, as far as it said
	Notes         workflow.Diagnostics
	Rounds        []Round // the answers, the last one of which is the plan
	hocket.Origin         // its agent, with the model if that is known; the goal; and when it answered

	file string // as which it was checked
}

// Round is one answer of the model.
type Round struct {
	Run   string // that asked for it
	Usage workflow.Usage
	Wrong workflow.Diagnostics // why it was sent back; none for the last one
}

// Usage returns what all answers have used.
func (p *Plan) Usage() workflow.Usage {
	var sum workflow.Usage
	for _, r := range p.Rounds {
		sum = sum.Plus(r.Usage)
	}
	return sum
}

// Generate has the model write a workflow for a goal. see, which may be nil, is called with what has
// been written so far, from another goroutine, at most 20 times a second. The error is an *[Error] if
// no answer could be used, a *[NoModelError] if there is no agent that could plan.
func (p *Planner) Generate(ctx context.Context, goal string, see func(Partial)) (*Plan, error) {
	q := p.question("generate", goal)
	q.check, q.most = checkNew, workflow.Limits{CostUSD: p.o.Budget.CostUSD, Tokens: p.o.Budget.Tokens}
	return p.plan(ctx, q, see)
}

// plan asks until an answer can be used.
func (p *Planner) plan(ctx context.Context, q *question, see func(Partial)) (*Plan, error) {
	by := p.agent()
	if by != nil && (isExact(by) || !p.prompted(by) && (by.Agent != "shell" || by.Settings["stdin"] != nil)) {
		return nil, &NoModelError{Agent: by.Name}
	}
	plan := &Plan{Notation: p.o.Notation, Origin: hocket.Origin{Goal: cmp.Or(q.reason, q.Goal)}}
	for round := 1; ; round++ {
		answer, err := p.askPatiently(ctx, q, round, see)
		if err != nil && round > 1 && ctx.Err() == nil {
			return nil, &Error{Rounds: plan.Rounds, Why: err, Run: q.run}
		}
		if err != nil {
			return nil, err
		}
		if by != nil && !p.prompted(by) && round > 1 && answer.text == q.answer { // a command, whatever it is asked
			return nil, &NoModelError{Agent: by.Name}
		}
		r := answer.read()
		wrong := r.wrong
		if r.workflow != nil { // all mistakes are told at once
			more, err := p.finish(plan, r, q)
			if err != nil && len(wrong) == 0 {
				return nil, err
			}
			wrong = union(wrong, more)
		}
		q.used = q.used.Plus(answer.usage)
		plan.Rounds = append(plan.Rounds, Round{Run: answer.run, Usage: answer.usage, Wrong: wrong})
		plan.By, plan.At = answer.by, time.Now().UTC()
		if len(wrong) == 0 {
			return plan, nil
		}
		if round > maxCorrections {
			return nil, &Error{Rounds: plan.Rounds, Run: q.run}
		}
		q.Problems, q.wrong, q.answer = q.problems(wrong), summaries(wrong), answer.text
	}
}

// agent returns the agent that plans, nil if Hocket chooses one, or if none is asked.
func (p *Planner) agent() *agent.Definition {
	name := cmp.Or(p.o.Agent, p.p.Config().Agent)
	if name == "" || p.o.Replies != nil {
		return nil
	}
	d, _, _ := p.p.Agents().Resolve(name) // that it cannot work is reported later
	return d
}

// prompted reports whether an agent works from a prompt. Others do what their settings say; only a command
// could still read it, from its standard input.
func (p *Planner) prompted(d *agent.Definition) bool {
	return p.p.Agents().Traits(d.Agent).FromPrompt(&agent.Task{Agent: d, Settings: d.With(nil)})
}

// finish writes the workflow of an answer and checks it. The diagnostics say why it cannot be offered.
func (p *Planner) finish(plan *Plan, r reading, q *question) (workflow.Diagnostics, error) {
	r.workflow.Name = cmp.Or(q.name, r.workflow.Name, hocket.GeneratedName(q.Goal))
	plan.Thought, plan.Reasons, plan.Notes = r.thought, r.reasons, r.notes
	for _, notation := range []string{"yaml", p.o.Notation} { // mistakes are first looked for where each has the position of its step
		if err := p.write(plan, r.workflow, q.dir, notation); err != nil {
			return nil, err
		}
		found, err := q.check(plan)
		if found = inSteps(found, plan.Workflow.Model()); err != nil || len(found) > 0 || notation == p.o.Notation {
			return found, err
		}
	}
	return nil, nil
}

// union returns all diagnostics once.
func union(all, more workflow.Diagnostics) workflow.Diagnostics {
	for _, d := range more {
		if !slices.ContainsFunc(all, func(was workflow.Diagnostic) bool { return was.Summary == d.Summary }) {
			all = append(all, d)
		}
	}
	return all
}

// ineffective are the codes of warnings that say that a part of a workflow means nothing, or not what its
// author thought.
var ineffective = []string{
	"combine-input-undefined", "edge-twice", "else-alone", "field-unused", "label-alike", "loop-never-repeats",
	"name-reserved", "question-empty", "unreachable-node",
}

// checkNew checks a workflow that is the model's alone.
func checkNew(plan *Plan) (workflow.Diagnostics, error) {
	return append(strictly(plan.Workflow.Check(nil), nil), undefined(plan.Workflow)...), nil
}

// strictly makes errors of what has no effect, unless it was there before the model wrote.
func strictly(found, before workflow.Diagnostics) workflow.Diagnostics {
	found = slices.Clone(found)
	for i := range found {
		d := &found[i]
		same := func(was workflow.Diagnostic) bool { return was.Code == d.Code && was.Summary == d.Summary }
		if slices.Contains(ineffective, d.Code) && !slices.ContainsFunc(before, same) {
			d.Severity = workflow.Error
		}
	}
	return found
}

// undefined finds the names that nothing defines. In a workflow that declares no inputs, they would become
// inputs, although the model meant something else.
func undefined(w *hocket.Workflow) (found workflow.Diagnostics) {
	m := w.Model()
	if len(m.Inputs) > 0 {
		return nil
	}
	for _, in := range w.Required() {
		detail := "write the value itself, or `${steps.ID.output}` for what a step returns"
		m.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
			if n.ID == in.Name {
				detail = fmt.Sprintf("write `${steps.%s.output}` for what the step returns", n.ID)
			}
		})
		found = append(found, refuse(detail, "nothing defines %q", in.Name)...)
	}
	return found
}

// inSteps returns the errors, with the steps in which they are. Their lines are those of the plan as it was written
// here, which the model does not know.
func inSteps(found workflow.Diagnostics, w *workflow.Workflow) workflow.Diagnostics {
	found = errorsIn(found, nil)
	for i := range found {
		d := &found[i]
		step := ""
		w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
			if n.Pos.Line > 0 && n.Pos.Line <= d.Line {
				step = n.ID
			}
		})
		if step != "" && !strings.Contains(d.Summary, strconv.Quote(step)) {
			d.Summary = "step " + step + ": " + d.Summary
		}
		d.Pos = workflow.Pos{}
	}
	return found
}

// write writes a workflow in a notation, as a file in a directory. Without one, it is the file
// of a proposal, and the check holds it to what a model may write.
func (p *Planner) write(plan *Plan, w *workflow.Workflow, dir, name string) error {
	notation, ok := syntax.Named(name)
	if !ok {
		return fmt.Errorf("planner: unknown notation %q; the notations are %s", name, strings.Join(syntax.Notations(), ", "))
	}
	text, err := notation.Format(w)
	if err != nil {
		return fmt.Errorf("planner: %w", err)
	}
	if again, _ := notation.Parse("", text); again == nil || workflow.Digest(again) != workflow.Digest(w) {
		return fmt.Errorf("planner: the workflow changes when it is written in %s", notation.Name)
	}
	plan.Name, plan.Text = hocket.GeneratedName(w.Name), text
	if dir == "" {
		dir = filepath.Join(project.GeneratedDir(p.p.Root()), plan.Name)
	}
	plan.file = filepath.Join(dir, plan.Name+notation.Endings[0])
	plan.Workflow, err = p.p.LoadText(plan.file, text)
	return err
}

// maxProblems is how many mistakes the model is told at once.
const maxProblems = 20

// forModels is what a model can do about mistakes for which only people have other advice.
var forModels = map[string]string{
	"agent-missing":     "name one of the agents above",
	"agent-no-executor": "use another agent",
	"budget-exceeded":   "plan fewer steps",
	"template-unknown":  "write the prompt itself",
}

// problems returns what is wrong with an answer as the model is told.
func (q *question) problems(wrong workflow.Diagnostics) []string {
	var all, names []string
	for _, d := range q.Agents {
		names = append(names, d.Name)
	}
	for _, d := range wrong {
		if len(all) == maxProblems {
			all = append(all, fmt.Sprintf("and %d more mistakes", len(wrong)-maxProblems))
			break
		}
		text := d.Summary
		if d.Line > 0 {
			text = fmt.Sprintf("line %d: %s", d.Line, text)
		}
		detail, _, _ := strings.Cut(d.Detail, "; a person can")
		if d.Code == "agent-unknown" { // its advice names agents that cannot work here, too
			detail = "name one of " + strings.Join(names, ", ")
		}
		if detail = cmp.Or(forModels[d.Code], detail); detail != "" {
			text += "; " + detail
		}
		all = append(all, text)
	}
	return all
}

// summaries returns what is wrong with an answer as people are told.
func summaries(wrong workflow.Diagnostics) []string {
	all := make([]string, len(wrong))
	for i, d := range wrong {
		all[i] = d.Summary
	}
	return all
}

// mostNames is how many names are tried if others are taken.
const mostNames = 50

// Propose stores the plan as a definition that waits for approval. If its name is taken, it gets a
// number, and so does the workflow.
func (p *Planner) Propose(ctx context.Context, plan *Plan) (*hocket.Generated, error) {
	name, title := plan.Name, plan.Workflow.Model().Name
	for n := 2; ; n++ {
		file := plan.Name + path.Ext(plan.file)
		g, err := p.p.Propose(ctx, hocket.Draft{
			Kind: hocket.WorkflowKind, Name: plan.Name, Files: map[string][]byte{file: plan.Text},
			Origin: plan.Origin,
		})
		if taken := (*hocket.NameTakenError)(nil); !errors.As(err, &taken) || n > mostNames {
			return g, err
		}
		w := *plan.Workflow.Model()
		if w.Name = fmt.Sprintf("%s %d", title, n); !strings.HasSuffix(hocket.GeneratedName(w.Name), fmt.Sprint(-n)) { // it is too long
			w.Name = fmt.Sprintf("%.30s %d", name, n)
		}
		if err := p.write(plan, &w, "", p.o.Notation); err != nil {
			return nil, err
		}
	}
}

// Export prepares the plan for a file outside of .hocket/generated, where only the workflow itself says what
// its runs may use: it gets the limits for what a model wrote. It still needs approval.
func (p *Planner) Export(plan *Plan) error {
	c := p.p.Config()
	w := *plan.Workflow.Model()
	w.Limits = check.Override(check.Lower(c.Limits, c.Generated), w.Limits)
	if err := p.write(plan, &w, "", p.o.Notation); err != nil {
		return err
	}
	return p.p.Wrote(plan.Workflow.Model(), plan.Origin)
}

// Error reports that no answer of the model could be used.
type Error struct {
	Rounds []Round
	Why    error  // why the model could not be asked again; nil: it was asked often enough
	Run    string // for which it planned; "": none
}

func (e *Error) Error() string {
	last := e.Rounds[len(e.Rounds)-1]
	text := fmt.Sprintf("no valid workflow in %s; the last one: %s", count(len(e.Rounds)), strings.Join(summaries(last.Wrong), "\n"))
	if e.Why != nil {
		text += fmt.Sprintf("\nthe model could not be asked again: %v", e.Why)
	}
	return text
}

func count(answers int) string {
	if answers == 1 {
		return "1 answer"
	}
	return strconv.Itoa(answers) + " answers"
}

// Unwrap returns why the model could not be asked again.
func (e *Error) Unwrap() error { return e.Why }

// Hint returns what to do about it.
func (e *Error) Hint() string {
	var missing *NoReplyError
	if errors.As(e.Why, &missing) {
		return missing.Hint()
	}
	text := "`hocket logs " + e.Rounds[len(e.Rounds)-1].Run + "` prints the last answer; "
	if e.Run != "" {
		return text + "say what to change with `hocket replan " + e.Run + " \"WORDS\"`"
	}
	return text + "say more in the goal, or name another agent with --agent"
}

// NoModelError reports that there is no agent that could plan.
type NoModelError struct {
	Agent string // that ignores its prompt; "": there is none
	Why   workflow.Diagnostics
}

func (e *NoModelError) Error() string {
	if e.Agent != "" {
		return "the agent " + e.Agent + " cannot plan: it ignores its prompt"
	}
	return "there is no model to write the workflow"
}

// Hint returns what to do about it.
func (e *NoModelError) Hint() string {
	hint := "name an agent with --agent, or set a default agent in .hocket/config.yml"
	if e.Agent != "" {
		return hint + "; it has to be a model, or a command that reads the prompt from its standard input"
	}
	for _, d := range e.Why {
		if d.Severity == workflow.Error && d.Detail != "" {
			hint = d.Detail
		}
	}
	if !strings.Contains(hint, "hocket doctor") {
		hint += "; `hocket doctor` shows what is missing"
	}
	return hint
}

// noModel says that an agent is missing, if that is why a task cannot start.
func noModel(err error) error {
	var invalid *hocket.InvalidError
	if errors.As(err, &invalid) && slices.ContainsFunc(invalid.Diagnostics, func(d workflow.Diagnostic) bool {
		return d.Severity == workflow.Error && slices.Contains([]string{"agent-missing", "agent-no-executor"}, d.Code)
	}) {
		return &NoModelError{Why: invalid.Diagnostics}
	}
	return err
}

// limits returns what a run of a plan may use.
func (p *Planner) limits() workflow.Limits {
	c := p.p.Config()
	return check.WithDefaults(check.Lower(c.Limits, c.Generated))
}
