package xml

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/internal/xmltext"
	"github.com/hocket-dev/hocket/workflow"
)

// shape defines what may appear in an element.
type shape struct {
	words []string          // attributes; each may also be an element with text
	parts map[string]*shape // elements
	many  bool              // it may appear in its parent more than once
	steps bool              // steps may appear in it
	text  bool              // text may appear in it
	open  bool              // anything may appear in it: it is a value
	// instead maps names that people write to the names that are used here.
	instead map[string]string
}

var (
	// wordShape is an attribute that is written as an element. As JSON, it can contain characters
	// that XML cannot.
	wordShape = &shape{words: []string{"type", xmltext.Preserve}, text: true}
	// valueShape is a value, including everything in it.
	valueShape = &shape{words: []string{"type", xmltext.Preserve}, text: true, open: true}

	toShape    = &shape{words: []string{"to"}, many: true}
	inputShape = &shape{words: []string{"name", "type", xmltext.Preserve}, text: true, open: true, many: true}
	refShape   = &shape{words: []string{"type", xmltext.Preserve}, text: true, many: true}
)

// stepWords and stepParts are allowed in every step.
var (
	stepWords = []string{
		"id", "title", "depends", "dependsOn", "timeout", "timeout_mins", "on_error", "effect",
		"parallel_group", "join", "rest",
	}
	stepParts = map[string]*shape{
		"next": toShape, "else": toShape, "error": toShape, "on_timeout": toShape,
		"route":  {words: []string{"label", "when", "to"}, many: true},
		"output": {words: []string{"var", "mode", "path", "pattern", "type", xmltext.Preserve}, parts: map[string]*shape{"schema": valueShape}, text: true},
		"retry":  {words: []string{"attempts", "backoff", "delay", "max_delay"}, text: true},
		"labels": valueShape,
	}
	stepInstead = map[string]string{
		"prompt": "task", "agent": "name", "needs": "depends", "depends_on": "depends", "dependencies": "depends", "after": "depends",
		"inputs": "input", "settings": "config", "forEach": "for_each", "onError": "on_error", "goto": "next", "if": "route",
	}
	eachWords = []string{"for_each", "as", "max_parallel"}
	workWords = append([]string{"workspace"}, eachWords...)
)

// stepShapes are the elements that are steps.
var stepShapes = func() map[string]*shape {
	agent := stepShape(append([]string{"name", "task", "context"}, workWords...), planParts, map[string]*shape{"input": inputShape, "config": valueShape, "handoffs": valueShape})
	node := *agent
	node.words, node.text = append(slices.Clone(agent.words), "tool", "agent"), true
	loop, each := stepShape([]string{"max", "until", "while", "workspace"}), stepShape([]string{"items", "as", "max_parallel", "workspace"})
	loop.steps, each.steps = true, true
	return map[string]*shape{
		"agent": agent, "node": &node, "step": &node, "loop": loop, "each": each,
		"human": stepShape([]string{"question", "custom", "required"}, map[string]*shape{
			"option": {words: []string{"value", "label", "description"}, text: true, many: true},
		}),
		"call":    stepShape(append([]string{"workflow"}, workWords...), map[string]*shape{"input": inputShape}),
		"choice":  stepShape([]string{"on", "ask", "agent"}, map[string]*shape{"config": valueShape}),
		"merge":   stepShape(eachWords, map[string]*shape{"on_conflict": deciderShape, "pick": deciderShape}),
		"land":    stepShape(append([]string{"mode", "branch", "message"}, eachWords...)),
		"combine": stepShape([]string{"strategy", "separator"}, map[string]*shape{"input": refShape}),
	}
}()

func stepShape(words []string, parts ...map[string]*shape) *shape {
	s := &shape{words: slices.Concat(stepWords, words), parts: maps.Clone(stepParts), many: true, instead: stepInstead}
	for _, more := range parts {
		maps.Copy(s.parts, more)
	}
	return s
}

