package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/workflow"
)

// printEntries prints the lines of a transcript as JSON, with the address and attempt
// added.
func (a *app) printEntries(k logKey, lines []byte) error {
	for line := range bytes.Lines(lines) {
		var entry any = damagedEntry{k.address, k.attempt, string(line)}
		if line = bytes.TrimSpace(line); json.Valid(line) && line[0] == '{' {
			head := fmt.Appendf(nil, `{"address":%s,"attempt":%d,`, workflow.FormatJSON(k.address), k.attempt)
			entry = json.RawMessage(append(head, line[1:]...))
		}
		if err := a.printJSON(entry); err != nil {
			return err
		}
	}
	return nil
}

// damagedEntry is an incomplete line.
type damagedEntry struct {
	Address string `json:"address"`
	Attempt int    `json:"attempt"`
	Damaged string `json:"damaged"`
}

// transcriptText is a transcript for people.
func (a *app) transcriptText(lines []byte) string {
	var b strings.Builder
	for line := range bytes.Lines(lines) {
		e, err := agent.ParseEntry(line)
		if err != nil { // damaged, or written by a newer version
			b.WriteString(a.outText(string(line)))
			continue
		}
		b.WriteString(a.entryText(e))
	}
	return b.String()
}

// How much of a tool call and of its result is shown to people; --json prints all of it.
const (
	maxArguments   = 500 // characters
	maxResultLines = 20
)

func (a *app) entryText(e agent.Entry) string {
	style := a.outStyle
	switch e := e.(type) {
	case agent.AssistantText:
		return endLine(a.outText(e.Text)) + a.cutText(e.Cut)
	case agent.ToolCall:
		args := agent.OneLine(workflow.FormatText(e.Arguments), maxArguments)
		return style.Paint(view.Bold, "> "+view.Line(e.Tool)) + " " + view.Line(args) + "\n"
	case agent.ToolResult:
		lines := strings.Split(strings.TrimRight(a.outText(e.Text), "\n"), "\n")
		if more := len(lines) - maxResultLines; more > 0 {
			lines = append(lines[:maxResultLines], fmt.Sprintf("[%s more; --json prints them]", view.Count(more, "line")))
		}
		if e.Failed {
			lines[0] = style.Paint(view.Red, "failed:") + " " + lines[0]
		}
		return "  " + strings.Join(lines, "\n  ") + "\n" + a.cutText(e.Cut)
	case agent.FileChange:
		return style.Paint(view.Yellow, "* "+string(e.Change)) + " " + view.Line(e.Path) + "\n"
	case agent.Truncated:
	}
	return "[the transcript reached its size limit; the rest was not stored]\n"
}

func (a *app) cutText(missing int) string {
	if missing == 0 {
		return ""
	}
	return fmt.Sprintf("  [%d more bytes were not stored]\n", missing)
}
