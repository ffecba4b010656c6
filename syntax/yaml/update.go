package yaml

import (
	"bytes"
	"iter"
	"strings"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/workflow"
)

// Update changes the text of a file so that it means w. Keys and steps that mean
// the same already stay as they are, with their comments; where so little is
// alike that this is not possible, the file is written anew.
func Update(file string, text []byte, w *workflow.Workflow) ([]byte, error) {
	u := source.Updater{Notation: "yaml", Parse: Parse, Format: Format, Merge: merge}
	return u.Update(file, text, w)
}

// piece is some lines of a file that belong together: a key with its value, or a
// step. Its own lines come first, then those of the steps in it.
type piece struct {
	name  string // the key, or the id of the step
	lines []string
	inner []*piece
	depth int // indentation of its first line
}

// outline splits a file into pieces. A step that stands in a line with others is
// part of what is around it.
func outline(text []byte) *piece {
	doc := strictyaml.Read("", text)
	r := &reader{doc: doc}
	r.workflow(doc.Root(), "")
	nameSteps(&r.body)
	lines := strings.Split(strings.TrimSuffix(string(bytes.TrimPrefix(text, []byte("\uFEFF"))), "\n"), "\n")
	o := &outliner{lines: lines}
	whole := &piece{}
	entries := doc.Root().Map().Entries()
	starts := make([]int, len(entries))
	for i, e := range entries {
		starts[i] = e.Key.Pos().Line
	}
	o.split(whole, 1, len(lines)+1, starts, func(i, from, to int) *piece {
		p := &piece{name: "key " + entries[i].Name}
		if entries[i].Name != "steps" {
			p.lines = o.between(from, to)
			return p
		}
		o.steps(p, &r.body, from, to)
		return p
	})
	return whole
}

type outliner struct{ lines []string }

func (o *outliner) between(from, to int) []string { return o.lines[from-1 : to-1] }

// split cuts the lines of a piece at the starts of the pieces in it. Comments
// right above a piece belong to it.
func (o *outliner) split(p *piece, from, to int, starts []int, inner func(i, from, to int) *piece) {
	for i, start := range starts {
		if i > 0 && start <= starts[i-1] || start < from || start >= to {
			p.lines = o.between(from, to) // several in one line
			p.inner = nil
			return
		}
	}
	if len(starts) == 0 {
		p.lines = o.between(from, to)
		return
	}
	begin := make([]int, len(starts)+1)
	for i, start := range starts {
		begin[i] = start
		for begin[i] > from && isComment(o.lines[begin[i]-2]) {
			begin[i]--
		}
	}
	begin[len(starts)] = to
	p.lines = o.between(from, begin[0])
	for i := range starts {
		q := inner(i, begin[i], begin[i+1])
		line := o.lines[starts[i]-1]
		q.depth = len(line) - len(strings.TrimLeft(line, " "))
		p.inner = append(p.inner, q)
	}
}

func isComment(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "#") }

func (o *outliner) steps(p *piece, b *block, from, to int) {
	starts := make([]int, len(b.steps))
	for i, s := range b.steps {
		starts[i] = s.pos.Line
	}
	o.split(p, from, to, starts, func(i, from, to int) *piece {
		s := b.steps[i]
		q := &piece{name: "step " + s.node.ID}
		if s.body == nil {
			q.lines = o.between(from, to)
			return q
		}
		o.steps(q, s.body, from, to)
		return q
	})
}

// text is a piece as it stands, without what encloses it.
func (p *piece) text(b *strings.Builder, depth int) {
	move(b, p.lines, depth-p.depth)
	for _, q := range p.inner {
		q.text(b, depth+q.depth-p.depth)
	}
}

// move writes lines with another indentation. What is less indented than it
// would have to move stays at the margin. Blanks alone in a line may be those of a
// text.
func move(b *strings.Builder, lines []string, by int) {
	for _, line := range lines {
		switch {
		case line == "":
		case by > 0:
			b.WriteString(strings.Repeat(" ", by) + line)
		default:
			b.WriteString(line[min(-by, len(line)-len(strings.TrimLeft(line, " "))):])
		}
		b.WriteByte('\n')
	}
}

// same says whether two pieces are the same but for where they stand, and for
// the blank lines around them.
func (p *piece) same(q *piece) bool {
	var a, b strings.Builder
	p.text(&a, 0)
	q.text(&b, 0)
	return strings.TrimSpace(a.String()) == strings.TrimSpace(b.String())
}

// merge writes the file with what differs between before and after.
func merge(text, before, after []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var b strings.Builder
		file := outline(text)
		file.merge(&b, outline(before), outline(after), file.depth)
		yield([]byte(b.String()))
	}
}

func (p *piece) merge(b *strings.Builder, before, after *piece, depth int) {
	own := func(q *piece) *piece { return &piece{lines: q.lines, depth: q.depth} }
	if own(before).same(own(after)) {
		move(b, p.lines, 0)
	} else {
		above, below := around(p.lines)
		text := after.lines
		for len(text) > 0 && text[len(text)-1] == "" {
			text = text[:len(text)-1]
		}
		move(b, above, 0)
		move(b, text, depth-after.depth)
		move(b, below, 0)
	}
	for _, q := range after.inner {
		inner := depth + q.depth - after.depth
		mine, old := p.find(q.name), before.find(q.name)
		if mine != nil {
			inner = mine.depth
		} else if len(p.inner) > 0 {
			inner = p.inner[0].depth
		}
		if mine == nil || old == nil {
			q.text(b, inner)
		} else {
			mine.merge(b, old, q, inner)
		}
	}
}

// around are the comments above the text of a piece, and the blank lines below.
func around(lines []string) (above, below []string) {
	from, to := 0, len(lines)
	for from < to && isComment(lines[from]) {
		from++
	}
	for to > from && strings.TrimSpace(lines[to-1]) == "" {
		to--
	}
	return lines[:from], lines[to:]
}

func (p *piece) find(name string) *piece {
	for _, q := range p.inner {
		if q.name == name {
			return q
		}
	}
	return nil
}
