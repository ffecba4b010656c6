package oracle

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
	"github.com/hocket-dev/hocket/workflow/extract"
)

// mvars are the variables that are visible at a place.
type mvars map[string]mwrite

type mwrite struct {
	order int
	value any
}

// merge returns the last write of each variable.
func (v mvars) merge(w mvars) mvars {
	out := mvars{}
	maps.Copy(out, v)
	for name, write := range w {
		if old, ok := out[name]; !ok || write.order > old.order {
			out[name] = write
		}
	}
	return out
}

func (m *Model) write(v mvars, name string, value any) mvars {
	m.order++
	return v.merge(mvars{name: {m.order, value}})
}

// mview is what an expression sees (section 3).
type mview struct {
	m      *Model
	scope  *mscope
	reg    *mregion
	vars   mvars
	self   *minst
	behind bool // evaluated on the edges of self
}

func (m *Model) view(in *minst, behind bool) *mview {
	return &mview{m, in.reg.scope, in.reg, in.vars, in, behind}
}

func (v *mview) Lookup(ref *expr.Ref) (any, bool) {
	switch ref.Kind {
	case expr.Inputs:
		inputs := v.scope.frame.inputs
		if ref.Name != "" {
			value, ok := inputs[ref.Name]
			return value, ok
		}
		if names := v.m.takes(v.scope.frame.w); len(names) == 1 {
			value, ok := inputs[names[0]]
			return value, ok
		}
		return inputs, true
	case expr.Vars:
		w, ok := v.vars[ref.Name]
		return w.value, ok
	case expr.Nodes:
		if in := v.node(ref.Name); in != nil {
			return v.m.field(in, ref.Field)
		}
	case expr.Previous:
		return v.previous(ref.Field)
	case expr.Failure:
		if v.self == nil {
			return nil, false
		}
		if failed := failureOf(v.self.from); failed != nil && ref.Field == "node" {
			return failed.n.ID, true
		} else if failed != nil {
			return v.m.field(failed, ref.Field)
		}
	case expr.Item, expr.Index:
		if !v.scope.isItem() {
			return nil, false
		}
		if ref.Kind == expr.Index {
			return number(v.scope.item), true
		}
		return v.scope.owner.each.items[v.scope.item], true
	case expr.Iteration:
		return number(v.round()), true
	case expr.Repeats:
		return number(v.round() - 1), true
	case expr.Groups:
		return v.group(ref.Name, ref.Field)
	case expr.Unresolved:
	}
	return nil, false
}

// group returns the results of the members of a parallel group, as they were in this round.
func (v *mview) group(name, field string) (any, bool) {
	lists := map[string][]any{"outputs": {}, "succeeded": {}, "failed": {}}
	add := func(list string, x any) { lists[list] = append(lists[list], x) }
	for _, n := range members(v.scope.frame.w, name) {
		in := v.latest(n.Node)
		if in == nil {
			in = &minst{n: n.Node, status: engine.Skipped}
		}
		result := map[string]any{"node": n.ID, "agent": n.agent(), "step_index": number(n.step)}
		for _, f := range []string{"status", "output", "error", "duration_ms", "attempts"} {
			result[f], _ = v.m.field(in, f)
		}
		add("outputs", result)
		switch in.status {
		case engine.Success:
			add("succeeded", result)
		case engine.Failed, engine.TimedOut:
			add("failed", result)
		}
	}
	if len(lists["outputs"]) == 0 {
		return nil, false
	}
	if list, ok := lists[field]; ok {
		return list, true
	}
	switch {
	case len(lists["failed"]) == 0:
		return string(engine.Success), true
	case len(lists["succeeded"]) == 0:
		return string(engine.Failed), true
	}
	return string(engine.Partial), true
}

// latest returns the last instance of a node that has ended, in the same item or around it, of
// the same workflow.
func (v *mview) latest(n *workflow.Node) *minst {
	for s := v.scope; s != nil; s = s.parent() {
		for _, in := range slices.Backward(v.m.insts) {
			if in.n == n && in.reg.scope == s && (in.phase == "ended" || in.phase == "stopping") {
				return in
			}
		}
		if !s.isItem() {
			break
		}
	}
	return nil
}

func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }

func (v *mview) round() int {
	for reg := v.reg; reg != nil; reg = reg.around() {
		if reg.loop != nil {
			return reg.round
		}
	}
	return 1
}

// node returns the newest instance of a node in the same item, or around it, of the same
// workflow.
func (v *mview) node(id string) *minst {
	if v.behind && v.self.n.ID == id {
		return v.self
	}
	for s := v.scope; s != nil; s = s.parent() {
		if in := s.newest[id]; in != nil && !(s.isItem() && s.owner.n.ID == id) {
			return in
		}
		if !s.isItem() {
			break
		}
	}
	return nil
}

