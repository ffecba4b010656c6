package draw

import (
	"fmt"

	"github.com/hocket-dev/hocket/workflow"
)

// The workflows that the tests draw. They are built without a notation, so that a change of a
// notation cannot change the pictures.

func task(id, agent string) workflow.Node {
	return workflow.Node{ID: id, Step: &workflow.Task{Agent: agent}}
}

func member(id, group string) workflow.Node {
	n := task(id, "shell")
	n.Group = group
	return n
}

func plain(ids ...string) []workflow.Edge {
	var edges []workflow.Edge
	for i := 1; i < len(ids); i++ {
		edges = append(edges, workflow.Edge{From: ids[i-1], To: ids[i]})
	}
	return edges
}

func label(from, text, to string) workflow.Edge {
	return workflow.Edge{From: from, To: to, On: workflow.OnLabel, Label: text}
}

func when(from, cond, to string) workflow.Edge {
	return workflow.Edge{From: from, To: to, On: workflow.OnWhen, When: workflow.Expr{Text: cond}}
}

func on(from string, kind workflow.On, to string) workflow.Edge {
	return workflow.Edge{From: from, To: to, On: kind}
}

// chain is three tasks in a row.
func chain() *workflow.Workflow {
	return &workflow.Workflow{
		Name: "full-review", Description: "Security, speed, then the review.",
		Body: workflow.Graph{
			Nodes: []workflow.Node{task("security", "security-scanner"), task("speed", "performance-analyzer"), task("review", "code-reviewer")},
			Edges: plain("security", "speed", "review"),
		},
	}
}

// release uses every kind of node and edge once.
func release() *workflow.Workflow {
	fix := workflow.Node{ID: "fix", Step: &workflow.Loop{Max: 5, Body: workflow.Graph{
		Nodes: []workflow.Node{task("test", "shell"), task("repair", "coder"), {ID: "choice", Step: &workflow.Choice{}}},
		Edges: append(plain("test", "repair", "choice"),
			when("choice", "nodes.test.status == 'success'", "gate"),
			on("choice", workflow.OnElse, workflow.Again),
			on("repair", workflow.OnFailure, "tell")),
	}}}
	gate := workflow.Node{ID: "gate", Title: "Ship it?", Step: &workflow.Human{Question: workflow.Template{Text: "Ship ${inputs.version} now?"}}}
	scan := workflow.Node{ID: "upload", OnError: workflow.Continue, Step: &workflow.Each{
		Items: workflow.Expr{Text: "inputs.targets"}, As: "target",
		Body: workflow.Graph{Nodes: []workflow.Node{task("upload", "http")}},
	}}
	block := workflow.Node{ID: "notify", Step: &workflow.Each{
		Items: workflow.Expr{Text: "vars.users"},
		Body: workflow.Graph{
			Nodes: []workflow.Node{task("greet", "mail"), task("mail", "mail")},
			Edges: []workflow.Edge{when("greet", "item.opted_in", "mail"), on("greet", workflow.OnElse, workflow.End)},
		},
	}}
	return &workflow.Workflow{
		Name: "release", Description: "Check, fix, ask, ship.",
		Inputs: []workflow.Param{{Name: "version", Type: workflow.StringType, Required: true}},
		State:  map[string]any{"users": []any{}},
		Agents: []workflow.AgentRef{{Name: "coder", Role: "developer", Color: "LightBlue"}},
		Body: workflow.Graph{
			Nodes: []workflow.Node{
				member("lint", "checks"), member("vet", "checks"), member("spell", "checks"),
				fix, gate, scan, block,
				{ID: "publish", Step: &workflow.Call{Workflow: "publish-site"}},
				{ID: "report", Step: &workflow.Combine{Strategy: workflow.Concatenate}, Join: workflow.Join{Need: 1}},
				task("tell", "mail"),
			},
			Edges: append([]workflow.Edge{
				{From: "lint", To: "fix"}, {From: "vet", To: "fix"}, {From: "spell", To: "fix"},
				label("gate", "approve", "upload"), label("gate", "approve", "notify"), label("gate", "wait", "tell"),
				on("gate", workflow.OnTimeout, "tell"),
			}, plain("upload", "publish", "report")...),
		},
	}
}

