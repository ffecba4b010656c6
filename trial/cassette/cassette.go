// Package cassette holds recordings of attempts and answers: what an executor or a person was asked, and what came
// back. A test plays them instead of agents, commands and people.
//
// A recording is made where an executor is called, not where it calls a model: so it is the same for models, CLI agents,
// tools, browsers and commands. It is found by the address of a step and the number of the attempt, and it is
// valid only for the same request. A file of recordings is untrusted: nothing in it can name a file outside the directory
// that it changes.
package cassette

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// Cassette is what was recorded in one run of a workflow.
type Cassette struct {
	Copied       bool // from a run that was no test; only the file says so
	Workflow     string
	Interactions []Interaction
	Bases        Bases // for messages; one that is missing is unknown
}

// Interaction is one attempt at a step, or one question to a person.
type Interaction struct {
	Address string
	Attempt int // from 1; of a question, how often the step has asked
	Request Request
	Reply   Reply
	Pos     workflow.Pos // in its file, if it was read from one
}

// Request is everything that the outcome of an attempt depends on, with placeholders for what differs from run to
// run.
type Request struct {
	Agent    string         `json:"agent,omitempty"`    // its name; "" for a question to a person
	Executor string         `json:"executor,omitempty"` // what does the work
	Model    string         `json:"model,omitempty"`    // that the definition names; "": none
	System   string         `json:"system,omitempty"`   // the system prompt of the agent
	Prompt   string         `json:"prompt,omitempty"`   // filled in; for a question, its text
	Settings map[string]any `json:"settings,omitempty"` // of the task and its agent
	Schema   any            `json:"schema,omitempty"`   // of the output; nil: none
	Tools    []string       `json:"tools,omitempty"`    // that the agent may use, and its servers
	Labels   []string       `json:"labels,omitempty"`   // that the answer has to name one of
	Base     string         `json:"base,omitempty"`     // digest of the files that the step's directory began with; "": unknown
}

// Reply is what came back.
type Reply struct {
	Output   string
	Decision string // what the step decided, for readers; "": nothing
	Usage    agent.Usage
	Took     time.Duration
	Error    *Failure // nil: it succeeded
	Files    []Change // that it changed, by path
}

// Failure is why an attempt failed.
type Failure struct {
	Kind       agent.Kind
	Message    string
	Permanent  bool
	RetryAfter time.Duration // for a quota
}

// Cancelled is the kind of a failure that was none: the attempt was cancelled, by a timeout for instance, and is again.
const Cancelled agent.Kind = "cancelled"

// Cancelled reports whether the attempt did not end by itself.
func (i *Interaction) Cancelled() bool {
	return i.Reply.Error != nil && i.Reply.Error.Kind == Cancelled
}

// Waited reports whether the attempt had to wait for a quota. Then it began again, and only what it left then counts.
func (i *Interaction) Waited() bool {
	return i.Reply.Error != nil && i.Reply.Error.Kind == agent.Quota && i.Reply.Error.RetryAfter > 0
}

// IsAnswer reports whether a person was asked, not an agent.
func (i *Interaction) IsAnswer() bool { return i.Request.Agent == "" }

// RequestOf returns the request of an attempt. prompted means that its prompt is all that it gets; base is the digest of
// the files that its directory began with.
func RequestOf(task *agent.Task, prompted bool, base string, p *Places) Request {
	d := task.Agent
	r := Request{
		Agent: d.Name, Executor: d.Agent, Model: d.Model, System: p.Hide(d.Prompt), Prompt: p.Hide(task.Prompt),
		Tools: toolsOf(task), Labels: slices.Clone(task.Decide), Base: base,
	}
	settings := map[string]any{}
	for key, value := range task.Settings {
		settings[key] = value
	}
	if len(d.Permissions) > 0 {
		settings["permissions"] = d.Permissions
	}
	if d.MaxTurns > 0 {
		settings["max_turns"] = d.MaxTurns
	}
	if inputs := map[string]any{}; !prompted && len(task.Inputs) > 0 {
		for _, in := range task.Inputs {
			inputs[in.Name] = in.Value
		}
		settings["inputs"] = inputs
	}
	if len(settings) > 0 {
		r.Settings, _ = p.hideValue(plain(settings)).(map[string]any)
	}
	if task.Output.Schema != nil {
		r.Schema = plain(task.Output.Schema)
	}
	return r
}