// rootShape is the workflow.
var rootShape = &shape{
	words: []string{"name", "taskId", "description", "thought", "on_error"},
	parts: map[string]*shape{
		"param":  {words: []string{"name", "type", "required", "description"}, parts: map[string]*shape{"default": valueShape}, many: true},
		"state":  valueShape,
		"lane":   {words: []string{"name", "role", "color", "title"}, many: true},
		"limits": {words: []string{"max_steps", "max_parallel", "max_depth", "max_runtime", "max_runtime_mins", "max_cost_usd", "max_tokens", "replans"}},
		"output": wordShape,
		"agents": stepsShape, "nodes": stepsShape, "steps": stepsShape,
	},
	steps: true,
	instead: map[string]string{
		"input": "param", "inputs": "param", "parameter": "param", "variable": "state", "variables": "state", "task": "agent", "id": "taskId",
	},
}

// stepsShape is an element that only groups steps.
var stepsShape = &shape{steps: true, many: true}

// isRoot reports whether a workflow may begin with an element of that name.
func isRoot(name string) bool { return slices.Contains(roots, name) }

var roots = []string{"workflow", "root", "agents"}

// isElement reports whether an element of a workflow may have that name.
func isElement(name string) bool { return elementNames()[name] }

var elementNames = sync.OnceValue(func() map[string]bool {
	known, seen := map[string]bool{}, map[*shape]bool{}
	var add func(s *shape)
	add = func(s *shape) {
		if seen[s] {
			return
		}
		seen[s] = true
		for _, word := range s.words {
			known[word] = true
		}
		for name, part := range s.parts {
			known[name] = true
			add(part)
		}
	}
	for _, name := range roots {
		known[name] = true
	}
	add(rootShape)
	for name, s := range stepShapes {
		known[name] = true
		add(s)
	}
	return known
})

// child returns the shape of an element in another, or nil if it is not allowed there.
func (s *shape) child(name string) *shape {
	if s.steps && kindOf(name) != "" {
		return stepShapes[name]
	}
	if c := s.parts[name]; c != nil {
		return c
	}
	switch {
	case slices.Contains(s.words, name) && name != "type" && name != xmltext.Preserve:
		return wordShape
	case s.open:
		return valueShape
	}
	return nil
}

// names returns the elements that are allowed in this one, the usual ones first.
func (s *shape) names() []string {
	var all []string
	if s.steps {
		all = []string{"agent", "human", "call", "choice", "combine", "merge", "land", "loop", "each"}
	}
	return slices.Concat(all, sorted.Keys(s.parts), s.words)
}

// Allowed returns the elements and the attributes that may appear in an element, which is given by the names
// of the elements around it, from the outermost, and its own. Without a name, it returns the outermost elements.
func Allowed(path []string) (elements, attributes []string) {
	if len(path) == 0 {
		return roots, nil
	}
	s := rootShape
	for _, name := range path[1:] {
		if s = s.child(name); s == nil {
			return nil, nil
		}
	}
	return s.names(), s.words
}

// inside tells the repairing parser whether an element may appear in another.
func inside(parent xmltext.Element, name string) bool {
	s := shapeOf(parent)
	return s != nil && s.child(name) != nil
}

func shapeOf(e xmltext.Element) *shape {
	parent := e.Parent()
	if !parent.Exists() {
		return rootShape
	}
	if s := shapeOf(parent); s != nil {
		return s.child(e.Name())
	}
	return nil
}

// checkShape reports elements, attributes and text where they are not allowed.
func (r *reader) checkShape(e xmltext.Element, s *shape) {
	for a := range e.Attrs() {
		r.checkAttr(e, a, s)
	}
	if !s.text && e.HasText() {
		r.strayText(e)
	}
	var seen []string
	for c := e.First(); c.Exists(); c = c.Next() {
		name := c.Name()
		in := s.child(name)
		if in == nil {
			r.unknownElement(e, c, s)
			continue
		}
		if !in.many && !s.open {
			if slices.Contains(seen, name) || e.Attr(name).Exists() {
				r.errorf(c, codeTwice, "remove one of them", "<%s> has %s twice", e.Name(), name)
			}
			seen = append(seen, name)
		}
		r.checkShape(c, in)
	}
}