func (m *Model) field(in *minst, name string) (any, bool) {
	switch name {
	case "output":
		return in.output, true
	case "status":
		return string(in.status), true
	case "error":
		if in.err == "" {
			return nil, true
		}
		return in.err, true
	case "attempts":
		return number(in.attempt), true
	case "workspace":
		return m.workspace(in), true
	case "duration_ms":
		if in.phase != "ended" && in.phase != "stopping" {
			return number(0), true
		}
		return number(int((in.ended - in.started).Milliseconds())), true
	}
	return nil, false
}

func (v *mview) previous(field string) (any, bool) {
	if v.self == nil {
		return nil, false
	}
	from := v.self.from
	if v.behind {
		from = []mparcel{{by: v.self}}
	}
	if field == "output" {
		return reached(from), true
	}
	for _, p := range from {
		if h := p.decided(); h != nil && field == "decision" && h.decision != "" {
			return h.decision, true
		} else if h != nil && field == "reason" && h.reason != "" {
			return h.reason, true
		}
	}
	return nil, false
}

// reached returns what live edges bring.
func reached(from []mparcel) any {
	switch len(from) {
	case 0:
		return nil
	case 1:
		return from[0].value()
	}
	list := make([]any, len(from))
	for i := range from {
		list[i] = from[i].value()
	}
	return list
}

func failureOf(from []mparcel) *minst {
	for _, p := range from {
		if p.failed != nil {
			return p.failed
		}
	}
	return nil
}

// parsed caches parsed texts.
var parsed = map[string]any{}

func parse[T any](kind, text string, f func(string, expr.Dialect) (T, error)) T {
	if x, ok := parsed[kind+text]; ok {
		return x.(T)
	}
	x, err := f(text, expr.Canonical)
	if err != nil {
		panic(err)
	}
	parsed[kind+text] = x
	return x
}

func parseExpr(text string) *expr.Expr { return parse("expr ", text, expr.ParseExpr) }
func parseTemplate(text string) *expr.Template {
	return parse("template ", text, expr.ParseTemplate)
}

func (m *Model) template(v *mview, text string) any {
	value, err := parseTemplate(text).Eval(v)
	if err != nil {
		panic(err)
	}
	return value
}

func (m *Model) text(v *mview, text string) string {
	if text == "" {
		return ""
	}
	filled, err := parseTemplate(text).Text(v)
	if err != nil {
		panic(err)
	}
	return filled
}

// fill fills in the templates of a value.
func (m *Model) fill(v *mview, value any) any {
	switch x := value.(type) {
	case string:
		return m.template(v, x)
	case []any:
		list := make([]any, len(x))
		for i := range x {
			list[i] = m.fill(v, x[i])
		}
		return list
	}
	return value
}

var inputRef = regexp.MustCompile(`\binputs\.(\w+)`)

// takes returns the names of the inputs of a workflow: the declared ones or, if it declares
// none, those that its texts refer to, and those that its calls refer to without setting them.
func (m *Model) takes(w *workflow.Workflow) []string {
	if names, ok := m.inputsOf[w.Name]; ok {
		return names
	}
	var names []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(w.Inputs) > 0 {
		for _, p := range w.Inputs {
			add(p.Name)
		}
	} else {
		for _, ref := range inputRef.FindAllStringSubmatch(workflow.FormatJSON(w), -1) {
			add(ref[1])
		}
		w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
			if call, ok := n.Step.(*workflow.Call); ok {
				for _, name := range m.takes(m.bundle.Called[call.Workflow]) {
					if !slices.ContainsFunc(call.Inputs, func(b workflow.Binding) bool { return b.Name == name }) {
						add(name)
					}
				}
			}
		})
	}
	m.inputsOf[w.Name] = names
	return names
}

// read reads a node's value from its output.
func read(n *workflow.Node, given any) (any, error) {
	text, isText := given.(string)
	if n.Output.Mode == workflow.Full {
		if isText {
			return strings.TrimSuffix(text, "\n"), nil
		}
		return given, nil
	}
	if !isText {
		text = workflow.FormatJSON(given)
	}
	x, err := extract.New(n.Output)
	if err != nil {
		panic(err)
	}
	return x.Value(text)
}

// labelsOf returns the decisions that a node may take.
func labelsOf(g *workflow.Graph, n *workflow.Node) (list []string) {
	out := edgesFrom(g, n.ID)
	for _, e := range out {
		if e.On == workflow.OnLabel && !slices.Contains(list, e.Label) {
			list = append(list, e.Label)
		}
	}
	if asks(n) && has(out, workflow.OnElse) {
		list = append(list, "else")
	}
	return list
}

