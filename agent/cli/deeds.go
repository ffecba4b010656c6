package cli

import (
	"cmp"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// toolUse is a tool call that has not returned.
type toolUse struct {
	tool    string
	changes []agent.FileChange // changes that it makes if it succeeds
}

// deeds records what an event says about tools and files in the transcript. A file change
// is recorded once its call has succeeded.
func (r *reading) deeds(rule *rule, e event) {
	id, tool := rule.text("call", e), rule.text("tool", e)
	if tool != "" {
		r.task.Record(agent.ToolCall{ID: id, Tool: tool, Arguments: rule.take["input"].in(e)})
		if r.calls == nil {
			r.calls = map[string]toolUse{}
		}
		r.calls[id] = toolUse{tool: tool}
	}
	if path := rule.text("path", e); path != "" {
		change := agent.FileChange{Path: path, Change: cmp.Or(rule.change, agent.Written)}
		if use, open := r.calls[id]; open && len(rule.take["call"]) > 0 {
			use.changes = append(use.changes, change)
			r.calls[id] = use
		} else {
			r.task.Record(change)
		}
	}
	if len(rule.take["output"]) > 0 { // it may be empty
		r.returned(id, outputText(rule.take["output"].in(e)), len(rule.failed) > 0 && hold(rule.failed, e))
	}
}

// returned records the result of a call.
func (r *reading) returned(id, text string, failed bool) {
	use := r.calls[id]
	delete(r.calls, id)
	r.task.Record(agent.ToolResult{ID: id, Tool: use.tool, Text: text, Failed: failed})
	if failed {
		return
	}
	for _, change := range use.changes {
		r.task.Record(change)
	}
}

// outputText returns what a tool returned, as text. Many CLIs use the format of the model's
// API or of MCP: a list of parts, most of which are text.
func outputText(v any) string {
	list, isList := v.([]any)
	if !isList {
		return workflow.FormatText(v)
	}
	texts := make([]string, len(list))
	for i, part := range list {
		if text, ok := workflow.At(part, []string{"text"}).(string); ok {
			texts[i] = text
		} else {
			texts[i] = workflow.FormatText(part)
		}
	}
	return strings.Join(texts, "\n")
}

func (r *reading) noteModel(model string) {
	if model != "" && model != r.noted && r.task.NoteModel != nil {
		r.noted = model
		r.task.NoteModel(model)
	}
}

// endModel notes the model that did most of the work, if the CLI reports usage per model;
// otherwise the one that it named or was told to use.
func (r *reading) endModel() {
	if r.said || r.success {
		r.noteModel(cmp.Or(r.spent.model(), r.model))
	}
}

// model returns the model that wrote the most; "" if none is named.
func (a *account) model() string {
	figures := a.total
	if len(figures) == 0 {
		figures = a.added
	}
	best := ""
	for _, model := range sorted.Keys(figures) {
		if model != "" && (best == "" || figures[model].tokens.Output > figures[best].tokens.Output) {
			best = model
		}
	}
	return best
}
