package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/hocket-dev/hocket/agent"
)

// permissionRequest is what an agent asks before it does something.
type permissionRequest struct {
	Options  []option `json:"options"`
	ToolCall struct {
		toolUpdate
		Content []struct {
			Type    string `json:"type"`
			Path    string `json:"path"`
			NewText string `json:"newText"`
		} `json:"content"`
	} `json:"toolCall"`
}

// option is one of the possible answers. Ids and names differ between agents; the kind says
// what an option means.
type option struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

type permissionResponse struct {
	Outcome outcome `json:"outcome"`
}

type outcome struct {
	Outcome  string `json:"outcome"` // selected or cancelled
	OptionID string `json:"optionId,omitempty"`
}

// kinds are the meanings of options in plain words, in the order in which they are offered:
// the first one lets the agent continue.
var kinds = []struct{ kind, words string }{
	{string(acp.PermissionOptionKindAllowOnce), "allow once"},
	{string(acp.PermissionOptionKindAllowAlways), "allow always"},
	{string(acp.PermissionOptionKindRejectOnce), "reject"},
	{string(acp.PermissionOptionKindRejectAlways), "reject always"},
}

// permit decides by the permissions of the definition, and asks a person about the rest. If
// nobody is available, it refuses.
func (c *client) permit(ctx context.Context, p *permissionRequest) permissionResponse {
	c.mu.Lock()
	call := *c.tool(&p.ToolCall.toolUpdate, true)
	over := c.over
	c.mu.Unlock()
	if over {
		return permissionResponse{outcome{Outcome: "cancelled"}}
	}
	if c.named() {
		p.Options = once(p.Options)
	}
	words, byWords := offer(p.Options)
	if len(words) == 0 {
		return c.refuse(p, call)
	}
	w := c.wish(p, call)
	switch c.decide(w) {
	case agent.Allow:
		return permissionResponse{outcome{Outcome: "selected", OptionID: byWords[words[0]].ID}}
	case agent.Deny:
		c.note(fmt.Sprintf("not allowed by the permissions (%s): %s", w.power, agent.OneLine(detail(p, call), maxToolLine)))
		return c.refuse(p, call)
	case agent.AskFirst:
	}
	asking, done := context.WithCancel(c.ctx)
	defer done()
	defer context.AfterFunc(ctx, done)() // the agent may withdraw its question
	answer, err := c.task.Ask(asking, agent.Question{Text: c.question(p), Detail: detail(p, call), Options: words})
	chosen, known := byWords[answer]
	switch {
	case asking.Err() != nil:
		return permissionResponse{outcome{Outcome: "cancelled"}}
	case err != nil || !known:
		why := "not allowed"
		if errors.Is(err, agent.ErrNobody) {
			why = "not allowed, because nobody is available to ask"
		}
		c.mu.Lock()
		c.line(why + ": " + agent.OneLine(detail(p, call), maxToolLine))
		c.mu.Unlock()
		return c.refuse(p, call)
	case strings.HasPrefix(chosen.Kind, "reject"):
		c.noteRejected(call)
	}
	return permissionResponse{outcome{Outcome: "selected", OptionID: chosen.ID}}
}

// refuse selects an option that rejects. If the agent offers none, it reports that the turn
// is cancelled.
func (c *client) refuse(p *permissionRequest, call toolCall) permissionResponse {
	c.noteRejected(call)
	for _, kind := range []acp.PermissionOptionKind{acp.PermissionOptionKindRejectOnce, acp.PermissionOptionKindRejectAlways} {
		if i := slices.IndexFunc(p.Options, func(o option) bool { return o.Kind == string(kind) }); i >= 0 {
			return permissionResponse{outcome{Outcome: "selected", OptionID: p.Options[i].ID}}
		}
	}
	return permissionResponse{outcome{Outcome: "cancelled"}}
}

func (c *client) noteRejected(call toolCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rejected = call.input; c.rejected == "" {
		c.rejected = call.title
	}
}

// offer describes the options in plain words. If several are of the same kind, the agent's
// own names distinguish them. If none allows the request, there is nothing to ask.
func offer(options []option) (words []string, byWords map[string]option) {
	byWords = map[string]option{}
	for _, kind := range kinds {
		var same []option
		for _, o := range options {
			if o.Kind == kind.kind {
				same = append(same, o)
			}
		}
		for i, o := range same {
			text := kind.words
			if len(same) > 1 {
				text = fmt.Sprintf("%s: %s", text, agent.OneLine(o.Name, 60))
			}
			if _, taken := byWords[text]; taken {
				text = fmt.Sprintf("%s (%d)", text, i+1)
			}
			words, byWords[text] = append(words, text), o
		}
	}
	if len(words) == 0 || !strings.HasPrefix(words[0], "allow") {
		return nil, nil
	}
	return words, byWords
}

// questions describe what agents want to do, by the tool kinds of the protocol.
var questions = map[string]string{
	"execute":     "run this command",
	"edit":        "change this file",
	"delete":      "delete this",
	"move":        "move this",
	"read":        "read this",
	"search":      "search here",
	"fetch":       "fetch this address",
	"switch_mode": "work in another mode",
}

func (c *client) question(p *permissionRequest) string {
	what, known := questions[p.ToolCall.Tool]
	if !known {
		what = "use this tool"
	}
	return fmt.Sprintf("May %s %s?", c.start.Manifest.Name, what)
}

// detail returns everything that the agent wants to do, unchanged: the command, otherwise
// its description, the files, what it would write and the tool's input. Nothing is cut,
// because a person decides about it.
func detail(p *permissionRequest, call toolCall) string {
	lines := []string{call.title}
	if call.input != "" && json.Valid([]byte(call.input)) || call.title == "" {
		lines = append(lines, call.input)
	} else if call.input != "" {
		lines = []string{call.input} // a command
	}
	for _, l := range p.ToolCall.Locations {
		if p.ToolCall.Tool != "execute" {
			lines = append(lines, l.Path)
		}
	}
	for _, content := range p.ToolCall.Content {
		if content.Type == "diff" {
			lines = append(lines, content.Path+":", content.NewText)
		}
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" })
	return strings.Join(slices.Compact(lines), "\n")
}
