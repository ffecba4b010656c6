package planner

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/workflow"
)

//go:embed generate.md
var promptText string

var promptTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("generate").Parse(promptText))
})

// question is what the model is asked. The template of the prompt uses its exported fields.
type question struct {
	Goal     string
	Workflow bool // there is one to change, in the inputs
	Agents   []*agent.Definition
	Exact    []string
	Limits   workflow.Limits
	Problems []string // of the last answer

	step   string             // the name of the first one
	inputs []workflow.Binding // what the model needs to know, and must not follow
	answer string             // the last one
	wrong  []string           // with that, as people are told

	reason string // what people see instead of the goal, if the goal is not theirs

	run  string          // for which it plans, if there is one
	most workflow.Limits // what all answers together may cost, and their tokens; zero fields: as the project says
	used workflow.Usage  // of that

	check     func(*Plan) (workflow.Diagnostics, error)
	name, dir string // of a workflow that is changed
}

// exact says how to use the agents that need no model.
var exact = []struct{ agent, how string }{
	{"shell", "`shell`: `<config><command>git log --oneline</command></config>`; the command is run by sh"},
	{"http", "`http`: `<config><url>https://example.com/prices.json</url></config>`"},
	{"file", "`file`: `<config><action>read</action><path>notes.md</path></config>`, or `write` with `<content>`"},
}

// isExact reports whether an agent is one of them.
func isExact(d *agent.Definition) bool {
	return d.Builtin && slices.ContainsFunc(exact, func(e struct{ agent, how string }) bool { return e.agent == d.Name })
}

func (p *Planner) question(step, goal string) *question {
	q := &question{step: step, Goal: goal, Limits: p.limits()}
	set := p.p.Agents().Snapshot()
	for _, d := range set.Definitions() {
		if set.Missing(d) != nil {
			continue
		}
		q.Agents = append(q.Agents, d)
		for _, e := range exact {
			if d.Builtin && d.Name == e.agent {
				q.Exact = append(q.Exact, e.how)
			}
		}
	}
	return q
}

// corrections are the names of the steps that send an answer back.
var corrections = [maxCorrections]string{"correct", "correct-2", "correct-3"}

// Steps returns the names of all steps in which a model is asked.
func Steps() []string { return append([]string{"generate", "replan"}, corrections[:]...) }

// maxQuoted is how much of a wrong answer the model sees again.
const maxQuoted = 64 << 10

// task returns the task of the model for a round.
func (p *Planner) task(q *question, round int) (hocket.Task, error) {
	prompt, err := p.prompt(q)
	if err != nil {
		return hocket.Task{}, err
	}
	t := hocket.Task{Name: q.step, Prompt: prompt, Agent: p.o.Agent, Inputs: slices.Clone(q.inputs)}
	if round > 1 {
		t.Name = corrections[round-2]
		t.Inputs = append(t.Inputs, workflow.Binding{Name: "answer", Value: bounded(q.answer, maxQuoted)})
	}
	return t, nil
}

// prompt returns the prompt of the project for a step, planner/generate or planner/replan, or else our own. What
// was wrong with an answer follows both.
func (p *Planner) prompt(q *question) (string, error) {
	parts := map[string]string{}
	for _, name := range []string{"generate", "form", "agents", "limits", "correction"} {
		var b strings.Builder
		if err := promptTemplate().ExecuteTemplate(&b, name, q); err != nil {
			return "", fmt.Errorf("planner: prompt: %w", err)
		}
		parts[name] = b.String()
	}
	parts["goal"] = q.Goal
	parts["TASK_PROMPT"], parts["AGENT_LIST"] = q.Goal, parts["agents"] // as other planners call them
	file := filepath.Join(filepath.Dir(project.GeneratedDir(p.p.Root())), "prompts", "planner", q.step+".md")
	for _, own := range p.p.Prompts() {
		if own.Name == "planner/"+q.step {
			text, err := own.Text(parts)
			switch {
			case err != nil:
				return "", &PromptError{file, unknownIn(file, own.Inputs, parts), err.Error()}
			case !strings.Contains(text, q.Goal):
				return "", &PromptError{file, 0, "the prompt does not contain the goal"}
			}
			return text + parts["correction"], nil
		}
	}
	if _, err := os.Lstat(file); err == nil { // ignoring it would ask with another prompt
		why := "it is not a valid prompt"
		if _, err := os.ReadFile(file); err != nil {
			why = "it cannot be read"
		}
		return "", &PromptError{file, 0, why}
	}
	return parts["generate"], nil
}

// CheckPrompts returns what is wrong with the prompts that a project has for the planner.
func CheckPrompts(project *hocket.Project) (found workflow.Diagnostics) {
	p := New(project, Options{})
	for _, step := range []string{"generate", "replan"} {
		_, err := p.prompt(p.question(step, "the goal of this check"))
		if bad := (*PromptError)(nil); errors.As(err, &bad) {
			found = append(found, workflow.Errorf(workflow.Pos{File: bad.File, Line: bad.Line}, "prompt-file", bad.Hint(), "%s", bad.Why))
		}
	}
	return found
}

