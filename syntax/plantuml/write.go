package plantuml

import (
	"bytes"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/flow"
	"github.com/hocket-dev/hocket/syntax/plantuml/internal/activity"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// writer writes the items of a plan.
type writer struct {
	*plan
	style yaml.Style
	edges map[string][]workflow.Edge
	b     bytes.Buffer
	depth int

	ids   map[string]bool   // of all nodes
	given map[string]bool   // those that are written
	texts map[string]string // of steps, by id, that must not be changed

	known  map[string]bool // names that mean something in a condition
	echoes map[string]bool // questions that repeat the one to the person before them

	owners []*workflow.Node // the loops and for_eachs around the current item

	lanes    []string // in declaration order
	lane     string   // the current one
	laneSet  bool     // it was set in the current block, or around it
	openPath bool     // something leads to what is written next
}

// maxIndent is how deep lines are indented. Without a limit, a text with many blocks inside of each other would be as long as
// the square of their number.
const maxIndent = 40

func (out *writer) line(parts ...string) {
	for range min(out.depth, maxIndent) {
		out.b.WriteString("  ")
	}
	for _, s := range parts {
		out.b.WriteString(s)
	}
	out.b.WriteByte('\n')
}

// file writes the whole diagram.
func (out *writer) file(body block) {
	w := out.written
	out.line("@startuml")
	title := isSafeName(w.Name)
	if title {
		out.line("title ", w.Name)
	}
	head := out.head(title)
	if len(out.lanes) > 0 {
		out.b.WriteByte('\n')
		for _, name := range out.lanes {
			color, title := out.decoration(name)
			out.line("|", color, name, "|", title)
		}
		out.lane = out.lanes[len(out.lanes)-1]
	}
	out.b.WriteByte('\n')
	out.line("start")
	out.note(workflowMark, head)
	out.openPath = true
	out.block(body)
	if out.openPath {
		out.line("stop")
	}
	out.line("@enduml")
}

// head finds the lanes, and returns the keys about the workflow.
func (out *writer) head(title bool) string {
	w := *out.written
	if out.findLanes() {
		w.Agents = nil
	}
	return out.safest(func(st yaml.Style) string {
		if title {
			return st.Head(&w)
		}
		return nameWord(st, w.Name) + st.Head(&w)
	})
}

// nameWord returns the key for a name that cannot be a title, even if it is empty.
func nameWord(st yaml.Style, name string) string {
	if name == "" {
		return "name: \"\"\n"
	}
	return st.Text("name", name)
}

// findLanes assigns a lane to every agent whose name can be the name of one. It reports whether
// the lanes say everything about the agents.
func (out *writer) findLanes() (native bool) {
	taken := map[string]bool{}
	add := func(name string) {
		if lower := strings.ToLower(name); isSafeName(name) && !taken[lower] {
			taken[lower] = true
			out.lanes = append(out.lanes, name)
		}
	}
	native = true
	for _, a := range out.written.Agents {
		add(a.Name)
		native = native && a.Role == "" && isColor(a.Color) && isTitle(a.Title)
	}
	out.written.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		if t, ok := n.Step.(*workflow.Task); ok && yaml.Kind(n) == "task" {
			add(t.Agent)
		}
	})
	same := func(a workflow.AgentRef, name string) bool { return a.Name == name }
	return native && slices.EqualFunc(out.written.Agents, out.lanes, same)
}

// isColor reports whether a lane with this colour, or without one, can be drawn.
func isColor(s string) bool { return s == "" || activity.KnownColour(s) }

// isTitle reports whether a lane with this title, or without one, can be drawn.
func isTitle(s string) bool { return s == "" || isSafeName(s) }

// decoration returns the colour and the title of a lane, as they are written around its name.
func (out *writer) decoration(name string) (color, title string) {
	for _, a := range out.written.Agents {
		if a.Name != name {
			continue
		}
		if a.Color != "" && isColor(a.Color) {
			color = "#" + a.Color + "|"
		}
		if a.Title != "" && isTitle(a.Title) {
			title = " " + a.Title
		}
		break
	}
	return color, title
}

