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
	JSON   any    `json:"json,omitempty"`   // an answer by schema: as text, or through the tool that takes such answers
	Think  string `json:"think,omitempty"`  // said before the text, where the API has a place for it
	Repeat int    `json:"repeat,omitempty"` // the text so many times over; {i} in it counts them
	Pieces int    `json:"pieces,omitempty"` // of a streamed text; zero: by words
	Delay  int    `json:"delay,omitempty"`  // milliseconds before each piece

	// A call of a tool. "$shell" is whatever the program calls its shell, "$add"
	// any tool whose name ends in add, as the names of MCP tools do.
	Tool  string         `json:"tool,omitempty"`
	Cmd   string         `json:"cmd,omitempty"` // for $shell, and for tools that take text
	Args  map[string]any `json:"args,omitempty"`
	Calls []Step         `json:"calls,omitempty"` // several at once

	// A failure. After a text it comes in the middle of the stream.
	Status     int               `json:"status,omitempty"`
	Message    string            `json:"message,omitempty"`
	RetryAfter int               `json:"retry_after,omitempty"` // seconds
	Headers    map[string]string `json:"headers,omitempty"`
	Hang       bool              `json:"hang,omitempty"` // nothing more comes until the client gives up
	Drop       bool              `json:"drop,omitempty"` // the connection breaks in the middle of the answer

	Model     string `json:"model,omitempty"`      // that says it answers; "": the one that was asked for
	MaxTokens bool   `json:"max_tokens,omitempty"` // the answer ends there because it is too long
	Usage     *Usage `json:"usage,omitempty"`      // zero: 1000 tokens in, 50 out
}

// Usage is what the model says that its turn used. In does not count the cache.
type Usage struct {
	In         int64 `json:"in,omitempty"`
	Out        int64 `json:"out,omitempty"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
}

// script is what stands behind the mark in a prompt.
type script struct {
	Steps []Step `json:"steps"`
	Loop  bool   `json:"loop,omitempty"` // from the start again, for ever
}

const mark = `FAKE{`

// Prompt is a script for a prompt. After its last step the model says "done".
func Prompt(steps ...Step) string { return write(script{Steps: steps}) }

// Forever is a script that begins again after its last step.
func Forever(steps ...Step) string { return write(script{Steps: steps, Loop: true}) }

func write(s script) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("fakemodel: script: %v", err)) // the test is wrong
	}
	return "FAKE" + string(data)
}

// findScript reads the last script in a text.
func findScript(text string) (s script, found bool, err error) {
	at := strings.LastIndex(text, mark)
	if at < 0 {
		return s, false, nil
	}
	body := text[at+len(mark)-1:]
	if strings.HasPrefix(body, "{&") { // told as data, inside of a tag
		body = html.UnescapeString(body)
	}
	dec := json.NewDecoder(strings.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return s, true, fmt.Errorf("the script in the prompt cannot be read: %w", err)
	}
	return s, true, nil
}

// step is the one for the model's n-th turn, from 0.
func (s script) step(n int) Step {
	switch {
	case n < len(s.Steps):
		return s.Steps[n]
	case s.Loop && len(s.Steps) > 0:
		return s.Steps[n%len(s.Steps)]
	}
	return Step{Text: "done"}
}
