package activity

import (
	"strconv"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/workflow"
)

// open reads the line that opens a block.
func (r *reader) open(l *line, st *stmt) {
	if len(r.stack) > maxDepth {
		r.stopped, r.stop = true, l.whole()
		r.problem(workflow.Error, codeDepth, l.whole(), "blocks are nested more than "+strconv.Itoa(maxDepth)+" levels deep",
			"move the inner blocks into a separate workflow")
		return
	}
	look, opener := r.look(l, st), Block{Opener: l.whole()}
	first := Branch{Opener: opener.Opener}
	var e container
	keep := false
	switch st.kind {
	case kIf:
		first.Test, first.Label = r.text(l, st.test), r.text(l, st.label)
		e = &If{Block: opener, Branches: []Branch{first}, Look: look}
	case kSwitch:
		e = &Switch{Block: opener, Test: r.text(l, st.test), Look: look}
	case kWhile:
		e, keep = &While{Block: opener, Test: r.text(l, st.test), Yes: r.text(l, st.label), Look: look}, true
	case kRepeat:
		e = &Repeat{Block: opener, Start: r.text(l, st.test), Look: look}
	case kFork:
		e = &Fork{Block: opener, Branches: []Branch{first}}
	case kSplit:
		e = &Split{Block: opener, Branches: []Branch{first}}
	case kGroup:
		e, keep = &Group{Block: opener, Keyword: lower(st.keyword.of(l.text)), Name: r.groupName(l, st), Look: look}, true
	}
	if st.kind != kSplit {
		r.step(l)
	}
	r.add(e, opener.Opener)
	r.arrive(e, keep)
	r.stack = append(r.stack, frame{block: e, from: len(r.items), opener: opener.Opener, word: openerWord(st.kind)})
}

// groupName returns the name of a frame without the marks around it.
func (r *reader) groupName(l *line, st *stmt) Text {
	t := r.text(l, st.test)
	inner := unquote(t.Raw)
	if len(inner) == len(t.Raw) && len(inner) > 1 {
		switch inner[:1] + inner[len(inner)-1:] {
		case "()", "[]", "::":
			inner = inner[1 : len(inner)-1]
		}
	}
	if cut := len(t.Raw) - len(inner); cut > 0 {
		before := cut / 2
		t = Text{Raw: inner, Span: l.span(st.test.from+before, st.test.from+before+len(inner))}
	}
	return t
}

// take returns the body of the innermost frame, and empties it.
func (r *reader) take() (body []Element, last Element) {
	f := r.top()
	if n := len(r.items) - f.from; n > 0 {
		body = append(make([]Element, 0, n), r.items[f.from:]...)
		clear(r.items[f.from:])
		r.items = r.items[:f.from]
	}
	last, f.last = f.last, nil
	return body, last
}

// endBranch ends the current branch.
func (r *reader) endBranch(b *Branch) {
	b.Body, b.last = r.take()
	b.Exit = r.leave()
}

// branch reads the line that begins the next branch of a block.
func (r *reader) branch(l *line, st *stmt) {
	if !r.reach(l, st) {
		return
	}
	r.top().divided = l.whole().To
	next := Branch{Opener: l.whole(), In: r.text(l, st.in), Test: r.text(l, st.test), Label: r.text(l, st.label)}
	switch e := r.top().block.(type) {
	case *If:
		if e.Else != nil {
			if r.refuse(l) {
				return
			}
			r.problem(workflow.Error, codeStray, l.whole(), "this is a second else for the if at line "+r.lineOf(e.Opener.From),
				"close the if with endif before it, or write the first one as elseif (condition)")
			return
		}
		r.endBranch(&e.Branches[len(e.Branches)-1])
		if st.kind == kElse {
			e.Else = &next
		} else {
			e.Branches = append(e.Branches, next)
		}
	case *Switch:
		if len(e.Cases) > 0 {
			r.endBranch(&e.Cases[len(e.Cases)-1])
		} else {
			e.Early, _ = r.take()
			r.leave()
		}
		e.Cases = append(e.Cases, next)
	case *Fork:
		r.endBranch(&e.Branches[len(e.Branches)-1])
		e.Branches = append(e.Branches, Branch{Opener: next.Opener})
	case *Split:
		r.endBranch(&e.Branches[len(e.Branches)-1])
		e.Branches = append(e.Branches, Branch{Opener: next.Opener})
	}
}

// close reads the line that closes a block.
func (r *reader) close(l *line, st *stmt) {
	if !r.reach(l, st) {
		return
	}
	closer := l.whole()
	switch e := r.top().block.(type) {
	case *While:
		e.Out = r.text(l, st.label)
	case *Repeat:
		e.Test, e.Yes, e.Not = r.text(l, st.test), r.text(l, st.label), r.text(l, st.out)
		if st.arrow {
			e.Out = r.repeatArrow(l, st)
		}
	case *Fork:
		e.Merge, e.Join = st.merge, r.text(l, st.label)
	}
	r.shut(closer)
}

// repeatArrow returns the arrow after the test of a repeat. PlantUML reads its semicolon as part
// of the label.
func (r *reader) repeatArrow(l *line, st *stmt) *Arrow {
	label := st.in
	if !r.strict && label.written() && l.text[label.to-1] == ';' {
		label.to--
		at := l.span(label.to, label.to+1)
		r.problem(workflow.Warning, codeSemicolon, at, `PlantUML reads the ";" as part of the label`,
			"write "+l.text[:label.to], r.src.Edit(at, ""))
	}
	a := &Arrow{Style: st.style.of(l.text), Label: r.text(l, label)}
	a.Span, a.Lane = l.whole(), r.lane
	return a
}

// shut ends the innermost block. An empty closer leaves it unclosed.
func (r *reader) shut(closer source.Span) {
	f := *r.top()
	end := max(f.opener.To, f.divided)
	if len(r.items) > f.from {
		end = max(end, r.items[len(r.items)-1].Common().Span.To)
	}
	switch e := f.block.(type) {
	case *If:
		if e.Else != nil {
			r.endBranch(e.Else)
		} else {
			r.endBranch(&e.Branches[len(e.Branches)-1])
		}
	case *Switch:
		if len(e.Cases) > 0 {
			r.endBranch(&e.Cases[len(e.Cases)-1])
		} else {
			e.Early, _ = r.take()
			r.leave()
		}
	case *While:
		e.breaks = f.breaks
		e.Body, e.last = r.take()
		e.Exit = r.leave()
	case *Repeat:
		e.TestLane = r.lane
		e.Body, e.last = r.take()
		e.Exit = r.leave()
	case *Fork:
		r.endBranch(&e.Branches[len(e.Branches)-1])
	case *Split:
		r.endBranch(&e.Branches[len(e.Branches)-1])
	case *Group:
		e.Body, e.last = r.take()
		e.Exit = r.pending
	}
	f.block.ends().Closer = closer
	base := f.block.Common()
	base.Span.To = max(base.Span.To, end, closer.To)
	r.stack = r.stack[:len(r.stack)-1]
}

// lineOf returns the number of the line of the file at an offset of the text.
func (r *reader) lineOf(at int) string {
	return strconv.Itoa(r.src.Pos(source.Span{From: at, To: at}).Line)
}
