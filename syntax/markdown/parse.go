package markdown

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax/internal/flow"
	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/syntax/markdown/internal/mermaid"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// Parse parses a workflow: Markdown with a flowchart, or only a flowchart. The diagnostics
// contain every mistake in the file. The workflow is nil if nothing could be parsed, and must not
// be run if one of the diagnostics is an error.
func Parse(file string, text []byte) (*workflow.Workflow, workflow.Diagnostics) {
	r := newReader(file)
	if r.read(text) {
		r.forget()
		r.lift()
	}
	return r.w, r.found.Sort()
}

// Diagram returns the mistakes in the flowchart of a file, regardless of its meaning as a workflow.
func Diagram(file string, text []byte) workflow.Diagnostics {
	r := newReader(file)
	if r.open(text) {
		_, found := mermaid.Parse(r.src)
		r.found = append(r.ofChart(), found...)
	}
	return r.found.Sort()
}

// ofChart returns the mistakes in the block of the flowchart; other blocks do not matter to
// Mermaid.
func (r *reader) ofChart() workflow.Diagnostics {
	if r.doc == nil {
		return nil
	}
	f := &r.doc.fences[r.fence]
	from := r.doc.text.Pos(f.open).Line
	to := max(from, r.doc.text.Pos(f.shut).Line)
	return slices.DeleteFunc(r.found, func(d workflow.Diagnostic) bool { return d.Line < from || d.Line > to })
}

// reader reads one file.
type reader struct {
	file  string
	doc   *document    // nil if the file is only a flowchart
	fence int          // the block of the flowchart
	src   *source.Text // the flowchart
	chart *mermaid.Chart
	w     *workflow.Workflow
	found workflow.Diagnostics

	judged int  // how many of them were checked
	failed bool // one of these is an error

	head      head
	nothing   *strictyaml.Document // an empty document
	sections  []section
	vertices  []vertex          // by the node of the chart
	frames    []frame           // by the subgraph
	byID      map[string]int32  // see index
	byName    map[string]string // id in the drawing by name or id, computed when needed
	renamed   bool              // keys set an id that differs from the drawn one
	ends      [][2]int32        // of the arrows, indexes of nodes
	worded    []workflow.Edge
	ended     map[[4]string]bool // arrows to ends, by their source and condition
	odd       []mermaid.Shape    // shapes that were reported
	suggested int                // number of names that were searched
	drawing   flow.Drawing
	tasks     slab
	pool      strictyaml.Pool // of the keys that are being read
	steps     yaml.StepReader
	spare     *words // see readWords

	names   map[*workflow.Choice]string            // diamonds that show a name, which may be a question
	longer  map[*workflow.Choice]workflow.Template // the questions in their sections, if they are questions
	drawn   map[*workflow.Choice]bool              // those that show a question
	retries []*workflow.Choice                     // those that do not set retries themselves
}

func newReader(file string) *reader {
	return &reader{file: file, names: map[*workflow.Choice]string{}, longer: map[*workflow.Choice]workflow.Template{}, drawn: map[*workflow.Choice]bool{}}
}

// frame is a subgraph with what the file says about it.
type frame struct {
	id      string // in the drawing
	name    string // in the model
	section *section
	words   *words // if they say where it continues
}

// read parses a file, and keeps its parts.
func read(file string, text []byte) *reader {
	r := newReader(file)
	if r.read(text) {
		r.lift()
	}
	return r
}

// read builds the drawing, and reports whether there is one.
func (r *reader) read(text []byte) bool {
	r.nothing = strictyaml.Read(r.file, nil)
	if !r.open(text) {
		return false
	}
	var found workflow.Diagnostics
	r.chart, found = mermaid.Parse(r.src)
	r.found = append(r.found, found...)
	r.w = &workflow.Workflow{}
	r.readHead()
	r.number()
	r.findSections()
	if r.head.unnamed {
		r.w.Name = r.defaultName()
	}
	r.draw()
	return true
}

// forget releases what only the drawing was built from, so that a large chart is not in memory
// twice.
func (r *reader) forget() {
	r.chart, r.vertices, r.byID, r.byName, r.ends, r.worded = nil, nil, nil, nil, nil, nil
}