// toolsOf returns the tools of a project that a task may use, with what its model knows about them, and its servers.
func toolsOf(task *agent.Task) []string {
	tools := slices.Clone(task.Agent.Tools)
	for i, name := range tools {
		for _, t := range task.Tools {
			if t.Name == name {
				tools[i] = name + " " + digestOf(t.Description, plain(t.Input))
			}
		}
	}
	for _, server := range task.Agent.Servers {
		tools = append(tools, "mcp "+server)
	}
	return tools
}

// Asked returns the request of a question to a person.
func Asked(q *engine.Question, p *Places) Request {
	r := Request{Prompt: p.Hide(q.Text)}
	if q.Detail != "" {
		r.Prompt += "\n\n" + p.Hide(q.Detail)
	}
	for _, o := range q.Options {
		r.Labels = append(r.Labels, o.Value)
	}
	return r
}

// Digest returns the digest of a request. The base does not count if one of two requests does not know it.
func (r Request) Digest() string { return digestOf(r.fields()) }

// fields returns a request as it is stored, without the digest.
func (r Request) fields() map[string]any { return plain(r).(map[string]any) }

// A Difference is a part of a request that is not as it was recorded.
type Difference struct {
	What     string // such as "prompt"
	Was, Now string
}

// Differences compares a request with a recorded one.
func (r Request) Differences(now Request) []Difference {
	if r.Base == "" || now.Base == "" {
		r.Base, now.Base = "", ""
	}
	if r.Digest() == now.Digest() {
		return nil
	}
	was, is := r.fields(), now.fields()
	var all []Difference
	for _, key := range requestKeys {
		if a, b := textOf(was[key]), textOf(is[key]); a != b {
			all = append(all, Difference{key, a, b})
		}
	}
	return all
}

// textOf returns a part of a request as text.
func textOf(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case []any: // tools or labels
		lines := make([]string, len(v))
		for i := range v {
			lines[i] = fmt.Sprint(v[i])
		}
		return strings.Join(lines, "\n")
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false) // people read it
	if err := enc.Encode(value); err != nil {
		panic(fmt.Sprintf("cassette: %v", err)) // plain data can always be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func digestOf(parts ...any) string {
	h := sha256.New()
	for _, part := range parts {
		data, err := json.Marshal(part)
		if err != nil {
			panic(fmt.Sprintf("cassette: %v", err)) // plain data can always be encoded
		}
		fmt.Fprintf(h, "%d %s\n", len(data), data)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// plain returns a value as JSON reads it, so that it is the same after it was stored.
func plain(value any) any {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var same any
	if err := dec.Decode(&same); err != nil {
		return string(data)
	}
	return same
}

// Result returns a reply as its executor gave it.
func (r Reply) Result(now time.Time, p *Places) (agent.Result, error) {
	res := agent.Result{Usage: r.Usage}
	if f := r.Error; f != nil {
		e := &agent.Error{Kind: f.Kind, Message: p.Show(f.Message), Permanent: f.Permanent}
		if f.RetryAfter > 0 {
			e.Until = now.Add(f.RetryAfter)
		}
		return res, e
	}
	res.Output = p.Show(r.Output)
	return res, nil
}

// Sort orders the interactions by address and attempt. Those of the same attempt stay in their order: after a quota an
// attempt begins again.
func (c *Cassette) Sort() {
	sort.SliceStable(c.Interactions, func(i, j int) bool {
		a, b := &c.Interactions[i], &c.Interactions[j]
		if a.Address != b.Address {
			return a.Address < b.Address
		}
		return a.Attempt < b.Attempt
	})
}

// Text returns a reply as people compare it.
func (r Reply) Text() string {
	if r.Error != nil {
		return string(r.Error.Kind) + ": " + r.Error.Message
	}
	return r.Output
}
