package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// foldItems is how many items of an Each are shown. If there are more, only those that
// are running or failed are shown, up to this number.
const foldItems = 10

// line is one line of the tree before it is laid out in columns.
type line struct {
	guide string // the branch drawing before it
	below string // and before its children
	mark  string
	paint Paint
	name  string
	time  string
	info  string // attempt, round, items, cost
	note  string // last output, error, decision
	state state
	must  bool          // it, or something below it, is running or failed
	row   bool          // it only continues the note of the line above
	hides map[state]int // it replaces other lines: how many, by state
	busy  *item         // a running leaf
}

// Frame draws the tree at a time. A height other than zero limits the number of lines:
// finished and pending steps are folded first. Spare lines show the output of the running
// step, if there is only one.
func (t *Tree) Frame(now time.Time, style Style, height int) []string {
	d := frame{tree: t, now: now, style: style}
	if t.cut {
		d.now = t.ended
	}
	d.scope(t.root, "")
	lines := spill(d.lines, style)
	if height > 0 {
		lines = fold(lines, style, max(height-1, 1))
		lines = tail(lines, style, height-1)
	}
	out := append(layOut(lines, style), d.footer())
	if height == 0 {
		out = append(out, d.warnings()...)
	}
	return out
}

// warnings are shown below the last frame.
func (d *frame) warnings() []string {
	out := make([]string, len(d.tree.warnings))
	for i, w := range d.tree.warnings {
		out[i] = drawCells([]Cell{{"warning", Yellow}, {": " + w, None}}, d.style)
	}
	return out
}

type frame struct {
	tree  *Tree
	now   time.Time
	style Style
	lines []line
}

func (d *frame) scope(s *scope, guide string) {
	var shown []*item
	for i := range s.nodes {
		if it := &s.nodes[i]; it.shown() {
			shown = append(shown, it)
		}
	}
	for i, it := range shown {
		own, below := d.branch(s, guide, i == len(shown)-1)
		d.item(it, it.def.ID, own, below)
	}
}

// branch draws the branches before a child, and before the children of that. Top-level
// nodes have none.
func (d *frame) branch(s *scope, guide string, last bool) (own, below string) {
	switch {
	case s.owner == nil:
		return "", "  "
	case last:
		return guide + d.style.pick("└ ", "`-"), guide + "  "
	default:
		return guide + d.style.pick("├ ", "|-"), guide + d.style.pick("│ ", "| ")
	}
}

// shown reports whether to show an item. Choices are hidden until they have decided.
func (it *item) shown() bool {
	return it.def.Kind() != "choice" || it.state != pending && it.state != skipped || it.note != ""
}

func (d *frame) item(it *item, name, guide, below string) {
	st := it.shownState()
	l := line{guide: guide, below: below, name: name, state: st, info: d.info(it), must: st.live() || st == failed}
	l.mark, l.paint = d.mark(it, st)
	if !it.began.IsZero() {
		l.time = Took(it.elapsed(st, d.now))
		if st.live() {
			l.time = Duration(it.elapsed(st, d.now))
		}
	}
	l.note = d.note(it, st)
	if st == running && it.body == nil && len(it.items) == 0 {
		l.busy = it
	}
	d.lines = append(d.lines, l)
	switch {
	case it.body != nil:
		d.scope(it.body, below)
	case len(it.items) > 0:
		d.items(it, below)
	}
}

func (d *frame) items(it *item, guide string) {
	shown, hides := it.shownItems()
	for i, s := range shown {
		own, below := guide+d.style.pick("├ ", "|-"), guide+d.style.pick("│ ", "| ")
		if i == len(shown)-1 && len(hides) == 0 {
			own, below = guide+d.style.pick("└ ", "`-"), guide+"  "
		}
		name := "[" + strconv.Itoa(s.index) + "]"
		if len(s.nodes) == 1 && s.nodes[0].def.ID == it.def.ID {
			d.item(&s.nodes[0], name, own, below)
			continue
		}
		st := s.state()
		l := line{guide: own, below: below, name: name, state: st, must: st.live() || st == failed}
		l.mark, l.paint = d.stateMark(st)
		d.lines = append(d.lines, l)
		d.scope(s, below)
	}
	if len(hides) > 0 {
		d.lines = append(d.lines, standIn(hides, guide+d.style.pick("└ ", "`-"), d.style))
	}
}

