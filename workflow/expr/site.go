package expr

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// site is one text of a workflow: a template or an expression, where it is evaluated, and where
// its author wrote it.
type site struct {
	at     point
	isText bool // a template, otherwise an expression
	text   string
	src    *workflow.Source // or nil
	pos    *workflow.Pos
	slot   slot
}

// slot is the place of a text in the model: a field, an element in a tree of values or, because
// map elements have no address, a map and a key.
type slot struct {
	field  *string
	value  *any
	object map[string]any
	key    string
}

func (s *slot) set(text string) {
	switch {
	case s.field != nil:
		*s.field = text
	case s.value != nil:
		*s.value = text
	default:
		s.object[s.key] = text
	}
}

// texts returns all texts of a workflow that may contain references, parsed, in declaration
// order. If they will be rewritten, no two of them share memory.
func (f *flow) texts(d Dialect, rewritten bool) []parsed {
	s := &siteList{flow: f, dialect: d, rewritten: rewritten, list: make([]parsed, 0, 16)}
	s.graph(&f.w.Body)
	s.tmpl(&f.w.Output, point{place: f.end}, &f.w.Pos)
	return s.list
}

type siteList struct {
	*flow
	dialect   Dialect
	rewritten bool
	next      int // place of the next node; places are in Walk's order
	list      []parsed
}

func (s *siteList) add(one site) {
	if n := len(s.list); n == cap(s.list) { // the rest of the workflow probably has as many
		left := n * (s.end - s.next) / max(s.next, 1)
		s.list = slices.Grow(s.list, max(n/2, min(left, 4*n)))
	}
	s.list = append(s.list, parse(one, s.dialect))
}

func (s *siteList) graph(g *workflow.Graph) {
	first := s.next
	for i := range g.Nodes {
		n := &g.Nodes[i]
		at := s.next
		s.next++
		s.step(n, at)
		if body := n.Body(); body != nil {
			s.graph(body)
		}
	}
	var at map[string]int // places of the nodes, computed if needed: few graphs have conditions
	for i := range g.Edges {
		e := &g.Edges[i]
		if e.On != workflow.OnWhen {
			continue
		}
		if at == nil {
			at = s.placesOf(g, first)
		}
		if from, ok := at[e.From]; ok {
			s.expr(&e.When, point{from, true}, &e.Pos)
		}
	}
}

// placesOf returns the places of the nodes of a graph; next is the first of them.
func (s *siteList) placesOf(g *workflow.Graph, next int) map[string]int {
	at := make(map[string]int, len(g.Nodes))
	for i := range g.Nodes {
		at[g.Nodes[i].ID] = next
		next++
		if body := g.Nodes[i].Body(); body != nil {
			nodes, _ := count(body)
			next += nodes
		}
	}
	return at
}

func (s *siteList) step(n *workflow.Node, place int) {
	at := point{place: place}
	switch step := n.Step.(type) {
	case *workflow.Task:
		s.task(step, at, &n.Pos)
	case *workflow.Human:
		s.tmpl(&step.Question, at, &n.Pos)
	case *workflow.Call:
		s.bindings(step.Inputs, at, &n.Pos)
	case *workflow.Choice:
		s.expr(&step.On, point{place, true}, &n.Pos)
		if step.Ask != nil {
			s.task(step.Ask, at, &n.Pos)
		}
	case *workflow.Combine:
		for i := range step.Inputs {
			s.expr(&step.Inputs[i], at, &n.Pos)
		}
	case *workflow.Each:
		s.expr(&step.Items, at, &n.Pos)
	case *workflow.Loop:
	}
}

func (s *siteList) task(t *workflow.Task, at point, pos *workflow.Pos) {
	s.tmpl(&t.Prompt, at, pos)
	s.bindings(t.Inputs, at, pos)
	s.settings(t, at, pos)
}

// isPlain reports whether a template is plain text: it contains nothing that could be a reference
// or a mistake. Most texts of a large workflow are plain.
func isPlain(text string, d Dialect) bool {
	if d == PlantUML && strings.IndexByte(text, '$') >= 0 {
		return false
	}
	return !strings.Contains(text, "${") && (d == Canonical || !strings.Contains(text, "{{")) && len(text) <= maxTemplate
}

// isPlainTree reports whether all strings of a value are plain.
func isPlainTree(v any, d Dialect) bool {
	switch v := v.(type) {
	case string:
		return isPlain(v, d)
	case []any:
		for _, item := range v {
			if !isPlainTree(item, d) {
				return false
			}
		}
	case map[string]any:
		for _, item := range v {
			if !isPlainTree(item, d) {
				return false
			}
		}
	}
	return true
}

