package protocol

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/internal/xmltext"
	"github.com/hocket-dev/hocket/workflow"
)

// build converts a valid document to a request, and checks what a schema cannot express.
func build(doc *xmltext.Document, top element) *Request {
	q := &Request{
		Version: "1.0", Priority: Medium, Pos: top.Pos(), root: top,
		XML: doc.Text()[top.Span().From:top.Span().To],
	}
	b := &builder{doc: doc, Request: q, paths: map[string]bool{}}
	for a := range top.Attrs() {
		b.attribute(a)
	}
	for _, c := range top.children() {
		b.child(c)
	}
	b.check()
	return q
}

type builder struct {
	*Request
	doc     *xmltext.Document
	summary xmltext.Element
	paths   map[string]bool
}

func (b *builder) attribute(a xmltext.Attr) {
	value := strings.TrimSpace(a.Value())
	switch a.Name() {
	case "version":
		b.Version = value
	case "session_id":
		b.SessionID = value
		if why := ambiguous(value); why != "" && sessionID().MatchString(value) {
			b.doc.Report(workflow.Errorf(a.Pos(), CodeSession, "choose another one", "invalid session id %q: its directory %s", value, why))
		} else if value != "" && !sessionID().MatchString(value) {
			b.doc.Report(workflow.Errorf(a.Pos(), CodeSession, "use 1 to 100 letters, digits, dots, dashes and underscores, and begin with a letter or digit",
				"invalid session id %q", value))
		}
	case "parent_agent":
		b.ParentAgent = value
	case "target_agent":
		b.TargetAgent = value
	case "priority":
		b.Priority = Priority(strings.ToLower(value))
		if !slices.Contains(priorities, string(b.Priority)) {
			b.doc.Report(workflow.Warningf(a.Pos(), CodeValue, "Allowed values: "+strings.Join(priorities, ", "), "Attribute 'priority': '%s' is not valid; using medium", value).Near(value, priorities))
			b.Priority = Medium
		}
	case "estimated_duration":
		b.Estimate = b.duration(a, workflow.Warning)
	case "timeout":
		b.Timeout = b.duration(a, workflow.Error)
	case "max_retries":
		n, err := strconv.Atoi(value)
		if b.MaxRetries = n; err != nil || n < 0 || n > MaxRetries {
			b.doc.Report(workflow.Errorf(a.Pos(), CodeValue, fmt.Sprintf("write a number from 0 to %d", MaxRetries), "Attribute 'max_retries': '%s' is not valid", value))
		}
	case "depends_on":
		b.DependsOn = list(value)
		if own := b.doc.Root().Attr("session_id"); own.Exists() && slices.Contains(b.DependsOn, own.Value()) {
			b.doc.Report(workflow.Errorf(a.Pos(), CodeSession, "remove this id", "the session depends on itself"))
		}
	case "notify_on_completion":
		b.Notify = list(value)
	default:
		prefix, declares := strings.CutPrefix(a.Name(), "xmlns:")
		switch {
		case declares && b.Namespaces == nil:
			b.Namespaces = map[string]string{prefix: a.Value()}
		case declares:
			b.Namespaces[prefix] = a.Value()
		case a.Name() != "xmlns":
			b.Attributes = append(b.Attributes, Attribute{a.Name(), a.Value()})
			if meant := workflow.Meant(a.Name(), attributes); meant != "" && !b.doc.Root().Attr(meant).Exists() {
				b.doc.Report(workflow.Warningf(a.NamePos(), CodeAttribute, "", "unknown attribute %q has no effect", a.Name()).Near(a.Name(), []string{meant}))
			}
		}
	}
}

// attributes are the attributes of a request.
var attributes = []string{"version", "session_id", "parent_agent", "target_agent", "priority", "estimated_duration", "timeout", "max_retries", "depends_on", "notify_on_completion", "detach"}

// MaxRetries is the largest allowed value of max_retries.
const MaxRetries = 100

var (
	priorities = []string{string(High), string(Medium), string(Low)}
	sessionID  = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
)

// list splits a list of names.
func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })
}

// duration reads a duration such as 1h30m.
func (b *builder) duration(a xmltext.Attr, severity workflow.Severity) time.Duration {
	value := strings.TrimSpace(a.Value())
	sum, ok := ParseDuration(value)
	if !ok {
		d := workflow.Errorf(a.Pos(), CodeValue, "write a duration such as 90s, 10m or 1h30m, of at most 366 days", "Attribute '%s': '%s' is not valid", a.Name(), value)
		d.Severity = severity
		b.doc.Report(d)
	}
	return sum
}