// wide returns a fan-out with a fan-in, each branch of a few steps.
func wide(branches, steps int) *workflow.Workflow {
	w := &workflow.Workflow{Name: "wide", Body: workflow.Graph{Nodes: []workflow.Node{task("first", "shell")}}}
	g := &w.Body
	for b := range branches {
		from := "first"
		for s := range steps {
			id := fmt.Sprintf("branch-%d-step-%d", b, s)
			g.Nodes = append(g.Nodes, task(id, "shell"))
			g.Edges = append(g.Edges, workflow.Edge{From: from, To: id})
			from = id
		}
		g.Edges = append(g.Edges, workflow.Edge{From: from, To: "last"})
	}
	g.Nodes = append(g.Nodes, task("last", "shell"))
	return w
}

// book has a loop in a loop, whose bodies begin with two nodes and with one, and
// an exit that leaves both.
func book() *workflow.Workflow {
	polish := workflow.Node{ID: "polish", Step: &workflow.Loop{Max: 3, Body: workflow.Graph{
		Nodes: []workflow.Node{
			task("write", "writer"), task("critic-a", "critic"), task("critic-b", "critic"),
			{ID: "verdict", Step: &workflow.Choice{On: workflow.Expr{Text: "vars.score"}}},
		},
		Edges: append(append(plain("write", "critic-a", "verdict"), plain("write", "critic-b", "verdict")...),
			label("verdict", "good", "assemble"), label("verdict", "poor", workflow.Again), label("verdict", "hopeless", "give-up")),
	}}}
	chapters := workflow.Node{ID: "chapters", Step: &workflow.Loop{Max: 12, Body: workflow.Graph{
		Nodes: []workflow.Node{task("research", "reader"), task("outline", "planner"), polish, task("assemble", "editor"), {ID: "more", Step: &workflow.Choice{}}},
		Edges: []workflow.Edge{
			{From: "research", To: "polish"}, {From: "outline", To: "polish"}, {From: "assemble", To: "more"},
			when("more", "vars.chapters_left > 0", workflow.Again), on("more", workflow.OnElse, "print"),
		},
	}}}
	return &workflow.Workflow{Name: "write-a-book", Body: workflow.Graph{
		Nodes: []workflow.Node{
			chapters, task("print", "printer"),
			{ID: "give-up", Step: &workflow.Human{Question: workflow.Template{Text: "The critics gave up. What now?"}}},
		},
	}}
}

// pipeline has one handler for the failures of all its nodes.
func pipeline() *workflow.Workflow {
	w := &workflow.Workflow{Name: "pipeline"}
	for _, id := range []string{"fetch", "build", "unit", "lint", "pack"} {
		w.Body.Nodes = append(w.Body.Nodes, task(id, "shell"))
		w.Body.Edges = append(w.Body.Edges, on(id, workflow.OnFailure, "alarm"))
	}
	w.Body.Nodes = append(w.Body.Nodes, task("alarm", "pager"))
	w.Body.Edges = append(w.Body.Edges, append(plain("fetch", "build", "unit", "pack"), plain("build", "lint", "pack")...)...)
	return w
}

// hostileText is text that has a meaning for one of the tools that read drawings.
var hostileText = []string{
	"</text><script>alert(1)</script>", `say "hi" & 'bye'`, "]]> <!-- x --> <br/>", "[x] {y} (z) |p| `b`",
	"**bold** __under__ ~~gone~~ //it//", `back\slash \n \"`, "%date() $x @enduml", "/' x '/ !include y",
	"#1; #quot; &amp;", "direction LR", "1. list", "- item", "end", "note right", "a\nb\tc\x00\x1b[31m",
	"日本語 😀 ñ \xff", "state x {", "}", "--> : ;", "%%{init: {}}%%",
}

// hostile returns a chain of nodes, each with one of these texts in every place.
func hostile() *workflow.Workflow {
	w := &workflow.Workflow{Name: hostileText[0], Description: hostileText[1]}
	for i, text := range hostileText {
		n := workflow.Node{ID: text, Title: text, Group: text, Step: &workflow.Task{Agent: text}}
		if i%2 == 1 {
			n.Title, n.Step = "", &workflow.Human{Question: workflow.Template{Text: text}}
		}
		w.Agents = append(w.Agents, workflow.AgentRef{Name: text, Color: text})
		w.Body.Nodes = append(w.Body.Nodes, n)
		if i > 0 {
			w.Body.Edges = append(w.Body.Edges, when(hostileText[i-1], text, text), on(hostileText[i-1], workflow.OnElse, text))
		}
	}
	return w
}
