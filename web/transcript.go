package web

import (
	"bytes"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// entry is something that an agent said or did, as a line that opens.
type entry struct {
	Kind   string // text, tool, file or truncated
	Title  string // of a tool: its name and the beginning of its arguments; of a file: what happened to it
	Text   string // what was said, or the arguments of a tool
	Diffs  []diff // what the call changes, or wanted to change
	Result string
	Ended  bool // a tool has returned
	Failed bool

	id string
}

// entriesOf reads the lines of a transcript. A result belongs to its call. cut means that the text begins somewhere in a
// line.
func entriesOf(text []byte, cut bool) []entry {
	var all []entry
	for line := range bytes.Lines(text) {
		if first := cut; first {
			cut = false
			continue
		}
		e, err := agent.ParseEntry(line)
		if err != nil {
			continue // the last line, while it is written, or an entry of a newer version
		}
		switch e := e.(type) {
		case agent.AssistantText:
			all = append(all, entry{Kind: "text", Text: readable([]byte(e.Text))})
		case agent.ToolCall:
			all = append(all, called(&e))
		case agent.ToolResult:
			at := callOf(all, e.ID, e.Tool)
			if at < 0 {
				all, at = append(all, entry{Kind: "tool", Title: e.Tool, id: e.ID}), len(all)
			}
			all[at].Result, all[at].Ended, all[at].Failed = readable([]byte(e.Text)), true, e.Failed
		case agent.FileChange:
			all = append(all, changeOf(&e, all))
		case agent.Truncated:
			all = append(all, entry{Kind: "truncated", Title: "The rest was too long to keep."})
		}
	}
	return all
}

// called returns a call of a tool. If it changes files, it shows how.
func called(call *agent.ToolCall) entry {
	args := call.Arguments
	if text, ok := args.(string); ok && call.Cut > 0 {
		args = repaired(text)
	}
	e := entry{Kind: "tool", id: call.ID}
	var rest any
	e.Diffs, rest = diffsOf(call.Tool, args)
	e.Title, e.Text = call.Tool+" "+firstLine(inLine(args)), argumentsText(rest)
	if len(e.Diffs) > 0 {
		e.Title = call.Tool + " " + firstLine(e.Diffs[0].Path)
		if more := len(e.Diffs) - 1; more > 0 && e.Diffs[0].Path != e.Diffs[more].Path {
			e.Title += " and " + plural(more, "other", "others")
		}
		if last := &e.Diffs[len(e.Diffs)-1]; call.Cut > 0 {
			last.Note = strings.TrimSpace(last.Note + " Its end was too long to keep.")
		}
	}
	return e
}

// changeOf returns a change of a file. It shows how, unless the call that made it does.
func changeOf(change *agent.FileChange, before []entry) entry {
	e := entry{Kind: "file", Title: string(change.Change) + " " + readable([]byte(change.Path))}
	switch {
	case change.Cut > 0:
		e.Title += " (the change was too long to keep)"
	case change.Old != "" || change.New != "":
		d := newDiff(change.Path, compared(change.Old, change.New))
		shown := slices.ContainsFunc(before, func(earlier entry) bool {
			return earlier.Kind == "tool" && slices.ContainsFunc(earlier.Diffs, func(other diff) bool {
				return (other.Path == d.Path || strings.HasSuffix(other.Path, "/"+d.Path)) && other.Added == d.Added && other.Removed == d.Removed
			})
		})
		if !shown {
			e.Diffs = []diff{d}
		}
	}
	return e
}

// Added returns how many lines a call adds to files.
func (e *entry) Added() (n int) {
	for _, d := range e.Diffs {
		n += d.Added
	}
	return n
}

// Removed returns how many lines a call removes from files.
func (e *entry) Removed() (n int) {
	for _, d := range e.Diffs {
		n += d.Removed
	}
	return n
}

// callOf returns the last open call that a result belongs to, or -1. Some agents provide no ids.
func callOf(all []entry, id, tool string) int {
	for i := len(all) - 1; i >= 0; i-- {
		if e := &all[i]; e.Kind == "tool" && !e.Ended && (id != "" && e.id == id || id == "" && strings.HasPrefix(e.Title, tool+" ")) {
			return i
		}
	}
	return -1
}

// inLine returns a value in one line.
func inLine(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	return strings.Join(strings.Fields(workflow.FormatJSON(v)), " ")
}
