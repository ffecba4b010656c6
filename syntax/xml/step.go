package xml

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/internal/xmltext"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// step is a step with the information from which its edges are made. Steps are in the order of
// their start tags.
type step struct {
	node    *workflow.Node
	graph   *workflow.Graph // that contains it
	outer   int32           // the loop or the each around it, or -1
	kind    string          // the name of its element
	place   xmltext.Element // does not exist if the step is the test of a loop
	depends []target
	list    xmltext.Attr    // with the dependencies; does not exist if that is an element
	edges   []workflow.Edge // that the step sets itself
	leads   bool            // it sets what follows its success
}

// target is the name of a step, with its position.
type target struct {
	name string
	pos  workflow.Pos
}

// block reads the steps in an element into a graph.
func (r *reader) block(e xmltext.Element, g *workflow.Graph, outer int32) {
	n := 0
	eachStep(e, func(xmltext.Element, string) { n++ })
	g.Nodes = make([]workflow.Node, n, n+1) // one more for the test of a loop
	r.steps = slices.Grow(r.steps, n)
	n = 0
	eachStep(e, func(c xmltext.Element, kind string) {
		r.step(c, kind, &g.Nodes[n], g, outer)
		n++
	})
}

// eachStep visits the steps in an element, including those in elements that only group steps.
func eachStep(e xmltext.Element, visit func(c xmltext.Element, kind string)) {
	for c := e.First(); c.Exists(); c = c.Next() {
		if kind := kindOf(c.Name()); kind != "" {
			visit(c, kind)
		} else if !e.Parent().Exists() && rootShape.parts[c.Name()] == stepsShape {
			eachStep(c, visit)
		}
	}
}

// kindOf returns the kind of an element in the model, or "" if it is not a step.
func kindOf(name string) string {
	switch name {
	case "agent", "node", "step":
		return "task"
	case "human", "call", "choice", "combine", "merge", "land", "loop", "each":
		return name
	}
	return ""
}

// step reads one step. Keys that XML writes in its own way are read here, all others by package
// yaml.
func (r *reader) step(e xmltext.Element, kind string, n *workflow.Node, g *workflow.Graph, outer int32) {
	at := int32(len(r.steps))
	r.steps = append(r.steps, step{node: n, graph: g, outer: outer, kind: kind, place: e})
	p := &r.parts // reused, because a file has many steps
	*p = parts{reader: r, place: e, kind: kind, step: &r.steps[at], shape: stepShapes[e.Name()]}
	p.collect()
	read := p.read()
	read.Node.ID, read.Node.Pos = p.id.text, p.id.src.Pos
	if !p.id.exists {
		read.Node.Pos = e.Pos()
	}
	if !read.HasOnError && p.kind != "loop" {
		read.Node.OnError = r.onError
	}
	*n = read.Repeat()
	if body := bodyOf(n, kind); body != nil {
		until, while := p.until, p.while
		r.block(e, body, at)
		r.addTest(at, body, until, while)
	}
}

// bodyOf returns the graph of a loop or an each that was written as an element.
func bodyOf(n *workflow.Node, kind string) *workflow.Graph {
	if kind == "loop" || kind == "each" {
		return n.Body()
	}
	return nil
}

// parts are the keys and elements of a step.
type parts struct {
	*reader
	*step
	place  xmltext.Element
	kind   string
	shape  *shape
	id     word
	agent  word
	called word
	task   word
	until  word
	while  word
	inputs []workflow.Binding
	config xmltext.Element
	plan   []xmltext.Element // the list of a planner
	refs   []strictyaml.Node // inputs of a combine
	list   []strictyaml.Node // options of a question
	route  []strictyaml.Node
	words  []strictyaml.Pair // keys that are the same in YAML
	// decides is who resolves the conflicts of a merge or picks a workspace, if that is an agent.
	decides *workflow.Task
	plain   yaml.Step // used for a step without such keys
}

