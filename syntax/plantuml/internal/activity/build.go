package activity

import (
	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/workflow"
)

func (r *reader) top() *frame { return &r.stack[len(r.stack)-1] }

// addMark adds an element that draws nothing by itself to the open body.
func (r *reader) addMark(e Element) {
	e.Common().Number = r.diagram.Size
	r.diagram.Size++
	r.items = append(r.items, e)
}

// add adds an element to the open body.
func (r *reader) add(e Element, span source.Span) {
	base := e.Common()
	base.Span, base.Lane = span, r.lane
	r.addMark(e)
	r.top().last = e
}

// step is called for elements that are not allowed before the first lane.
func (r *reader) step(l *line) {
	if !r.steps && len(r.diagram.Lanes) == 0 {
		r.steps, r.stepAt = true, l.from
	}
}

// arrive assigns the pending arrow to an element. With keep, it is also left for the next one.
func (r *reader) arrive(e Element, keep bool) {
	if a := r.pending; a != nil {
		e.Common().Arrow = a
		if a.To == nil {
			a.To = e
		}
	}
	if !keep {
		r.pending = nil
	}
}

// leave returns the pending arrow at the end of a branch.
func (r *reader) leave() *Arrow {
	a := r.pending
	r.pending = nil
	return a
}

func (r *reader) activity(l *line, st *stmt) {
	if r.early(l) {
		return
	}
	r.step(l)
	a := r.newActivity()
	a.Text = r.text(l, st.test)
	a.Look = r.look(l, st)
	a.Form, a.Ending = OneLine, ';'
	if st.kind == kListItem {
		a.Form, a.Ending = ListItem, 0
	}
	r.addActivity(a, l.whole())
}

func (r *reader) addActivity(a *Activity, span source.Span) {
	r.add(a, span)
	r.arrive(a, false)
	if r.texts != nil {
		r.texts[a.Text.String()] = a
	}
}

// newActivity allocates activities in blocks.
func (r *reader) newActivity() *Activity {
	if len(r.activities) == cap(r.activities) {
		r.activities = make([]Activity, 0, min(max(2*cap(r.activities), 8), 1024))
	}
	r.activities = append(r.activities, Activity{})
	return &r.activities[len(r.activities)-1]
}

// early reports whether a step is between a switch and its first case, which
// PlantUML refuses.
func (r *reader) early(l *line) bool {
	s, ok := r.top().block.(*Switch)
	if !ok || len(s.Cases) > 0 {
		return false
	}
	if r.refuse(l) {
		return true
	}
	r.problem(workflow.Error, codeStray, l.whole(), "a step comes before the first case of its switch",
		"put it before the switch at line "+r.lineOf(r.top().opener.From)+", or after a case")
	return false
}

func (r *reader) mark(l *line, st *stmt) {
	var e Element
	keep := false
	switch st.kind {
	case kStart:
		e = &Start{}
	case kStop, kEnd:
		e, keep = &Stop{End: st.kind == kEnd}, true
	case kBreak:
		e, keep = &Break{}, true
		for i := range r.stack {
			r.stack[i].breaks = true
		}
	case kConnector:
		e = &Connector{Name: r.text(l, st.test), Look: r.look(l, st)}
	case kLabel:
		e = &Label{Name: r.text(l, st.test)}
	case kGoto:
		e = &Goto{Name: r.text(l, st.test)}
	}
	if st.kind != kLabel && st.kind != kGoto {
		r.step(l)
	}
	before := r.top().last
	r.add(e, l.whole())
	r.arrive(e, keep)
	if stop, ok := e.(*Stop); ok {
		r.final(before, stop)
	}
}

// final makes a stop after a loop without break the exit of the loop. PlantUML does so only
// outside blocks, and then treats the loop as the element before the next line.
func (r *reader) final(before Element, stop *Stop) {
	if w, ok := before.(*While); ok && !w.breaks && len(r.stack) == 1 {
		w.Final = stop
		r.top().last = w
	}
}

