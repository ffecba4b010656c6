package workflow

import "strconv"

// Job is a task for an agent, for workflows that a program makes. Its methods
// change it and give it back, so that calls can be chained.
type Job struct {
	id      string
	task    Task
	depends []string
	output  string
}

// Agent is a task for the agent of that name. References in the prompt are in
// canonical form, such as ${nodes["1"].output}.
func Agent(name, prompt string) *Job {
	return &Job{task: Task{Agent: name, Prompt: Template{Text: prompt}}}
}

// ID names the step. Without it steps are 1, 2, 3, … in their order.
func (j *Job) ID(id string) *Job {
	j.id = id
	return j
}

// Depends names the steps that must have succeeded before.
func (j *Job) Depends(ids ...string) *Job {
	j.depends = append(j.depends, ids...)
	return j
}

// Input gives the agent a value under a name. Texts in it are templates.
func (j *Job) Input(name string, value any) *Job {
	j.task.Inputs = append(j.task.Inputs, Binding{Name: name, Value: value})
	return j
}

// Output names the variable that the result is written to.
func (j *Job) Output(variable string) *Job {
	j.output = variable
	return j
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

// Sequence is a workflow of tasks that run one after the other.
func Sequence(name string, jobs ...*Job) *Workflow {
	numbered(jobs)
	for i, j := range jobs[min(1, len(jobs)):] {
		j.Depends(jobs[i].id)
	}
	return Steps(name, jobs...)
}

// Steps is a workflow of tasks that run as soon as those have succeeded that
// they depend on; check.Run says what is wrong with it.
func Steps(name string, jobs ...*Job) *Workflow {
	numbered(jobs)
	w := &Workflow{Name: name, Body: Graph{Nodes: make([]Node, len(jobs))}}
	waiting := map[string][]string{}
	for i, j := range jobs {
		w.Body.Nodes[i] = Node{ID: j.id, Step: &j.task, Output: Output{Var: j.output}}
		for _, id := range j.depends {
			waiting[id] = append(waiting[id], j.id)
		}
	}
	for _, j := range jobs {
		for _, to := range waiting[j.id] {
			w.Body.Edges = append(w.Body.Edges, Edge{From: j.id, To: to})
		}
	}
	return w
}

// numbered gives ids to those that have none.
func numbered(jobs []*Job) {
	for i, j := range jobs {
		if j.id == "" {
			j.id = strconv.Itoa(i + 1)
		}
	}
}
