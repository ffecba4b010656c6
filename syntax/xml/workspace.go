package xml

import (
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/internal/xmltext"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// A merge has an element for who resolves conflicts or picks a workspace: with the attributes and
// elements of an agent, or with the word human.

// deciderShape is on_conflict or pick.
var deciderShape = &shape{
	words: []string{"name", "task", "context", "type", xmltext.Preserve}, text: true, instead: stepInstead,
	parts: map[string]*shape{"input": inputShape, "config": valueShape, "handoffs": valueShape},
}

func isDecider(name string) bool { return name == "on_conflict" || name == "pick" }

// decider takes who resolves conflicts or picks a workspace.
func (p *parts) decider(c xmltext.Element) {
	if text := p.wordOf(c); !c.First().Exists() && !c.Attr("name").Exists() && text.text != "" {
		p.deciderWord(c.Name(), text)
		return
	}
	q := &parts{reader: p.reader, place: c, kind: "task", step: &step{}, shape: deciderShape}
	q.collect()
	p.decides, _ = q.read().Node.Step.(*workflow.Task)
	p.add(c, p.reader.words().Map(nil, c.Pos()))
}

func (p *parts) deciderWord(name string, w word) {
	if w.text != "human" {
		p.report(workflow.Errorf(w.src.Pos, codeValue, "write <"+name+` name="…"> for an agent, or human for a person`, "%q cannot be %q", name, w.text))
		w.text, w.value = "human", nil
	}
	p.words = append(p.words, strictyaml.Pair{Key: name, Pos: w.key(), Value: p.scalar(w)})
}

// readMerge completes a merge with who decides.
func (p *parts) readMerge(read *yaml.Step) {
	if t, ok := read.Node.Step.(*workflow.Task); ok && p.decides != nil {
		branches := t.Branches
		*t = *p.decides
		t.Branches = branches
	}
}

// wantMode reports a landing that does not say how to land.
func (p *parts) wantMode() {
	if !p.has("land") {
		p.errorf(p.place, codeStepKind, `write <land mode="branch">; the modes are branch, commit and patch`, "this <land> has no mode")
		p.words = append(p.words, strictyaml.Pair{Key: "land", Value: p.reader.words().Text("branch", workflow.Source{Pos: p.place.Pos()})})
	}
}

// merge writes who resolves conflicts or picks a workspace.
func (out *writer) merge(e *element, t *workflow.Task) {
	name := "on_conflict"
	if t.Branches == workflow.PickBranch {
		name = "pick"
	}
	switch by, nobody := yaml.Decider(t); {
	case nobody:
	case by == "human":
		e.attr(name, by)
	default:
		c := e.add(&element{name: name})
		c.word("name", t.Agent)
		c.word("context", string(t.Context))
		out.task(c, t)
	}
}

func (out *writer) land(e *element, t *workflow.Task) {
	for _, key := range []string{"branch", "message"} {
		if text, ok := t.Settings[key].(string); ok {
			e.always(key, out.template(text))
		}
	}
}