// takeIDs finds the ids that have to be written: all that the parser would not derive from the
// text of the step. An id that is written may take the name that another step would have got, so
// it repeats until all are right.
func (out *writer) takeIDs(body block) {
	var nodes []*workflow.Node
	var bases []string
	list := func(n *workflow.Node, base string) { nodes, bases = append(nodes, n), append(bases, base) }
	out.walk(body, list)
	out.given, out.ids = map[string]bool{}, map[string]bool{}
	for i, n := range nodes {
		out.ids[n.ID] = true
		if n.ID != bases[i] && !strings.HasPrefix(n.ID, bases[i]+"-") {
			out.given[n.ID] = true
		}
	}
	for range len(nodes) + 1 {
		names := yaml.NewNamer()
		for id := range out.given {
			names.Take(id)
		}
		settled := true
		for i, n := range nodes {
			if !out.given[n.ID] && names.Name(bases[i]) != n.ID {
				out.given[n.ID] = true
				settled = false
			}
		}
		if settled {
			return
		}
	}
}

// walk visits the nodes in the order in which the parser names them, with the base names of their
// ids.
func (out *writer) walk(b block, visit func(n *workflow.Node, base string)) {
	for i := range b {
		it := &b[i]
		switch {
		case it.node == nil:
		case it.form == ifForm, it.form == switchForm:
			visit(it.node, "choice")
		case it.form == whileForm, it.form == repeatForm:
			visit(it.node, "loop")
		default:
			visit(it.node, idOf(out.text(it.node)))
		}
		if it.form == whileForm {
			visit(it.test, "choice")
		}
		out.walk(it.body, visit)
		if it.form == repeatForm {
			if it.test != nil && it.test.Kind() == "choice" {
				visit(it.test, "choice")
			}
			if it.back != nil {
				visit(it.back, idOf(out.text(it.back)))
			}
		}
		for k := range it.branches {
			out.walk(it.branches[k].body, visit)
		}
	}
}

// text returns the text of a step: its title, otherwise what is drawn as its prompt elsewhere,
// otherwise its id in words.
func (out *writer) text(n *workflow.Node) string {
	if text, ok := out.texts[n.ID]; ok {
		return text
	}
	if isSafeText(n.Title) && (n.Body() == nil || yaml.IsRepeat(n) || isSafeName(n.Title)) {
		return n.Title
	}
	if text := n.Heading(); n.Body() == nil && isSafeText(text) {
		return text
	}
	if text := readable(n.ID); isSafeName(text) {
		return text
	}
	return "Step"
}

func (out *writer) block(b block) {
	for i := range b {
		out.item(&b[i])
	}
}

// inner writes a block one level deeper. A lane that is set in it does not apply after it.
func (out *writer) inner(b block) {
	set := out.laneSet
	out.depth++
	out.block(b)
	out.depth--
	out.laneSet = set && out.laneSet
}

func (out *writer) item(it *item) {
	if it.start {
		out.line("start")
	}
	switch it.form {
	case stepForm:
		if it.node != nil {
			out.step(it.node)
		}
	case ifForm:
		out.ifElse(it, false)
		out.line("endif")
	case switchForm:
		out.choose(it)
	case forkForm:
		out.fork(it)
	case whileForm:
		out.while(it)
	case repeatForm:
		out.repeat(it)
	case frameForm:
		out.frame(it)
	}
	out.openPath = true
	if word := []string{"", "stop", "detach", "break"}[it.end]; word != "" {
		out.line(word)
		out.openPath = false
	}
}

// step writes an activity with its note.
func (out *writer) step(n *workflow.Node) { out.stepAs(":", n) }

func (out *writer) stepAs(opener string, n *workflow.Node) {
	out.intoLane(agentOf(n))
	out.line(opener, activity.Escape(out.text(n)), ";")
	if m, words := out.words(n); words != "" || m != taskMark {
		out.always(m, words)
	}
}

// intoLane changes to the lane of an agent, if it has one.
func (out *writer) intoLane(agent string) {
	if !slices.Contains(out.lanes, agent) || agent == out.lane && out.laneSet {
		return
	}
	out.line("|", agent, "|")
	out.lane, out.laneSet = agent, true
}

