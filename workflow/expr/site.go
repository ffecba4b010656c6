package expr

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// site is one text of a workflow: a template or an expression, where it is
// evaluated, and where its author wrote it.
type site struct {
	at     point
	isText bool // a template, else an expression
	text   string
	src    *workflow.Source // or nil
	pos    *workflow.Pos
	write  func(string)
}

// sites are all texts of a workflow, in the order in which it declares them.
func (f *flow) sites() []site {
	s := &siteList{flow: f}
	s.graph(&f.w.Body)
	s.add(site{at: point{place: f.end}, isText: true, text: f.w.Output.Text, src: &f.w.Output.Src, pos: &f.w.Pos,
		write: func(text string) { f.w.Output.Text = text }})
	return s.list
}

type siteList struct {
	*flow
	next int // place of the next node: Walk's order is the order of places
	list []site
}

func (s *siteList) add(one site) {
	if one.text != "" {
		s.list = append(s.list, one)
	}
}

func (s *siteList) graph(g *workflow.Graph) {
	at := make(map[string]int, len(g.Nodes))
	for i := range g.Nodes {
		n := &g.Nodes[i]
		at[n.ID] = s.next
		s.next++
		s.step(n, at[n.ID])
		if body := n.Body(); body != nil {
			s.graph(body)
		}
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		if from, ok := at[e.From]; ok && e.On == workflow.OnWhen {
			s.expr(&e.When, point{from, true}, &e.Pos)
		}
	}
}

func (s *siteList) step(n *workflow.Node, place int) {
	at := point{place: place}
	switch step := n.Step.(type) {
	case *workflow.Task:
		s.tmpl(&step.Prompt, at, &n.Pos)
		s.bindings(step.Inputs, at, &n.Pos)
		for _, k := range slices.Sorted(maps.Keys(step.Settings)) {
			src, pos := step.SettingsSrc[k], n.Pos
			if src.Pos != (workflow.Pos{}) {
				pos = src.Pos
			}
			s.tree(step.Settings[k], at, &src, &pos, func(v any) { step.Settings[k] = v })
		}
	case *workflow.Human:
		s.tmpl(&step.Question, at, &n.Pos)
	case *workflow.Call:
		s.bindings(step.Inputs, at, &n.Pos)
	case *workflow.Choice:
		s.expr(&step.On, point{place, true}, &n.Pos)
	case *workflow.Combine:
		for i := range step.Inputs {
			s.expr(&step.Inputs[i], at, &n.Pos)
		}
	case *workflow.Each:
		s.expr(&step.Items, at, &n.Pos)
	case *workflow.Loop:
	}
}

// isPlain says whether a template has nothing to resolve in any dialect. Most
// texts of a large workflow are so.
func isPlain(text string) bool {
	return strings.IndexByte(text, '$') < 0 && !strings.Contains(text, "{{")
}

func (s *siteList) tmpl(t *workflow.Template, at point, pos *workflow.Pos) {
	if isPlain(t.Text) {
		return
	}
	s.add(site{at: at, isText: true, text: t.Text, src: &t.Src, pos: pos, write: func(text string) { t.Text = text }})
}

func (s *siteList) expr(e *workflow.Expr, at point, pos *workflow.Pos) {
	s.add(site{at: at, text: e.Text, src: &e.Src, pos: pos, write: func(text string) { e.Text = text }})
}

func (s *siteList) bindings(bs []workflow.Binding, at point, pos *workflow.Pos) {
	for i := range bs {
		b, own := &bs[i], pos
		if b.Pos != (workflow.Pos{}) {
			own = &b.Pos
		}
		s.tree(b.Value, at, &b.Src, own, func(v any) { b.Value = v })
	}
}

// tree adds every string of a value, however deep.
func (s *siteList) tree(v any, at point, src *workflow.Source, pos *workflow.Pos, write func(any)) {
	switch v := v.(type) {
	case string:
		if isPlain(v) {
			return
		}
		s.add(site{at: at, isText: true, text: v, src: src, pos: pos, write: func(text string) { write(text) }})
	case []any:
		for i := range v {
			s.tree(v[i], at, nil, pos, func(x any) { v[i] = x })
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			s.tree(v[k], at, nil, pos, func(x any) { v[k] = x })
		}
	}
}

// detach copies the lists and objects in bindings and settings, so that a tree
// that two nodes share may be rewritten for each of them.
func detach(w *workflow.Workflow) {
	w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		switch step := n.Step.(type) {
		case *workflow.Task:
			detachBindings(step.Inputs)
			if settings, ok := copyTree(step.Settings).(map[string]any); ok {
				step.Settings = settings
			}
		case *workflow.Call:
			detachBindings(step.Inputs)
		case *workflow.Human, *workflow.Choice, *workflow.Combine, *workflow.Loop, *workflow.Each:
		}
	})
}

func detachBindings(bs []workflow.Binding) {
	for i := range bs {
		bs[i].Value = copyTree(bs[i].Value)
	}
}

func copyTree(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = copyTree(item)
		}
		return list
	case map[string]any:
		if v == nil {
			return v
		}
		object := make(map[string]any, len(v))
		for k, item := range v {
			object[k] = copyTree(item)
		}
		return object
	}
	return v
}

// parsed is a site with what its text means.
type parsed struct {
	*site
	template *Template // one of template and expr is set, unless err is
	expr     *Expr
	err      *SyntaxError

	rest *remains // of a broken text, once loosen has looked
}

// remains are what a broken text holds: all that is wrong with it, and the
// references that are right.
type remains struct {
	wrong []*SyntaxError
	loose []*Ref
}

func parse(s *site, d Dialect) parsed {
	p := parsed{site: s}
	var err error
	if s.isText {
		p.template, err = ParseTemplate(s.text, d)
	} else {
		p.expr, err = ParseExpr(s.text, d)
	}
	errors.As(err, &p.err)
	return p
}

func (p *parsed) refs() []*Ref {
	switch {
	case p.rest != nil:
		return p.rest.loose
	case p.err != nil:
		return nil
	case p.template != nil:
		return p.template.refs
	default:
		return p.expr.refs
	}
}

func (p *parsed) canonical() string {
	if p.template != nil {
		return p.template.String()
	}
	return p.expr.String()
}
