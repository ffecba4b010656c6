package markdown

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/workflow"
)

// checkNames reports ids that words give twice, and gives the second node a name
// of its own, so that ids are unique whatever the file says. A for_each over a
// single node may share its id with that node: then its frame keeps the drawn one
// in the drawing.
func (r *reader) checkNames() {
	if !r.renamed {
		return
	}
	taken := make(map[string]workflow.Pos, len(r.index))
	k := 0
	for i := range r.vertices {
		v := &r.vertices[i]
		if r.chart.Nodes[i].Group >= 0 || v.mark {
			continue
		}
		n := &r.drawing.Nodes[k].Node
		if other, ok := taken[v.name]; ok {
			r.duplicate(v.name, n.Pos, other)
			v.name = free(taken, v.name)
			setID(n, v.name)
		}
		taken[v.name] = n.Pos
		k++
	}
	var shared []int
	for i := range r.frames {
		f, pos := &r.frames[i], r.drawing.Frames[i].Pos
		f.id = f.name
		if other, ok := taken[f.name]; ok {
			if r.repeats(i) {
				shared = append(shared, i)
				continue
			}
			r.duplicate(f.name, pos, other)
			f.name = free(taken, f.name)
			f.id = f.name
		}
		taken[f.id] = pos
	}
	for _, i := range shared {
		f := &r.frames[i]
		f.id = free(taken, f.name)
		taken[f.id] = r.drawing.Frames[i].Pos
	}
}

// repeats says whether a subgraph is a for_each over the one node that has its
// name.
func (r *reader) repeats(frame int) bool {
	_, isEach := r.drawing.Frames[frame].Step.(*workflow.Each)
	inner := r.chart.Subgraphs[frame].Nodes
	if !isEach || len(inner) != 1 {
		return false
	}
	v := r.vertex(r.index[inner[0]])
	return v != nil && v.name == r.frames[frame].name
}

func (r *reader) duplicate(id string, pos, other workflow.Pos) {
	r.report(workflow.Errorf(pos, codeDuplicateID, "the other one is at "+other.String()+"; rename one of them", "id %q is used twice", id))
}

// free is a name with the first number that makes it unique.
func free(taken map[string]workflow.Pos, name string) string {
	for i := 2; ; i++ {
		id := name + "-" + strconv.Itoa(i)
		if _, ok := taken[id]; !ok {
			return id
		}
	}
}

// setID names a node, and what it repeats.
func setID(n *workflow.Node, id string) {
	if body := n.Body(); body != nil && len(body.Nodes) == 1 && body.Nodes[0].ID == n.ID {
		body.Nodes[0].ID = id
	}
	n.ID = id
}

// rename gives the frames that share an id with their node that id.
func (r *reader) rename() {
	if !slices.ContainsFunc(r.frames, func(f frame) bool { return f.id != f.name }) {
		return
	}
	names := make(map[string]string, len(r.frames))
	for _, f := range r.frames {
		names[f.id] = f.name
	}
	var in func(g *workflow.Graph)
	in = func(g *workflow.Graph) {
		for i := range g.Nodes {
			n := &g.Nodes[i]
			if body := n.Body(); body != nil {
				in(body)
			}
			n.ID = orElse(names[n.ID], n.ID)
		}
		for i := range g.Edges {
			e := &g.Edges[i]
			e.From, e.To = orElse(names[e.From], e.From), orElse(names[e.To], e.To)
		}
	}
	in(&r.w.Body)
}

// ids are the ids of the nodes in the order in which they are drawn.
func (r *reader) ids() []string {
	ids := make([]string, len(r.drawing.Nodes))
	for i := range r.drawing.Nodes {
		ids[i] = r.drawing.Nodes[i].ID
	}
	return ids
}

// findSections finds what the file says about its nodes, and headings that seem
// to say something about one that is not drawn.
func (r *reader) findSections() {
	if r.doc == nil {
		return
	}
	isID := func(id string) bool {
		_, ok := r.index[id]
		return ok
	}
	r.sections = r.doc.sections(isID)
	for i := range r.sections {
		s := &r.sections[i]
		at := r.index[s.id]
		own := &r.frames
		var slot **section
		if v := r.vertex(at); v != nil {
			slot = &v.section
		} else {
			slot = &(*own)[int(at)-len(r.vertices)].section
		}
		if *slot != nil {
			first := lineOf(r.doc.text, (*slot).heading.title)
			r.report(workflow.Errorf(r.doc.text.Pos(s.heading.title), codeTwice, "put all of it into the section in line "+first, "%q has two sections", s.id))
			continue
		}
		*slot = s
		r.checkCut(i)
	}
	r.strayHeadings(isID)
}

