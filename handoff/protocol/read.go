package protocol

import (
	"bytes"
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/handoff/protocol/internal/xsd"
	"github.com/hocket-dev/hocket/internal/xmltext"
	"github.com/hocket-dev/hocket/workflow"
)

// element is an element of a request with the namespaces around it.
type element struct {
	xmltext.Element
	scope *xsd.Scope
}

// name resolves the name of the element. The elements of the protocol have no namespace here, even
// if the request uses it.
func (e element) name() xsd.Name {
	n := e.scope.Element(e.Element)
	if n.Space == Namespace {
		n.Space = ""
	}
	return n
}

func (e element) children() []element {
	var all []element
	for c := range e.Children() {
		all = append(all, element{c, e.scope.In(c)})
	}
	return all
}

// Options say how to read.
type Options struct {
	Lenient bool
	Schemas Schemas // of the project
}

// Handoffs is the content of a text.
type Handoffs struct {
	// Requests are the blocks without errors. They must not be used if Found has an error.
	Requests []*Request
	// Context is the text around the blocks. Without a block, it is the whole text, which is then the task.
	Context string
	// Blocks counts the requests in the text, valid or not.
	Blocks int
	Found  workflow.Diagnostics
}

// maxBlocks limits the size of a batch.
const maxBlocks = 1000

const root = "agent_request"

// Read reads the requests in a Markdown text or an XML document. The name of the file says
// which of the two it is, or else how the text begins. Positions are those in the text.
func Read(file string, text []byte, o Options) (*Handoffs, error) {
	h := &Handoffs{}
	r := &reader{file: file, Options: o, handoffs: h}
	bare := bytes.TrimPrefix(text, []byte("\uFEFF"))
	switch isXML := isXML(file, bare); {
	case !utf8.Valid(text) && !isXML:
		h.report(workflow.Errorf(workflow.Pos{File: file, Line: badLine(text), Column: 1}, CodeEncoding,
			"save the file as UTF-8", "the text is not valid UTF-8"))
	case isXML:
		h.Blocks = 1
		if err := r.request(text, xmltext.Start{}); err != nil {
			return nil, err
		}
	default:
		skipped := len(text) - len(bare)
		all := blocks(bare, isRequest)
		if len(all) == 0 && o.Lenient && bytes.Contains(bare, []byte("<"+root)) {
			h.Blocks = 1 // a model forgot the fence
			if err := r.request(text, xmltext.Start{}); err != nil {
				return nil, err
			}
			break
		}
		h.Blocks = len(all)
		if len(all) == 0 {
			r.none(bare)
		}
		if len(all) > maxBlocks {
			h.report(workflow.Errorf(workflow.Pos{File: file, Line: all[maxBlocks].start.Line}, CodeBlock,
				"move some of them to another file", "the file has more than %d requests", maxBlocks))
			break
		}
		h.Context = around(bare, all)
		for _, b := range all {
			if b.open {
				line := b.start.Line
				d := workflow.Errorf(workflow.Pos{File: file, Line: line, Column: 1}, CodeBlock,
					"write a line with the same characters after </"+root+">", "the fence in line %d is not closed", line)
				if o.Lenient {
					d.Severity, d.Code = workflow.Warning, CodeRepaired
				}
				if h.report(d); !o.Lenient {
					continue
				}
			}
			b.start.Offset += skipped
			if err := r.request(b.text, b.start); err != nil {
				return nil, err
			}
		}
		r.sessions()
	}
	h.Found = h.Found.Sort()
	return h, nil
}

func (h *Handoffs) report(found workflow.Diagnostic) { h.Found = append(h.Found, found) }

// isXML reports whether a text is an XML document, not Markdown.
func isXML(file string, text []byte) bool {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".xml":
		return true
	case ".md", ".markdown":
		return false
	}
	return bytes.HasPrefix(bytes.TrimSpace(text), []byte("<?xml")) || isRequest(string(text))
}

// isRequest reports whether a text begins with a request.
func isRequest(text string) bool { return local(xmltext.FirstName(text)) == root }

// badLine returns the first line that is not UTF-8.
func badLine(text []byte) int {
	line := 1
	for l := range bytes.Lines(text) {
		if !utf8.Valid(l) {
			break
		}
		line++
	}
	return line
}

// none warns that a text has no block.
func (r *reader) none(text []byte) {
	detail := "Proceeding with unstructured handoff (agent must parse prose)"
	if bytes.Contains(text, []byte("<"+root)) {
		detail = "write the request between the lines ```xml and ```. " + detail
	}
	r.handoffs.report(workflow.Warningf(workflow.Pos{File: r.file, Line: 1, Column: 1}, CodeBlock, detail,
		"No XML handoff block found in %s", filepath.Base(r.file)))
}

// reader reads the requests of one text.
type reader struct {
	Options
	file     string
	handoffs *Handoffs
}

