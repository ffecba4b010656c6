package engine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// TestAgainstDefinition compares the engine with a second implementation of the rules for edges:
// plain recursion over an acyclic graph, independent of the order of events. Whether a task fails,
// and what it answers, depends only on its id, so both must reach the same result.
func TestAgainstDefinition(t *testing.T) {
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 11))
		w := acyclic(random)
		o := &definition{w: w, memo: map[string]engine.Status{}}
		want := o.statuses()
		got := driveFlat(t, w, random)
		for id, status := range want {
			if !o.isStep(id) {
				status = ""
			}
			if status == "poisoned" {
				status = engine.Skipped
			}
			if got[id] != status {
				t.Fatalf("seed %d: %s is %s, want %s\n%s", seed, id, got[id], status, workflow.Print(w))
			}
		}
	}
}

// acyclic returns a workflow of tasks and questions in which no failure ends the run.
func acyclic(random *rand.Rand) *workflow.Workflow {
	chance := func(percent int) bool { return random.IntN(100) < percent }
	w := &workflow.Workflow{Name: "flat"}
	n := 2 + random.IntN(8)
	for i := range n {
		node := workflow.Node{ID: fmt.Sprintf("n%d", i), Step: &workflow.Task{Agent: "x"}, OnError: workflow.Continue}
		if chance(50) {
			node.OnError = workflow.SkipDependents
		}
		labelled := chance(40)
		if labelled && chance(50) {
			node.Step = &workflow.Choice{Ask: &workflow.Task{Agent: "x", Prompt: workflow.Template{Text: "Which?"}}}
		}
		w.Body.Nodes = append(w.Body.Nodes, node)
		for j := i + 1; j < n; j++ {
			if !chance(40) {
				continue
			}
			e := workflow.Edge{From: node.ID, To: fmt.Sprintf("n%d", j)}
			switch {
			case chance(15):
				e.On = workflow.OnFailure
			case labelled && chance(60):
				e.On, e.Label = workflow.OnLabel, labels[random.IntN(3)]
			case labelled:
				e.On = workflow.OnElse
			}
			w.Body.Edges = append(w.Body.Edges, e)
		}
	}
	return w
}

var labels = []string{"a", "b", "c"}

// outcome returns what a task does whenever it runs: fail, or answer with a label.
func outcome(id string) (failed bool, label string) {
	h := hash(id + "?")
	return h%4 == 0, labels[h/4%3]
}

type definition struct {
	w    *workflow.Workflow
	memo map[string]engine.Status
}

func (o *definition) statuses() map[string]engine.Status {
	for _, n := range o.w.Body.Nodes {
		o.status(n.ID)
	}
	return o.memo
}

// outcome returns the result of a node that runs. A question is not asked if the value that reached
// it answers it.
func (o *definition) outcome(id string) (failed bool, label string) {
	if !o.isQuestion(id) || o.isAsked(id) {
		return outcome(id)
	}
	return false, o.reached(id)
}

// isAsked reports whether a question that is reached is asked: it has labels, and the value that
// reached it is none of them.
func (o *definition) isAsked(id string) bool {
	labels, reached := false, o.reached(id)
	for _, e := range o.w.Body.Edges {
		if e.From == id && e.On == workflow.OnLabel {
			if e.Label == reached {
				return false
			}
			labels = true
		}
	}
	return labels
}

// reached returns the value of the only live edge; "" if there is none, or if there are several
// values.
func (o *definition) reached(id string) string {
	values := []string{}
	for _, e := range o.w.Body.Edges {
		if e.To != id || o.edge(e) != "live" {
			continue
		}
		value := ""
		switch _, label := o.outcome(e.From); {
		case e.On == workflow.OnFailure:
			value = "boom"
		case o.status(e.From) != engine.Success:
		case o.isQuestion(e.From):
			value = o.reached(e.From)
		default:
			value = label
		}
		values = append(values, value)
	}
	if len(values) != 1 {
		return ""
	}
	return values[0]
}

func (o *definition) isQuestion(id string) bool { return o.w.Body.Node(id).Kind() == "choice" }