func (r *reader) kill(l *line, st *stmt) {
	f := r.top()
	k := &Kill{Detach: word(l.text, 0, "kill") < 0}
	if f.last == nil || !killable(f.last) {
		if r.refuse(l) {
			return
		}
		r.uselessKill(l, f.last)
		return
	}
	k.Span, k.Lane = l.whole(), r.lane
	k.On = f.last
	f.last.Common().Kill = k
	r.addMark(k)
}

// killable reports whether PlantUML lets a path end after an element.
func killable(e Element) bool {
	for {
		var last Element
		switch e := e.(type) {
		case *Activity, *Connector, *Repeat, *While:
			return true
		case *If:
			first := e.Branches[0].last
			return (first == nil || killable(first)) && (e.Else == nil || e.Else.last == nil || killable(e.Else.last))
		case *Fork:
			last = e.Branches[len(e.Branches)-1].last
		case *Split:
			last = e.Branches[len(e.Branches)-1].last
		case *Switch:
			if len(e.Cases) > 0 {
				last = e.Cases[len(e.Cases)-1].last
			}
		case *Group:
			last = e.last
		case *Start, *Stop, *Break, *Goto, *Label, *Arrow, *LaneMark, *Note, *Backward, *Kill:
			return false
		}
		if last == nil {
			return false
		}
		e = last
	}
}

func (r *reader) laneMark(l *line, st *stmt) {
	if r.steps {
		if r.refuse(l) {
			return
		}
		r.lateLane(l, st)
	}
	name := st.test.of(l.text)
	mark := &LaneMark{Color: trimHash(st.color.of(l.text)), Label: r.text(l, st.label)}
	at, known := r.laned[name]
	if !known {
		if r.laned == nil {
			r.laned = map[string]int{}
		}
		at = len(r.diagram.Lanes)
		r.laned[name] = at
		r.diagram.Lanes = append(r.diagram.Lanes, Lane{Name: name, Label: r.text(l, st.test), Span: l.whole()})
	}
	lane := &r.diagram.Lanes[at]
	if mark.Color != "" {
		if lane.Color != "" && lane.Color != mark.Color {
			lane.Again = l.whole()
		}
		lane.Color = mark.Color
	}
	if mark.Label.Written() {
		if lane.Titled && lane.Label.Raw != mark.Label.Raw {
			lane.Again = l.whole()
		}
		lane.Label, lane.Titled = mark.Label, true
	}
	r.lane = name
	mark.Span, mark.Lane = l.whole(), name
	r.addMark(mark)
}

func (r *reader) arrow(l *line, st *stmt) {
	a := &Arrow{Style: st.style.of(l.text), Label: r.text(l, st.label)}
	if st.kind == kLink {
		a.Style = st.color.of(l.text)
	}
	r.addArrow(a, l.whole())
}

func (r *reader) addArrow(a *Arrow, span source.Span) {
	a.Span, a.Lane = span, r.lane
	r.addMark(a)
	if a.Style == "" && a.Label.Raw == "" {
		return
	}
	if w, ok := r.top().block.(*While); ok && r.top().last == nil && a.Label.Raw != "" {
		w.Yes, a.To = a.Label, w
		if a.Style != "" {
			r.pending = nil
		}
		return
	}
	r.pending = a
}

func (r *reader) backward(l *line, st *stmt) {
	b := &Backward{Text: r.text(l, st.test), In: r.text(l, st.in), Out: r.text(l, st.out), Look: r.look(l, st)}
	r.addBackward(l, b, l.whole())
}

func (r *reader) addBackward(l *line, b *Backward, span source.Span) {
	r.step(l)
	b.Span, b.Lane = span, r.lane
	switch loop := r.top().block.(type) {
	case *Repeat:
		loop.Backward = b
	case *While:
		loop.Backward = b
	default:
		if r.refuse(l) {
			return
		}
		r.problem(workflow.Error, codeStray, span, "backward is outside a loop",
			"move it into a repeat or a while, before its end")
	}
	r.addMark(b)
}

func trimHash(s string) string {
	if s != "" && s[0] == '#' {
		return s[1:]
	}
	return s
}
