package fakemodel

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Request is what a client requested, in any API.
type Request struct {
	API    string // anthropic, responses, chat, gemini; "" for other addresses
	Path   string // with its query
	Header http.Header
	Body   []byte
	Key    string // the client's credentials

	Model  string
	Stream bool
	System string
	Tools  []Tool
	Turns  int    // number of turns of the model
	Prompt string // the user's text that holds the script, otherwise the last one

	since int // turns since the prompt
	run   bool
	seen  map[string]bool
}

// Tool is a tool that the client offers to the model.
type Tool struct {
	Name   string
	Space  string // around the name, in Responses
	Schema map[string]any
	Plain  bool // takes text instead of arguments, in Responses
}

// Decode parses the body.
func (r *Request) Decode(into any) error { return json.Unmarshal(r.Body, into) }

// user notes a message of the user. Tool results do not count.
func (r *Request) user(text string) {
	r.run = false
	if strings.Contains(text, mark) || !strings.Contains(r.Prompt, mark) {
		r.Prompt, r.since = text, 0
	}
}

// result notes the result of a tool.
func (r *Request) result() { r.run = false }

// model notes a part of a turn of the model. Adjacent parts are one turn, and so are calls
// that came together: some clients put each result directly after its call.
func (r *Request) model(callID string) {
	turn, _, ours := strings.Cut(callID, "-")
	if ours && r.seen[turn] {
		r.run = true
		return
	}
	if ours {
		if r.seen == nil {
			r.seen = map[string]bool{}
		}
		r.seen[turn] = true
	}
	if !r.run {
		r.Turns++
		r.since++
	}
	r.run = true
}

// parts is a content that is text or a list of parts.
type parts []part

type part struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	ID        string `json:"id"`
	ToolUseID string `json:"tool_use_id"`
}

func (p *parts) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*p = parts{{Type: "text", Text: text}}
		return nil
	}
	return json.Unmarshal(data, (*[]part)(p))
}

// text returns all its text.
func (p parts) text() string {
	var all []string
	for _, part := range p {
		if part.Text != "" {
			all = append(all, part.Text)
		}
	}
	return strings.Join(all, "\n")
}
