package check

import (
	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// refNotation finds references that a program wrote in the form of a notation. In the canonical
// form of the model they would be plain text, which is never intended.
var refNotation = rule{
	code:     "ref-notation",
	severity: workflow.Error,
	summary:  "a workflow built by a program has a reference in the form of a notation",
	workflow: func(p *pass) {
		if p.w.Pos.Part != "" {
			p.braces(p.w.Pos, p.w.Output.Text)
		}
	},
	node: func(p *pass, n *node) {
		if n.Pos.Part == "" {
			return
		}
		if t := n.Task(); t != nil {
			p.braces(n.Pos, t.Prompt.Text)
			for _, name := range sorted.Keys(t.Settings) {
				p.braces(placeOr(t.SettingsPos[name], n.Pos), t.Settings[name])
			}
		}
		p.bracesOf(n, n.bindings())
		switch s := n.Step.(type) {
		case *workflow.Human:
			p.braces(n.Pos, s.Question.Text)
		case *workflow.Task, *workflow.Call, *workflow.Choice, *workflow.Combine, *workflow.Loop, *workflow.Each:
		}
	},
}

func (p *pass) bracesOf(n *node, inputs []workflow.Binding) {
	for i := range inputs {
		p.braces(placeOr(inputs[i].Pos, n.Pos), inputs[i].Value)
	}
}

var (
	inBraces    = lazy.Regexp(`\{\{[^{}]*\}\}`)
	agentResult = lazy.Regexp(`^\{\{\s*agent_(.+)_result\s*\}\}$`)
)

// braces reports the references in braces in all texts of a value.
func (p *pass) braces(pos workflow.Pos, value any) {
	switch v := value.(type) {
	case string:
		for _, at := range inBraces().FindAllStringIndex(v, -1) {
			written := v[at[0]:at[1]]
			ref, err := expr.ParseTemplate(written, expr.Mixed)
			if err != nil || len(ref.Refs()) == 0 {
				continue
			}
			if _, inside := expr.ParseTemplate(v[:at[0]], expr.Canonical); inside != nil {
				continue // a literal in ${…}
			}
			instead := "${inputs.NAME}, ${vars.NAME} or ${nodes.ID.output}"
			if m := agentResult().FindStringSubmatch(written); m != nil {
				instead = workflow.Result(m[1])
			}
			p.errorf(pos, "write "+instead+"; literal braces are ${\"{{\"}", "%s is plain text in a built workflow", written)
		}
	case []any:
		for _, item := range v {
			p.braces(pos, item)
		}
	case map[string]any:
		for _, key := range sorted.Keys(v) {
			p.braces(pos, v[key])
		}
	}
}
