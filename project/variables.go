package project

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// codeTemplateVariable is the code of undefined variables in a prompt.
const codeTemplateVariable = "template-variable"

// use is a task with a prompt of the project.
type use struct {
	w        *workflow.Workflow
	node     *workflow.Node
	task     *workflow.Task
	template *template
	name     string
	pos      workflow.Pos // where the task names the prompt
}

// apply sets the prompt of a task, and the defaults in the prompt's front matter.
func (l *Loaded) apply(u use) {
	t, task := u.template, u.task
	if task.Agent == "" {
		task.Agent = t.agent
	}
	if _, own := task.Settings["model"]; t.model != "" && !own {
		task.Settings["model"] = t.model
	}
	if out := &u.node.Output; out.Mode == workflow.Full && out.Pattern == "" && out.Schema == nil && out.Places().Mode.Line == 0 {
		out.Mode, out.Pattern, out.Schema, out.At = t.output.Mode, t.output.Pattern, t.output.Schema, t.output.At
	}
	text := expr.Late(t.src.Text, expr.Mixed)
	if parsed, err := expr.ParseTemplate(text, expr.Canonical); err == nil {
		text = l.fill(u, text, parsed)
	}
	task.Prompt = workflow.Template{Text: text, Src: t.src}
	l.uses = append(l.uses, u)
}

// fill replaces references in a prompt with the inputs of the task.
func (l *Loaded) fill(u use, text string, parsed *expr.Template) string {
	var b strings.Builder
	at := 0
	for _, ref := range parsed.Refs() {
		value, given := u.given(ref)
		if !given {
			continue
		}
		alone := text[ref.From] == '$'
		written, ok := inPlace(value, ref.Path[1:], alone)
		if !ok {
			l.unfit(u, ref)
			continue
		}
		b.WriteString(text[at:ref.From] + written)
		at = ref.To
	}
	return b.String() + text[at:]
}

// given returns the input of the task with the name at the start of a reference, otherwise the
// default in the prompt.
func (u *use) given(ref *expr.Ref) (any, bool) {
	if ref.Kind != expr.Unresolved || len(ref.Path) == 0 || ref.Path[0].IsIndex {
		return nil, false
	}
	name := ref.Path[0].Name
	for _, b := range u.task.Inputs {
		if b.Name == name {
			return b.Value, true
		}
	}
	for _, in := range u.template.inputs {
		if in.name == name && in.hasDefault && !u.fromWorkflow(name) {
			return literal(in.value), true
		}
	}
	return nil, false
}

// fromWorkflow reports whether the workflow defines a name.
func (u *use) fromWorkflow(name string) bool {
	_, isState := u.w.State[name]
	if isState || slices.ContainsFunc(u.w.Inputs, func(p workflow.Param) bool { return p.Name == name }) {
		return true
	}
	written := false
	u.w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) { written = written || n.Output.Var == name })
	return written
}

// literal returns a template for a value without references.
func literal(v any) string { return strings.ReplaceAll(workflow.FormatText(v), "${", "$${") }

// inPlace returns the text that replaces a reference and its path with a value, which may
// be a template: alone in the text, or inside of an expression.
func inPlace(value any, path []expr.Key, alone bool) (string, bool) {
	text, isText := value.(string)
	if !isText {
		text = literal(value)
	}
	parsed, err := expr.ParseTemplate(text, expr.Canonical)
	if err != nil {
		return "", false
	}
	if refs := parsed.Refs(); len(refs) == 1 && text == "${"+refs[0].String()+"}" {
		whole := *refs[0]
		whole.Path = slices.Concat(whole.Path, path)
		if alone {
			return "${" + whole.String() + "}", true
		}
		return whole.String(), true
	}
	switch {
	case len(path) > 0:
		return "", false
	case alone:
		return expr.Closed(text), true
	case len(parsed.Refs()) == 0 && !isText:
		return workflow.FormatJSON(value), true
	case len(parsed.Refs()) == 0:
		return workflow.FormatJSON(strings.ReplaceAll(text, "$${", "${")), true
	}
	return "", false
}

// unfit reports a value that the prompt cannot use.
func (l *Loaded) unfit(u use, ref *expr.Ref) {
	name := ref.Path[0].Name
	pos := u.template.src.Pos
	if uses := u.template.find(name); len(uses) > 0 {
		pos = uses[0]
	}
	l.missing = append(l.missing, missing{u.node, workflow.Errorf(u.pos, codeTemplateVariable,
		"pass a single reference, such as ${draft}, or change the prompt", "prompt %q cannot use the value of %q in %s", u.name, name, lineOf(pos))})
}

// find returns the positions at which a prompt uses a name.
func (t *template) find(name string) []workflow.Pos {
	parsed, err := expr.ParseTemplate(t.src.Text, expr.Mixed)
	if err != nil {
		return nil
	}
	var uses []workflow.Pos
	for _, ref := range parsed.Refs() {
		if ref.Name == name && ref.Kind == expr.Inputs || ref.Kind == expr.Unresolved && len(ref.Path) > 0 && ref.Path[0].Name == name {
			uses = append(uses, t.src.At(ref.From, ref.To))
		}
	}
	return uses
}

// lineOf formats a line of a file.
func lineOf(pos workflow.Pos) string { return fmt.Sprintf("%s:%d", filepath.Base(pos.File), pos.Line) }

// unmetVariables reports undefined variables in prompts. before are the inputs that the
// workflow requires without its prompts. If neither the prompt nor the workflow declares
// inputs, undefined variables become inputs of the run.
func (l *Loaded) unmetVariables(w *workflow.Workflow, before []workflow.Param) {
	for _, u := range l.uses {
		if u.w != w || !u.template.declares && len(w.Inputs) == 0 {
			continue
		}
		parsed, err := expr.ParseTemplate(u.task.Prompt.Text, expr.Canonical)
		if err != nil {
			continue // reported by unfit
		}
		var seen []string
		for _, ref := range parsed.Refs() {
			if ref.Kind != expr.Inputs || ref.Guarded() || slices.Contains(seen, ref.Name) || u.knows(ref.Name, before) {
				continue
			}
			uses := u.template.find(ref.Name)
			if len(uses) == 0 {
				continue // it is part of an input of the step
			}
			seen = append(seen, ref.Name)
			l.unmet = slices.Concat(l.unmet, uses, []workflow.Pos{u.template.src.Pos})
			l.missing = append(l.missing, missing{u.node, workflow.Errorf(u.pos, codeTemplateVariable,
				fmt.Sprintf("set it at the step with `inputs: {%s: …}`, or as an input of the workflow", ref.Name),
				"undefined variable %q in the prompt %q (%s)", ref.Name, u.name, lineOf(uses[0]))})
		}
	}
}

// knows reports whether the step or its workflow defines a name, or requires it as an input
// regardless of prompts.
func (u *use) knows(name string, before []workflow.Param) bool {
	asked := func(in workflow.Param) bool { return in.Name == name }
	return name == "" || u.fromWorkflow(name) || len(u.w.Inputs) == 0 && slices.ContainsFunc(before, asked) ||
		slices.ContainsFunc(u.task.Inputs, func(b workflow.Binding) bool { return b.Name == name })
}

// isUnmet reports whether an undefined reference was already reported at its steps.
func (l *Loaded) isUnmet(d workflow.Diagnostic) bool {
	return d.Code == "ref-unknown" && slices.Contains(l.unmet, d.Pos)
}
