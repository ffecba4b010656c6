package workflow

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/sorted"
)

// Digest returns the digest of what a workflow means. Two files that mean the same have the same
// digest, whatever their notation, layout and comments are.
func Digest(w *Workflow) string {
	sum := sha256.Sum256([]byte(Print(w)))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Print returns the canonical form of a workflow, with one fact per line. It leaves out what does
// not change the meaning: positions, titles, colours, and fields with their zero value.
func Print(w *Workflow) string {
	p := &printer{}
	p.line("workflow %s", quote(w.Name))
	p.depth++
	p.text("description", w.Description)
	for _, in := range w.Inputs {
		p.param(in)
	}
	for _, k := range sorted.Keys(w.State) {
		p.line("state %s = %s", quote(k), FormatJSON(w.State[k]))
	}
	for _, a := range w.Agents {
		if a.Role != "" { // a name alone adds nothing to what the tasks say
			p.line("lane %s role=%s", quote(a.Name), quote(a.Role))
		}
	}
	p.limits(w.Limits)
	p.text("output", w.Output.Text)
	p.graph(&w.Body)
	return p.String()
}

// PrintNode returns the canonical form of a node with its body, as Print does.
func PrintNode(n *Node) string {
	p := &printer{}
	p.node(n)
	return p.String()
}

type printer struct {
	strings.Builder
	depth int
}

func (p *printer) line(format string, args ...any) { p.join(fmt.Sprintf(format, args...)) }

// join prints a line that consists of the given parts. It is faster than line, for what most nodes have.
func (p *printer) join(parts ...string) {
	for range p.depth {
		p.WriteString("  ")
	}
	for _, part := range parts {
		p.WriteString(part)
	}
	p.WriteByte('\n')
}

func (p *printer) text(key, value string) {
	if value != "" {
		p.join(key, " ", quote(value))
	}
}

func (p *printer) param(in Param) {
	s := "input " + quote(in.Name) + optional(" ", string(in.Type))
	if in.Required {
		s += " required"
	}
	if in.HasDefault {
		s += " default=" + FormatJSON(in.Default)
	}
	p.line("%s%s", s, optional(" description=", in.Description))
}

func (p *printer) limits(l Limits) {
	var parts []string
	add := func(key string, set bool, value any) {
		if set {
			parts = append(parts, fmt.Sprintf("%s=%v", key, value))
		}
	}
	add("steps", l.Steps != 0, l.Steps)
	add("parallel", l.Parallel != 0, l.Parallel)
	add("depth", l.Depth != 0, l.Depth)
	add("runtime", l.Runtime != 0, l.Runtime)
	add("cost_usd", l.CostUSD != 0, strconv.FormatFloat(l.CostUSD, 'f', -1, 64))
	add("tokens", l.Tokens != 0, l.Tokens)
	add("replans", l.Replans != 0, l.Replans)
	if parts != nil {
		p.line("limits %s", strings.Join(parts, " "))
	}
}

func (p *printer) graph(g *Graph) {
	for i := range g.Nodes {
		p.node(&g.Nodes[i])
	}
	for i := range g.Edges {
		p.edge(&g.Edges[i])
	}
}

func (p *printer) node(n *Node) {
	p.join("node ", quote(n.ID), " ", n.Kind())
	p.depth++
	p.step(n.Step)
	if n.Join != (Join{}) {
		p.line("join need=%d keep=%t", n.Join.Need, n.Join.Keep)
	}
	p.text("group", n.Group)
	p.output(n.Output)
	if r := n.Retry; r.Attempts > 1 {
		p.line("retry attempts=%d backoff=%s delay=%s max_delay=%s", r.Attempts, orElse(string(r.Backoff), "fixed"), r.Delay, r.MaxDelay)
	}
	p.duration("timeout", n.Timeout)
	p.text("on_error", string(n.OnError))
	if n.Once {
		p.line("effect once")
	}
	p.text("workspace", string(n.Workspace))
	for _, k := range sorted.Keys(n.Labels) {
		p.line("label %s = %s", quote(k), quote(n.Labels[k]))
	}
	p.depth--
}

// Kind returns the word for the kind of a node: task, human, call, choice, combine, loop or each.
func (n *Node) Kind() string {
	switch n.Step.(type) {
	case *Task:
		return "task"
	case *Human:
		return "human"
	case *Call:
		return "call"
	case *Choice:
		return "choice"
	case *Combine:
		return "combine"
	case *Loop:
		return "loop"
	case *Each:
		return "each"
	}
	return "none"
}

func (p *printer) step(s Step) {
	switch s := s.(type) {
	case *Task:
		p.task("prompt", s)
	case *Human:
		p.text("question", s.Question.Text)
		for _, o := range s.Options {
			p.line("option %s%s%s", quote(o.Value), optional(" label=", o.Label), optional(" description=", o.Description))
		}
		if s.Custom {
			p.line("custom")
		}
		if s.Required {
			p.line("required")
		}
	case *Call:
		p.text("workflow", s.Workflow)
		p.bindings(s.Inputs)
	case *Choice:
		p.text("on", s.On.Text)
		if s.Ask != nil {
			p.task("ask", s.Ask)
		}
	case *Combine:
		p.line("strategy %s", s.Strategy)
		for _, in := range s.Inputs {
			p.line("from %s", quote(in.Text))
		}
		p.text("separator", s.Separator)
	case *Loop:
		if s.Max != 0 && s.Max != DefaultMaxIterations {
			p.line("max %d", s.Max)
		}
		p.graph(&s.Body)
	case *Each:
		p.line("items %s", quote(s.Items.Text))
		p.text("as", s.As)
		if s.Parallel != 0 {
			p.line("parallel %d", s.Parallel)
		}
		p.graph(&s.Body)
	}
}

// task prints a task, or the question of a choice.
func (p *printer) task(key string, t *Task) {
	p.text("agent", t.Agent)
	p.text(key, t.Prompt.Text)
	p.text("context", string(t.Context))
	p.text("branches", string(t.Branches))
	p.bindings(t.Inputs)
	for _, k := range sorted.Keys(t.Settings) {
		p.line("setting %s = %s", quote(k), FormatJSON(t.Settings[k]))
	}
	if h := t.Handoffs; h != nil {
		most, depth := h.Limits()
		p.line("handoffs max=%d depth=%d", most, depth)
		for _, agent := range h.To {
			p.line("handoff to %s", quote(agent))
		}
		if h.Detach {
			p.line("handoff detach")
		}
	}
}

func (p *printer) bindings(bs []Binding) {
	for _, b := range bs {
		p.line("with %s = %s", quote(b.Name), FormatJSON(b.Value))
	}
}

func (p *printer) output(o Output) {
	if o.Var == "" && o.Mode == Full && o.Schema == nil {
		return
	}
	s := "output" + optional(" var=", o.Var) + optional(" mode=", string(o.Mode)) + optional(" pattern=", o.Pattern)
	if o.Schema != nil {
		s += " schema=" + FormatJSON(o.Schema)
	}
	p.line("%s", s)
}

func (p *printer) duration(key string, d time.Duration) {
	if d != 0 {
		p.line("%s %s", key, d)
	}
}

func (p *printer) edge(e *Edge) {
	on := ""
	switch e.On {
	case OnSuccess:
	case OnLabel:
		on = " label " + quote(e.Label)
	case OnWhen:
		on = " when " + quote(e.When.Text)
	case OnElse, OnFailure, OnTimeout:
		on = " " + string(e.On)
	}
	p.join("edge ", quote(e.From), " -> ", quote(e.To), on)
}

// quote returns a plain word unchanged and everything else in Go quotes, so that a fact is always
// on one line.
func quote(s string) string {
	plain := s != ""
	for _, r := range s {
		word := r == '-' || r == '_' || r == '.' || r == '@' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		plain = plain && word
	}
	if plain {
		return s
	}
	return strconv.Quote(s)
}

func optional(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + quote(s)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
