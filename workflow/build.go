package workflow

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Job is a step of a workflow that a program builds. Agent, Ask, Invoke, Decide, Question,
// Gather, Repeat and ForEach create one; its methods change it and return it, so that calls can
// be chained. [Sequence] and [Steps] build a workflow from jobs.
//
// References in texts and conditions are written in canonical form: ${inputs.topic},
// ${vars.draft}, ${nodes.review.output} and so on in a text, and the same without ${} where a
// reference or a condition is expected. [Result] returns one. A literal ${ is written $${. The
// forms of notations, such as {{topic}}, are errors.
//
// Building never fails: check.Run reports every mistake at its step.
type Job struct {
	node    Node
	ways    []way
	leads   bool // Then was called
	depends []string
	body    []*Job
	wrong   []problem
}

// way is an edge, or several edges of the same kind.
type way struct {
	on    On
	label string
	when  string
	to    []string
}

// problem is a mistake that the model cannot represent.
type problem struct{ code, summary, detail string }

// Agent returns a task for the named agent; "" means the project's default agent.
func Agent(name, prompt string) *Job {
	return do(&Task{Agent: name, Prompt: Template{Text: prompt}})
}

// Ask returns a question to a person. Without an Option and without OnLabel, the answers are
// approve and reject.
func Ask(question string) *Job { return do(&Human{Question: Template{Text: question}}) }

// Invoke returns a call of another workflow.
func Invoke(workflow string) *Job { return do(&Call{Workflow: workflow}) }

// Decide returns a step that does no work and takes edges: the first When that holds, or the
// OnLabel that on evaluates to. An empty on means the output of the step before.
func Decide(on string) *Job { return do(&Choice{On: Expr{Text: on}}) }

// Question returns a step in which an agent chooses between the OnLabel edges, unless the output
// of the step before it already names one of them. After Ask, the person answers it. The agent ""
// is the project's default agent.
func Question(agent, question string) *Job {
	return do(&Choice{Ask: &Task{Agent: agent, Prompt: Template{Text: question}}})
}

// Gather returns a step that combines values: those of the references or, if there are none, the
// outputs of the steps that lead to it.
func Gather(s Strategy, refs ...string) *Job {
	c := &Combine{Strategy: s}
	for _, ref := range refs {
		c.Inputs = append(c.Inputs, Expr{Text: ref})
	}
	return do(c)
}

// MergeWorkspaces returns a step that joins the changes of all workspaces that lead to it. The agent
// works only if they conflict; if it is [MergeAgent], a conflict is an error, or, with the setting by: human,
// a person resolves it.
func MergeWorkspaces(agent, prompt string) *Job {
	return do(&Task{Agent: agent, Prompt: Template{Text: prompt}, Branches: MergeBranches})
}

// PickWorkspace returns a step that leaves one of the workspaces that lead to it, for which the agent
// decides; with [MergeAgent] and the setting by: human, a person does.
func PickWorkspace(agent, prompt string) *Job {
	return do(&Task{Agent: agent, Prompt: Template{Text: prompt}, Branches: PickBranch})
}

// Land returns a step that brings the workspace that leads to it into the project, as a "branch", a
// "commit" or a "patch", after a person has approved it. The settings branch and message are optional.
func Land(as string) *Job {
	return do(&Task{Agent: LandAgent, Settings: map[string]any{"as": as}}).Workspace(WorkspaceOwn)
}

// Repeat returns a loop that runs its body again as long as one of its steps leads to [Again],
// but at most the given number of times; 0 means 50. A step of the body leaves the loop by naming
// a step after it. A step that does not say what follows continues with what follows the loop.
func Repeat(times int, body ...*Job) *Job {
	j := do(&Loop{Max: times})
	j.body = body
	return j
}