// collect sorts attributes and elements.
func (p *parts) collect() {
	for a := range p.place.Attrs() {
		switch name := a.Name(); {
		case slices.Contains(ignored, name) || strings.HasPrefix(name, "xmlns"):
			continue
		case strings.HasPrefix(name, "depends"):
			p.step.list = a
		}
		p.word(a.Name(), p.reader.attrWord(a))
	}
	for c := p.place.First(); c.Exists(); c = c.Next() {
		p.element(c)
	}
	if p.task.text == "" && p.kind == "task" && p.place.HasText() {
		p.task = word{exists: true, text: p.place.Text(), src: p.place.Source()}
	}
}

// ignored are attributes that have no meaning for a step.
var ignored = []string{xmltext.Preserve, "xml:lang"}

// word takes a key, however it is written.
func (p *parts) word(name string, w word) {
	switch name {
	case "id":
		p.id = w
	case "depends", "dependsOn":
		if list := p.targets(w); p.step.depends == nil {
			p.step.depends = list
		} else {
			p.step.depends = append(p.step.depends, list...)
		}
	case "name", "tool", "agent":
		if (p.kind == "task" || p.kind == "choice") && (name == "name" || !p.agent.exists) {
			p.agent = w
		}
	case "task":
		p.task = w
	case "workflow":
		p.called = w
	case "until":
		p.until = w
	case "while":
		p.while = w
	case "on_conflict", "pick":
		if p.kind == "merge" {
			p.deciderWord(name, w)
		}
	default:
		p.yamlWord(name, w)
	}
}

// yamlWord takes a key that YAML also has.
func (p *parts) yamlWord(name string, w word) {
	if !slices.Contains(p.shape.words, name) && stepParts[name] == nil {
		return // already reported
	}
	if p.has(name) {
		return // already reported
	}
	value := p.scalar(w)
	switch {
	case name == "items":
		name = "for_each"
	case name == "mode" && p.kind == "land":
		name = "land"
	case name == "join" && w.value == nil && w.text != "" && w.text[0] >= '0' && w.text[0] <= '9':
		value = p.reader.words().Of(json.Number(w.text), w.src)
	}
	p.words = append(p.words, strictyaml.Pair{Key: name, Pos: w.key(), Value: value})
}

// element takes an element of a step.
func (p *parts) element(c xmltext.Element) {
	name := c.Name()
	switch name {
	case "input":
		p.input(c)
	case "config":
		p.config = c
	case "option":
		p.list = append(p.list, p.option(c))
	case "next", "route", "else", "error", "on_timeout":
		p.way(c)
	case "output":
		p.add(c, p.output(c))
	case "retry":
		p.add(c, p.keyed(c, p.pairs(c, stepParts[c.Name()].words...), "attempts"))
	case "labels", "handoffs":
		p.add(c, p.composed(c))
	case "task":
		if p.kind == "task" {
			p.task = p.wordOf(c)
		}
	default:
		switch {
		case planParts[name] != nil && p.kind == "task":
			p.plan = append(p.plan, c)
		case kindOf(name) != "" && (p.kind == "loop" || p.kind == "each"):
		case isDecider(name) && p.kind == "merge":
			p.decider(c)
		case p.shape.child(name) != nil:
			p.word(name, p.wordOf(c))
		}
	}
}

func (p *parts) add(c xmltext.Element, value strictyaml.Node) {
	p.words = append(p.words, strictyaml.Pair{Key: c.Name(), Pos: c.Pos(), Value: value})
}

// keyed returns an element with keys, or one with only text. Text beside keys is the value of the first of the
// others that is missing.
func (p *parts) keyed(c xmltext.Element, pairs []strictyaml.Pair, others ...string) strictyaml.Node {
	if len(pairs) == 0 {
		return p.scalar(p.wordOf(c))
	}
	if strings.TrimSpace(c.Source().Text) != "" {
		missing := slices.IndexFunc(others, func(name string) bool {
			return !slices.ContainsFunc(pairs, func(pair strictyaml.Pair) bool { return pair.Key == name })
		})
		if missing < 0 {
			p.strayText(c)
		} else {
			text := p.wordOf(c)
			pairs = append(pairs, strictyaml.Pair{Key: others[missing], Pos: text.src.Pos, Value: p.scalar(text)})
		}
	}
	return p.reader.words().Map(pairs, c.Pos())
}

