package yaml

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// findDependents finds which steps wait for which: for those in needs and, in the modes parallel
// and dag, also for those that they refer to.
func (r *resolver) findDependents() {
	d := &dependents{resolver: r, writers: map[string]*step{}, groups: map[string][]*step{}}
	d.block(r.body)
	r.body.each(func(s *step) {
		slices.SortStableFunc(s.after, func(a, b *step) int { return a.index - b.index })
	})
}

// dependents walks the steps in the order in which they are written and keeps track of the steps
// above.
type dependents struct {
	*resolver
	writers map[string]*step   // the last step above that writes a variable
	groups  map[string][]*step // the members of a group above
	count   int
}

func (d *dependents) block(b *block) {
	var members []*step // of the groups above, in this block
	for _, s := range b.steps {
		d.needs(s)
		if d.mode != sequential && !s.routed {
			d.mentions(s)
		}
		if d.mode == parallel && s.group == "" && !s.routed {
			for _, m := range members {
				d.wait(s, m)
			}
		}
		if s.body != nil {
			d.block(s.body)
			d.tests(s)
		}
		d.pass(s)
		if s.group != "" {
			members = append(members, s)
		}
	}
}

// pass records that the following steps are below this one.
func (d *dependents) pass(s *step) {
	s.above = true
	if d.mode == sequential {
		return // the writers are not needed
	}
	if name := s.node.Output.Var; name != "" {
		d.writers[name] = s
	}
	if s.group != "" {
		d.groups[s.group] = append(d.groups[s.group], s)
	}
}

func (d *dependents) needs(s *step) {
	if s.needs == nil {
		return
	}
	for _, t := range *s.needs {
		needed := d.byID[t.name]
		switch {
		case needed == nil:
			d.report(workflow.Errorf(t.pos, codeNeedsUnknown, d.suggest(t.name), "there is no step %q", t.name))
		case within(s, needed):
			d.report(workflow.Errorf(t.pos, codeNeedsForward, "remove it: a step cannot wait for itself or for a step that contains it", "%q cannot wait for %q", s.node.ID, t.name))
		case !needed.above:
			d.report(workflow.Errorf(t.pos, codeNeedsForward, fmt.Sprintf("move %q above %q: a step must be written below the steps it waits for", t.name, s.node.ID), "%q cannot wait for %q, which is written below it", s.node.ID, t.name))
		default:
			d.wait(s, needed)
		}
	}
}

func within(s, outer *step) bool {
	for ; s != nil; s = s.outer {
		if s == outer {
			return true
		}
	}
	return false
}

// wait makes one step wait for another. If they are in different blocks, the steps that contain
// them in the common block wait for each other.
func (d *dependents) wait(s, needed *step) {
	for n := needed; n != nil; n = n.outer {
		for waiting := s; waiting != nil; waiting = waiting.outer {
			if waiting.outer != n.outer {
				continue
			}
			if waiting != n {
				d.link(waiting, n)
			}
			return
		}
	}
}

func (d *dependents) link(waiting, needed *step) {
	if n := len(needed.after); n > 0 && needed.after[n-1] == waiting || d.count > maxEdges {
		return
	}
	d.count++
	needed.after = append(needed.after, waiting)
}

// mentions makes a step wait for the steps that its texts refer to.
func (d *dependents) mentions(s *step) {
	d.condition(s, s.when)
	for _, w := range s.ways {
		d.condition(s, w.when)
	}
	d.node(s, &s.node)
}

// tests handles the conditions of a loop. They are evaluated at the end of its body, when its
// steps have ended.
func (d *dependents) tests(s *step) {
	if d.mode != sequential && !s.routed {
		d.condition(s, s.until)
		d.condition(s, s.while)
	}
}

func (d *dependents) node(s *step, n *workflow.Node) {
	switch step := n.Step.(type) {
	case *workflow.Task:
		d.task(s, step)
	case *workflow.Human:
		d.text(s, step.Question.Text)
	case *workflow.Call:
		d.bindings(s, step.Inputs)
	case *workflow.Choice:
		d.condition(s, step.On)
		if step.Ask != nil {
			d.task(s, step.Ask)
		}
	case *workflow.Combine:
		for _, in := range step.Inputs {
			d.condition(s, in)
		}
	case *workflow.Each:
		d.condition(s, step.Items)
		for i := range step.Body.Nodes {
			d.node(s, &step.Body.Nodes[i])
		}
	case *workflow.Loop:
	}
}

func (d *dependents) task(s *step, t *workflow.Task) {
	d.text(s, t.Prompt.Text)
	d.bindings(s, t.Inputs)
	d.value(s, t.Settings)
}

func (d *dependents) bindings(s *step, bs []workflow.Binding) {
	for _, b := range bs {
		d.value(s, b.Value)
	}
}

func (d *dependents) value(s *step, v any) {
	switch v := v.(type) {
	case string:
		d.text(s, v)
	case []any:
		for _, e := range v {
			d.value(s, e)
		}
	case map[string]any:
		if len(v) == 0 {
			return
		}
		for _, k := range sorted.Keys(v) {
			d.value(s, v[k])
		}
	}
}

func (d *dependents) text(s *step, text string) {
	if !strings.Contains(text, "${") && !strings.Contains(text, "{{") {
		return
	}
	if t, err := expr.ParseTemplate(text, expr.Mixed); err == nil {
		d.found(s, text, t.Mentions())
	}
}

func (d *dependents) condition(s *step, e workflow.Expr) {
	if e.Text == "" {
		return
	}
	if parsed, err := expr.ParseExpr(e.Text, expr.Mixed); err == nil {
		d.found(s, e.Text, parsed.Mentions())
	}
}

func (d *dependents) found(s *step, text string, mentions []expr.Mention) {
	for _, m := range mentions {
		switch m.Kind {
		case expr.MentionStep:
			if m.Step < len(d.body.steps) {
				d.waitAbove(s, d.body.steps[m.Step])
			}
		case expr.MentionNode:
			d.waitAbove(s, d.byID[m.Name])
		case expr.MentionGroup:
			for _, member := range d.groups[m.Name] {
				d.wait(s, member)
			}
		case expr.MentionName:
			d.name(s, m.Name, strings.ContainsAny(text[m.From:m.To], ".["))
		}
	}
}

// name finds the step that a bare name means: the last one above that writes the variable,
// otherwise, before a dot, the step with that id.
func (d *dependents) name(s *step, name string, dotted bool) {
	if s.binds(name) {
		return
	}
	if writer := d.writers[name]; writer != nil {
		d.wait(s, writer)
		return
	}
	_, isState := d.w.State[name]
	isInput := slices.ContainsFunc(d.w.Inputs, func(p workflow.Param) bool { return p.Name == name })
	if dotted && !isState && !isInput {
		d.waitAbove(s, d.byID[name])
	}
}

// binds reports whether a name is the item of a for_each around the text.
func (s *step) binds(name string) bool {
	for ; s != nil; s = s.outer {
		if each, ok := s.node.Step.(*workflow.Each); ok && each.As == name {
			return true
		}
	}
	return false
}

func (d *dependents) waitAbove(s, needed *step) {
	if needed != nil && needed.above {
		d.wait(s, needed)
	}
}