// agentOf returns the agent of a task, including one that is repeated for each item.
func agentOf(n *workflow.Node) string {
	if yaml.IsRepeat(n) {
		n = &n.Body().Nodes[0]
	}
	if t, ok := n.Step.(*workflow.Task); ok {
		return t.Agent
	}
	return ""
}

// note writes a note, unless it is empty.
func (out *writer) note(m mark, words string) {
	if words != "" {
		out.always(m, words)
	}
}

// noteInside writes a note in the block that begins here.
func (out *writer) noteInside(m mark, words string) {
	out.depth++
	out.note(m, words)
	out.depth--
}

func (out *writer) always(m mark, words string) {
	out.line("note right")
	out.depth++
	out.line("<<", string(m), ">>")
	for line := range strings.Lines(words) {
		if line = strings.TrimSuffix(line, "\n"); line == "" {
			out.b.WriteByte('\n')
			continue
		}
		out.line(line)
	}
	out.depth--
	out.line("end note")
}

// ifElse writes a test with its branches. A test that is the only item of an else becomes an
// elseif.
func (out *writer) ifElse(it *item, chained bool) {
	yes, no := "yes", "no"
	if it.inverted {
		yes, no = no, yes
	}
	asks := it.node.Task() != nil
	if asks {
		yes, no = caseLabel(it.branches[0].way), caseLabel(it.branches[1].way)
	}
	word := "if"
	if chained {
		word = "elseif"
	}
	out.line(word, " (", out.testOf(it), ") then (", yes, ")")
	if !chained {
		out.noteInside(out.choiceNote(it.node, out.shown(it.node), out.lane))
	}
	out.inner(it.branches[0].body)
	other := it.branches[1].body
	switch {
	case len(other) == 0 && (!asks || it.branches[1].way.on == workflow.OnElse):
	case !asks && !it.inverted && len(other) == 1 && other[0].form == ifForm && !other[0].start && out.isBare(other[0].node):
		out.ifElse(&other[0], true)
	default:
		out.line("else (", no, ")")
		out.inner(other)
	}
	out.laneSet = false
}

// isBare reports whether a choice is a condition that needs no note.
func (out *writer) isBare(n *workflow.Node) bool {
	_, words := out.choiceNote(n, "", out.lane)
	return words == "" && n.Task() == nil
}

// testOf returns the condition of an if. A condition that cannot be drawn is written in a note,
// and a question is drawn instead.
func (out *writer) testOf(it *item) string {
	if it.node.Task() != nil {
		return out.shown(it.node)
	}
	w := it.branches[0].way
	if it.inverted {
		w = it.branches[1].way
	}
	return out.condition(w.when)
}

// condition returns a condition as shown in a test. A condition that cannot be drawn is written
// as a key.
func (out *writer) condition(when string) string {
	if isSafeTest(when) {
		return when
	}
	return ""
}

// shown returns the question that the test of a choice shows, or that of a person whose answers
// it shows, or "".
func (out *writer) shown(n *workflow.Node) string {
	text, reads := "", false
	switch s := n.Step.(type) {
	case *workflow.Choice:
		if s.Ask != nil {
			text = s.Ask.Prompt.Text
			reads = expr.ReadsAsQuestion(text, expr.PlantUML, out.known) && !out.echoes[n.ID] && !flow.AsksNothing(out.edges[out.key(n)])
		}
	case *workflow.Human:
		text = s.Question.Text
		reads = testOf(text) != expr.ConditionTest
	case *workflow.Task, *workflow.Call, *workflow.Combine, *workflow.Loop, *workflow.Each:
	}
	if !reads || !isSafeText(text) || !isSafeLabel(strings.TrimSuffix(text, "?")) || hasOperator(text) {
		return ""
	}
	return text
}

