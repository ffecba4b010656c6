package mermaid

import (
	"sort"
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/source"
)

// view is the text that Mermaid's grammar parses: without comments and directives, or with a
// mistake repaired. It maps its bytes to positions in the original text.
type view struct {
	text  string
	parts []part // empty if text is the source itself
	limit int    // length of the source
}

// part maps the bytes from at on to the source from offset on. Inserted text has no position of its
// own: all of it is at offset.
type part struct {
	at, offset int
	made       bool
}

// edit replaces the bytes from from up to to.
type edit struct {
	from, to int
	text     string
}

// newView returns the view of a source. Mermaid adds a newline to every text.
func newView(src []byte) *view {
	var b strings.Builder
	b.Grow(len(src) + 1)
	b.Write(src)
	b.WriteByte('\n')
	return &view{text: b.String(), limit: len(src)}
}

func (v *view) part(at int) int {
	return sort.Search(len(v.parts), func(i int) bool { return v.parts[i].at > at }) - 1
}

// offset returns the offset of a byte in the source.
func (v *view) offset(at int) int {
	if len(v.parts) > 0 {
		p := v.parts[v.part(at)]
		if p.made {
			at = p.offset
		} else {
			at += p.offset - p.at
		}
	}
	return min(at, v.limit)
}

// span returns a range in the source.
func (v *view) span(from, to int) source.Span {
	if len(v.parts) == 0 {
		return source.Span{From: min(from, v.limit), To: min(to, v.limit)}
	}
	s := source.Span{From: v.offset(from)}
	s.To = s.From
	if to > from {
		s.To = max(s.From, v.behind(to-1))
	}
	return s
}

// behind returns the offset in the source after a byte.
func (v *view) behind(at int) int {
	if p := v.parts[v.part(at)]; p.made {
		return p.offset
	}
	return min(v.offset(at)+1, v.limit)
}

// written reports whether a range is in the source exactly as written here.
func (v *view) written(from, to int) bool {
	if len(v.parts) == 0 {
		return to <= v.limit
	}
	i := v.part(from)
	end := len(v.text)
	if i+1 < len(v.parts) {
		end = v.parts[i+1].at
	}
	if from == to && i > 0 && v.parts[i].made && v.parts[i].at == from {
		return true // an insertion before inserted text
	}
	return !v.parts[i].made && to <= end && (from == to || v.behind(to-1) == v.offset(from)+to-from)
}

// changed returns the view from from up to to with some edits, which are in order.
func (v *view) changed(from, to int, edits []edit) *view {
	var b strings.Builder
	b.Grow(to - from + 1)
	n := &view{limit: v.limit}
	for _, e := range edits {
		n.keep(&b, v, from, e.from)
		if e.text != "" {
			n.parts = append(n.parts, part{at: b.Len(), offset: v.offset(e.from), made: true})
			b.WriteString(e.text)
		}
		from = e.to
	}
	n.keep(&b, v, from, to)
	if len(n.parts) == 0 {
		n.parts = append(n.parts, part{offset: v.offset(to), made: true})
	}
	n.text = b.String()
	return n
}

// keep appends a range of another view.
func (v *view) keep(b *strings.Builder, of *view, from, to int) {
	if from >= to {
		return
	}
	if len(of.parts) == 0 {
		v.parts = append(v.parts, part{at: b.Len(), offset: from})
	} else {
		for i := of.part(from); i < len(of.parts) && of.parts[i].at < to; i++ {
			p := of.parts[i]
			if skipped := from - p.at; skipped > 0 {
				p.at += skipped
				if !p.made {
					p.offset += skipped
				}
			}
			p.at += b.Len() - from
			v.parts = append(v.parts, p)
		}
	}
	b.WriteString(of.text[from:to])
}

// cut returns the view without some ranges, or the view itself if there are none.
func (v *view) cut(edits []edit) *view {
	if len(edits) == 0 {
		return v
	}
	return v.changed(0, len(v.text), edits)
}

// line returns the range of the line around a place, without its newline.
func (v *view) line(at int) (from, to int) {
	from = strings.LastIndexByte(v.text[:at], '\n') + 1
	to = at + max(0, strings.IndexByte(v.text[at:], '\n'))
	if !strings.Contains(v.text[at:], "\n") {
		to = len(v.text)
	}
	return from, to
}

// inOrder sorts edits by place.
func inOrder(edits []edit) []edit {
	sort.SliceStable(edits, func(i, j int) bool { return edits[i].from < edits[j].from })
	return edits
}
