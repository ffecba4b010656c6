package yaml

import (
	"slices"
	"time"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// Parse parses a workflow. The diagnostics contain every mistake in the file. The workflow is nil
// if nothing could be parsed, and must not be run if one of the diagnostics is an error.
func Parse(file string, text []byte) (*workflow.Workflow, workflow.Diagnostics) {
	doc := strictyaml.Read(file, text)
	if !doc.Readable() && !doc.Root().Exists() {
		return nil, doc.Diagnostics()
	}
	r := &reader{doc: doc}
	w := r.workflow(doc.Root(), file)
	names := nameSteps(&r.body)
	r.checkNames(names)
	w.Body = newResolver(&r.body, names.steps, r.settings, w, r.report).resolve()
	expr.Resolve(w, expr.Mixed, r.body.ids())
	return w, doc.Diagnostics()
}

// reader binds the text of one file.
type reader struct {
	doc      *strictyaml.Document
	body     block
	settings settings
}

// report drops warnings if there are errors, because they would only be consequences of them.
func (r *reader) report(d workflow.Diagnostic) {
	if d.Severity == workflow.Error || !r.doc.Failed() {
		r.doc.Report(d)
	}
}

// settings are the settings of the file for all its steps.
type settings struct {
	mode    mode
	onError workflow.OnError // of steps that do not set it
	handler *target          // step to which every failure leads; nil if there is none
}

// mode is how the steps of a file wait for each other.
type mode string

const (
	sequential mode = "sequential"
	parallel   mode = "parallel"
	dag        mode = "dag"
)

// onError returns the default on_error of a mode.
func (m mode) onError() workflow.OnError {
	switch m {
	case sequential:
		return workflow.Stop
	case parallel:
		return workflow.Continue
	case dag:
		return workflow.SkipDependents
	}
	return workflow.Stop
}

func (r *reader) workflow(root strictyaml.Node, file string) *workflow.Workflow {
	m := root.Map()
	w := &workflow.Workflow{Pos: r.doc.Start()}
	m.Get("$schema")
	name := m.Get("name")
	if w.Name = name.Name(); name.Exists() {
		w.Pos = name.Pos()
	} else {
		w.Name = NameOf(file)
	}
	readHead(m, w)
	r.settings.mode = readMode(m.Get("execution"))
	r.settings.onError = r.settings.mode.onError()
	if n := m.Get("on_error"); n.Exists() {
		r.settings.onError = readOnError(n)
	}
	if n := m.Get("error"); n.Exists() {
		r.settings.handler = &target{n.Name(), n.Pos()}
	}
	steps := r.listOfSteps(m.Get("steps"))
	if agent := m.Peek("agent"); agent.Exists() && !m.Peek("steps").Exists() {
		agent.Key().Errorf(codeStepKey, "add `steps:`; if this is an agent, move the file to .hocket/agents and use its name in a step", "this is not a workflow: it has an agent, but no steps")
		return w
	}
	m.Refuse("type", codeNotYAMLType, "write `execution:` with sequential, parallel or dag; there are no other types", "a workflow has no type")
	m.Done()
	r.body = r.block(steps, nil)
	return w
}

// listOfSteps returns the steps, which some authors write as a map.
func (r *reader) listOfSteps(n strictyaml.Node) []strictyaml.Node {
	if n.IsMap() {
		for e := range n.Map().All() {
			n.Errorf(codeType, "begin every step with a dash and its id: `- id: "+e.Name+"`", `"steps" must be a list, not a map`)
			return nil
		}
	}
	return n.List()
}

// readHead reads the head of a workflow, in any mode.
func readHead(m *strictyaml.Map, w *workflow.Workflow) {
	w.Description = m.String("description")
	if n := m.Get("inputs"); n.IsList() {
		n.Errorf(codeType, "write every input with its type: `topic: string`", `"inputs" must be a map, not a list`)
	} else {
		w.Inputs = readParams(n.Map())
	}
	w.State, w.StatePos = readState(m.Get("state"))
	w.Agents = readLanes(m.List("agents"))
	w.Limits = readLimits(m.Map("limits"))
	w.Output = template(m.Get("output"))
}

func readMode(n strictyaml.Node) mode {
	if !n.Exists() {
		return sequential
	}
	modes := []string{string(sequential), string(parallel), string(dag)}
	text := n.Text()
	for _, m := range modes {
		if m == text {
			return mode(m)
		}
	}
	if n.IsText() {
		detail := workflow.DidYouMean(text, modes)
		if detail == "" {
			detail = "write sequential, parallel or dag"
		}
		n.Errorf(codeExecution, detail, "unknown execution %q", text)
	}
	return sequential
}

func readOnError(n strictyaml.Node) workflow.OnError {
	switch n.Word("continue", "stop", "skip_dependents", "replan") {
	case "continue":
		return workflow.Continue
	case "replan":
		return workflow.Replan
	case "skip_dependents":
		return workflow.SkipDependents
	}
	return workflow.Stop
}

var paramTypes = []string{"string", "number", "integer", "boolean", "array", "object", "any"}

func readParams(m *strictyaml.Map) []workflow.Param {
	var params []workflow.Param
	for _, e := range m.Entries() {
		p := workflow.Param{Name: e.Name, Pos: e.Key.Pos()}
		if e.Value.IsScalar() {
			p.Type, p.Required = paramType(e.Value), true
		} else {
			m := e.Value.Map()
			readParam(m, &p)
			m.Done()
		}
		params = append(params, p)
	}
	return params
}

func readParam(m *strictyaml.Map, p *workflow.Param) {
	if n := m.Get("type"); n.Exists() {
		p.Type = paramType(n)
	}
	p.Description = m.String("description")
	if n := m.Get("default"); n.Exists() {
		p.HasDefault, p.Default, p.DefaultPos = true, n.Value(), n.Pos()
	}
	p.Required = !p.HasDefault
	if n := m.Get("required"); n.Exists() {
		p.Required = n.Bool()
	}
}

func paramType(n strictyaml.Node) workflow.ParamType {
	if meant := meantType(n.Written()); n.IsText() && meant != "" && !slices.Contains(paramTypes, n.Written()) {
		n.Report(insteadOf(n, meant, workflow.Errorf(n.Pos(), codeWord, meant, "%s cannot be %q", n.Label(), n.Written())))
		return workflow.AnyType
	}
	if word := n.Word(paramTypes...); word != "any" {
		return workflow.ParamType(word)
	}
	return workflow.AnyType
}

func readState(n strictyaml.Node) (map[string]any, map[string]workflow.Pos) {
	state, _ := mapValue(n)
	return state, keyPlaces(n, state)
}

// keyPlaces returns the positions of the keys of a map.
func keyPlaces(n strictyaml.Node, values map[string]any) map[string]workflow.Pos {
	if len(values) == 0 {
		return nil
	}
	places := make(map[string]workflow.Pos, len(values))
	for _, e := range n.Map().Entries() {
		places[e.Name] = e.Key.Pos()
	}
	return places
}

// mapValue returns a value that must be a map; ok says whether it exists.
func mapValue(n strictyaml.Node) (values map[string]any, ok bool) {
	if !n.Exists() || n.IsNull() {
		return nil, false
	}
	if !n.IsMap() {
		n.WrongType("a map")
		return nil, false
	}
	values, ok = n.Value().(map[string]any)
	return values, ok
}

func readLanes(nodes []strictyaml.Node) []workflow.AgentRef {
	var lanes []workflow.AgentRef
	for _, n := range nodes {
		lane := workflow.AgentRef{Pos: n.Pos()}
		if n.IsMap() {
			m := n.Map()
			lane.Name, lane.Role = m.String("name"), m.String("role")
			lane.Color, lane.Title = m.String("color"), m.String("title")
			m.Done()
		} else {
			lane.Name = n.Text()
		}
		lanes = append(lanes, lane)
	}
	return lanes
}

func readLimits(m *strictyaml.Map) workflow.Limits {
	l := workflow.Limits{
		Steps:    m.Int("max_steps", 1),
		Parallel: m.Int("max_parallel", 1),
		Depth:    m.Int("max_depth", 1),
		Runtime:  readTime(m, "max_runtime", "max_runtime_mins"),
		CostUSD:  m.Float("max_cost_usd"),
		Tokens:   m.Get("max_tokens").Int(1),
		Replans:  m.Int("replans", 1),
	}
	m.Done()
	return l
}

// readTime reads a duration under one key, or a number of minutes under another.
func readTime(m *strictyaml.Map, key, inMinutes string) time.Duration {
	d, minutes := m.Get(key), m.Get(inMinutes)
	if d.Exists() && minutes.Exists() {
		minutes.Key().Errorf(codeStepKey, "remove one of them", "%s and %s set the same time", key, inMinutes)
	}
	given, length := minutes, minutes.Minutes()
	if d.Exists() {
		given, length = d, d.Duration()
	}
	if given.IsScalar() && length == 0 && isZeroTime(given.Written()) {
		given.Errorf(codeZeroTime, "write a longer time, or leave it out", "%s is zero", given.Label())
	}
	return length
}

// isZeroTime reports whether a duration is zero. Invalid durations are reported elsewhere.
func isZeroTime(written string) bool {
	d, err := time.ParseDuration(written)
	return err == nil && d == 0
}

// template and condition return the text of a value with its position. A condition may be any
// scalar: `when: true` is valid.
func template(n strictyaml.Node) workflow.Template {
	if !n.Exists() {
		return workflow.Template{}
	}
	return workflow.Template{Text: n.Text(), Src: n.Source()}
}

func condition(n strictyaml.Node) workflow.Expr {
	if !n.Exists() {
		return workflow.Expr{}
	}
	if n.IsText() && n.Written() == "" {
		n.WrongType("a condition or a reference")
	}
	return workflow.Expr{Text: n.Name(), Src: n.Source()}
}
