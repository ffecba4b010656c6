package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
)

// requestJSON is a request in JSON, with the names of the protocol as keys.
type requestJSON struct {
	Version      string            `json:"version"`
	SessionID    string            `json:"session_id,omitempty"`
	ParentAgent  string            `json:"parent_agent,omitempty"`
	TargetAgent  string            `json:"target_agent,omitempty"`
	Priority     Priority          `json:"priority"`
	Estimate     string            `json:"estimated_duration,omitempty"`
	Timeout      string            `json:"timeout,omitempty"`
	MaxRetries   int               `json:"max_retries"`
	DependsOn    []string          `json:"depends_on,omitempty"`
	Notify       []string          `json:"notify_on_completion,omitempty"`
	Attributes   map[string]string `json:"attributes,omitempty"`
	Mode         Mode              `json:"mode"`
	Intent       string            `json:"original_intent"`
	Summary      string            `json:"current_task_summary"`
	Workflow     Method            `json:"workflow"`
	Details      string            `json:"task_details"`
	Constraints  []string          `json:"constraints"`
	Deliverables []deliverableJSON `json:"deliverables"`
	Notes        string            `json:"backlog_notes,omitempty"`
	Extensions   []extensionJSON   `json:"extensions,omitempty"`
	Namespaces   map[string]string `json:"namespaces,omitempty"`
}

type deliverableJSON struct {
	Kind     Kind   `json:"kind"`
	Path     string `json:"path,omitempty"`
	Required bool   `json:"required"`
	Text     string `json:"text"`
}

type extensionJSON struct {
	Name  string `json:"name"`
	Space string `json:"namespace"`
	XML   string `json:"xml"`
}

// MarshalJSON writes a request with the names of the protocol as keys.
func (q *Request) MarshalJSON() ([]byte, error) {
	out := requestJSON{
		q.Version, q.SessionID, q.ParentAgent, q.TargetAgent, q.Priority, FormatDuration(q.Estimate), FormatDuration(q.Timeout), q.MaxRetries,
		q.DependsOn, q.Notify, map[string]string{}, q.Mode, q.Intent, q.Summary, q.Workflow, q.Details,
		append([]string{}, q.Constraints...), []deliverableJSON{}, q.Notes, nil, q.Namespaces,
	}
	for _, d := range q.Deliverables {
		out.Deliverables = append(out.Deliverables, deliverableJSON{d.Kind, d.Path, d.Required, d.Text})
	}
	for _, e := range q.Extensions {
		out.Extensions = append(out.Extensions, extensionJSON(e))
	}
	for _, a := range q.Attributes {
		out.Attributes[a.Name] = a.Value
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes. The request has no XML.
func (q *Request) UnmarshalJSON(data []byte) error {
	var in requestJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*q = Request{
		Version: in.Version, SessionID: in.SessionID, ParentAgent: in.ParentAgent, TargetAgent: in.TargetAgent, Priority: in.Priority,
		MaxRetries: in.MaxRetries, DependsOn: in.DependsOn, Notify: in.Notify, Mode: in.Mode, Intent: in.Intent, Summary: in.Summary,
		Workflow: in.Workflow, Details: in.Details, Constraints: in.Constraints, Notes: in.Notes, Namespaces: in.Namespaces,
	}
	var ok, also bool
	if q.Estimate, ok = ParseDuration(in.Estimate); !ok && in.Estimate != "" {
		return fmt.Errorf("handoff: invalid estimated_duration %q", in.Estimate)
	}
	if q.Timeout, also = ParseDuration(in.Timeout); !also && in.Timeout != "" {
		return fmt.Errorf("handoff: invalid timeout %q", in.Timeout)
	}
	for _, d := range in.Deliverables {
		if why := badPath(d.Path, in.SessionID); d.Kind == File && why != "" {
			return fmt.Errorf("handoff: invalid deliverable path: %s", strings.TrimSpace(d.Path+" "+why))
		}
		q.Deliverables = append(q.Deliverables, Deliverable{Kind: d.Kind, Path: d.Path, Required: d.Required, Text: d.Text})
	}
	for _, e := range in.Extensions {
		q.Extensions = append(q.Extensions, Extension(e))
	}
	for _, name := range sorted.Keys(in.Attributes) {
		q.Attributes = append(q.Attributes, Attribute{name, in.Attributes[name]})
	}
	return nil
}

// SeedJSON writes a request in the format of the first draft of the protocol: with the texts as
// written, files as pairs, and non-ASCII characters escaped, like the Python program in that draft.
func (q *Request) SeedJSON() []byte {
	type deliverables struct {
		Files     [][2]string `json:"files"`
		Decisions []string    `json:"decisions"`
		Reports   []string    `json:"reports"`
	}
	out := struct {
		Mode         string       `json:"mode"`
		Intent       string       `json:"original_intent"`
		Summary      string       `json:"task_summary"`
		Workflow     string       `json:"workflow"`
		Details      string       `json:"task_details"`
		Constraints  []string     `json:"constraints"`
		Deliverables deliverables `json:"deliverables"`
		Notes        *string      `json:"backlog_notes"`
	}{Constraints: []string{}, Deliverables: deliverables{[][2]string{}, []string{}, []string{}}}
	texts := map[string]*string{
		"mode": &out.Mode, "original_intent": &out.Intent, "current_task_summary": &out.Summary,
		"workflow": &out.Workflow, "task_details": &out.Details,
	}
	for _, c := range q.root.children() {
		n := c.name()
		if n.Space != "" {
			continue
		}
		if to := texts[n.Local]; to != nil {
			*to = c.Chars()
		}
		if n.Local == "backlog_notes" {
			notes := c.Chars()
			out.Notes = &notes
		}
		for inner := range c.Children() {
			switch text := inner.Chars(); local(inner.Name()) {
			case "constraint":
				out.Constraints = append(out.Constraints, text)
			case "file":
				out.Deliverables.Files = append(out.Deliverables.Files, [2]string{inner.Attr("path").Value(), text})
			case "decision":
				out.Deliverables.Decisions = append(out.Deliverables.Decisions, text)
			case "report":
				out.Deliverables.Reports = append(out.Deliverables.Reports, text)
			}
		}
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(out) // texts can always be written
	return ascii(b.String())
}

// ascii escapes non-ASCII characters in a JSON text.
func ascii(text string) []byte {
	var b bytes.Buffer
	for _, r := range text {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}
