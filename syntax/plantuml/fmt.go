package plantuml

import (
	"bytes"
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/syntax/plantuml/internal/activity"
	"github.com/hocket-dev/hocket/workflow"
)

// Fmt formats a file in the canonical style: every line indented by the blocks around it, notes
// below their steps. It keeps words, order and comments. A file with errors is returned
// unchanged, with its diagnostics.
func Fmt(file string, text []byte) ([]byte, workflow.Diagnostics) {
	r := read(file, text)
	found := r.found.Sort()
	if found.Errors() {
		return text, found
	}
	if unmarked, marked := bytes.CutPrefix(text, []byte("\uFEFF")); marked {
		r = read(file, unmarked)
	}
	laid := layOut(r.src, r.diagram)
	again, broken := Parse(file, laid)
	if broken.Errors() || workflow.Digest(again) != workflow.Digest(r.w) {
		return text, found // the position of some line has a meaning
	}
	return laid, found
}

// layout changes the indentation of lines.
type layout struct {
	src   *source.Text
	lines []int // where every line begins
	deep  []int // the depth of every line; -1 if it stays as it is
	more  []int // spaces that it has beyond those of its note
}

func layOut(src *source.Text, d *activity.Diagram) []byte {
	l := &layout{src: src}
	for at := 0; at < len(src.Bytes); {
		l.lines = append(l.lines, at)
		end := bytes.IndexByte(src.Bytes[at:], '\n')
		if end < 0 {
			break
		}
		at += end + 1
	}
	l.deep, l.more = make([]int, len(l.lines)), make([]int, len(l.lines))
	for i := range l.deep {
		l.deep[i] = -1
	}
	l.from(d.Opener, 0)
	l.from(d.Closer, 0)
	for _, dec := range d.Decor {
		l.decor(dec)
	}
	l.body(d.Body, 0)
	return l.write()
}

// line returns the number of the line of an offset.
func (l *layout) line(at int) int {
	low, high := 0, len(l.lines)
	for high-low > 1 {
		if middle := (low + high) / 2; l.lines[middle] <= at {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// from sets the depth of the first line of a range.
func (l *layout) from(s source.Span, depth int) {
	if s.To > s.From {
		l.deep[l.line(s.From)] = depth
	}
}

// decor indents decoration of one line like the next statement, and keeps longer decoration as it
// is.
func (l *layout) decor(d activity.Decor) {
	if l.line(d.Span.From) == l.line(max(d.Span.From, d.Span.To-1)) {
		l.deep[l.line(d.Span.From)] = likeNext
	}
}

// likeNext is the depth of decoration: that of the next statement.
const likeNext = -2

func (l *layout) body(list []activity.Element, depth int) {
	for _, e := range list {
		l.element(e, depth)
	}
}

func (l *layout) element(e activity.Element, depth int) {
	l.from(e.Common().Span, depth)
	switch e := e.(type) {
	case *activity.Note:
		l.note(e, depth)
	case *activity.If:
		for i := range e.Branches {
			l.branch(&e.Branches[i], depth)
		}
		if e.Else != nil {
			l.branch(e.Else, depth)
		}
		l.from(e.Closer, depth)
	case *activity.Switch:
		l.body(e.Early, depth+1)
		l.branches(e.Cases, depth)
		l.from(e.Closer, depth)
	case *activity.Fork:
		l.branches(e.Branches, depth)
		l.from(e.Closer, depth)
	case *activity.Split:
		l.branches(e.Branches, depth)
		l.from(e.Closer, depth)
	case *activity.While:
		l.body(e.Body, depth+1)
		l.from(e.Closer, depth)
	case *activity.Repeat:
		l.body(e.Body, depth+1)
		l.from(e.Closer, depth)
	case *activity.Group:
		l.body(e.Body, depth+1)
		l.from(e.Closer, depth)
	case *activity.Start, *activity.Stop, *activity.Activity, *activity.Break, *activity.Goto, *activity.Label, *activity.Connector,
		*activity.Arrow, *activity.LaneMark, *activity.Backward, *activity.Kill:
	}
}

func (l *layout) branches(list []activity.Branch, depth int) {
	for i := range list {
		l.branch(&list[i], depth)
	}
}

func (l *layout) branch(b *activity.Branch, depth int) {
	l.from(b.Opener, depth)
	l.body(b.Body, depth+1)
}

// note indents the lines of a note by one more level, and keeps their relative indentation.
func (l *layout) note(n *activity.Note, depth int) {
	l.from(n.Opener, depth)
	l.from(n.Closer, depth)
	if n.Opener.To <= n.Opener.From {
		return
	}
	least := -1
	for _, line := range n.Lines {
		if lead := leading(line.Text); lead < len(line.Text) && (least < 0 || lead < least) {
			least = lead
		}
	}
	if least < 0 {
		return // it is empty
	}
	for _, line := range n.Lines {
		number := l.line(line.Span.From)
		l.deep[number] = depth + 1
		l.more[number] = leading(line.Text) - least
	}
}

// leading counts the blanks at the beginning of a line.
func leading(text string) int { return len(text) - len(strings.TrimLeft(text, " \t")) }

func (l *layout) write() []byte {
	l.placeDecor()
	out := make([]byte, 0, len(l.src.Bytes)+len(l.src.Bytes)/8)
	for i, from := range l.lines {
		to := len(l.src.Bytes)
		if i+1 < len(l.lines) {
			to = l.lines[i+1]
		}
		line := l.src.Bytes[from:to]
		content := bytes.TrimRight(line, "\r\n")
		if l.deep[i] >= 0 {
			content = l.indented(i, content)
		}
		out = append(out, content...)
		out = append(out, '\n')
	}
	return append(bytes.TrimRight(out, "\n"), '\n')
}

// indented returns a line at its depth. White space in a note is kept, because it may be part of
// a text.
func (l *layout) indented(i int, content []byte) []byte {
	trimmed := bytes.TrimLeft(content, " \t")
	if len(trimmed) == 0 && l.more[i] <= 0 {
		return nil
	}
	lead := content[:len(content)-len(trimmed)]
	more := lead[max(0, len(lead)-l.more[i]):]
	return append(append(bytes.Repeat([]byte("  "), l.deep[i]), more...), trimmed...)
}

// placeDecor indents decoration like the statement below it.
func (l *layout) placeDecor() {
	below := 0
	for i := len(l.deep) - 1; i >= 0; i-- {
		switch {
		case l.deep[i] == likeNext:
			l.deep[i] = below
		case l.deep[i] >= 0:
			below = l.deep[i]
		}
	}
}