func (b *builder) child(c element) {
	n := c.name()
	if n.Space != "" {
		b.Extensions = append(b.Extensions, Extension{Name: c.Name(), Space: n.Space, XML: b.doc.Text()[c.Span().From:c.Span().To]})
		return
	}
	switch n.Local {
	case "mode":
		b.Mode = Mode(strings.ToLower(c.Text()))
	case "original_intent":
		b.Intent = c.Text()
	case "current_task_summary":
		b.Summary, b.summary = c.Text(), c.Element
	case "workflow":
		b.Workflow = method(c.Text())
	case "task_details":
		b.Details = c.Text()
	case "constraints":
		for constraint := range c.Children() {
			b.Constraints = append(b.Constraints, constraint.Text())
		}
	case "deliverables":
		for d := range c.Children() {
			b.deliverable(d)
		}
	case "backlog_notes":
		b.Notes = c.Text()
	}
}

func method(text string) Method {
	for _, m := range []Method{Spike, TDD, Standard, None} {
		if strings.EqualFold(string(m), text) {
			return m
		}
	}
	return Method(text)
}

func (b *builder) deliverable(e xmltext.Element) {
	d := Deliverable{Kind: Kind(local(e.Name())), Text: e.Text(), Required: true, Pos: e.Pos()}
	if d.Kind == File {
		pos := e.Pos() // the schema of a project may allow a file without a path
		at := e.Attr("path")
		if at.Exists() {
			pos = at.Pos()
		}
		d.Path = strings.TrimSpace(at.Value())
		required := strings.TrimSpace(e.Attr("required").Value())
		d.Required = required != "false" && required != "0"
		if why := badPath(d.Path, b.SessionID); why != "" {
			b.doc.Report(workflow.Errorf(pos, CodePath, "write the path of a file in the project, relative to its root", "Invalid deliverable path: %s", strings.TrimSpace(d.Path+" "+why)))
		}
		if b.paths[d.Path] {
			b.doc.Report(workflow.Warningf(pos, CodePath, "describe the file once", "%s is listed twice as a deliverable", d.Path))
		}
		b.paths[d.Path] = true
	}
	b.Deliverables = append(b.Deliverables, d)
}

// reserved are folders that must not contain deliverables, because programs run or trust the files
// in them.
var reserved = []string{".git", ".hocket", ".glee", ".claude"}

// settings are settings files of CLI agents.
var settings = []string{".mcp.json", "opencode.json"}

// drive is the beginning of a Windows path.
var drive = lazy.Regexp(`^[A-Za-z]:`)

// badPath says why a path is not allowed for a deliverable of a session; "" if it is. The session
// id is filled in first, because a session named git would turn .{session-id} into .git. A
// generated id begins with the time, so it is harmless.
func badPath(file, session string) string {
	clean := path.Clean(strings.ReplaceAll(file, sessionPlaceholder, cmp.Or(session, "2")))
	switch {
	case file == "":
		return "is missing"
	case strings.ContainsAny(file, "\x00\\"):
		return "contains a backslash or a zero byte"
	case path.IsAbs(file) || drive().MatchString(file):
		return "is absolute"
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return "is outside the project"
	case clean == ".":
		return "is the project itself"
	case strings.HasSuffix(file, "/"):
		return "is a folder"
	}
	for _, part := range strings.Split(clean, "/") {
		if slices.ContainsFunc(reserved, func(name string) bool { return strings.EqualFold(name, part) }) {
			return "is in " + part
		}
		if slices.ContainsFunc(settings, func(name string) bool { return strings.EqualFold(name, part) }) {
			return "is a settings file of CLI agents"
		}
		if why := ambiguous(part); why != "" {
			return why
		}
	}
	return ""
}

// shortName matches the short names that Windows creates for long ones: git~1 is .git.
var shortName = lazy.Regexp(`^[^.~]{1,6}~[0-9]+(?:\.[^.]{0,3})?$`)

// device matches names that are devices on Windows, in every folder and with any extension.
var device = lazy.Regexp(`(?i)^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:\..*)?$`)

// ambiguous says why a name refers to another file on some systems; "" if it does not. It applies
// on every system, because a project may be cloned elsewhere.
func ambiguous(name string) string {
	switch {
	case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " "):
		return "has a name that ends with a dot or space, which Windows ignores"
	case strings.Contains(name, ":"):
		return "has a name with a colon, which on Windows means a stream of another file"
	case device().MatchString(name):
		return "has a name that is a device on Windows"
	case shortName().MatchString(name):
		return "has a name that Windows may use for another file"
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf) }):
		return "has a name with invisible characters, some of which macOS ignores"
	}
	return ""
}

// check checks the request as a whole.
func (b *builder) check() {
	if n := utf8.RuneCountInString(b.Summary); b.summary.Exists() && (n < 10 || n > 500) {
		b.doc.Report(workflow.Warningf(b.summary.Pos(), CodeValue, "describe the task in one or two sentences, with 10 to 500 characters", "the summary has %d characters", n))
	}
}
