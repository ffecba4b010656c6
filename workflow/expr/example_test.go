package expr_test

import (
	"fmt"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

func ExampleParseTemplate() {
	t, err := expr.ParseTemplate(`Review {{inputs.topic}}: ${nodes.scan.output ?? "no scan"}`, expr.Mixed)
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := t.Text(env{"inputs.topic": "the parser"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t)
	fmt.Println(text)
	// Output:
	// Review ${inputs.topic}: ${nodes.scan.output ?? "no scan"}
	// Review the parser: no scan
}

func ExampleParseTemplate_error() {
	_, err := expr.ParseTemplate("Say {{ to begin.", expr.Mixed)
	fmt.Println(err)
	// Output:
	// expr: unexpected "begin" at offset 10; write }} to close {{
}

func ExampleResolve() {
	w := &workflow.Workflow{Body: workflow.Graph{
		Nodes: []workflow.Node{
			{ID: "write", Step: &workflow.Task{Prompt: workflow.Template{Text: "Write about {{topic}}."}}, Output: workflow.Output{Var: "draft"}},
			{ID: "review", Step: &workflow.Task{Prompt: workflow.Template{Text: "Review {{draft}}, made by ${steps[0].status}."}}},
		},
		Edges: []workflow.Edge{{From: "write", To: "review"}},
	}}
	expr.Resolve(w, expr.Mixed, []string{"write", "review"})
	for _, n := range w.Body.Nodes {
		fmt.Println(n.Step.(*workflow.Task).Prompt.Text)
	}
	fmt.Println(expr.FreeInputs(w)[0].Name)
	// Output:
	// Write about ${inputs.topic}.
	// Review ${vars.draft}, made by ${nodes.write.status}.
	// topic
}

func ExampleProblems() {
	const prompt = "Write about {{topc}}."
	w := &workflow.Workflow{
		Inputs: []workflow.Param{{Name: "topic"}},
		Body: workflow.Graph{Nodes: []workflow.Node{{ID: "write", Step: &workflow.Task{Prompt: workflow.Template{
			Text: prompt, Src: workflow.Source{Text: prompt, Pos: workflow.Pos{File: "w.yml", Line: 4, Column: 13}},
		}}}}},
	}
	expr.Resolve(w, expr.Mixed, nil)
	for _, p := range expr.Problems(w) {
		fmt.Printf("%s: %s; %s\n", p.Pos, p.Summary, p.Detail)
	}
	// Output:
	// w.yml:4:25: unknown name "topc"; did you mean "topic"?
}