func (s *siteList) tmpl(t *workflow.Template, at point, pos *workflow.Pos) {
	if !isPlain(t.Text, s.dialect) {
		s.add(site{at: at, isText: true, text: t.Text, src: &t.Src, pos: pos, slot: slot{field: &t.Text}})
	}
}

func (s *siteList) expr(e *workflow.Expr, at point, pos *workflow.Pos) {
	if e.Text != "" {
		s.add(site{at: at, text: e.Text, src: &e.Src, pos: pos, slot: slot{field: &e.Text}})
	}
}

func (s *siteList) bindings(bs []workflow.Binding, at point, pos *workflow.Pos) {
	for i := range bs {
		b, own := &bs[i], pos
		if isPlainTree(b.Value, s.dialect) {
			continue
		}
		if s.rewritten {
			b.Value = copyTree(b.Value)
		}
		if b.Pos != (workflow.Pos{}) {
			own = &b.Pos
		}
		s.tree(b.Value, site{at: at, src: &b.Src, pos: own, slot: slot{value: &b.Value}})
	}
}

// settings adds the settings of a task. A $NAME in a setting is never a reference: it belongs to
// the shell that the task starts.
func (s *siteList) settings(t *workflow.Task, at point, pos *workflow.Pos) {
	if s.dialect == PlantUML {
		s.dialect = Mixed
		defer func() { s.dialect = PlantUML }()
	}
	if isPlainTree(t.Settings, s.dialect) {
		return // avoids sorting
	}
	if s.rewritten {
		t.Settings, _ = copyTree(t.Settings).(map[string]any)
	}
	for _, k := range sorted.Keys(t.Settings) {
		s.setting(t, k, t.Settings[k], site{at: at, pos: pos, slot: slot{object: t.Settings, key: k}})
	}
}

// setting adds the strings of a setting, or of a part of one, at the place where each is
// written, if that is known.
func (s *siteList) setting(t *workflow.Task, path string, v any, here site) {
	if src, ok := t.SettingsSrc[path]; ok && src.Pos != (workflow.Pos{}) {
		here.src, here.pos = &src, &src.Pos
	}
	switch v := v.(type) {
	case []any:
		for i := range v {
			s.setting(t, path+"."+strconv.Itoa(i), v[i], site{at: here.at, pos: here.pos, slot: slot{value: &v[i]}})
		}
	case map[string]any:
		for _, k := range sorted.Keys(v) {
			s.setting(t, path+"."+k, v[k], site{at: here.at, pos: here.pos, slot: slot{object: v, key: k}})
		}
	default:
		s.tree(v, here)
	}
}

// tree adds every string of a value, at any depth. The site is that of the whole value, because
// its parts have no source of their own.
func (s *siteList) tree(v any, here site) {
	switch v := v.(type) {
	case string:
		if !isPlain(v, s.dialect) {
			here.isText, here.text = true, v
			s.add(here)
		}
	case []any:
		for i := range v {
			s.tree(v[i], site{at: here.at, pos: here.pos, slot: slot{value: &v[i]}})
		}
	case map[string]any:
		for _, k := range sorted.Keys(v) {
			s.tree(v[k], site{at: here.at, pos: here.pos, slot: slot{object: v, key: k}})
		}
	}
}

// copyTree copies the lists and objects of a value, so that two nodes that share it can be
// rewritten separately.
func copyTree(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = copyTree(item)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for k, item := range v {
			object[k] = copyTree(item)
		}
		return object
	}
	return v
}

// parsed is a site with its parsed text.
type parsed struct {
	site
	template *Template // either template or expr is set, unless err is
	expr     *Expr
	err      *SyntaxError

	rest *remains // of a broken text, set by loosen
}

// remains are what can be parsed of a broken text: all its mistakes, and its valid references.
type remains struct {
	wrong []*SyntaxError
	loose []*Ref
}

func parse(s site, d Dialect) parsed {
	p := parsed{site: s}
	var err error
	if s.isText {
		p.template, err = ParseTemplate(s.text, d)
	} else {
		p.expr, err = ParseExpr(s.text, d)
	}
	if err != nil {
		p.err = syntaxError(err)
	}
	return p
}

func syntaxError(err error) (e *SyntaxError) {
	errors.As(err, &e)
	return e
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
