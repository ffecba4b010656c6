package workflow

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Job is a step of a workflow that a program builds. Agent, Ask, Invoke, Decide, Question,
// Gather, Repeat and ForEach make one; its methods change it and return it, so
// that calls can be chained. [Sequence] and [Steps] make a workflow of jobs.
//
// References in texts and conditions are written in the canonical form:
// ${inputs.topic}, ${vars.draft}, ${nodes.review.output} and so on in a text, the
// same without ${} where a reference or a condition is expected. [Result] writes
// one. A literal ${ is $${. The forms of notations, such as {{topic}}, are errors.
//
// Building never fails: whatever is wrong is reported by check.Run, at the step.
type Job struct {
	node    Node
	ways    []way
	leads   bool // Then says what follows
	depends []string
	body    []*Job
	wrong   []problem
}

// way is an edge, or several alike.
type way struct {
	on    On
	label string
	when  string
	to    []string
}

// problem is a mistake that the model cannot hold.
type problem struct{ code, summary, detail string }

// Agent is a task for the agent of that name; "" is the project's default agent.
func Agent(name, prompt string) *Job {
	return do(&Task{Agent: name, Prompt: Template{Text: prompt}})
}

// Ask puts a question to a person. Without an Option, and without OnLabel, the
// answers are approve and reject.
func Ask(question string) *Job { return do(&Human{Question: Template{Text: question}}) }

// Invoke runs another workflow.
func Invoke(workflow string) *Job { return do(&Call{Workflow: workflow}) }

// Decide does no work and takes edges: the first When that holds, or the OnLabel
// that on evaluates to. An empty on is the output of the step before.
func Decide(on string) *Job { return do(&Choice{On: Expr{Text: on}}) }

// Question has an agent choose between the OnLabel edges, unless what leads here names
// one of them. Behind Ask, that person answers it. The agent "" is the project's
// default agent.
func Question(agent, question string) *Job {
	return do(&Choice{Ask: &Task{Agent: agent, Prompt: Template{Text: question}}})
}

// Gather combines values: those of the references, or without any those of the
// steps that lead to it.
func Gather(s Strategy, refs ...string) *Job {
	c := &Combine{Strategy: s}
	for _, ref := range refs {
		c.Inputs = append(c.Inputs, Expr{Text: ref})
	}
	return do(c)
}

// Repeat runs its body again as long as one of its steps leads to [Again], at most
// so many times; 0 is 50. A step of the body leaves the loop by naming a step behind
// it. One that does not say what follows goes on with what follows the loop.
func Repeat(times int, body ...*Job) *Job {
	j := do(&Loop{Max: times})
	j.body = body
	return j
}

// ForEach runs its body once for each item of a list, which is ${item} in it. A
// body of one step without an id of its own has the id of the ForEach.
func ForEach(items string, body ...*Job) *Job {
	j := do(&Each{Items: Expr{Text: items}})
	j.body = body
	return j
}

func do(s Step) *Job { return &Job{node: Node{Step: s}} }

// ID names the step. Without it steps are 1, 2, 3, … in the order in which they
// are written, those of a body behind the step around them.
func (j *Job) ID(id string) *Job {
	j.node.ID = id
	return j
}

// Title is shown to people instead of the id.
func (j *Job) Title(title string) *Job {
	j.node.Title = title
	return j
}

// Depends names steps beside this one that must have succeeded before.
func (j *Job) Depends(ids ...string) *Job {
	j.depends = append(j.depends, ids...)
	return j
}

// Input gives a value to an agent or a workflow under a name. Texts in it are
// templates.
func (j *Job) Input(name string, value any) *Job {
	in := Binding{Name: name, Value: j.value(value, "input "+strconv.Quote(name))}
	switch s := j.node.Step.(type) {
	case *Task:
		s.Inputs = append(s.Inputs, in)
	case *Call:
		s.Inputs = append(s.Inputs, in)
	case *Human, *Choice, *Combine, *Loop, *Each:
		j.misused("Input", "Agent or Invoke")
	}
	return j
}

// Context says whether an agent is given what the steps before it brought.
func (j *Job) Context(c Context) *Job {
	if s, ok := only[*Task](j, "Context", "Agent"); ok {
		s.Context = c
	}
	return j
}

// Setting is an option of the agent, such as "model". Texts in it are templates.
func (j *Job) Setting(name string, value any) *Job {
	s := j.node.Task()
	if s == nil {
		j.misused("Setting", "Agent or Question")
		return j
	}
	if s.Settings == nil {
		s.Settings = map[string]any{}
	}
	s.Settings[name] = j.value(value, "setting "+strconv.Quote(name))
	return j
}

// Option adds an answer that a person may give.
func (j *Job) Option(o Option) *Job {
	if s, ok := only[*Human](j, "Option", "Ask"); ok {
		s.Options = append(s.Options, o)
	}
	return j
}

// Custom lets a person answer with any text.
func (j *Job) Custom() *Job {
	if s, ok := only[*Human](j, "Custom", "Ask"); ok {
		s.Custom = true
	}
	return j
}

// Required means that no flag may skip the question.
func (j *Job) Required() *Job {
	if s, ok := only[*Human](j, "Required", "Ask"); ok {
		s.Required = true
	}
	return j
}

// Separator is what Gather puts between texts that it concatenates; a blank line
// if it is not set.
func (j *Job) Separator(text string) *Job {
	if s, ok := only[*Combine](j, "Separator", "Gather"); ok {
		s.Separator = text
	}
	return j
}

// As names a variable of the body that holds the item of a ForEach.
func (j *Job) As(variable string) *Job {
	if s, ok := only[*Each](j, "As", "ForEach"); ok {
		s.As = variable
	}
	return j
}