// shownItems returns the items to draw: all if there are few, otherwise some of those
// that failed or are running. hides counts the rest of those.
func (it *item) shownItems() (shown []*scope, hides map[state]int) {
	if len(it.items) <= foldItems {
		return it.items, nil
	}
	take := func(most int, wanted func(*scope) bool) {
		for _, s := range it.items {
			if len(shown) < most && wanted(s) && !slices.Contains(shown, s) {
				shown = append(shown, s)
			}
		}
	}
	bad := func(s *scope) bool { return s.live == 0 && s.fails > 0 }
	take(foldItems/2, bad)
	take(foldItems, func(s *scope) bool { return s.live > 0 })
	take(foldItems, bad)
	slices.SortFunc(shown, func(a, b *scope) int { return a.index - b.index })
	hides = map[state]int{}
	for _, s := range it.items {
		if s.live > 0 || s.fails > 0 {
			hides[s.state()]++
		}
	}
	for _, s := range shown {
		if st := s.state(); hides[st] == 1 {
			delete(hides, st)
		} else {
			hides[st]--
		}
	}
	return shown, hides
}

// shownState returns an item's own state, or one derived from its children: the engine
// reports only steps, not loops and items.
func (it *item) shownState() state {
	switch {
	case it.state != pending && it.state != running:
		return it.state
	case it.body != nil && (it.state == pending || it.body.live > 0):
		return it.body.state()
	case it.state == running:
		return it.itemsState(running)
	}
	return it.itemsState(pending)
}

// itemsState derives the state of an Each from its items, st if there are none. It is
// waiting if all live items are waiting.
func (it *item) itemsState(st state) state {
	waits := false
	for _, s := range it.items {
		switch sub := s.state(); {
		case sub == waiting:
			waits = true
		case sub.live():
			return running
		case st != running && (sub == failed || st != failed && sub != pending):
			st = sub
		}
	}
	if waits {
		return waiting
	}
	return st
}

func (s *scope) state() state {
	switch {
	case s.live > 0:
		return s.liveState()
	case s.fails > 0:
		return failed
	case s.seen:
		return s.restState()
	}
	return pending
}

// liveState returns waiting if all live nodes in the scope are waiting, otherwise running.
func (s *scope) liveState() state {
	st := waiting
	for i := range s.nodes {
		if sub := s.nodes[i].shownState(); sub == running || sub == retrying {
			st = running
		}
	}
	return st
}

func (s *scope) restState() state {
	st := skipped
	for i := range s.nodes {
		switch s.nodes[i].shownState() {
		case succeeded:
			return succeeded
		case cancelled:
			st = cancelled
		case pending, running, retrying, waiting, failed, skipped:
		}
	}
	return st
}

var spinner = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

func (d *frame) mark(it *item, st state) (string, Paint) {
	if it.def.Kind() == "choice" && !st.live() && st != failed {
		return d.style.pick("◇", "<"), Dim
	}
	return d.stateMark(st)
}

func (d *frame) stateMark(st state) (string, Paint) {
	switch st {
	case pending:
		return d.style.pick("·", "."), Dim
	case running:
		if d.tree.cut {
			return d.style.pick("■", "!"), Yellow
		}
		tick := int(d.now.UnixMilli()/100) % len(spinner)
		return d.style.pick(spinner[tick], "*"), Cyan
	case retrying:
		return d.style.pick("↻", "~"), Yellow
	case waiting:
		return "?", BoldYellow
	case succeeded:
		return d.style.pick("✓", "+"), Green
	case failed:
		return d.style.pick("✗", "x"), BoldRed
	case skipped:
		return "-", Dim
	case cancelled:
		return d.style.pick("■", "!"), Dim
	}
	return " ", None
}