func (p *parts) output(c xmltext.Element) strictyaml.Node {
	pairs := p.pairs(c, "var", "mode", "path", "pattern")
	if schema := childOf(c, "schema"); schema.Exists() {
		v := p.value(schema)
		pairs = append(pairs, strictyaml.Pair{Key: "schema", Pos: schema.Pos(), Value: p.reader.words().Of(v, sourceOf(schema, v))})
	}
	return p.keyed(c, pairs, "var")
}

func (p *parts) option(c xmltext.Element) strictyaml.Node {
	return p.keyed(c, p.pairs(c, "value", "label", "description"), "value", "label")
}

// input takes an input of the step.
func (p *parts) input(c xmltext.Element) {
	if p.kind == "combine" {
		p.refs = append(p.refs, p.scalar(p.wordOf(c)))
		return
	}
	b := workflow.Binding{Name: "input", Pos: c.Pos()}
	if a := c.Attr("name"); a.Exists() {
		b.Name, b.Pos = a.Value(), a.Pos()
	}
	b.Value = p.inputValue(c, &b)
	if text, ok := b.Value.(string); ok {
		b.Src = sourceOf(c, text)
	}
	if slices.ContainsFunc(p.inputs, func(other workflow.Binding) bool { return other.Name == b.Name }) {
		p.errorf(c, codeTwice, `give each input its own name: <input name="…">`, "duplicate input %q", b.Name)
		return
	}
	p.inputs = append(p.inputs, b)
}

// inputValue returns the value of an input. A name that an attribute cannot contain is an element
// with JSON, next to the element value.
func (p *parts) inputValue(c xmltext.Element, b *workflow.Binding) any {
	name := c.First()
	if !isNameElement(name) || c.Attr("name").Exists() {
		return p.value(c)
	}
	value := name.Next()
	b.Name, b.Pos = p.wordOf(name).text, name.Source().Pos
	return p.value(value)
}

func isNameElement(e xmltext.Element) bool {
	if !e.Exists() || e.Name() != "name" || !e.Attr("type").Exists() || e.Attr("type").Value() != "json" {
		return false
	}
	value := e.Next()
	return value.Exists() && value.Name() == "value" && !value.Next().Exists()
}

// way takes an element that says where the step leads.
func (p *parts) way(c xmltext.Element) {
	on := map[string]string{"next": "success", "on_timeout": "timeout"}[c.Name()]
	if on == "" {
		on = c.Name()
	}
	var pairs []strictyaml.Pair
	if on == "route" {
		pairs = p.pairs(c, "label", "when")
	} else {
		pairs = []strictyaml.Pair{{Key: "on", Pos: c.Pos(), Value: p.reader.words().Text(on, workflow.Source{Pos: c.Pos()})}}
	}
	if to := p.reader.word(c, "to"); to.exists {
		var names []strictyaml.Node
		for _, t := range p.targets(to) {
			names = append(names, p.reader.words().Text(t.name, workflow.Source{Text: t.name, Pos: t.pos}))
		}
		pairs = append(pairs, strictyaml.Pair{Key: "to", Pos: to.key(), Value: p.reader.words().List(names, to.src.Pos)})
	}
	p.route = append(p.route, p.reader.words().Map(pairs, c.Pos()))
}

