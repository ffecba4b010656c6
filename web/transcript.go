package web

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// entry is something that an agent said or did, as a line that opens.
type entry struct {
	Kind   string // text, tool, file or truncated
	Title  string // of a tool: its name and the beginning of its arguments; of a file: what happened to it
	Text   string // what was said, or the arguments of a tool
	Result string
	Ended  bool // a tool has returned
	Failed bool

	id string
}

// entriesOf reads the lines of a transcript, whose format package agent defines. A result belongs to its call. cut means
// that the text begins somewhere in a line.
func entriesOf(text []byte, cut bool) []entry {
	var all []entry
	for line := range bytes.Lines(text) {
		var in struct {
			Type, ID, Tool, Text, Path, Change string
			Arguments                          any
			Error                              bool
		}
		if first := cut; first {
			cut = false
			continue
		}
		if json.Unmarshal(line, &in) != nil {
			continue // the last line, while it is written
		}
		switch in.Type {
		case "text":
			all = append(all, entry{Kind: "text", Text: readable([]byte(in.Text))})
		case "tool_call":
			args := plain(in.Arguments)
			all = append(all, entry{Kind: "tool", Title: in.Tool + " " + firstLine(inLine(in.Arguments)), Text: args, id: in.ID})
		case "tool_result":
			result := entry{Kind: "tool", Title: in.Tool, id: in.ID}
			at := callOf(all, in.ID, in.Tool)
			if at < 0 {
				all, at = append(all, result), len(all)
			}
			all[at].Result, all[at].Ended, all[at].Failed = readable([]byte(in.Text)), true, in.Error
		case "file_change":
			all = append(all, entry{Kind: "file", Title: in.Change + " " + in.Path})
		case "truncated":
			all = append(all, entry{Kind: "truncated", Title: "The rest was too long to keep."})
		}
	}
	return all
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