func (d *frame) info(it *item) string {
	var parts []string
	add := func(on bool, format string, args ...any) {
		if on {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	switch step := it.def.Step.(type) {
	case *workflow.Loop:
		most := step.Max
		if most == 0 {
			most = workflow.DefaultMaxIterations
		}
		add(it.round > 0, "round %d of %d", it.round, most)
	case *workflow.Each:
		parts = append(parts, it.tally(d.tree.cut)...)
	case *workflow.Task, *workflow.Human, *workflow.Call, *workflow.Choice, *workflow.Combine:
	}
	add(it.attempt > 1, "attempt %d", it.attempt)
	add(it.state == retrying && !it.until.IsZero(), "retry in %s", Duration(it.until.Sub(d.now)))
	add(spent(it.usage) != "", "%s", spent(it.usage))
	return strings.Join(parts, "  ")
}

// tally counts the items of an Each by their result.
func (it *item) tally(cut bool) []string {
	if it.total == 0 {
		return nil
	}
	live, bad := 0, 0
	for _, s := range it.items {
		live += btoi(s.live > 0)
		bad += btoi(s.live == 0 && s.fails > 0)
	}
	parts := []string{fmt.Sprintf("%d of %d", len(it.items)-live, it.total)}
	switch {
	case live > 0 && cut:
		parts = append(parts, strconv.Itoa(live)+" interrupted")
	case live > 0:
		parts = append(parts, strconv.Itoa(live)+" running")
	}
	if bad > 0 {
		parts = append(parts, strconv.Itoa(bad)+" failed")
	}
	return parts
}

func (d *frame) note(it *item, st state) string {
	if it.note != "" {
		return it.note
	}
	switch st {
	case running:
		return question(it.def)
	case skipped:
		return "skipped"
	case cancelled:
		return "cancelled"
	case pending, retrying, waiting, succeeded, failed:
	}
	return ""
}

// question returns what a choice asks an agent, "" for other nodes.
func question(n *workflow.Node) string {
	choice, _ := n.Step.(*workflow.Choice)
	if choice == nil || choice.Ask == nil {
		return ""
	}
	return Line(cmp.Or(choice.Ask.Prompt.Src.Text, choice.Ask.Prompt.Text))
}

func (d *frame) footer() string {
	t := d.tree
	end := d.now
	if !t.ended.IsZero() {
		end = t.ended
	}
	st, words := t.state()
	mark, paint := d.stateMark(st)
	switch {
	case t.began.IsZero():
	case t.cut:
		words += " after " + Took(end.Sub(t.began))
	case t.ended.IsZero():
		words += " " + Duration(end.Sub(t.began))
	default:
		words += " in " + Took(end.Sub(t.began))
	}
	run := t.run
	if d.style.Width > 0 { // shorten the id, but never the status
		run = d.style.Cut(run, max(d.style.Width-Width(words)-5, 8))
	}
	parts := []string{run, words, Count(t.steps, "task")}
	if cost := spent(t.usage); cost != "" {
		parts = append(parts, cost)
	}
	if n := t.usage.TokensIn + t.usage.TokensOut; n > 0 {
		parts = append(parts, Tokens(n)+" tokens")
	}
	if t.reason != "" {
		parts = append(parts, t.reason)
	}
	return drawCells([]Cell{{mark, paint}, {" " + strings.Join(parts, "  "), Bold}}, d.style)
}

// state returns the state of the run and the word for it. A run is waiting if all its
// live steps are.
func (t *Tree) state() (state, string) {
	switch {
	case t.status.Done():
		return endState(t.status), string(t.status)
	case !t.stopping && t.root.live > 0 && t.root.liveState() == waiting:
		return waiting, string(engine.Waiting)
	case t.cut:
		return running, "interrupted"
	case t.stopping:
		return running, "stopping (press ctrl-c again to force it)"
	case t.stalled != "":
		return waiting, "waiting: " + Line(t.stalled)
	}
	return endState(t.status), string(t.status)
}