// rules let the recovering reader distinguish the elements of a request from text.
var rules = xmltext.Rules{
	Known: func(name string) bool { return slices.Contains(elements, local(name)) || strings.Contains(name, ":") },
	Root:  func(name string) bool { return local(name) == root },
	Inside: func(parent xmltext.Element, name string) bool {
		if strings.Contains(name, ":") && local(name) != root {
			return true
		}
		in, ok := inside[local(name)]
		return ok && in == local(parent.Name())
	},
}

// inside maps each element to the element that contains it.
var inside = map[string]string{
	"mode": root, "original_intent": root, "current_task_summary": root, "workflow": root, "task_details": root,
	"constraints": root, "deliverables": root, "backlog_notes": root,
	"constraint": "constraints", "file": "deliverables", "decision": "deliverables", "report": "deliverables",
}

var elements = func() []string {
	all := []string{root}
	for name := range inside {
		all = append(all, name)
	}
	return all
}()

func local(name string) string {
	if _, local, ok := strings.Cut(name, ":"); ok {
		return local
	}
	return name
}

// request reads one block.
func (r *reader) request(text []byte, start xmltext.Start) error {
	rules := rules
	rules.Start = start
	doc := xmltext.Read(r.file, text, rules)
	if doc.Broken() && r.Lenient && !doc.HasDoctype() {
		doc = xmltext.Recover(r.file, text, rules)
	}
	if doc.Broken() || !doc.Root().Exists() {
		r.handoffs.Found = append(r.handoffs.Found, doc.Diagnostics()...)
		return nil
	}
	top := element{doc.Root(), (*xsd.Scope)(nil).In(doc.Root())}
	if err := r.validate(doc, top); err != nil {
		return err
	}
	var request *Request
	if !doc.Failed() {
		request = build(doc, top)
	}
	found := doc.Diagnostics()
	r.handoffs.Found = append(r.handoffs.Found, found...)
	if request != nil && !found.Errors() {
		r.handoffs.Requests = append(r.handoffs.Requests, request)
	}
	return nil
}

// validate checks a request against the schema of its version.
func (r *reader) validate(doc *xmltext.Document, top element) error {
	version := "1.0"
	if a := top.Attr("version"); a.Exists() {
		version = a.Value()
	}
	namespaced := top.scope.Element(top.Element).Space != ""
	schema, ok, err := r.Schemas.find(schemaFile(version, namespaced))
	if err != nil {
		return err
	}
	if !ok {
		doc.Report(workflow.Errorf(top.Attr("version").Pos(), CodeVersion, "Known versions: "+knownVersions(),
			"Unsupported XML handoff version: %s", version).Instead(top.Attr("version").Value(), versions[len(versions)-1]))
		return nil
	}
	violations := schema.Validate(top.Element, r.Lenient)
	elsewhere := map[string]bool{} // elements that are misspelt or in the wrong place
	for _, v := range violations {
		if v.Kind == xsd.Unexpected {
			elsewhere[cmp.Or(nearest(v.At), local(v.At.Name()))] = true
		}
	}
	for _, v := range violations {
		if v.Kind == xsd.Missing && len(v.Expected) > 0 && elsewhere[v.Expected[0]] {
			continue // one mistake, one error
		}
		doc.Report(explain(doc, v, r.Lenient))
	}
	return nil
}

// sessions checks the ids of several requests in one text.
func (r *reader) sessions() {
	seen := map[string]*Request{}
	for _, q := range r.handoffs.Requests {
		if q.SessionID == "" {
			continue
		}
		if first := seen[q.SessionID]; first != nil {
			r.handoffs.report(workflow.Errorf(q.root.Attr("session_id").Pos(), CodeSession,
				"give each request its own session_id, or none", "session %s is also used in line %d", q.SessionID, first.Pos.Line))
		}
		seen[q.SessionID] = q
	}
	if r.handoffs.Found.Errors() {
		return
	}
	if cycle := findCycle(r.handoffs.Requests); cycle != nil {
		r.handoffs.report(workflow.Errorf(seen[cycle[0]].root.Attr("depends_on").Pos(), CodeSession,
			"remove one of these dependencies", "sessions wait for each other: %s", strings.Join(append(cycle, cycle[0]), " → ")))
	}
}

// findCycle returns the ids of sessions that depend on each other.
func findCycle(all []*Request) []string {
	byID := map[string]*Request{}
	for _, q := range all {
		byID[q.SessionID] = q
	}
	done := map[string]bool{}
	var path []string
	var visit func(id string) []string
	visit = func(id string) []string {
		if i := slices.Index(path, id); i >= 0 {
			return slices.Clone(path[i:])
		}
		if done[id] || byID[id] == nil {
			return nil
		}
		path = append(path, id)
		defer func() { path = path[:len(path)-1] }()
		for _, next := range byID[id].DependsOn {
			if cycle := visit(next); cycle != nil {
				return cycle
			}
		}
		done[id] = true
		return nil
	}
	for _, q := range all {
		if q.SessionID != "" {
			if cycle := visit(q.SessionID); cycle != nil {
				return cycle
			}
		}
	}
	return nil
}
