package json

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax/internal/flow"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// Format writes a workflow. It parses the result again to make sure that it has the digest of the
// model. An edge that starts the next iteration of a loop leads to the first node of the loop, or
// to the loop itself if that would be ambiguous.
func Format(w *workflow.Workflow) ([]byte, error) {
	digest := workflow.Digest(w)
	for _, toHead := range []bool{true, false} {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(newWriter(w, toHead).document(w)); err != nil {
			return nil, fmt.Errorf("json: %w", err)
		}
		if again, found := Parse("", b.Bytes()); !found.Errors() && workflow.Digest(again) == digest {
			return b.Bytes(), nil
		}
	}
	return nil, errors.New("json: the workflow " + strconv.Quote(w.Name) + " cannot be written as nodes and edges")
}

// writer writes a workflow from its drawing.
type writer struct {
	*flow.Drawing
	outer  map[string]string // the frame around each node or frame
	routes map[string]bool   // nodes with labels at their edges
	backs  map[string]bool   // nodes with an edge that leads back
	loops  map[string]bool   // frames of loops, whose contents say how they end
	toHead bool              // edges that lead back lead to a node, not to the loop
	ended  bool              // an edge leads to the end
}

func newWriter(w *workflow.Workflow, toHead bool) *writer {
	d := flow.Draw(&yaml.Mixed(w).Body)
	out := &writer{Drawing: d, toHead: toHead, outer: map[string]string{}, routes: map[string]bool{}, backs: map[string]bool{}, loops: map[string]bool{}}
	for _, n := range d.Nodes {
		out.outer[n.ID] = n.Frame
	}
	for _, f := range d.Frames {
		out.outer[f.ID] = f.Frame
		_, out.loops[f.ID] = f.Step.(*workflow.Loop)
	}
	for _, e := range d.Edges {
		out.routes[e.From] = out.routes[e.From] || e.On == workflow.OnLabel
		out.backs[e.From] = out.backs[e.From] || out.isBack(e)
	}
	return out
}

func (out *writer) document(w *workflow.Workflow) *document {
	d := &document{
		Title: w.Name, Description: w.Description, Output: yaml.Mixed(w).Output.Text,
		Nodes: []node{}, Edges: []edge{}, Variables: variables(w), Agents: []lane{},
	}
	for _, a := range w.Agents {
		d.Agents = append(d.Agents, lane{a.Name, a.Role, a.Color, a.Title})
	}
	if w.Limits != (workflow.Limits{}) {
		d.Limits = words(yaml.WriteHead(&workflow.Workflow{Limits: w.Limits})).Map().Get("limits").Value()
	}
	d.Edges = out.edges()
	d.Nodes = out.nodes()
	return d
}

// nodes returns the start, then the nodes, with each frame before its contents, then the end if
// an edge leads there.
func (out *writer) nodes() []node {
	list := []node{{ID: startID, Type: startType, Data: data{label: "start"}}}
	written := map[string]bool{}
	frames := map[string]*flow.Frame{}
	for i := range out.Frames {
		frames[out.Frames[i].ID] = &out.Frames[i]
	}
	var open func(id string)
	open = func(id string) {
		f := frames[id]
		if f == nil || written[id] {
			return
		}
		written[id] = true
		open(f.Frame)
		list = append(list, out.node(&f.Node, f.Frame))
	}
	for i := range out.Nodes {
		n := &out.Nodes[i]
		open(n.Frame)
		list = append(list, out.repeated(n)...)
	}
	for i := range out.Frames {
		open(out.Frames[i].ID)
	}
	if out.ended {
		list = append(list, node{ID: endID, Type: outputType, Data: data{label: "end"}})
	}
	return list
}

// The ids of the start and end marks, which no node of a model has.
const (
	startID = "@start"
	endID   = "@end"
)