// targets returns the names in a list such as "1, 3". There are many short lists, so they share
// memory.
func (p *parts) targets(w word) []target {
	list, column := p.spare, 0
	if n := 1 + strings.Count(w.text, ","); n > cap(list)-len(list) {
		list = make([]target, 0, max(n, 256))
	}
	first := len(list)
	for name := range strings.SplitSeq(w.text, ",") {
		trimmed := strings.Trim(name, xmltext.Layout)
		if from := column + strings.Index(name, trimmed); trimmed != "" {
			list = append(list, target{trimmed, w.src.At(from, from+len(trimmed))})
		}
		column += len(name) + 1
	}
	p.spare = list
	return list[first:len(list):len(list)]
}

// read builds the step from its parts.
func (p *parts) read() *yaml.Step {
	read := &p.plain
	p.addList("route", p.route)
	p.addList("options", p.list)
	p.addList("inputs", p.refs)
	if p.kind == "land" {
		p.wantMode()
	}
	if len(p.words) > 0 || p.kind != "task" && p.kind != "call" {
		m := p.reader.words().Map(p.words, p.place.Pos()).Map()
		read = yaml.ReadStep(m, p.kind)
		m.Done()
	}
	if p.kind == "each" && !p.has("for_each") {
		p.errorf(p.place, codeStepKind, `write <each items="…"> with a reference to a list`, "this <each> has no items")
	}
	p.step.edges, p.step.leads = read.Edges, read.Leads
	switch p.kind {
	case "task":
		p.readTask(read)
	case "call":
		call, _ := read.Node.Step.(*workflow.Call)
		if call == nil {
			call = &workflow.Call{}
		}
		call.Workflow, call.Inputs, call.Pos = p.called.text, p.inputs, p.called.src.Pos
		if call.Workflow == "" {
			p.errorf(p.place, codeStepKind, `write <call workflow="…">`, "this <call> does not name a workflow")
		}
		read.Node.Step = call
	case "choice":
		p.readQuestion(read)
	case "merge":
		p.readMerge(read)
	}
	return read
}

func (p *parts) has(key string) bool {
	return slices.ContainsFunc(p.words, func(w strictyaml.Pair) bool { return w.Key == key })
}

func (p *parts) addList(key string, list []strictyaml.Node) {
	if len(list) > 0 {
		p.words = append(p.words, strictyaml.Pair{Key: key, Value: p.reader.words().List(list, p.place.Pos())})
	}
}

func (p *parts) readTask(read *yaml.Step) {
	t, _ := read.Node.Step.(*workflow.Task)
	if t == nil {
		t = &workflow.Task{}
	}
	t.Inputs = p.inputs
	if p.task.exists {
		t.Prompt = workflow.Template{Text: p.task.text, Src: p.task.src}
	}
	p.readAgent(t)
	read.Node.Step = t
	if len(p.plan) > 0 {
		p.readPlan(read, t)
	}
	if p.handovers != nil { // this agent or an earlier one has a plan
		p.handover(p.place).explain(t)
	}
}

// readAgent reads the agent and its settings.
func (p *parts) readAgent(t *workflow.Task) {
	if t.Agent = p.agent.text; p.agent.exists {
		t.Pos = p.agent.src.Pos
	}
	if p.config.Exists() {
		p.settings(t)
	}
}

// readQuestion completes a choice that asks a question.
func (p *parts) readQuestion(read *yaml.Step) {
	c, _ := read.Node.Step.(*workflow.Choice)
	switch {
	case c == nil:
	case c.Ask != nil:
		p.readAgent(c.Ask)
	case p.agent.exists || p.config.Exists():
		p.errorf(p.place, codeStepKind, `write <choice ask="…">`, "this <choice> has an agent, but no question")
	}
}

func (p *parts) settings(t *workflow.Task) {
	values, places := p.object(p.config)
	if len(values) == 0 {
		return
	}
	t.Settings = values
	t.SettingsPos = make(map[string]workflow.Pos, len(values))
	t.SettingsSrc = make(map[string]workflow.Source, len(values))
	for name, at := range places {
		t.SettingsPos[name], t.SettingsSrc[name] = at.Pos(), sourceOf(at, values[name])
	}
}
