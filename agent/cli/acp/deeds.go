package acp

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// record adds to the transcript until the attempt has ended.
func (c *client) record(e agent.Entry) {
	if !c.over {
		c.task.Record(e)
	}
}

// maxTerminal limits how much of a command's output is kept.
const maxTerminal = 1 << 20

// learn stores what the transcript needs to know about the call.
func (call *toolCall) learn(u *toolUpdate) {
	call.tool, call.kind = cmp.Or(call.tool, u.Name), cmp.Or(u.Tool, call.kind)
	if v, err := workflow.ParseJSON(u.Input); err == nil {
		if object, isObject := v.(map[string]any); v != nil && (!isObject || len(object) > 0) {
			call.args = v
		}
	}
	if len(u.Locations) > 0 {
		call.paths = nil
	}
	for _, l := range u.Locations {
		call.paths = append(call.paths, l.Path)
	}
	var meta struct {
		Terminal struct {
			Data string `json:"data"`
		} `json:"terminal_output_delta"`
	}
	if json.Unmarshal(u.Meta, &meta) == nil && len(call.terminal)+len(meta.Terminal.Data) <= maxTerminal {
		call.terminal += meta.Terminal.Data
	}
}

// block is part of what a call shows: text, or a file before and after.
type block struct {
	Type    string `json:"type"`
	Content struct {
		Text string `json:"text"`
	} `json:"content"`
	Path    string  `json:"path"`
	OldText *string `json:"oldText"`
	NewText string  `json:"newText"`
}

// deeds records the end of a call in the transcript: its result, and the files that it
// changed.
func (c *client) deeds(call *toolCall, u *update) {
	var blocks []block
	_ = json.Unmarshal(u.Content, &blocks) // anything but a list shows nothing
	var changes []agent.FileChange
	var texts []string
	for _, b := range blocks {
		switch b.Type {
		case "content":
			texts = append(texts, b.Content.Text)
		case "diff":
			changes = append(changes, b.change())
		}
	}
	if len(changes) > 0 {
		call.changes = changes // keep the newest output
	}
	if call.over || u.Status != "completed" && u.Status != "failed" {
		return
	}
	call.over = true
	text := cmp.Or(output(u.Output, strings.Join(texts, "\n")), call.terminal)
	c.record(agent.ToolResult{ID: u.ID, Tool: call.tool, Text: text, Failed: u.Status == "failed"})
	if u.Status == "failed" {
		return
	}
	for _, change := range c.changes(call) {
		c.record(change)
	}
}

// change returns what happened to the file of a diff. Some agents report that a new file
// was empty before.
func (b *block) change() agent.FileChange {
	change := agent.FileChange{Path: b.Path, Change: agent.Modified, New: b.NewText}
	switch {
	case b.OldText == nil:
		change.Change = agent.Created
	case *b.OldText == "":
		change.Change = agent.Written
	default:
		change.Old = *b.OldText
	}
	return change
}

// changes returns the changes that a call made. If it shows none, its kind tells what
// happened to the files that it affects.
func (c *client) changes(call *toolCall) []agent.FileChange {
	kind := map[string]agent.ChangeKind{"edit": agent.Written, "delete": agent.Deleted}[c.kind(call.kind, call.title)]
	if len(call.changes) > 0 || kind == "" {
		return call.changes
	}
	var changes []agent.FileChange
	for _, path := range call.paths {
		changes = append(changes, agent.FileChange{Path: path, Change: kind})
	}
	return changes
}

// output returns what a tool returned: text in the agent's own format, otherwise as
// displayed, otherwise whatever there is.
func output(raw json.RawMessage, shown string) string {
	v, err := workflow.ParseJSON(raw)
	if err != nil {
		return shown
	}
	if text, isText := v.(string); isText {
		return text
	}
	return cmp.Or(shown, workflow.FormatText(v))
}