// Parallel is how many items a ForEach works on at once; 0 is as many as the run
// allows.
func (j *Job) Parallel(items int) *Job {
	if s, ok := only[*Each](j, "Parallel", "ForEach"); ok {
		s.Parallel = items
	}
	return j
}

// Output names the variable that the result is written to.
func (j *Job) Output(variable string) *Job {
	j.node.Output.Var = variable
	return j
}

// Extract says how the output becomes a value. The pattern is a JSONPath or a
// regular expression, "" in the other modes.
func (j *Job) Extract(mode OutputMode, pattern string) *Job {
	j.node.Output.Mode, j.node.Output.Pattern = mode, pattern
	return j
}

// Schema is the JSON Schema that the value must satisfy.
func (j *Job) Schema(schema any) *Job {
	j.node.Output.Schema = j.value(schema, "the schema")
	return j
}

// Retry repeats a failed task or question.
func (j *Job) Retry(r Retry) *Job {
	j.node.Retry = r
	return j
}

// Timeout bounds an attempt, an answer or a call.
func (j *Job) Timeout(d time.Duration) *Job {
	j.node.Timeout = d
	return j
}

// OnError says what happens to the rest when the step failed for good.
func (j *Job) OnError(e OnError) *Job {
	j.node.OnError = e
	return j
}

// Once means that an attempt whose end was lost is not repeated without asking.
func (j *Job) Once() *Job {
	j.node.Once = true
	return j
}

// Label adds a metric that events carry.
func (j *Job) Label(name, value string) *Job {
	if j.node.Labels == nil {
		j.node.Labels = map[string]string{}
	}
	j.node.Labels[name] = value
	return j
}

// Group collects the results of steps under a name. In a Sequence, neighbours of
// one group run side by side.
func (j *Job) Group(name string) *Job {
	j.node.Group = name
	return j
}

// Join says how many of the steps that lead here must have ended well; 0 is all
// that are still possible.
func (j *Job) Join(need int) *Job {
	j.node.Join.Need = need
	return j
}

// KeepRest lets the steps that Join did not wait for go on.
func (j *Job) KeepRest() *Job {
	j.node.Join.Keep = true
	return j
}

// Then says what follows a success: steps by their ids, [End] or, in a Repeat,
// [Again]. Without an id nothing follows.
func (j *Job) Then(ids ...string) *Job {
	j.leads = true
	return j.way(way{to: ids})
}

// OnLabel says what follows if the step decided for a label.
func (j *Job) OnLabel(label string, ids ...string) *Job {
	return j.way(way{on: OnLabel, label: label, to: ids})
}

// When says what follows if a condition holds, and none before it did.
func (j *Job) When(condition string, ids ...string) *Job {
	return j.way(way{on: OnWhen, when: condition, to: ids})
}

// Else says what follows if no label and no condition matched.
func (j *Job) Else(ids ...string) *Job { return j.way(way{on: OnElse, to: ids}) }

// OnFailure says what follows if the step failed for good.
func (j *Job) OnFailure(ids ...string) *Job { return j.way(way{on: OnFailure, to: ids}) }

// OnTimeout says what follows if a person did not answer in time.
func (j *Job) OnTimeout(ids ...string) *Job { return j.way(way{on: OnTimeout, to: ids}) }

func (j *Job) way(w way) *Job {
	if _, isLoop := j.node.Step.(*Loop); isLoop && w.on != OnSuccess {
		j.wrong = append(j.wrong, problem{"step-key", "a Repeat has no edges but those of Then", "add the edge to a step of its body"})
		return j
	}
	w.to = slices.Clone(w.to)
	j.ways = append(j.ways, w)
	return j
}

// branches says whether the job says itself what follows its success.
func (j *Job) branches() bool {
	return j.leads || slices.ContainsFunc(j.ways, func(w way) bool { return w.on == OnLabel || w.on == OnWhen || w.on == OnElse })
}

// value is what the model holds of a Go value.
func (j *Job) value(v any, what string) any {
	normal, err := Normalize(v)
	if err != nil {
		j.wrong = append(j.wrong, problem{"model-invalid", fmt.Sprintf("%s holds a %T, which is not a JSON value", what, v), "use nil, bool, numbers, strings, slices and maps"})
		return nil
	}
	return normal
}

// only is the step of a job, if it is of the kind that a method is for.
func only[S Step](j *Job, method, constructor string) (S, bool) {
	s, ok := j.node.Step.(S)
	if !ok {
		j.misused(method, constructor)
	}
	return s, ok
}

// kindOf names the function that makes steps of a kind.
func kindOf(s Step) string {
	switch s := s.(type) {
	case *Task:
		return "Agent"
	case *Human:
		return "Ask"
	case *Call:
		return "Invoke"
	case *Choice:
		if s.Ask != nil {
			return "Question"
		}
		return "Decide"
	case *Combine:
		return "Gather"
	case *Loop:
		return "Repeat"
	case *Each:
		return "ForEach"
	}
	return ""
}

func (j *Job) misused(method, constructor string) {
	j.wrong = append(j.wrong, problem{"step-key", method + " does not apply to " + kindOf(j.node.Step), "use it with " + constructor})
}

// Result refers to the output of a step.
func Result(id string) string {
	if isName(id) {
		return "${nodes." + id + ".output}"
	}
	return "${nodes[" + strconv.Quote(id) + "].output}"
}

// isName says whether a reference can have an id behind a dot.
func isName(id string) bool {
	for i := range len(id) {
		c := id[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return id != ""
}
