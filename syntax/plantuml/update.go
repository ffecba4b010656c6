package plantuml

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/syntax/plantuml/internal/activity"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// Update changes the text of a file so that it means w. Where the flow is the
// same, only the notes and the texts of what changed are written anew. Else the
// flow is drawn anew below the decoration of the file, which is kept.
func Update(file string, text []byte, w *workflow.Workflow) ([]byte, error) {
	r := read(file, text)
	if found := r.found.Sort(); found.Errors() {
		return nil, fmt.Errorf("plantuml: %s cannot be changed, it has mistakes: %s", file, found[0].Summary)
	}
	digest := workflow.Digest(w)
	means := func(text []byte) bool {
		again, found := Parse(file, text)
		return !found.Errors() && workflow.Digest(again) == digest
	}
	if workflow.Digest(r.w) == digest {
		return text, nil
	}
	if changed, ok := newUpdater(r, w).change(); ok && means(changed) {
		return changed, nil
	}
	after, err := Format(w)
	if err != nil {
		return nil, err
	}
	if kept := withDecor(r, after); means(kept) {
		return kept, nil
	}
	return after, nil
}

// updater changes notes.
type updater struct {
	*reader
	out   *writer
	now   *workflow.Workflow
	edits []workflow.Edit
}

func newUpdater(r *reader, w *workflow.Workflow) *updater {
	written := yaml.InDialect(w, expr.PlantUML)
	p := &plan{w: w, written: written, carried: map[string]bool{}}
	out := &writer{plan: p, edges: edgesOf(&written.Body), given: map[string]bool{}, ids: map[string]bool{}, texts: map[string]string{}}
	written.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) { out.ids[n.ID] = true })
	return &updater{reader: r, out: out, now: written}
}

// change gives the text with other notes; not ok: that is not enough.
func (u *updater) change() ([]byte, bool) {
	if !sameFlow(&u.w.Body, &u.out.w.Body) || !slices.EqualFunc(u.w.Agents, u.out.w.Agents, sameAgent) {
		return nil, false
	}
	if !u.changeHead() || !u.changeNodes(&u.w.Body, &u.now.Body, &u.out.w.Body) {
		return nil, false
	}
	return workflow.Apply(u.src.Bytes, u.edits), true
}

func sameAgent(a, b workflow.AgentRef) bool { return a.Name == b.Name && a.Role == b.Role }

// sameFlow says whether two graphs have the same nodes, of the same kinds and
// with the same edges.
func sameFlow(a, b *workflow.Graph) bool {
	same := func(x, y workflow.Edge) bool {
		return x.From == y.From && sameEdges([]workflow.Edge{x}, []workflow.Edge{y})
	}
	if len(a.Nodes) != len(b.Nodes) || !slices.EqualFunc(a.Edges, b.Edges, same) {
		return false
	}
	for i := range a.Nodes {
		x, y := &a.Nodes[i], &b.Nodes[i]
		if x.ID != y.ID || x.Kind() != y.Kind() || yaml.IsRepeat(x) != yaml.IsRepeat(y) {
			return false
		}
		if body := x.Body(); body != nil && !yaml.IsRepeat(x) && !sameFlow(body, y.Body()) {
			return false
		}
	}
	return true
}

// changeHead writes the words about the workflow anew, if they changed.
func (u *updater) changeHead() bool {
	head := func(w *workflow.Workflow) string {
		c := *yaml.InDialect(w, expr.PlantUML)
		c.Body = workflow.Graph{}
		return workflow.Print(&c)
	}
	if head(u.w) == head(u.out.w) {
		return true
	}
	c := *u.now
	if !u.head.lanes {
		c.Agents = nil
	}
	words := u.out.safest(func(st yaml.Style) string {
		text := ""
		if c.Name != u.w.Name || u.head.named {
			text = nameWord(st, c.Name)
		}
		return text + st.Head(&c)
	})
	if len(u.head.notes) > 0 {
		u.rewrite(u.head.notes, workflowMark, words)
		return true
	}
	start := slices.IndexFunc(u.diagram.Body, isStart)
	if start < 0 {
		return false
	}
	u.insert(u.diagram.Body[start].Common().Span, workflowMark, words)
	return true
}

// changeNodes writes the notes of the nodes anew that changed.
func (u *updater) changeNodes(was, now, canonical *workflow.Graph) bool {
	for i := range was.Nodes {
		if !sameNode(&was.Nodes[i], &canonical.Nodes[i]) && !u.changeNode(&was.Nodes[i], &now.Nodes[i]) {
			return false
		}
		if body := was.Nodes[i].Body(); body != nil && !yaml.IsRepeat(&was.Nodes[i]) && !u.changeNodes(body, now.Nodes[i].Body(), canonical.Nodes[i].Body()) {
			return false
		}
	}
	return true
}