// choose writes a switch. After a step, it shows the answers of that step.
func (out *writer) choose(it *item) {
	asks := it.node
	if asks == nil {
		asks = it.test
	}
	test := out.shown(asks)
	if c, ok := asks.Step.(*workflow.Choice); ok && isSafeTest(c.On.Text) {
		test = c.On.Text
	}
	out.line("switch (", test, ")")
	if it.node != nil {
		out.noteInside(out.choiceNote(it.node, test, out.lane))
	}
	for k := range it.branches {
		out.line("case (", caseLabel(it.branches[k].way), ")")
		out.inner(it.branches[k].body)
		out.laneSet = false
	}
	out.line("endswitch")
}

// caseLabel returns the label of a branch of a switch.
func caseLabel(w way) string {
	switch {
	case w.on == workflow.OnLabel && isSafeLabel(w.label):
		return w.label
	case w.on == workflow.OnElse:
		return "else"
	case w.on == workflow.OnWhen && isSafeLabel(w.when):
		return w.when
	}
	return "another way"
}

func (out *writer) fork(it *item) {
	for k := range it.branches {
		if k == 0 {
			out.line("fork")
		} else {
			out.line("fork again")
		}
		out.inner(it.branches[k].body)
		out.laneSet = false
	}
	out.line("end fork")
}

func (out *writer) while(it *item) {
	ways, _ := waysOf(out.edges[out.key(it.test)])
	test, in, leave := out.condition(ways[0].when), "yes", "no"
	if it.test.Task() != nil {
		test, in, leave = out.shown(it.test), caseLabel(ways[0]), caseLabel(ways[1])
	}
	if it.inverted {
		in, leave = leave, in
	}
	out.line("while (", test, ") is (", in, ")")
	out.noteInside(out.loopNote(it.node, ""))
	out.noteInside(out.choiceNote(it.test, out.shown(it.test), out.lane))
	out.inner(it.body)
	out.laneSet = false
	out.line("endwhile (", leave, ")")
}

func (out *writer) repeat(it *item) {
	out.line("repeat")
	out.noteInside(out.loopNote(it.node, ""))
	asks := ""
	if it.test != nil && it.test.Kind() == "choice" {
		lane := out.lane
		if t := it.test.Task(); t != nil && slices.Contains(out.lanes, t.Agent) {
			asks, lane = t.Agent, t.Agent
		}
		out.noteInside(out.choiceNote(it.test, out.shown(it.test), lane))
	}
	out.depth++
	out.block(it.body)
	if it.back != nil {
		out.stepAs("backward :", it.back)
	}
	out.intoLane(asks)
	out.depth--
	out.laneSet = false
	out.line("repeat while", out.again(it))
}

// again returns what follows the end of a repeat: its test, or the question that the last step
// answers.
func (out *writer) again(it *item) string {
	if it.test == nil {
		return ""
	}
	ways, _ := waysOf(out.edges[out.key(it.test)])
	test, back, leave := out.condition(ways[0].when), "yes", "no"
	if it.test.Task() != nil || it.test.Kind() == "human" {
		test, back, leave = out.shown(it.test), caseLabel(ways[0]), caseLabel(ways[1])
	}
	swapped := it.inverted
	if it.test.Kind() != "choice" {
		to := ways[1].to[0]
		swapped = to == workflow.Again || it.back != nil && to == it.back.ID
	}
	if swapped {
		back, leave = leave, back
	}
	return " (" + test + ") is (" + back + ") not (" + leave + ")"
}

// key returns a unique key for a node.
func (out *writer) key(n *workflow.Node) string {
	if len(out.owners) == 0 {
		return n.ID
	}
	return keyIn(out.owners[len(out.owners)-1], n.ID)
}

// frame writes a loop or a for_each as a partition.
func (out *writer) frame(it *item) {
	out.line(`partition "`, out.text(it.node), `" {`)
	out.depth++
	if _, isLoop := it.node.Step.(*workflow.Loop); isLoop {
		_, words := out.loopNote(it.node, out.text(it.node))
		out.always(loopMark, words)
	} else {
		out.note(out.words(it.node))
	}
	out.depth--
	out.owners = append(out.owners, it.node)
	out.inner(it.body)
	out.owners = out.owners[:len(out.owners)-1]
	out.laneSet = false
	out.line("}")
}