// checkCut warns where a heading ends a prompt although more of it seems to
// follow: text before the next section, or references.
func (r *reader) checkCut(i int) {
	s := &r.sections[i]
	if s.cut.To == 0 || s.body.From == s.body.To {
		return
	}
	text := r.doc.text.Bytes
	end, next := len(text), i+1 < len(r.sections)
	if next {
		end = r.sections[i+1].whole.From
	}
	from := s.whole.To
	if at := slices.Index(text[from:end], '\n'); at >= 0 {
		from += at
	}
	rest := string(text[from:end])
	refers := strings.Contains(rest, "{{") || strings.Contains(rest, "${")
	if next && strings.TrimSpace(rest) != "" || refers {
		r.report(workflow.Warningf(r.doc.text.Pos(s.cut), codeCut, "write it with ### or more if the prompt goes on", "this heading ends the prompt of %q", s.id))
	}
}

// strayHeadings warns of headings that are like those of sections, and name no
// node: front matter follows, or only a letter is wrong.
func (r *reader) strayHeadings(isID func(string) bool) {
	var ids []string
	for _, h := range r.doc.headings {
		id := r.doc.sectionID(h)
		if id == "" || isID(id) || strings.ContainsAny(id, " \t") {
			continue
		}
		if ids == nil {
			for i := range r.chart.Nodes {
				ids = append(ids, r.chart.Nodes[i].ID)
			}
		}
		near := ""
		if len(ids)*len(r.doc.headings) < 1_000_000 {
			near = workflow.Nearest(id, ids)
		}
		if near != "" && r.hasSection(near) {
			near = ""
		}
		if near == "" && !h.front.exists() {
			continue
		}
		detail := "write the id of a node of the flowchart"
		d := workflow.Warningf(r.doc.text.Pos(h.title), codeSection, detail, "no node of the flowchart is called %q", id)
		if near != "" {
			d.Detail = workflow.DidYouMean(id, []string{near})
			d.Fix = &workflow.Fix{Edits: []workflow.Edit{r.doc.text.Edit(h.title, near)}}
		}
		r.report(d)
	}
}

func (r *reader) hasSection(id string) bool {
	v := r.vertex(r.index[id])
	return v != nil && v.section != nil
}

// checkFences reports blocks that are not closed as they should be, and a
// flowchart that does not say that it is one.
func (r *reader) checkFences() {
	for i := range r.doc.fences {
		f := &r.doc.fences[i]
		text := r.doc.text
		open := text.Pos(f.open)
		switch {
		case !f.ended:
			at := f.open.To
			if n := len(f.lines); n > 0 {
				at = f.lines[n-1].To
			}
			d := workflow.Errorf(open, codeFence, "add a line "+f.mark+" below its last line", "the block that begins here is not closed")
			d.Fix = &workflow.Fix{Edits: []workflow.Edit{text.Edit(source.Span{From: at, To: at}, closing(text.Bytes, at, f.mark))}}
			r.report(d)
		case f.tail != "":
			d := workflow.Errorf(text.Pos(f.shut), codeFence, "write "+f.mark+" alone", "%q does not close the block of line %d", f.mark+f.tail, open.Line)
			d.Fix = &workflow.Fix{Edits: []workflow.Edit{text.Edit(f.shut, f.mark)}}
			r.report(d)
		case i == r.fence && !isDiagram(f.info):
			d := workflow.Warningf(open, codeFence, "write "+f.mark+"mermaid", "this block does not say that it is a diagram")
			d.Fix = &workflow.Fix{Edits: []workflow.Edit{text.Edit(f.open, f.mark+"mermaid")}}
			r.report(d)
		}
	}
}

// closing is the line that closes a block, behind a text that may lack its last
// line break.
func closing(text []byte, at int, mark string) string {
	if at > 0 && text[at-1] != '\n' {
		return "\n" + mark + "\n"
	}
	return mark + "\n"
}

func lineOf(t *source.Text, s source.Span) string { return strconv.Itoa(t.Pos(s).Line) }
