package plantuml

import (
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax/plantuml/internal/activity"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// said is what the notes at an element set for a step.
type said struct {
	yaml.Step
	routes []route
	router bool // <<router>>: a switch after the step shows its ways
	prompt bool // keys set the prompt or the question, even to nothing
	agent  bool // keys set the agent, even to none
}

// ways is what the notes of a node set about what follows it.
type ways struct {
	edges  []workflow.Edge
	leads  bool // keys, not the drawing, set what follows success
	routes []route
	router bool
}

// ways returns nil if nothing is set.
func (s *said) ways() *ways {
	if s == nil || len(s.Edges) == 0 && !s.Leads && len(s.routes) == 0 && !s.router {
		return nil
	}
	return &ways{s.Edges, s.Leads, s.routes, s.router}
}

func (w *ways) lead() bool { return w != nil && w.leads }

// route is one of `routes`.
type route struct {
	category string
	target   target
}

// The defaults of a note <<prompt>>.
const (
	promptAttempts = 3
	promptTimeout  = 120 * time.Second
)

// wordsOf reads the keys in the notes at an element for a step of a kind. only are the marks that
// it may have; nil means those of steps. The result is valid until the next call.
func (r *reader) wordsOf(e activity.Element, kind string, only ...mark) *said {
	w := r.wordsAt(e)
	if len(w.parts) == 0 {
		return nil
	}
	s := &r.said
	*s = said{}
	var m *strictyaml.Map
	var first mark
	asPrompt := false
	for i := range w.parts {
		p := &w.parts[i]
		if !r.belongs(p, only) || !r.bind(p) || p.mark == onErrorMark || p.mark == metricsMark {
			continue // notes that add to the step are read later
		}
		if k, ok := kinds[p.mark]; ok {
			if first != "" && kinds[first] != k {
				r.report(workflow.Errorf(r.notePos(p.note), codeMark, "remove one of them", "a step cannot be both <<%s>> and <<%s>>", first, p.mark))
				continue
			}
			first, kind = p.mark, k
		}
		asPrompt = asPrompt || p.mark == promptMark
		s.router = s.router || p.mark == routerMark
		if m == nil {
			m = p.keys
		} else {
			m.Join(p.keys)
		}
	}
	if m == nil {
		m = strictyaml.Node{}.Map()
	}
	r.readWords(m, kind, s)
	if task := s.task(); task != nil && asPrompt {
		promptDefaults(&s.Node)
	}
	for i := range w.parts {
		if p := &w.parts[i]; r.belongs(p, only) && p.doc != nil {
			r.amend(p, s)
			r.collect(p)
			p.doc, p.keys = nil, nil
		}
	}
	r.pool.Reuse()
	r.texts = r.texts[:0]
	return s
}

// collect takes the diagnostics of the keys of a note. A note without a mark that is not valid
// YAML may be text that begins like a key: its author has to decide.
func (r *reader) collect(p *part) {
	for _, d := range p.doc.Diagnostics() {
		if p.mark == noMark && !p.doc.Readable() {
			d.Severity, d.Change = workflow.Warning, workflow.Change{}
			d.Summary += ", so these are not settings of the step"
		}
		r.found = append(r.found, d)
	}
}

// belongs reports whether a note is for the given step: at a loop there are notes for the loop
// and for its test.
func (r *reader) belongs(p *part, only []mark) bool {
	return len(only) == 0 || slices.Contains(only, p.mark)
}

// readWords reads the keys of YAML, and then those that only notes have.
func (r *reader) readWords(m *strictyaml.Map, kind string, s *said) {
	hasID := m.Peek("id").Exists()
	s.prompt = m.Peek("prompt").Exists() || m.Peek("template").Exists() || m.Peek("question").Exists() || m.Peek("human").Exists()
	s.agent = m.Peek("agent").Exists()
	m.Refuse("needs", codeStepKey, "draw the dependency, or name this step in `next:` of the other one", "a note cannot have needs")
	if kind == "loop" {
		m.Refuse("until", codeStepKey, "write it as the test: `repeat while (…) is (no) not (yes)`", "the end of a loop is drawn in this notation")
		m.Refuse("while", codeStepKey, "write it as the test: `repeat while (…)` or `while (…)`", "the end of a loop is drawn in this notation")
	}
	r.steps.Read(m, kind, &s.Step)
	if !hasID {
		s.Node.Pos = workflow.Pos{}
	}
	if t := s.task(); t != nil {
		r.readPrompt(m, s, t)
	}
	readMode(m, &s.Node.Output)
	m.Done()
}

// task returns the task that the keys are about, or nil.
func (s *said) task() *workflow.Task {
	t, _ := s.Node.Step.(*workflow.Task)
	return t
}

// readPrompt reads the keys that only prompts have.
func (r *reader) readPrompt(m *strictyaml.Map, s *said, t *workflow.Task) {
	if in := m.Get("input"); in.Exists() {
		if m.Peek("inputs").Exists() {
			in.Key().Errorf(codeStepKey, "keep one of them", "input and inputs set the same thing")
		}
		t.Inputs = readInput(in)
	}
	if n := m.Get("retries"); n.Exists() {
		if m.Peek("retry").Exists() {
			n.Key().Errorf(codeStepKey, "keep one of them", "retries and retry set the same thing")
		}
		s.Node.Retry.Attempts = int(n.Int(0)) + 1
	}
	for _, n := range m.List("routes") {
		if rt, ok := readRoute(n); ok {
			s.routes = append(s.routes, rt)
		}
	}
}

// readRoute reads one route. It returns false if it is invalid.
func readRoute(n strictyaml.Node) (route, bool) {
	m := n.Map()
	category, to := m.Get("category"), m.Get("target")
	rt := route{category: category.Name(), target: target{to.Name(), to.Pos()}}
	whole := category.Exists() && to.Exists()
	if !whole && (n.IsMap() || n.IsNull()) {
		n.Errorf(codeRoute, "write `category:` with a label and `target:` with a lane or an id", "a route must have a category and a target")
	}
	m.Done()
	return rt, whole
}

// readInput turns `{{a}}, {{b.c}}` into bindings, each with the name of what it refers to, with _
// for dots. A value that is not a list of references is one input.
func readInput(n strictyaml.Node) []workflow.Binding {
	if n.IsMap() {
		var bs []workflow.Binding
		for _, e := range n.Map().Entries() {
			bs = append(bs, workflow.Binding{Name: e.Name, Value: e.Value.Value(), Pos: e.Key.Pos()})
		}
		return bs
	}
	if !n.IsList() {
		return inputsOf(n)
	}
	var bs []workflow.Binding
	for _, one := range n.List() {
		bs = append(bs, inputsOf(one)...)
	}
	return bs
}

func inputsOf(n strictyaml.Node) []workflow.Binding {
	text, src := n.Name(), n.Source()
	if bs := plainInputs(text, src); bs != nil {
		return bs
	}
	t, err := expr.ParseTemplate(text, expr.PlantUML)
	var bs []workflow.Binding
	if err == nil {
		at := 0
		for _, ref := range t.Refs() {
			if !isComma(text[at:ref.From], at == 0) {
				bs = nil
				break
			}
			at = ref.To
			whole := text[ref.From:ref.To]
			bs = append(bs, workflow.Binding{Name: inputName(ref), Value: whole, Pos: src.At(ref.From, ref.To),
				Src: workflow.Source{Text: whole, Pos: src.At(ref.From, ref.To)}})
		}
		if strings.TrimSpace(text[at:]) != "" || !distinctNames(bs) {
			bs = nil
		}
	}
	if bs == nil && text != "" {
		return []workflow.Binding{{Name: "input", Value: text, Src: src, Pos: n.Pos()}}
	}
	return bs
}

// plainInputs reads the usual `{{a}}, {{b}}` without parsing expressions. It returns nil for
// anything else.
func plainInputs(text string, src workflow.Source) []workflow.Binding {
	bs := make([]workflow.Binding, 0, 1+strings.Count(text, ","))
	for at := 0; ; {
		rest := text[at:]
		end := strings.Index(rest, "}}")
		if !strings.HasPrefix(rest, "{{") || end < 0 || !expr.IsName(rest[2:end]) {
			return nil
		}
		pos := src.At(at, at+end+2)
		bs = append(bs, workflow.Binding{Name: rest[2:end], Value: rest[:end+2], Pos: pos, Src: workflow.Source{Text: rest[:end+2], Pos: pos}})
		at += end + 2
		if at == len(text) {
			if !distinctNames(bs) {
				return nil
			}
			return bs
		}
		blanks := len(text[at:]) - len(strings.TrimLeft(text[at:], ", "))
		if strings.Count(text[at:at+blanks], ",") != 1 {
			return nil
		}
		at += blanks
	}
}

func isComma(between string, first bool) bool {
	between = strings.TrimSpace(between)
	return first && between == "" || !first && between == ","
}

func distinctNames(bs []workflow.Binding) bool {
	for i := range bs {
		if slices.ContainsFunc(bs[:i], func(b workflow.Binding) bool { return b.Name == bs[i].Name }) {
			return false
		}
	}
	return true
}

// inputName returns the path of a reference with _ between its parts, without prefixes such as
// vars.
func inputName(ref *expr.Ref) string {
	var parts []string
	if ref.Name != "" {
		parts = append(parts, ref.Name)
	}
	if ref.Field != "" && (ref.Field != "output" || ref.Name == "") {
		parts = append(parts, ref.Field)
	}
	for _, k := range ref.Path {
		if !k.IsIndex {
			parts = append(parts, k.Name)
		}
	}
	if len(parts) == 0 {
		return ref.String() // item, index, iteration, or all inputs
	}
	return strings.Join(parts, "_")
}

// readMode reads the keys next to `output: name`.
func readMode(m *strictyaml.Map, o *workflow.Output) {
	mode, schema := m.Get("outputMode"), m.Get("outputSchema")
	path, pattern := m.Get("outputPath"), m.Get("outputPattern")
	if !mode.Exists() && !schema.Exists() && !path.Exists() && !pattern.Exists() {
		return
	}
	at := o.Places()
	o.At = &at
	if schema.Exists() {
		o.Schema, at.Schema, o.Mode = yaml.ReadSchema(schema), schema.Pos(), workflow.JSON
	}
	if path.Exists() {
		o.Pattern, at.Pattern, o.Mode = path.Text(), path.Pos(), workflow.JSONPath
	}
	if pattern.Exists() {
		o.Pattern, at.Pattern, o.Mode = pattern.Text(), pattern.Pos(), workflow.Regex
	}
	if mode.Exists() {
		at.Mode = mode.Pos()
		if word := mode.Word("full", "json", "jsonpath", "regex", "first_line"); word != "full" {
			o.Mode = workflow.OutputMode(word)
		} else {
			o.Mode = workflow.Full
		}
	}
	if o.Pos.Line == 0 {
		o.Pos = at.Mode
	}
}

func promptDefaults(n *workflow.Node) {
	if n.Retry == (workflow.Retry{}) {
		n.Retry.Attempts = promptAttempts
	}
	if n.Timeout == 0 {
		n.Timeout = promptTimeout
	}
}

// amend reads the notes that add to a step: what follows a failure, and labels.
func (r *reader) amend(p *part, s *said) {
	switch p.mark {
	case onErrorMark:
		h := readOnError(p.keys)
		if h.handler != nil {
			s.Edges = append(s.Edges, workflow.Edge{To: h.handler.name, On: workflow.OnFailure, Pos: h.handler.pos})
		}
		if h.given {
			s.HasOnError, s.Node.OnError = true, h.onError
		}
	case metricsMark:
		entries := p.keys.Entries()
		if labels := p.keys.Peek("labels"); labels.IsMap() {
			entries = labels.Map().Entries()
		}
		if s.Node.Labels == nil {
			s.Node.Labels = map[string]string{}
		}
		for _, e := range entries {
			s.Node.Labels[e.Name] = e.Value.Name()
		}
	case noMark, promptMark, taskMark, routerMark, aggregatorMark, mergeMark, includeMark, approvalMark, choiceMark, loopMark, eachMark, inputMark, workflowMark:
	}
}

// onErrorWords are the keys of an <<onError>> note.
type onErrorWords struct {
	handler *target
	given   bool
	onError workflow.OnError
}

func readOnError(m *strictyaml.Map) onErrorWords {
	var w onErrorWords
	for _, key := range []string{"handler", "error"} {
		if n := m.Get(key); n.Exists() {
			w.handler = &target{n.Name(), n.Pos()}
		}
	}
	for _, key := range []string{"action", "on_error"} {
		if n := m.Get(key); n.Exists() {
			w.given, w.onError = true, yaml.ReadOnError(n)
		}
	}
	m.Done()
	return w
}

// headNote reads a note about the whole workflow.
func (r *reader) headNote(p *part) {
	r.bind(p)
	r.head.notes = append(r.head.notes, p.note)
	switch p.mark {
	case onErrorMark:
		w := readOnError(p.keys)
		r.head.onError = w.onError
		if w.handler != nil {
			r.head.handler = w.handler
		}
		r.found = append(r.found, p.doc.Diagnostics()...)
	case inputMark:
		r.join(&r.head.inputs, p)
	default:
		r.join(&r.head.words, p)
	}
}

func (r *reader) join(to **strictyaml.Map, p *part) {
	r.head.docs = append(r.head.docs, p.doc)
	if *to == nil {
		*to = p.keys
		return
	}
	(*to).Join(p.keys)
}

// readHead reads what the notes say about the workflow.
func (r *reader) readHead() {
	if m := r.head.words; m != nil {
		name := m.Get("name")
		r.head.name, r.head.named = name.Name(), name.Exists()
		yaml.ReadHead(m, r.w)
		r.head.lanes = m.Peek("agents").Exists()
		if n := m.Get("on_error"); n.Exists() {
			r.head.onError = yaml.ReadOnError(n)
		}
		if n := m.Get("error"); n.Exists() {
			r.head.handler = &target{n.Name(), n.Pos()}
		}
		if n := m.Get("timeout"); n.Exists() {
			r.w.Limits.Runtime = n.Duration()
		}
		m.Done()
	}
	if m := r.head.inputs; m != nil {
		for _, n := range m.List("variables") {
			r.w.Inputs = append(r.w.Inputs, yaml.ReadParam(n))
		}
		m.Done()
	}
	for _, doc := range r.head.docs {
		r.found = append(r.found, doc.Diagnostics()...)
	}
}