// lift turns the drawing into the model.
func (r *reader) lift() {
	ids := r.ids()
	r.drawing.Begin = func(id string) string {
		return "write `entrypoint: " + id + "` in the front matter, or draw Start((Start)) --> " + id
	}
	r.w.Body = r.drawing.Lift(r.report)
	r.drawing = flow.Drawing{}
	r.rename()
	r.settle()
	expr.Resolve(r.w, expr.Mixed, ids)
}

// report drops diagnostics that are only consequences of errors: warnings, and those about where
// the flow begins.
func (r *reader) report(d workflow.Diagnostic) {
	for ; !r.failed && r.judged < len(r.found); r.judged++ {
		r.failed = r.found[r.judged].Severity == workflow.Error
	}
	if d.Severity == workflow.Error && d.Code != flow.CodeUnclearStart || !r.failed {
		r.found = append(r.found, d)
	}
}

// collect takes the diagnostics of a part of the file.
func (r *reader) collect(doc *strictyaml.Document) {
	if doc != r.nothing {
		r.found = append(r.found, doc.Diagnostics()...)
	}
}

func (r *reader) chartPos(s source.Span) workflow.Pos { return r.src.Pos(s) }

// open finds the flowchart of a file.
func (r *reader) open(text []byte) bool {
	whole := source.New(r.file, text)
	if at := invalidUTF8(text); at >= 0 {
		r.report(workflow.Errorf(whole.Pos(source.Span{From: at, To: at + 1}), codeEncoding, "save the file as UTF-8", "this byte is not valid UTF-8"))
		return false
	}
	if isBare(text) {
		r.src = whole
		return true
	}
	r.doc = scan(whole)
	r.fence = r.doc.chart()
	if r.fence < 0 && r.unopened() {
		return false
	}
	r.checkFences()
	if r.fence < 0 {
		r.noChart(whole)
		return false
	}
	r.src = r.doc.cut(&r.doc.fences[r.fence])
	return true
}

func invalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRune(text[i:])
		if c == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

func (r *reader) noChart(whole *source.Text) {
	detail := "add a block that begins with ```mermaid and flowchart TD"
	for i := range r.doc.fences {
		if f := &r.doc.fences[i]; isDiagram(f.info) {
			detail = "the diagram on line " + lineOf(whole, f.open) + " is of another kind; " + detail
			break
		}
	}
	r.report(workflow.Errorf(whole.Pos(source.Span{To: min(1, len(whole.Bytes))}), codeNoChart, detail, "this file has no flowchart"))
}

// number finds the kinds of the nodes of the chart.
func (r *reader) number() {
	nodes, subgraphs := r.chart.Nodes, r.chart.Subgraphs
	r.vertices, r.frames = make([]vertex, len(nodes)), make([]frame, len(subgraphs))
	for i := range nodes {
		n := &nodes[i]
		r.vertices[i].name = n.ID
		if n.Group < 0 {
			r.vertices[i].kind = r.kindOf(n)
		}
	}
	for i := range subgraphs {
		r.frames[i].name, r.frames[i].id = subgraphs[i].ID, subgraphs[i].ID
	}
	r.countArrows()
}

// index returns the indexes of nodes and, after them, of subgraphs, by their ids. It is not
// needed for a flowchart alone.
func (r *reader) index() map[string]int32 {
	if r.byID == nil {
		nodes, subgraphs := r.chart.Nodes, r.chart.Subgraphs
		r.byID = make(map[string]int32, len(nodes)+len(subgraphs))
		for i := range nodes {
			r.byID[nodes[i].ID] = int32(i)
		}
		for i := range subgraphs {
			r.byID[subgraphs[i].ID] = int32(len(nodes) + i)
		}
	}
	return r.byID
}

// draw builds the drawing from nodes, subgraphs and arrows.
func (r *reader) draw() {
	r.settleMarks()
	r.readFrames()
	r.readNodes()
	r.checkNames()
	r.place()
	r.readWays()
	r.readEdges()
	r.drawing.Edges = append(r.drawing.Edges, r.worded...)
	r.drawing.Max = r.head.max
	r.enter()
	r.handle()
}

