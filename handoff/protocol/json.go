package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// MarshalJSON writes a request with the names of the protocol.
func (q *Request) MarshalJSON() ([]byte, error) {
	type deliverable struct {
		Kind     Kind   `json:"kind"`
		Path     string `json:"path,omitempty"`
		Required bool   `json:"required"`
		Text     string `json:"text"`
	}
	deliverables := []deliverable{}
	for _, d := range q.Deliverables {
		deliverables = append(deliverables, deliverable{d.Kind, d.Path, d.Required, d.Text})
	}
	type extension struct {
		Name  string `json:"name"`
		Space string `json:"namespace"`
		XML   string `json:"xml"`
	}
	var extensions []extension
	for _, e := range q.Extensions {
		extensions = append(extensions, extension(e))
	}
	attributes := map[string]string{}
	for _, a := range q.Attributes {
		attributes[a.Name] = a.Value
	}
	duration := func(name string) string {
		if a := q.root.Attr(name); a.Exists() {
			return strings.TrimSpace(a.Value())
		}
		return ""
	}
	return json.Marshal(struct {
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
		Deliverables []deliverable     `json:"deliverables"`
		Notes        string            `json:"backlog_notes,omitempty"`
		Extensions   []extension       `json:"extensions,omitempty"`
	}{
		q.Version, q.SessionID, q.ParentAgent, q.TargetAgent, q.Priority, duration("estimated_duration"), duration("timeout"), q.MaxRetries,
		q.DependsOn, q.Notify, attributes, q.Mode, q.Intent, q.Summary, q.Workflow, q.Details,
		append([]string{}, q.Constraints...), deliverables, q.Notes, extensions,
	})
}

// SeedJSON writes a request in the shape of the protocol's first description: with its
// texts as written, pairs for files, and everything that is not ASCII escaped, like the
// Python program there.
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

// ascii escapes what is not ASCII in a JSON text.
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
