package xml

import (
	"slices"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/internal/xmltext"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// Parse parses a workflow. The diagnostics contain every mistake in the file. The workflow is nil
// if nothing could be parsed, and must not be run if one of the diagnostics is an error.
func Parse(file string, text []byte) (*workflow.Workflow, workflow.Diagnostics) {
	doc := xmltext.Read(file, text, rules)
	if doc.Broken() {
		return nil, doc.Diagnostics()
	}
	r := &reader{doc: doc, file: file}
	if root := doc.Root(); !isRoot(root.Name()) {
		r.wrongRoot(root)
		return nil, doc.Diagnostics()
	}
	w := r.workflow()
	return w, r.diagnostics()
}

// Recover parses the answer of a language model, complete or still being written. It returns the
// workflow so far, which is never nil, and warnings for what was repaired. What cannot be
// repaired is an error. A longer text has all the steps of a shorter one.
func Recover(file string, text []byte) (*workflow.Workflow, workflow.Diagnostics) {
	doc := xmltext.Recover(file, text, rules)
	r := &reader{doc: doc, file: file, lenient: true}
	if !doc.Root().Exists() {
		return &workflow.Workflow{Name: yaml.NameOf(file)}, doc.Diagnostics()
	}
	w := r.workflow()
	return w, r.diagnostics()
}

// Span is where a workflow is in a text.
type Span struct {
	From, To int
	Closed   bool // it ends with the end tag of its root
}

// maxSpans is how many workflows are looked for in an answer, which should have one.
const maxSpans = 4

// Spans finds the workflows in the answer of a language model. A workflow that is not closed extends
// to the end of the text.
func Spans(text []byte) []Span {
	var all []Span
	for at := 0; at < len(text) && len(all) < maxSpans; {
		doc := xmltext.Recover("", text[at:], rules)
		root := doc.Root()
		if !root.Exists() {
			break
		}
		s := root.Span()
		closed := root.Inner().To < s.To
		if root.First().Exists() {
			all = append(all, Span{at + s.From, min(at+s.To, len(text)), closed})
		}
		if !closed || s.To == 0 {
			break
		}
		at += s.To
	}
	return all
}

var rules = xmltext.Rules{Known: isElement, Root: isRoot, Inside: inside}

// Like reports whether a text looks like a workflow in XML, even if its root is misspelt.
func Like(text []byte) bool {
	name := xmltext.FirstName(string(text[:min(len(text), 4096)]))
	return isRoot(name) || workflow.Nearest(name, roots) == "workflow"
}

// reader reads one document.
type reader struct {
	doc     *xmltext.Document
	file    string
	lenient bool // repair what can be repaired
	onError workflow.OnError
	steps   []step
	byID    map[string]int32
	tests   map[int32]test       // the tests of loops
	yaml    *strictyaml.Document // of the keys; nil if there are none so far
	parts   parts                // of the current step
	spare   []target             // memory for lists
	seen    map[string]int       // names in the list of one step, if it is long
	seenOf  int32

	w         *workflow.Workflow // with its head, while the steps are read
	handovers map[xmltext.Element]*handover
}

func (r *reader) wrongRoot(root xmltext.Element) {
	detail := workflow.DidYouMean(root.Name(), roots)
	if detail == "" {
		detail = `begin with <workflow name="…">`
	}
	d := workflow.Errorf(root.Pos(), codeElement, detail, "<%s> is not a workflow", root.Name())
	if name := workflow.Meant(root.Name(), roots); name != "" {
		d.Fix = &workflow.Fix{Edits: root.Rename(name)}
	}
	r.report(d)
}

// words returns the document that holds the keys of the file for the parser of YAML.
func (r *reader) words() *strictyaml.Document {
	if r.yaml == nil {
		r.yaml = strictyaml.Compose(r.file)
	}
	return r.yaml
}

func (r *reader) diagnostics() workflow.Diagnostics {
	if r.yaml == nil {
		return r.doc.Diagnostics()
	}
	return slices.Concat(r.doc.Diagnostics(), r.yaml.Diagnostics()).Sort()
}

// repairable are the mistakes that a lenient reader ignores.
var repairable = []string{codeElement, codeAttribute, codeText, codeTwice}

func (r *reader) report(d workflow.Diagnostic) {
	if r.lenient && slices.Contains(repairable, d.Code) {
		d.Severity = workflow.Warning
	}
	r.doc.Report(d)
}

func (r *reader) errorf(e xmltext.Element, code, detail, summary string, args ...any) {
	r.report(workflow.Errorf(e.Pos(), code, detail, summary, args...))
}

// workflow reads the document.
func (r *reader) workflow() *workflow.Workflow {
	root := r.doc.Root()
	r.checkShape(root, rootShape)
	w := &workflow.Workflow{Name: yaml.NameOf(r.file), Pos: root.Pos()}
	r.w = w
	r.head(root, w)
	r.block(root, &w.Body, -1)
	r.nameSteps()
	r.link(w)
	expr.Resolve(w, expr.Mixed, ids(&w.Body))
	return w
}

func ids(g *workflow.Graph) []string {
	list := make([]string, len(g.Nodes))
	for i := range g.Nodes {
		list[i] = g.Nodes[i].ID
	}
	return list
}