// readFrames reads the kinds of the subgraphs.
func (r *reader) readFrames() {
	r.drawing.Frames = make([]flow.Frame, len(r.frames))
	for i := range r.frames {
		g, f := &r.chart.Subgraphs[i], &r.frames[i]
		node := workflow.Node{Pos: r.chartPos(g.Head)}
		if f.section != nil || len(g.Meta) > 0 {
			w := r.wordsOf("frame", f.section, g.Meta, g.ID)
			if f.name = orElse(w.Node.ID, g.ID); w.lead() {
				f.words = w
			}
			pos := node.Pos
			if node = w.Node; f.section != nil {
				pos = r.doc.text.Pos(f.section.heading.title)
			}
			node.Pos = pos
			if _, isEach := node.Step.(*workflow.Each); isEach && !w.HasOnError {
				node.OnError = r.head.onError
			}
		}
		if title := strings.TrimSpace(mermaid.Unescape(g.Title)); node.Title == "" && title != g.ID {
			node.Title = title
		}
		r.renamed = r.renamed || f.name != g.ID
		r.drawing.Frames[i].Node = node
	}
}

func (r *reader) readNodes() {
	r.drawing.Nodes = make([]flow.Node, len(r.vertices))
	k := 0
	for i := range r.vertices {
		n, v := &r.chart.Nodes[i], &r.vertices[i]
		if n.Group >= 0 || v.mark {
			continue
		}
		r.readNode(i, &r.drawing.Nodes[k].Node)
		k++
		r.renamed = r.renamed || v.name != n.ID
	}
	r.drawing.Nodes = r.drawing.Nodes[:k]
}

// place puts nodes and frames into the frames around them.
func (r *reader) place() {
	k := 0
	for i := range r.vertices {
		n := &r.chart.Nodes[i]
		if n.Group >= 0 || r.vertices[i].mark {
			continue
		}
		if n.Subgraph >= 0 {
			r.drawing.Nodes[k].Frame = r.frames[n.Subgraph].id
		}
		k++
	}
	for i := range r.frames {
		r.drawing.Frames[i].ID = r.frames[i].id
		if outer := r.chart.Subgraphs[i].Outer; outer >= 0 {
			r.drawing.Frames[i].Frame = r.frames[outer].id
		}
	}
}

// readWays adds the edges that keys set.
func (r *reader) readWays() {
	for i := range r.vertices {
		if v := &r.vertices[i]; v.words != nil {
			r.leadByWords(v.name, r.chart.Nodes[i].Subgraph, v.words)
		}
	}
	for i := range r.frames {
		if f := &r.frames[i]; f.words != nil {
			r.leadByWords(f.id, r.chart.Subgraphs[i].Outer, f.words)
		}
	}
}

// enter sets where the flow begins, if the file says so. If a start is drawn, that is what
// follows it.
func (r *reader) enter() {
	entry := r.head.entry
	if entry.name == "" || len(r.drawing.Entry) > 0 {
		return
	}
	id, ok := r.part(entry.name)
	if !ok {
		r.report(workflow.Errorf(entry.pos, codeEdgeTarget, r.suggest(entry.name), "the entrypoint %q does not exist", entry.name))
		return
	}
	r.drawing.Entry, r.drawing.EntryPos = []string{id}, []workflow.Pos{entry.pos}
}

// handle leads failures to the handler of the file.
func (r *reader) handle() {
	handler := r.head.handler
	if handler.name == "" {
		return
	}
	id, ok := r.part(handler.name)
	switch {
	case !ok:
		r.report(workflow.Errorf(handler.pos, codeEdgeTarget, r.suggest(handler.name), "unknown step %q", handler.name))
	case !r.drawing.Handle(id, handler.pos):
		r.report(workflow.Warningf(handler.pos, codeDetached, "a handler handles failures of the steps before it", "%q handles nothing: every other step comes after it", handler.name))
	}
}