// isStep reports whether the node is a step of the result. A question is one only if it was asked.
func (o *definition) isStep(id string) bool {
	ran := o.status(id) == engine.Success || o.status(id) == engine.Failed
	return !o.isQuestion(id) || ran && o.isAsked(id)
}

// status depends only on the states of the in-edges.
func (o *definition) status(id string) engine.Status {
	if s, ok := o.memo[id]; ok {
		return s
	}
	edges, lively := 0, 0
	for _, e := range o.w.Body.Edges {
		if e.To != id {
			continue
		}
		edges++
		switch o.edge(e) {
		case "poisoned":
			o.memo[id] = "poisoned"
			return "poisoned"
		case "live":
			lively++
		}
	}
	switch failed, label := o.outcome(id); {
	case edges > 0 && lively == 0:
		o.memo[id] = engine.Skipped
	case failed || !o.routes(id, label):
		o.memo[id] = engine.Failed
	default:
		o.memo[id] = engine.Success
	}
	return o.memo[id]
}

// routes reports whether a decision leads anywhere.
func (o *definition) routes(id, label string) bool {
	conditional, ok := false, false
	for _, e := range o.w.Body.Edges {
		if e.From == id {
			conditional = conditional || e.On == workflow.OnLabel
			ok = ok || e.On == workflow.OnLabel && e.Label == label || e.On == workflow.OnElse || e.On == workflow.OnSuccess
		}
	}
	return ok || !conditional
}

func (o *definition) edge(e workflow.Edge) string {
	_, label := o.outcome(e.From)
	status := o.status(e.From)
	handled, conditional, matched := false, false, false
	for _, other := range o.w.Body.Edges {
		if other.From == e.From {
			handled = handled || other.On == workflow.OnFailure
			conditional = conditional || other.On == workflow.OnLabel
			matched = matched || status == engine.Success && other.On == workflow.OnLabel && other.Label == label
		}
	}
	taken := "dead"
	switch {
	case e.On == workflow.OnFailure:
		if status == engine.Failed {
			taken = "live"
		}
		return taken
	case status == engine.Skipped, status == engine.Failed && handled:
		return "dead"
	case status == "poisoned", status == engine.Failed && o.w.Body.Node(e.From).OnError == workflow.SkipDependents:
		return "poisoned"
	case e.On == workflow.OnLabel && status == engine.Success && e.Label == label:
		return "live"
	case e.On != workflow.OnLabel && !(conditional && matched):
		return "live"
	}
	return taken
}

// driveFlat runs the workflow with attempts that end in random order.
func driveFlat(t *testing.T, w *workflow.Workflow, r *rand.Rand) map[string]engine.Status {
	t.Helper()
	run, err := engine.New(&workflow.Bundle{Root: w})
	if err != nil {
		t.Fatal(err)
	}
	open := map[string]*engine.StartTask{}
	commands, err := run.Step(engine.Envelope{Time: time.Unix(0, 0), Event: &engine.Started{Run: "flat", Version: engine.Version}})
	for {
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range commands {
			if start, ok := c.(*engine.StartTask); ok {
				open[start.Address] = start
			}
		}
		if len(open) == 0 {
			break
		}
		c := pick(r, open)
		delete(open, c.Address)
		ev := &engine.TaskEnded{Address: c.Address, Attempt: c.Attempt}
		if failed, label := outcome(c.Address); failed {
			ev.Fault = &engine.Fault{Kind: engine.FaultError, Message: "boom"}
		} else {
			ev.Output = label
		}
		commands, err = run.Step(engine.Envelope{Time: time.Unix(1, 0), Event: ev})
	}
	statuses := map[string]engine.Status{}
	for _, step := range run.Result().Steps {
		statuses[step.Address] = step.Status
	}
	for _, n := range w.Body.Nodes {
		if statuses[n.ID] == "" && n.Kind() == "task" {
			t.Fatalf("%s was never decided\n%s", n.ID, workflow.Print(w))
		}
	}
	return statuses
}