// unknownIn returns the line of a prompt that names an input that no planner has, 0 if it is not found.
func unknownIn(file string, inputs []project.PromptInput, known map[string]string) int {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for _, in := range inputs {
		if _, ok := known[in.Name]; ok || in.HasDefault {
			continue
		}
		if before, _, found := strings.Cut(string(text), in.Name); found {
			return strings.Count(before, "\n") + 1
		}
	}
	return 0
}

// PromptError reports that a prompt of the project for the planner cannot be used.
type PromptError struct {
	File string
	Line int // 0: all of it
	Why  string
}

func (e *PromptError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Why)
	}
	return e.File + ": " + e.Why
}

// Hint returns what to do about it.
func (e *PromptError) Hint() string {
	return "write {{goal}} for what is asked for, and {{agents}}, {{form}} and {{limits}} for what the model has to know; or remove the file, to use the built-in prompt"
}

// bounded returns the beginning of a text.
func bounded(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + fmt.Sprintf("\n[%d more bytes]", len(text)-most)
}

// answer is what the model has written.
type answer struct {
	text  string
	wrong string // why it is not complete; "": it is
	run   string
	by    string
	usage workflow.Usage
}

// The reasons for which the planner stops an answer.
var (
	errTooLong = errors.New("the answer is too long")
	errTooSlow = errors.New("the answer takes too long")
)

// read reads the answer.
func (a *answer) read() reading {
	if a.wrong != "" {
		return reading{wrong: refuse("answer with a shorter workflow, and nothing else", "%s", a.wrong)}
	}
	return read(a.text)
}

// maxAgain is how often the model is asked again if it could not be reached.
const maxAgain = 2

