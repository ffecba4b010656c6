package markdown

import (
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// head is what a file sets for all its nodes.
type head struct {
	unnamed bool // the workflow has no name, so its title or file name is used
	onError workflow.OnError
	retry   workflow.Retry
	max     int // iterations of the loops drawn by arrows
	entry   target
	handler target // where every failure without its own arrow leads
}

// target is the name of a node, with its position; "" if none is written.
type target struct {
	name string
	pos  workflow.Pos
}

// readHead reads the front matter of the file. Its version, and its id if it also has a name, are
// only for people.
func (r *reader) readHead() {
	doc := r.nothing
	if r.doc != nil && r.doc.front.exists() {
		doc = r.matter(r.doc.front)
	}
	m := doc.Root().Map()
	m.Get("$schema")
	name, id := m.Get("name"), m.Get("id")
	m.Get("version")
	r.w.Name = name.Name()
	r.w.Pos = doc.Start()
	switch {
	case name.Exists():
		r.w.Pos = name.Pos()
	case id.Exists():
		r.w.Name, r.w.Pos = id.Name(), id.Pos()
	default:
		r.head.unnamed = true
	}
	yaml.ReadHead(m, r.w)
	r.readConfig(m)
	r.readFailure(m)
	if n := m.Get("entrypoint"); n.Exists() {
		r.head.entry = target{n.Name(), n.Pos()}
	}
	m.Refuse("steps", codeKey, "draw them in the flowchart", "in this notation, steps are drawn")
	m.Done()
	r.collect(doc)
}

// defaultName returns the title of the file, otherwise its name. A heading in a prompt is not a
// title.
func (r *reader) defaultName() string {
	if r.doc == nil {
		return orElse(r.chart.Title, yaml.NameOf(r.file))
	}
	within := 0
	for _, h := range r.doc.headings {
		for within < len(r.sections) && r.sections[within].whole.To <= h.line.From {
			within++
		}
		if inSection := within < len(r.sections) && r.sections[within].whole.From < h.line.From; h.level == 1 && h.title.From < h.title.To && !inSection {
			return r.doc.title(h)
		}
	}
	return yaml.NameOf(r.file)
}

// readConfig reads the limits of the workflow.
func (r *reader) readConfig(m *strictyaml.Map) {
	config := m.Get("config").Map()
	r.head.max = config.Int("maxIterations", 1)
	if n := config.Get("timeout"); n.Exists() {
		if r.w.Limits.Runtime != 0 {
			n.Key().Errorf(codeKey, "remove one of them", "timeout and max_runtime set the same limit")
		}
		r.w.Limits.Runtime = readTime(n)
	}
	config.Done()
	if n := m.Get("retry"); n.Exists() {
		r.head.retry = readRetry(n)
	}
}

// readFailure reads the default for failures.
func (r *reader) readFailure(m *strictyaml.Map) {
	rename(m)
	if n := m.Get("on_error"); n.Exists() {
		r.head.onError = yaml.ReadOnError(n)
	}
	if n := m.Get("error"); n.Exists() {
		r.head.handler = target{n.Name(), n.Pos()}
	}
}

// matter reads front matter. If it is not closed, it is not clear what belongs to it.
func (r *reader) matter(m matter) *strictyaml.Document {
	text := r.doc.text
	if m.open {
		line := source.Span{From: m.whole.From, To: m.whole.From + len("---")}
		r.report(workflow.Errorf(text.Pos(line), codeMatter, "add a line --- below its last key", "this front matter is not closed"))
		return r.nothing
	}
	return r.piece(text.Bytes[m.yaml.From:m.yaml.To], text.Pos(m.yaml))
}