// ForEach returns a step that runs its body once for each item of a list; ${item} is the item. If
// the body is a single step without an id, it has the id of the ForEach.
func ForEach(items string, body ...*Job) *Job {
	j := do(&Each{Items: Expr{Text: items}})
	j.body = body
	return j
}

func do(s Step) *Job { return &Job{node: Node{Step: s}} }

// ID sets the id of the step. By default, the ids are 1, 2, 3, … in the order in which the steps
// are written; the steps of a body come after the step that contains them.
func (j *Job) ID(id string) *Job {
	j.node.ID = id
	return j
}

// Title sets the text that people see instead of the id.
func (j *Job) Title(title string) *Job {
	j.node.Title = title
	return j
}

// Depends names steps in the same list that must succeed first.
func (j *Job) Depends(ids ...string) *Job {
	j.depends = append(j.depends, ids...)
	return j
}

// Input passes a value to an agent or a workflow under a name. Texts in it are templates.
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

// Context sets whether an agent receives the outputs of the steps before it.
func (j *Job) Context(c Context) *Job {
	if s, ok := only[*Task](j, "Context", "Agent"); ok {
		s.Context = c
	}
	return j
}

// Handoffs lets the agent hand work off while it works.
func (j *Job) Handoffs(h Handoffs) *Job {
	if s, ok := only[*Task](j, "Handoffs", "Agent"); ok {
		s.Handoffs = &h
	}
	return j
}

// Setting sets an option of the agent, such as "model". Texts in it are templates.
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

// Required forbids skipping the question with a flag.
func (j *Job) Required() *Job {
	if s, ok := only[*Human](j, "Required", "Ask"); ok {
		s.Required = true
	}
	return j
}

// Separator sets the text that Gather puts between the texts that it concatenates. The default is
// a blank line.
func (j *Job) Separator(text string) *Job {
	if s, ok := only[*Combine](j, "Separator", "Gather"); ok {
		s.Separator = text
	}
	return j
}

// As names the variable that holds the item in the body of a ForEach.
func (j *Job) As(variable string) *Job {
	if s, ok := only[*Each](j, "As", "ForEach"); ok {
		s.As = variable
	}
	return j
}

// Parallel sets how many items a ForEach processes at the same time; 0 means as many as the run
// allows.
func (j *Job) Parallel(items int) *Job {
	if s, ok := only[*Each](j, "Parallel", "ForEach"); ok {
		s.Parallel = items
	}
	return j
}

// Output names the variable to which the result is written.
func (j *Job) Output(variable string) *Job {
	j.node.Output.Var = variable
	return j
}

// Extract sets how the output becomes a value. The pattern is a JSONPath or a regular expression,
// and "" in the other modes.
func (j *Job) Extract(mode OutputMode, pattern string) *Job {
	j.node.Output.Mode, j.node.Output.Pattern = mode, pattern
	return j
}

// Schema sets the JSON Schema that the value must match.
func (j *Job) Schema(schema any) *Job {
	j.node.Output.Schema = j.value(schema, "the schema")
	return j
}

// Retry sets how a failed task or question is retried.
func (j *Job) Retry(r Retry) *Job {
	j.node.Retry = r
	return j
}

// Timeout limits the time of an attempt, an answer or a call.
func (j *Job) Timeout(d time.Duration) *Job {
	j.node.Timeout = d
	return j
}

// OnError sets what happens to the rest of the workflow if the step finally fails.
func (j *Job) OnError(e OnError) *Job {
	j.node.OnError = e
	return j
}

// Once means that an attempt whose result was lost is not repeated without asking.
func (j *Job) Once() *Job {
	j.node.Once = true
	return j
}

// Workspace sets where the agents of the step work.
func (j *Job) Workspace(w Workspace) *Job {
	switch s := j.node.Step.(type) {
	case *Task:
		if s.Branches != OneBranch {
			j.misused("Workspace", "Agent, Invoke, Repeat or ForEach")
			return j
		}
	case *Call, *Loop, *Each:
	case *Human, *Choice, *Combine:
		j.misused("Workspace", "Agent, Invoke, Repeat or ForEach")
		return j
	}
	j.node.Workspace = w
	return j
}