// sameNode compares nodes without what is in them.
func sameNode(a, b *workflow.Node) bool {
	alone := func(n workflow.Node) string {
		if !yaml.IsRepeat(&n) {
			switch s := n.Step.(type) {
			case *workflow.Loop:
				n.Step = &workflow.Loop{Max: s.Max}
			case *workflow.Each:
				n.Step = &workflow.Each{Items: s.Items, As: s.As, Parallel: s.Parallel}
			case *workflow.Task, *workflow.Human, *workflow.Call, *workflow.Choice, *workflow.Combine:
			}
		}
		return workflow.Print(&workflow.Workflow{Body: workflow.Graph{Nodes: []workflow.Node{n}}})
	}
	return a.Title == b.Title && alone(*a) == alone(*b)
}

// changeNode writes the note of a step anew, and its text if its title changed.
func (u *updater) changeNode(was, now *workflow.Node) bool {
	p := u.byID[was.ID]
	if p == nil || p.drawn == nil || p.guard != nil || p.only != nil {
		return false
	}
	text := p.drawn.Text.String()
	u.out.given[now.ID] = idOf(text) != now.ID
	if now.Title != was.Title && isSafeText(now.Title) && now.Title != "" {
		text = now.Title
		u.out.given[now.ID] = true
		u.edits = append(u.edits, u.src.Edit(p.drawn.Text.Span, activity.Escape(text)))
	}
	u.out.texts[now.ID] = text
	u.out.carried[now.ID] = p.ways.lead()
	u.out.lane, u.out.lanes = strings.TrimSpace(p.drawn.Lane), []string{strings.TrimSpace(p.drawn.Lane)}
	mark, words := u.out.words(now)
	var notes []*activity.Note
	for _, part := range u.wordsAt(p.drawn).parts {
		notes = append(notes, part.note)
	}
	if len(notes) == 0 {
		u.insert(p.drawn.Span, mark, words)
		return true
	}
	u.rewrite(notes, mark, words)
	return true
}

// rewrite replaces the words of notes: the first takes all of them.
func (u *updater) rewrite(notes []*activity.Note, m mark, words string) {
	for i, n := range notes {
		whole := u.wholeLines(n.Span)
		if i > 0 || words == "" && m == taskMark || len(n.Lines) == 0 || n.Opener.To <= n.Opener.From {
			u.edits = append(u.edits, u.src.Edit(whole, ""))
			if i == 0 {
				u.insertAt(whole.From, u.indentOf(n.Span.From), m, words)
			}
			continue
		}
		body := source.Span{From: u.wholeLines(n.Lines[0].Span).From, To: u.wholeLines(n.Lines[len(n.Lines)-1].Span).To}
		indent := u.indentOf(n.Opener.From) + "  "
		u.edits = append(u.edits, u.src.Edit(body, indented(noteLines(m, words), indent)))
	}
}

// insert puts a note below the lines of a statement.
func (u *updater) insert(below source.Span, m mark, words string) {
	u.insertAt(u.wholeLines(below).To, u.indentOf(below.From), m, words)
}

func (u *updater) insertAt(at int, indent string, m mark, words string) {
	if words == "" && m == taskMark {
		return
	}
	text := "note right\n" + indented(noteLines(m, words), "  ") + "end note\n"
	u.edits = append(u.edits, u.src.Edit(source.Span{From: at, To: at}, indented(text, indent)))
}

func noteLines(m mark, words string) string { return "<<" + string(m) + ">>\n" + words }

func indented(text, indent string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line != "\n" {
			b.WriteString(indent)
		}
		b.WriteString(line)
	}
	return b.String()
}

// wholeLines widens a range to the lines that it stands in, with their ends.
func (u *updater) wholeLines(s source.Span) source.Span {
	from := bytes.LastIndexByte(u.src.Bytes[:s.From], '\n') + 1
	to := len(u.src.Bytes)
	if end := bytes.IndexByte(u.src.Bytes[max(s.From, s.To-1):], '\n'); end >= 0 {
		to = max(s.From, s.To-1) + end + 1
	}
	return source.Span{From: from, To: to}
}

// indentOf is what stands to the left of the first word of a line.
func (u *updater) indentOf(at int) string {
	line := u.src.Bytes[bytes.LastIndexByte(u.src.Bytes[:at], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// withDecor puts what a file is decorated with into a new drawing: settings,
// directives, headings, and the comments above the first step.
func withDecor(r *reader, after []byte) []byte {
	first := len(r.src.Bytes)
	if len(r.diagram.Body) > 0 {
		first = r.diagram.Body[0].Common().Span.From
	}
	var kept bytes.Buffer
	for _, d := range r.diagram.Decor {
		if d.Kind == activity.Misplaced || d.Kind == activity.Comment && d.Span.From > first || isTitle(r.src.Bytes[d.Span.From:d.Span.To]) {
			continue
		}
		kept.Write(r.src.Bytes[d.Span.From:d.Span.To])
		kept.WriteByte('\n')
	}
	opener, rest, _ := bytes.Cut(after, []byte{'\n'})
	return slices.Concat(r.src.Bytes[:r.diagram.Whole.From], opener, []byte{'\n'}, kept.Bytes(), bytes.TrimSuffix(rest, []byte{'\n'}), r.src.Bytes[r.diagram.Whole.To:])
}

func isTitle(text []byte) bool {
	return bytes.HasPrefix(bytes.ToLower(bytes.TrimSpace(text)), []byte("title"))
}