// repeated returns a node. If it is repeated and has more to say about its items than one node
// can, it is a frame with a node in it.
func (out *writer) repeated(n *flow.Node) []node {
	each, ok := n.Step.(*workflow.Each)
	if !ok || yaml.IsRepeat(&n.Node) {
		return []node{out.node(&n.Node, n.Frame)}
	}
	frame, inner := n.Node, each.Body.Nodes[0]
	frame.Step = &workflow.Each{Items: each.Items, As: each.As, Parallel: each.Parallel}
	item := out.node(&inner, n.ID)
	item.ID, item.Data.id = n.ID+itemSuffix, n.ID
	return []node{out.node(&frame, n.Frame), item}
}

// itemSuffix is added to the id of a for_each to get the id of its item's node.
const itemSuffix = "@item"

func (out *writer) node(n *workflow.Node, parent string) node {
	d := data{label: cmp.Or(n.Title, n.ID), words: words(yaml.WriteStep(n, nil, false))}
	if yaml.Kind(n) == "task" && d.bare() {
		d.words = words(`prompt: ""`) // otherwise the label would be the prompt
	}
	d.titled = n.Title != "" && n.Title == n.ID // the label alone would not be read as a title
	return node{ID: n.ID, Type: out.typeOf(n), Parent: parent, Data: d}
}

// bare reports whether there are no keys except the title.
func (d data) bare() bool {
	for _, e := range d.words.Map().Entries() {
		if e.Name != "title" {
			return false
		}
	}
	return true
}

func (out *writer) typeOf(n *workflow.Node) string {
	kind := yaml.Kind(n)
	if each, ok := n.Step.(*workflow.Each); ok && yaml.IsRepeat(n) {
		kind = yaml.Kind(&each.Body.Nodes[0])
	}
	switch {
	case kind == "task" && out.routes[n.ID]:
		return "router"
	case kind == "choice" && out.backs[n.ID]:
		return "evaluator"
	}
	return types[kind]
}

// isBack reports whether an edge leads to a frame that contains it.
func (out *writer) isBack(e workflow.Edge) bool {
	for at := out.outer[e.From]; at != ""; at = out.outer[at] {
		if at == e.To {
			return true
		}
	}
	return false
}

// edges returns the edges of the start, then all others.
func (out *writer) edges() []edge {
	list := []edge{}
	led := map[string]bool{}
	for _, e := range out.Edges {
		led[e.To] = led[e.To] || !out.isBack(e)
	}
	add := func(e edge) {
		e.ID, e.TargetHandle = fmt.Sprintf("e%d", len(list)+1), "input"
		list = append(list, e)
	}
	for _, id := range out.tops() {
		if !led[id] {
			add(edge{Source: startID, Target: id, SourceHandle: "output"})
		}
	}
	conditions, heads, leaves := out.conditions(), out.heads(), map[string]bool{}
	for _, e := range out.Edges {
		to := e.To
		switch {
		case to == workflow.End:
			to, out.ended = endID, true
		case out.toHead && out.isBack(e) && heads[to] != "":
			to = heads[to]
		}
		leaves[e.From] = true
		drawn := edge{Source: e.From, Target: to, SourceHandle: handle(e, conditions[e.From]), When: e.When.Text, Back: out.isBack(e)}
		if e.On == workflow.OnLabel {
			drawn.Label = &e.Label
		}
		add(drawn)
	}
	for _, id := range out.tops() {
		if !leaves[id] && !out.loops[id] {
			add(edge{Source: id, Target: endID, SourceHandle: "output"})
			out.ended = true
		}
	}
	return list
}

// heads returns the first nodes of loops.
func (out *writer) heads() map[string]string {
	heads := map[string]string{}
	for i := range out.Nodes {
		for id, frame := out.Nodes[i].ID, out.Nodes[i].Frame; frame != ""; id, frame = frame, out.outer[frame] {
			if heads[frame] == "" {
				heads[frame] = id
			}
		}
	}
	return heads
}