// decisionIn reads a decision. The word true also means yes, and false also means no.
func decisionIn(labels []string, value any) extract.Decision {
	d := extract.Decide(labels, value)
	if word := workflow.BareLabel(d.Said); !d.Matched && (word == "true" || word == "false") {
		return extract.Decide(labels, word == "true")
	}
	return d
}

func (m *Model) combine(in *minst, s *workflow.Combine) (any, error) {
	type part struct {
		value any
		order int
	}
	var parts []part
	if len(s.Inputs) == 0 {
		for _, p := range in.from {
			order := p.by.order
			if p.failed == p.by || p.tolerated || p.forced {
				order = 0
			}
			if v := p.value(); v != nil {
				parts = append(parts, part{v, order})
			}
		}
	}
	for _, input := range s.Inputs {
		x, order := parseExpr(input.Text), 0
		view := m.view(in, false)
		value, err := x.Eval(view)
		if err != nil {
			return nil, err
		}
		for _, ref := range x.Refs() {
			if ref.Kind == expr.Vars {
				order = max(order, in.vars[ref.Name].order)
			}
			if other := view.node(ref.Name); ref.Kind == expr.Nodes && other != nil {
				order = max(order, other.order)
			}
		}
		if value != nil {
			parts = append(parts, part{value, order})
		}
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("nothing to combine")
	}
	var values []any
	var texts []string
	first, votes := parts[0], map[string]int{}
	for _, p := range parts {
		values, texts = append(values, p.value), append(texts, workflow.FormatText(p.value))
		if p.order < first.order {
			first = p
		}
		votes[ballot(p.value)]++
	}
	switch s.Strategy {
	case workflow.Concatenate:
		return strings.Join(texts, "\n\n"), nil
	case workflow.Array:
		return values, nil
	case workflow.First:
		return first.value, nil
	case workflow.Vote:
		most := values[0]
		for _, v := range values {
			if votes[ballot(v)] > votes[ballot(most)] {
				most = v
			}
		}
		return most, nil
	}
	merged := fromText(values[0])
	for _, v := range values[1:] {
		var err error
		if merged, err = mergeValues(merged, fromText(v)); err != nil {
			return nil, err
		}
	}
	return merged, nil
}

func ballot(v any) string {
	return strings.ToLower(strings.Trim(workflow.FormatText(v), " \t\r\n\"'.,;:!"))
}

// fromText parses text that is a JSON object or list.
func fromText(v any) any {
	if text, ok := v.(string); ok {
		x, err := workflow.ParseJSON([]byte(text))
		switch x.(type) {
		case map[string]any, []any:
			if err == nil {
				return x
			}
		}
	}
	return v
}

func mergeValues(a, b any) (any, error) {
	ka, kb := fmt.Sprintf("%T", a), fmt.Sprintf("%T", b)
	switch {
	case b == nil:
		return a, nil
	case a == nil:
		return b, nil
	case ka != kb:
		return nil, fmt.Errorf("cannot merge %s and %s", ka, kb)
	}
	switch x := a.(type) {
	case []any:
		return append(slices.Clone(x), b.([]any)...), nil
	case map[string]any:
		out := maps.Clone(x)
		for k, v := range b.(map[string]any) {
			var err error
			if out[k], err = mergeValues(out[k], v); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return b, nil
}

// receives reports whether the prompt of a task shows the incoming values.
func receives(n *workflow.Node) bool {
	task := n.Task()
	refersBack := false
	for _, word := range []string{"vars.", "nodes.", "groups.", "previous.", "failure.", "item"} {
		for _, text := range strings.Split(task.Prompt.Text, "${")[1:] {
			inside, _, _ := strings.Cut(text, "}")
			refersBack = refersBack || strings.HasPrefix(inside, word)
		}
	}
	auto := task.Context == workflow.AutoContext && len(task.Inputs) == 0 && !refersBack
	return asks(n) || auto || task.Context == workflow.PreviousContext
}

// received returns the incoming values that the prompt of a task shows.
func (m *Model) received(in *minst) (list []engine.Received) {
	if !receives(in.n) {
		return nil
	}
	told := map[*minst]bool{}
	for _, p := range in.from {
		said := mpassed{}
		if h := p.decided(); h != nil {
			said = *h
		}
		sections := len(list)
		for _, source := range p.sources() {
			value := source.output
			if source.err != "" {
				value = source.err
			}
			if value != nil && !told[source] {
				told[source] = true
				list = append(list, engine.Received{Step: source.n.ID, Output: value, Decision: said.decision, Reason: said.reason})
			}
		}
		if len(list) == sections && said.decision != "" {
			list = append(list, engine.Received{Step: p.by.n.ID, Decision: said.decision, Reason: said.reason})
		}
	}
	return list
}
