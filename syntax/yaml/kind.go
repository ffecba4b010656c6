package yaml

import (
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// kindKeys are the keys that set the kind of a step. A task may have two of them.
var kindKeys = []string{"agent", "prompt", "template", "workflow", "human", "combine", "choice", "merge", "land", "loop", "steps"}

var kindNames = strings.Join(kindKeys, ", ")

// kind reads what the step does, and returns the value that says so. If there are several, the
// first one counts.
func (r *reader) kind(m *strictyaml.Map, s *step) strictyaml.Node {
	first, name := strictyaml.Node{}, ""
	for _, key := range kindKeys {
		n := m.Get(key)
		switch {
		case !n.Exists() || name == "agent" && (key == "prompt" || key == "template"):
		case !first.Exists():
			first, name = n, key
		case n.Before(first):
			r.twoKinds(first, key, name)
			first, name = n, key
		default:
			r.twoKinds(n, name, key)
		}
	}
	for _, key := range []string{"config", "inputs", "context", "handoffs", branchSetting, messageSetting} {
		m.Get(key)
	}
	switch name {
	case "agent", "prompt", "template":
		r.task(m, s)
	case "workflow":
		r.call(first, m, s)
	case "human":
		r.human(first, s)
	case "combine":
		r.combine(first, s)
	case "choice":
		r.choice(first, s)
	case "merge":
		r.merge(first, s)
	case "land":
		r.landing(m, s)
	case "loop":
		r.loop(first, s)
	case "steps":
		r.steps(first, s)
	}
	return first
}

func (r *reader) twoKinds(at strictyaml.Node, first, second string) {
	at.Key().Errorf(codeStepKind, "split it into two steps, or remove one of the keys", "a step cannot have both %q and %q", first, second)
}

func (r *reader) task(m *strictyaml.Map, s *step) {
	t := &workflow.Task{Prompt: template(m.Peek("prompt")), Inputs: readBindings(m.Peek("inputs"))}
	if word := m.Peek("context").Word("auto", "previous", "none"); word != "auto" {
		t.Context = workflow.Context(word)
	}
	t.Handoffs = readHandoffs(m.Peek("handoffs"))
	readAgent(m, t)
	readTemplate(m.Peek("template"), m.Peek("prompt"), t)
	s.node.Step, s.base = t, orElse(t.Agent, "task")
}

// readHandoffs reads what the agent may hand off, and to whom.
func readHandoffs(n strictyaml.Node) *workflow.Handoffs {
	if !n.Exists() || n.IsNull() {
		return nil
	}
	m := n.Map()
	h := &workflow.Handoffs{Max: m.Int("max", 1), Depth: m.Int("depth", 1), Detach: m.Bool("detach")}
	for _, to := range readTargets(m.Get("to")) {
		h.To, h.Pos = append(h.To, to.name), append(h.Pos, to.pos)
	}
	m.Done()
	return h
}

// readAgent reads the agent and its settings.
func readAgent(m *strictyaml.Map, t *workflow.Task) {
	if agent := m.Peek("agent"); agent.Exists() {
		t.Agent, t.Pos = agent.Text(), agent.Pos()
	}
	if config := m.Peek("config"); config.Exists() && !config.IsNull() {
		readSettings(config, t)
	}
}

// readTemplate reads the name of a prompt template of the project. The model stores it as a
// setting, and the project replaces it by the prompt. A value that is not a single name is a
// prompt.
func readTemplate(n, prompt strictyaml.Node, t *workflow.Task) {
	if !n.Exists() {
		return
	}
	if prompt.Exists() {
		n.Key().Errorf(codeStepKey, "remove one of them", "a step cannot have both a prompt and a template")
	}
	switch name := n.Text(); {
	case IsTemplateName(name):
		if t.Settings == nil {
			t.Settings = map[string]any{}
		}
		readSetting(strictyaml.Entry{Name: Template, Key: n.Key(), Value: n}, 1, t)
		t.Settings[Template] = name
	case n.IsText() && name == "":
		n.WrongType("the name of a prompt")
	default:
		t.Prompt = template(n)
	}
}

// Template is the setting that names a prompt template of the project.
const Template = "template"

// IsTemplateName reports whether a text is the name of a prompt template, which is one word, and
// not a prompt.
func IsTemplateName(text string) bool {
	return text != "" && strings.IndexFunc(text, func(c rune) bool {
		return !(c == '-' || c == '_' || c == '.' || c == '/' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z')
	}) < 0
}

// readSettings reads the settings and their positions.
func readSettings(config strictyaml.Node, t *workflow.Task) {
	if !config.IsMap() {
		config.WrongType("a map")
		return
	}
	m := config.Map()
	t.Settings = make(map[string]any, m.Len())
	for e := range m.All() {
		readSetting(e, m.Len(), t)
	}
}

// readSetting adds one of about n settings to a task.
func readSetting(e strictyaml.Entry, n int, t *workflow.Task) {
	if t.SettingsPos == nil {
		t.SettingsPos, t.SettingsSrc = make(map[string]workflow.Pos, n), make(map[string]workflow.Source, n)
	}
	key := e.Key.Pos()
	t.Settings[e.Name], t.SettingsPos[e.Name] = e.Value.Value(), key
	readSource(e.Name, e.Value, t)
	if !e.Value.IsScalar() {
		t.SettingsSrc[e.Name] = workflow.Source{Pos: key}
	}
}

// readSource notes where a setting or a part of one is written.
func readSource(path string, v strictyaml.Node, t *workflow.Task) {
	switch {
	case v.IsText() && v.Written() != "":
		t.SettingsSrc[path] = v.Source()
		return
	case v.IsList():
		for i, item := range v.List() {
			readSource(path+"."+strconv.Itoa(i), item, t)
		}
	case v.IsMap():
		for e := range v.Map().All() {
			readSource(path+"."+e.Name, e.Value, t)
		}
	}
	t.SettingsSrc[path] = workflow.Source{Pos: v.Pos()}
}

func (r *reader) call(n strictyaml.Node, m *strictyaml.Map, s *step) {
	name := n.Text()
	if n.IsText() && name == "" {
		n.Errorf(codeStepKind, "write the name of a workflow", "this step does not name a workflow")
	}
	s.node.Step = &workflow.Call{Workflow: name, Inputs: readBindings(m.Peek("inputs")), Pos: n.Pos()}
	s.base = callBase(name)
}

func (r *reader) human(n strictyaml.Node, s *step) {
	h := &workflow.Human{}
	s.node.Step, s.base = h, "human"
	if !n.IsMap() {
		h.Question = template(n)
		return
	}
	m := n.Map()
	readHuman(m, h)
	m.Done()
}

func readHuman(m *strictyaml.Map, h *workflow.Human) {
	h.Question = template(m.Get("question"))
	for _, o := range m.List("options") {
		h.Options = append(h.Options, readOption(o))
	}
	h.Custom, h.Required = m.Bool("custom"), m.Bool("required")
}

func readOption(n strictyaml.Node) workflow.Option {
	if !n.IsMap() {
		return workflow.Option{Value: n.Name()}
	}
	m := n.Map()
	o := workflow.Option{Value: m.Name("value"), Label: m.Name("label"), Description: m.String("description")}
	m.Done()
	return o
}

func (r *reader) combine(n strictyaml.Node, s *step) {
	m := n.Map()
	s.node.Step, s.base = readCombine(m), "combine"
	m.Done()
}

func readCombine(m *strictyaml.Map) *workflow.Combine {
	n, c := m.Node(), &workflow.Combine{}
	strategy := m.Get("strategy")
	c.Strategy = workflow.Strategy(strategy.Word("concatenate", "merge", "array", "first", "vote"))
	if n.IsMap() && !strategy.Exists() {
		n.Errorf(codeStepKind, "add `strategy:` with concatenate, merge, array, first or vote", "this combine has no strategy")
	}
	if c.Strategy == "" {
		c.Strategy = workflow.Concatenate // so that the rest can be checked
	}
	for _, in := range m.Get("inputs").OneOrMany() {
		c.Inputs = append(c.Inputs, condition(in))
	}
	c.Separator = m.String("separator")
	return c
}

func (r *reader) choice(n strictyaml.Node, s *step) {
	c := &workflow.Choice{}
	s.node.Step, s.base = c, "choice"
	switch {
	case n.IsMap():
		m := n.Map()
		*c = readChoice(m)
		if c.Ask != nil && !m.Peek("ask").Exists() {
			n.Errorf(codeStepKind, "add `ask:` with a question", "this choice has an agent, but no question")
		}
		m.Done()
	case n.Written() != "true":
		n.WrongType("true or a map with `on` or `ask`")
	}
}

// readChoice reads what a choice depends on: a condition, or a question and who is asked. A
// drawing may show the question.
func readChoice(m *strictyaml.Map) workflow.Choice {
	c := workflow.Choice{On: condition(m.Get("on"))}
	ask := m.Get("ask")
	if !ask.Exists() && !m.Get("agent").Exists() && !m.Get("config").Exists() {
		return c
	}
	m.Get("agent")
	m.Get("config")
	c.Ask = &workflow.Task{Prompt: template(ask), Pos: ask.Pos()}
	readAgent(m, c.Ask)
	if c.On.Text != "" {
		m.Peek("on").Key().Errorf(codeStepKey, "keep one of them", "a choice cannot have both a condition and a question")
		c.On = workflow.Expr{}
	}
	return c
}

func (r *reader) loop(n strictyaml.Node, s *step) {
	m := n.Map()
	s.node.Step, s.base = &workflow.Loop{Max: m.Int("max", 1)}, "loop"
	until, while := m.Get("until"), m.Get("while")
	s.until, s.while = condition(until), condition(while)
	if until.Exists() && while.Exists() {
		while.Key().Errorf(codeLoopTest, "keep one of them", "a loop cannot have both until and while")
	}
	body := r.block(m.List("steps"), s)
	s.body = &body
	if len(body.steps) == 0 {
		n.Key().Errorf(codeLoopTest, "add `steps:` with the steps to repeat", "this loop has no steps")
	}
	m.Done()
}

// steps reads the steps of a for_each.
func (r *reader) steps(n strictyaml.Node, s *step) {
	body := r.block(n.List(), s)
	s.body, s.base = &body, "each"
	if len(body.steps) == 0 && (n.IsList() || n.IsNull()) {
		n.Key().Errorf(codeStepKind, "add the steps to repeat", "the list of steps is empty")
	}
}

func readBindings(n strictyaml.Node) []workflow.Binding {
	if !n.Exists() {
		return nil
	}
	m := n.Map()
	bs := make([]workflow.Binding, 0, m.Len())
	for e := range m.All() {
		b := workflow.Binding{Name: e.Name, Value: e.Value.Value(), Pos: e.Key.Pos()}
		if e.Value.IsText() {
			b.Src = e.Value.Source()
		}
		bs = append(bs, b)
	}
	return bs
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