func (r *reader) checkAttr(e xmltext.Element, a xmltext.Attr, s *shape) {
	name := a.Name()
	if slices.Contains(s.words, name) || name == "xmlns" || strings.HasPrefix(name, "xmlns:") || name == xmltext.Preserve || name == "xml:lang" {
		return
	}
	if part := s.parts[name]; part != nil && part.text && !part.open && !part.many {
		return // output="name", retry="3"
	}
	detail := r.meant(name, s, "the attributes here are "+strings.Join(s.words, ", "))
	if s.parts[name] != nil {
		detail = "write it as an element: <" + name + " …/>"
	}
	d := workflow.Errorf(a.NamePos(), codeAttribute, detail, "<%s> has no attribute %q", e.Name(), name)
	if right := s.surely(name); slices.Contains(s.words, right) && !has(e, right) {
		d.Detail, d.Fix = s.called(name, right), &workflow.Fix{Edits: []workflow.Edit{r.doc.Edit(a.NameSpan(), right)}}
	}
	r.report(d)
}

func (r *reader) unknownElement(e, c xmltext.Element, s *shape) {
	detail := r.meant(c.Name(), s, "")
	if s.steps && slices.Contains([]string{"if", "switch", "condition", "when"}, c.Name()) {
		detail = `write <choice depends="ID"><route when="…" to="ID"/><else to="ID"/></choice>, with the steps next to it`
	}
	if detail == "" && len(s.names()) == 0 {
		detail = "remove it; in text, write &lt; for <"
	} else if detail == "" {
		detail = "the elements here are " + strings.Join(s.names(), ", ")
	}
	d := workflow.Errorf(c.Pos(), codeElement, detail, "<%s> is not allowed in <%s>", c.Name(), e.Name())
	right := s.surely(c.Name())
	if parent := e.Parent(); c.First().Exists() && parent.Exists() && inside(parent, c.Name()) {
		d.Detail = "it belongs in <" + parent.Name() + ">; move it after </" + e.Name() + ">"
	} else if in := s.child(right); in != nil && (in.many || !has(e, right)) {
		d.Detail, d.Fix = s.called(c.Name(), right), &workflow.Fix{Edits: c.Rename(right)}
	}
	r.report(d)
}

func has(e xmltext.Element, name string) bool {
	return e.Attr(name).Exists() || childOf(e, name).Exists()
}

// called returns the hint for the right name.
func (s *shape) called(name, right string) string {
	if s.instead[name] == right {
		return "it is called " + right + " here"
	}
	return `did you mean "` + right + `"?`
}

// synonyms are names that can have only one meaning in a step.
var synonyms = []string{"prompt", "needs", "depends_on", "dependencies", "settings"}

// surely returns the name that was certainly meant: the written one is a synonym of it, or has
// the same letters. It may return "".
func (s *shape) surely(name string) string {
	if right := s.instead[name]; slices.Contains(synonyms, name) && right != "" && s.child(right) != nil {
		return right
	}
	for _, right := range s.names() {
		if letters(right) == letters(name) {
			return right
		}
	}
	if lower := strings.ToLower(name); lower != name {
		return s.surely(lower)
	}
	return ""
}

// letters returns a name in lower case and without separators, which people write differently.
func letters(name string) string {
	return strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(name, "_", ""), "-", ""))
}

// meant suggests what was probably meant.
func (r *reader) meant(name string, s *shape, otherwise string) string {
	if right := s.instead[name]; right != "" {
		return s.called(name, right)
	}
	if hint := workflow.DidYouMean(name, s.names()); hint != "" {
		return hint
	}
	return otherwise
}

func (r *reader) strayText(e xmltext.Element) {
	detail := "put it into an element, or make it a comment: <!-- … -->"
	if name := map[string]string{"task": "task", "human": "question"}[kindOf(e.Name())]; name != "" && !has(e, name) {
		detail = "put it into <" + name + ">…</" + name + ">"
	}
	r.report(workflow.Errorf(r.doc.Pos(e.TextSpan()), codeText, detail, "text is not allowed in <%s>", e.Name()))
}