// Label adds a label to the events of the step, for metrics.
func (j *Job) Label(name, value string) *Job {
	if j.node.Labels == nil {
		j.node.Labels = map[string]string{}
	}
	j.node.Labels[name] = value
	return j
}

// Group collects the results of steps under a name. In a Sequence, adjacent steps of the same
// group run in parallel.
func (j *Job) Group(name string) *Job {
	j.node.Group = name
	return j
}

// Join sets how many of the steps that lead here must succeed; 0 means all that can still run.
func (j *Job) Join(need int) *Job {
	j.node.Join.Need = need
	return j
}

// KeepRest lets the steps that Join did not wait for continue.
func (j *Job) KeepRest() *Job {
	j.node.Join.Keep = true
	return j
}

// Then sets what follows a success: steps by their ids, [End] or, in a Repeat, [Again]. Without
// ids, nothing follows.
func (j *Job) Then(ids ...string) *Job {
	j.leads = true
	return j.way(way{to: ids})
}

// OnLabel sets what follows if the step chooses a label.
func (j *Job) OnLabel(label string, ids ...string) *Job {
	return j.way(way{on: OnLabel, label: label, to: ids})
}

// When sets what follows if a condition holds and none of the earlier ones did.
func (j *Job) When(condition string, ids ...string) *Job {
	return j.way(way{on: OnWhen, when: condition, to: ids})
}

// Else sets what follows if no label and no condition matched.
func (j *Job) Else(ids ...string) *Job { return j.way(way{on: OnElse, to: ids}) }

// OnFailure sets what follows if the step finally fails.
func (j *Job) OnFailure(ids ...string) *Job { return j.way(way{on: OnFailure, to: ids}) }

// OnTimeout sets what follows if a person does not answer in time.
func (j *Job) OnTimeout(ids ...string) *Job { return j.way(way{on: OnTimeout, to: ids}) }

func (j *Job) way(w way) *Job {
	if _, isLoop := j.node.Step.(*Loop); isLoop && w.on != OnSuccess {
		j.wrong = append(j.wrong, problem{"step-key", "a Repeat can only have the edges of Then", "add the edge to a step of its body"})
		return j
	}
	w.to = slices.Clone(w.to)
	j.ways = append(j.ways, w)
	return j
}

// branches reports whether the job itself says what follows its success.
func (j *Job) branches() bool {
	return j.leads || slices.ContainsFunc(j.ways, func(w way) bool { return w.on == OnLabel || w.on == OnWhen || w.on == OnElse })
}

// value converts a Go value to a value of the model.
func (j *Job) value(v any, what string) any {
	normal, err := Normalize(v)
	if err != nil {
		j.wrong = append(j.wrong, problem{"model-invalid", fmt.Sprintf("%s contains a %T, which is not a JSON value", what, v), "use nil, bool, numbers, strings, slices and maps"})
		return nil
	}
	return normal
}

// only returns the step of a job, if it has the kind that the method applies to.
func only[S Step](j *Job, method, constructor string) (S, bool) {
	s, ok := j.node.Step.(S)
	if !ok {
		j.misused(method, constructor)
	}
	return s, ok
}

// kindOf returns the name of the function that creates steps of this kind.
func kindOf(s Step) string {
	switch s := s.(type) {
	case *Task:
		switch s.Branches {
		case MergeBranches:
			return "MergeWorkspaces"
		case PickBranch:
			return "PickWorkspace"
		case OneBranch:
		}
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

// Result returns a reference to the output of a step.
func Result(id string) string {
	if isName(id) {
		return "${nodes." + id + ".output}"
	}
	return "${nodes[" + strconv.Quote(id) + "].output}"
}

// isName reports whether an id can follow a dot in a reference.
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