// askPatiently is ask, and asks again if the connection was lost before the model wrote something. If its agent
// has rules for that, they were followed already.
func (p *Planner) askPatiently(ctx context.Context, q *question, round int, see func(Partial)) (*answer, error) {
	for again := 1; ; again++ {
		a, err := p.ask(ctx, q, round, see)
		var failed *FailedError
		if !errors.As(err, &failed) || !failed.passing || again > maxAgain {
			return a, err
		}
		select {
		case <-time.After(time.Duration(again) * time.Second):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// passing reports whether the only attempt of a run has failed for a reason that another one may not have.
func passing(ctx context.Context, run *hocket.Run) bool {
	var faults []*engine.Fault
	for e, err := range run.Recorded(ctx) {
		if ended, ok := e.Event.(*engine.TaskEnded); err == nil && ok && ended.Fault != nil {
			faults = append(faults, ended.Fault)
		}
	}
	return len(faults) == 1 && faults[0].Kind == engine.FaultError && !faults[0].Permanent
}

// ask asks the model in a run of its own.
func (p *Planner) ask(ctx context.Context, q *question, round int, see func(Partial)) (*answer, error) {
	t, err := p.task(q, round)
	if err != nil {
		return nil, err
	}
	if p.o.Replies != nil && !p.o.Replies.Answers(t.Name) { // who passes replies does not expect to pay
		return nil, &NoReplyError{t.Name, unused(p.o.Replies)}
	}
	left, err := q.left()
	if err != nil {
		return nil, err
	}
	w, inputs, err := p.p.LoadTask(t)
	if err != nil {
		return nil, err
	}
	labels := map[string]string{hocket.HelperLabel: "generate"}
	if q.run != "" {
		labels[hocket.PlansLabel] = q.run
	}
	run, err := p.p.Record(ctx, w, inputs, hocket.WithReplies(p.o.Replies), hocket.WithClaim(), hocket.WithLabels(labels),
		hocket.WithLimits(check.Lower(w.Limits(), left)))
	if err != nil {
		return nil, noModel(err)
	}
	own, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	own, stop := context.WithTimeoutCause(own, p.o.Timeout, errTooSlow)
	defer stop()
	l := newListener(Partial{Run: run.ID(), Round: round, Problems: q.wrong}, p.o.MaxBytes, see, func() { cancel(errTooLong) })
	res, err := run.Drive(own, hocket.Front{Observer: l})
	l.close()
	a := &answer{run: run.ID(), usage: res.Usage.Usage}
	if err != nil {
		// It will not be continued: the next answer is another run.
		info, _ := run.Info(context.WithoutCancel(ctx))
		_, _ = run.Cancel(context.WithoutCancel(ctx), "the planner has stopped it")
		cause := context.Cause(own)
		if ctx.Err() == nil && errors.Is(cause, errTooSlow) && info.Stalled != "" { // as it will be the next time
			return nil, &FailedError{Run: run.ID(), Why: info.Stalled}
		}
		if ctx.Err() == nil && (errors.Is(cause, errTooLong) || errors.Is(cause, errTooSlow)) {
			a.wrong, a.text = fmt.Sprintf("%v: the limits are %d KB and %s", cause, p.o.MaxBytes>>10, workflow.FormatDuration(p.o.Timeout)), l.written()
			return a, nil
		}
		return nil, err
	}
	if !res.Status.Done() { // it asks something
		why := "it has a question that nobody answers"
		if open, err := run.Questions(ctx); err == nil && len(open) > 0 {
			why = "nobody answers its question: " + strings.TrimSpace(open[0].Text+"\n"+open[0].Detail)
		}
		_, _ = run.Cancel(context.WithoutCancel(ctx), "nobody answers the questions of a planner")
		return nil, &FailedError{Run: run.ID(), Why: why}
	}
	if said := l.written(); res.Status == engine.Failed && begun(said) { // it was cut off, or the connection was
		a.wrong, a.text = "the answer was cut off", said
		return a, nil
	}
	text, ok := res.Output.(string)
	if res.Status != engine.Success || !ok {
		return nil, &FailedError{run.ID(), cmp.Or(res.Error, "the run has ended as "+string(res.Status)), res.Status == engine.Failed && l.written() == "" && passing(ctx, run)}
	}
	if a.text = text; len(text) > p.o.MaxBytes {
		a.wrong = fmt.Sprintf("%v: the limit is %d KB", errTooLong, p.o.MaxBytes>>10)
	}
	a.by = p.by(ctx, run, &res)
	return a, nil
}

// by returns who has answered: the agent, and its model if that is known.
func (p *Planner) by(ctx context.Context, run *hocket.Run, res *engine.Result) string {
	s := res.Steps[len(res.Steps)-1]
	if p.o.Replies != nil && p.o.Replies.Answers(s.Address) {
		return "replies"
	}
	name := cmp.Or(s.Agent, p.o.Agent)
	if d, _, err := p.p.Agents().Resolve(name); err == nil {
		name = d.Name
	}
	if kept, err := run.Kept(ctx, s.Address, s.Attempts); err == nil && kept.Model != "" {
		name += " (" + kept.Model + ")"
	}
	return name
}

// FailedError reports that the model did not answer.
type FailedError struct {
	Run, Why string
	passing  bool // another attempt may succeed
}

func (e *FailedError) Error() string { return "no workflow was written: " + e.Why }

// Hint returns what to do about it.
func (e *FailedError) Hint() string { return "`hocket show " + e.Run + "` says more" }

// left returns what the next answer may cost, and its tokens.
func (q *question) left() (workflow.Limits, error) {
	left := q.most
	if q.most.CostUSD > 0 {
		if left.CostUSD -= q.used.CostUSD; left.CostUSD <= 0 {
			return left, &SpentError{q.run, "cost", workflow.FormatUSD(q.most.CostUSD), workflow.FormatUSD(q.used.CostUSD)}
		}
	}
	if q.most.Tokens > 0 {
		if left.Tokens -= q.used.Tokens(); left.Tokens <= 0 {
			return left, &SpentError{q.run, "tokens", fmt.Sprint(q.most.Tokens), fmt.Sprint(q.used.Tokens())}
		}
	}
	return left, nil
}

// SpentError reports that nothing is left for another answer.
type SpentError struct {
	Run        string // for which the model plans; "": none
	What       string // cost or tokens
	Most, Used string
}

func (e *SpentError) Error() string {
	if e.Run == "" {
		return fmt.Sprintf("nothing is left to plan with: %s of at most %s used (%s)", e.Used, e.Most, e.What)
	}
	return fmt.Sprintf("nothing is left of the limit of %s to plan with: it and its plans have used %s of %s (%s)", e.Run, e.Used, e.Most, e.What)
}

// Hint returns what to do about it.
func (e *SpentError) Hint() string {
	flag := "--max-" + e.What + " N"
	if e.Run == "" {
		return "raise the limit with " + flag
	}
	return "`hocket raise " + e.Run + " " + flag + "` raises the limit"
}

// unused returns the keys of replies that are not for a planner.
func unused(r *hocket.Replies) []string {
	return slices.DeleteFunc(r.Keys(), func(key string) bool { return slices.Contains(Steps(), key) })
}

// NoReplyError reports that the replies have no answer for a question to the model.
type NoReplyError struct {
	Key    string   // that is missing
	Unused []string // keys that no question of a planner has
}

func (e *NoReplyError) Error() string {
	text := "the replies have no answer for " + e.Key
	switch len(e.Unused) {
	case 0:
		return text
	case 1:
		return text + "; their key " + e.Unused[0] + " is unused"
	}
	return text + "; their keys " + strings.Join(e.Unused, ", ") + " are unused"
}

// Hint returns what to do about it.
func (e *NoReplyError) Hint() string {
	return "add the key " + e.Key + " to the file, with the answer of the model"
}
