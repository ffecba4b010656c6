package fakemodel

import (
	"encoding/json"
	"fmt"
	"html"
	"strings"
)

// Step is what the model does at one of its turns.
type Step struct {
	Text   string `json:"text,omitempty"`
	JSON   any    `json:"json,omitempty"`   // an answer by schema: as text, or through the tool that accepts such answers
	Think  string `json:"think,omitempty"`  // thoughts before the text, if the API supports them
	Repeat int    `json:"repeat,omitempty"` // how often to repeat the text; {i} in it counts
	Pieces int    `json:"pieces,omitempty"` // size of streamed pieces; zero: words
	Delay  int    `json:"delay,omitempty"`  // milliseconds before each piece

	// A tool call. "$shell" is the program's shell tool, "$add" any tool whose name ends in
	// add, like the names of MCP tools.
	Tool  string         `json:"tool,omitempty"`
	Cmd   string         `json:"cmd,omitempty"` // for $shell, and for tools that take text
	Args  map[string]any `json:"args,omitempty"`
	Calls []Step         `json:"calls,omitempty"` // several at once

	// A failure. After a text it comes in the middle of the stream.
	Status     int               `json:"status,omitempty"`
	Message    string            `json:"message,omitempty"`
	RetryAfter int               `json:"retry_after,omitempty"` // seconds
	Headers    map[string]string `json:"headers,omitempty"`
	Hang       bool              `json:"hang,omitempty"` // send nothing more until the client gives up
	Drop       bool              `json:"drop,omitempty"` // break the connection in the middle of the answer

	Model     string `json:"model,omitempty"`      // the model that claims to answer; "": the requested one
	MaxTokens bool   `json:"max_tokens,omitempty"` // the answer ends because it is too long
	Usage     *Usage `json:"usage,omitempty"`      // zero: 1000 tokens in, 50 out
}

// Usage is the usage that the model reports for its turn. In does not include the cache.
type Usage struct {
	In         int64 `json:"in,omitempty"`
	Out        int64 `json:"out,omitempty"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
}

// script is what follows the mark in a prompt.
type script struct {
	Steps []Step `json:"steps"`
	Loop  bool   `json:"loop,omitempty"` // start again from the beginning, forever
}

const mark = `FAKE{`

// Prompt returns a script for a prompt. After its last step the model says "done".
func Prompt(steps ...Step) string { return write(script{Steps: steps}) }

// Forever returns a script that begins again after its last step.
func Forever(steps ...Step) string { return write(script{Steps: steps, Loop: true}) }

func write(s script) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("fakemodel: script: %v", err)) // the test is wrong
	}
	return "FAKE" + string(data)
}

// findScript parses the last script in a text.
func findScript(text string) (s script, found bool, err error) {
	at := strings.LastIndex(text, mark)
	if at < 0 {
		return s, false, nil
	}
	body := text[at+len(mark)-1:]
	if strings.HasPrefix(body, "{&") { // sent as data, inside a tag
		body = html.UnescapeString(body)
	}
	dec := json.NewDecoder(strings.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return s, true, fmt.Errorf("the script in the prompt cannot be read: %w", err)
	}
	return s, true, nil
}

// step returns the one for the model's n-th turn, from 0.
func (s script) step(n int) Step {
	switch {
	case n < len(s.Steps):
		return s.Steps[n]
	case s.Loop && len(s.Steps) > 0:
		return s.Steps[n%len(s.Steps)]
	}
	return Step{Text: "done"}
}