// tops returns the nodes and frames that are not in a frame.
func (out *writer) tops() []string {
	var ids []string
	seen := map[string]bool{}
	for _, n := range out.Nodes {
		id := n.ID
		for out.outer[id] != "" {
			id = out.outer[id]
		}
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// conditions returns the different conditions at the edges of each node.
func (out *writer) conditions() map[string][]string {
	found := map[string][]string{}
	for _, e := range out.Edges {
		if e.On == workflow.OnWhen && !slices.Contains(found[e.From], e.When.Text) {
			found[e.From] = append(found[e.From], e.When.Text)
		}
	}
	return found
}

// handle returns the handle at which an edge leaves its source. A node with a single condition
// has the handles true and false; the handles of several conditions are numbered.
func handle(e workflow.Edge, conditions []string) string {
	switch e.On {
	case workflow.OnSuccess:
		return "output"
	case workflow.OnLabel:
		return e.Label
	case workflow.OnWhen:
		if len(conditions) == 1 {
			return "true"
		}
		return fmt.Sprintf("when-%d", slices.Index(conditions, e.When.Text)+1)
	case workflow.OnElse:
		if len(conditions) == 1 {
			return "false"
		}
		return "else"
	case workflow.OnFailure, workflow.OnTimeout:
		return string(e.On)
	}
	return "output"
}

// words parses YAML.
func words(text string) strictyaml.Node { return strictyaml.Read("", []byte(text)).Root() }

// MarshalJSON writes the label, then the keys except the title, which is the label.
func (d data) MarshalJSON() ([]byte, error) {
	b := &object{}
	b.add("label", d.label)
	if d.id != "" {
		b.add("id", d.id)
	}
	if d.titled {
		b.add("title", d.label)
	}
	if d.words.IsMap() {
		for _, e := range d.words.Map().Entries() {
			if e.Name != "title" {
				b.add(e.Name, ordered{e.Value})
			}
		}
	}
	return b.end()
}

// ordered is a value whose keys keep their order.
type ordered struct{ strictyaml.Node }

// MarshalJSON writes the value.
func (o ordered) MarshalJSON() ([]byte, error) {
	switch {
	case o.IsMap():
		b := &object{}
		for _, e := range o.Map().Entries() {
			b.add(e.Name, ordered{e.Value})
		}
		return b.end()
	case o.IsList():
		items := []ordered{}
		for _, n := range o.List() {
			items = append(items, ordered{n})
		}
		return marshal(items)
	}
	return marshal(o.Value())
}

// object writes keys in the order in which they are added.
type object struct {
	bytes.Buffer
	err error
}

func (b *object) add(key string, value any) {
	k, err := marshal(key)
	v, err2 := marshal(value)
	b.err = errors.Join(b.err, err, err2)
	if b.Len() > 0 {
		b.WriteByte(',')
	}
	b.Write(k)
	b.WriteByte(':')
	b.Write(v)
}

func (b *object) end() ([]byte, error) {
	return slices.Concat([]byte("{"), b.Bytes(), []byte("}")), b.err
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// variables returns the inputs, then the rest of the state and the variables that nodes write,
// each name once per kind.
func variables(w *workflow.Workflow) []variable {
	vs := []variable{}
	for _, in := range w.Inputs {
		v := variable{Name: in.Name, Kind: "input", Type: string(in.Type), Description: in.Description, Required: in.Required}
		if in.HasDefault {
			v.Default = &in.Default
		}
		vs = append(vs, v)
	}
	for _, name := range sorted.Keys(w.State) {
		value := w.State[name]
		vs = append(vs, variable{Name: name, Kind: "state", Default: &value})
	}
	seen := map[string]bool{}
	w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		if name := n.Output.Var; name != "" && !seen[name] {
			seen[name] = true
			vs = append(vs, variable{Name: name, Kind: "output"})
		}
	})
	return vs
}
