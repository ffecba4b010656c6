package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/internal/xmltext"
)

// Format writes requests and the text around them as a Markdown file. It reads the file back to
// make sure that nothing changed.
func Format(context string, requests []*Request, schemas Schemas) ([]byte, error) {
	var blocks strings.Builder
	for i, q := range requests {
		if i > 0 {
			blocks.WriteByte('\n')
		}
		xml := q.Format()
		marks := "```"
		for strings.Contains(xml, marks) {
			marks += "`"
		}
		blocks.WriteString(marks + "xml\n" + xml + "\n" + marks + "\n")
	}
	want, err := json.Marshal(requests)
	if err != nil {
		return nil, fmt.Errorf("handoff: %w", err)
	}
	// If the text leaves a fence or a comment open, it comes last.
	for _, text := range []string{strings.TrimSpace(context + "\n\n" + blocks.String()), blocks.String() + "\n" + context} {
		text = strings.TrimSpace(text) + "\n"
		again, err := Read("handoff.md", []byte(text), Options{Schemas: schemas})
		if err != nil {
			return nil, err
		}
		got, err := json.Marshal(append([]*Request{}, again.Requests...))
		if err != nil {
			return nil, fmt.Errorf("handoff: %w", err)
		}
		if !again.Found.Errors() && bytes.Equal(got, want) && again.Context == strings.TrimSpace(context) {
			return []byte(text), nil
		}
	}
	return nil, errors.New("handoff: cannot write the requests: they do not follow the schema, or contain characters that XML does not allow")
}

// Format writes a request as XML. It does not check it.
func (q *Request) Format() string {
	w := &writer{}
	w.WriteString("<" + root)
	for _, prefix := range sorted.Keys(q.Namespaces) {
		w.attribute("xmlns:"+prefix, q.Namespaces[prefix])
	}
	priority, retries := string(q.Priority), strconv.Itoa(q.MaxRetries)
	if q.Priority == Medium {
		priority = ""
	}
	if q.MaxRetries == 0 {
		retries = ""
	}
	for _, a := range []Attribute{
		{"version", q.Version}, {"session_id", q.SessionID}, {"parent_agent", q.ParentAgent}, {"target_agent", q.TargetAgent},
		{"priority", priority}, {"estimated_duration", FormatDuration(q.Estimate)}, {"timeout", FormatDuration(q.Timeout)},
		{"max_retries", retries}, {"depends_on", strings.Join(q.DependsOn, ",")}, {"notify_on_completion", strings.Join(q.Notify, ",")},
	} {
		if a.Value != "" {
			w.attribute(a.Name, a.Value)
		}
	}
	for _, a := range q.Attributes {
		w.attribute(a.Name, a.Value)
	}
	w.WriteString(">\n")
	w.element("  ", "mode", string(q.Mode))
	w.element("  ", "original_intent", q.Intent)
	w.element("  ", "current_task_summary", q.Summary)
	w.element("  ", "workflow", string(q.Workflow))
	w.element("  ", "task_details", q.Details)
	if len(q.Constraints) > 0 {
		w.WriteString("  <constraints>\n")
		for _, c := range q.Constraints {
			w.element("    ", "constraint", c)
		}
		w.WriteString("  </constraints>\n")
	}
	w.WriteString("  <deliverables>\n")
	for _, d := range q.Deliverables {
		var attributes []Attribute
		if d.Kind == File {
			attributes = append(attributes, Attribute{"path", d.Path})
			if !d.Required {
				attributes = append(attributes, Attribute{"required", "false"})
			}
		}
		w.element("    ", string(d.Kind), d.Text, attributes...)
	}
	w.WriteString("  </deliverables>\n")
	if q.Notes != "" {
		w.element("  ", "backlog_notes", q.Notes)
	}
	for _, e := range q.Extensions {
		w.WriteString("  " + e.XML + "\n")
	}
	w.WriteString("</" + root + ">")
	return w.String()
}

// NewExtension returns an element that contains a text and declares its own prefix.
func NewExtension(prefix, name, space, text string, attributes ...Attribute) Extension {
	w := &writer{}
	full := prefix + ":" + name
	w.element("", full, text, append([]Attribute{{"xmlns:" + prefix, space}}, attributes...)...)
	return Extension{Name: full, Space: space, XML: strings.TrimSuffix(w.String(), "\n")}
}

// IsText reports whether a text is valid in an element: it is not blank, and XML allows its
// characters.
func IsText(text string) bool { return strings.TrimSpace(text) != "" && xmltext.CanHold(text) }

type writer struct{ strings.Builder }

// inAttribute escapes a text in an attribute, where line breaks would become spaces.
var inAttribute = strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;", "\n", "&#10;", "\t", "&#9;", "\r", "&#13;")

func (w *writer) attribute(name, value string) {
	w.WriteString(" " + name + `="` + inAttribute.Replace(value) + `"`)
}

var (
	inLine  = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	inCDATA = strings.NewReplacer("]]>", "]]]]><![CDATA[>", "\r", "]]>&#13;<![CDATA[")
)

// blankLine is a line with nothing but white space.
var blankLine = lazy.Regexp(`(?m)^[ \t]+$`)

// element writes an element on separate lines. A text with several lines is indented, because
// readers remove the indentation. A text whose layout would change is written as a CDATA section.
func (w *writer) element(indent, name, text string, attributes ...Attribute) {
	w.WriteString(indent + "<" + name)
	for _, a := range attributes {
		w.attribute(a.Name, a.Value)
	}
	inner := inLine.Replace(text)
	switch lines := strings.Split(inner, "\n"); {
	case text != strings.TrimSpace(text) || strings.Contains(text, "\r") || blankLine().MatchString(text):
		inner = "<![CDATA[" + inCDATA.Replace(text) + "]]>"
	case len(lines) > 1:
		inner = "\n"
		for _, l := range lines {
			if l != "" {
				l = indent + "  " + l
			}
			inner += l + "\n"
		}
		inner += indent
	}
	w.WriteString(">" + inner + "</" + name + ">\n")
}
