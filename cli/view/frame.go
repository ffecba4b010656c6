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

// foldItems is how many items of an Each are all shown; of more, only those that
// run or failed, and at most as many.
const foldItems = 10

// line is one line of the tree before it is laid out in columns.
type line struct {
	guide string // the branches that lead to it
	below string // and to what belongs to it
	mark  string
	paint Paint
	name  string
	time  string
	info  string // attempt, round, items, cost
	note  string // last output, error, decision
	state state
	must  bool          // it runs or failed, or something below it does
	row   bool          // only a note, which goes on from the line above
	hides map[state]int // it stands for others: how many, by their state
	busy  *item         // that works, and nothing below it
}

// Frame draws the tree as it is at a time. height bounds the number of lines,
// zero does not: what finished or is still to come is folded first. What is left of
// the height goes to the output of the only one that works.
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

// warnings stand below the last frame.
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

// branch draws the lines that lead to a child, and those beside what is below
// it. The outermost nodes have none.
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

// shown leaves out the choices, which do no work, until they have decided.
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

// shownItems are the items to draw, all of a few. Of many they are some that failed or
// run; how many more do is what they hide.
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

// shownState is an item's own state, or what the things below it add up to. The
// engine tells of steps; what loops and items come to is seen from those.
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

// itemsState is what the items of an Each add up to, and st without any: waiting
// if nothing in them does more than wait.
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

// liveState is waiting if nothing in the scope does more than wait.
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
	add(it.state == retrying && !it.until.IsZero(), "again in %s", Duration(it.until.Sub(d.now)))
	add(spent(it.usage) != "", "%s", spent(it.usage))
	return strings.Join(parts, "  ")
}

// tally counts the items of an Each by what became of them.
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

// question is what a choice asks an agent, "" for all other nodes: their ids say what
// they do.
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
	if d.style.Width > 0 { // how it is going is never cut off
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

// state is how far the run has come, and the word for it. One in which nothing
// does more than wait is waiting.
func (t *Tree) state() (state, string) {
	switch {
	case t.status.Done():
		return endState(t.status), string(t.status)
	case !t.stopping && t.root.live > 0 && t.root.liveState() == waiting:
		return waiting, string(engine.Waiting)
	case t.cut:
		return running, "interrupted"
	case t.stopping:
		return running, "stopping (ctrl-c again forces it)"
	}
	return endState(t.status), string(t.status)
}
