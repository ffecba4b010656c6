package workflow

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// The answers to a question without options and labels.
const (
	Approve = "approve"
	Reject  = "reject"
)

// Offered returns the answers that a person may give to a human node of g: its own options,
// otherwise the labels of its edges or of the question after it, otherwise approve and reject,
// unless any text is allowed.
func (g *Graph) Offered(n *Node) []Option {
	h, ok := n.Step.(*Human)
	if !ok {
		return nil
	}
	if len(h.Options) > 0 {
		return h.Options
	}
	asks := n
	if behind := g.AskedBehind(n); behind != nil {
		asks = behind
	}
	var options []Option
	other := false
	for i := range g.Edges {
		e := &g.Edges[i]
		known := func(o Option) bool { return o.Value == e.Label }
		if e.From == asks.ID && e.On == OnLabel && !slices.ContainsFunc(options, known) {
			options = append(options, Option{Value: e.Label})
		}
		other = other || e.From == asks.ID && e.On == OnElse
	}
	if other && asks != n {
		options = append(options, Option{Value: string(OnElse), Description: "none of these"})
	}
	if len(options) == 0 && !h.Custom {
		return []Option{{Value: Approve}, {Value: Reject}}
	}
	return options
}

// AskedBehind returns the choice whose question the person at a human node of g answers, or nil
// if there is none. That is the case if success leads only to the choice, the human node has no
// options of its own, and the question does not refer to its answer.
func (g *Graph) AskedBehind(n *Node) *Node {
	if h, ok := n.Step.(*Human); !ok || len(h.Options) > 0 {
		return nil
	}
	var behind *Node
	for i := range g.Edges {
		e := &g.Edges[i]
		switch {
		case e.From != n.ID || e.On == OnFailure || e.On == OnTimeout:
		case e.On != OnSuccess || behind != nil:
			return nil
		default:
			if behind = g.Node(e.To); behind == nil {
				return nil
			}
		}
	}
	if behind == nil {
		return nil
	}
	if c, ok := behind.Step.(*Choice); !ok || c.Ask == nil || refersTo(n, c.Ask.Prompt.Text) {
		return nil
	}
	return behind
}

// refersTo reports whether a canonical text right after a node refers to its result.
func refersTo(n *Node, text string) bool {
	if !strings.Contains(text, "${") {
		return false
	}
	id, variable := regexp.QuoteMeta(n.ID), regexp.QuoteMeta(n.Output.Var)
	result := `previous|nodes\.` + id + `|nodes\["` + id + `"\]|vars\.` + variable
	return regexp.MustCompile(`\$\{([^}]*[^\w.-])?(` + result + `)[^\w-]`).MatchString(text)
}

// Tasks returns the tasks that agents may have to do at the nodes of g, in the same order: a task,
// or the question of a choice. If only people lead to the choice, the question belongs to them, and
// they can only answer with its labels. Nil means that there is no task.
func (g *Graph) Tasks() []*Task {
	tasks, nodes := make([]*Task, len(g.Nodes)), make(map[string]*Node, len(g.Nodes))
	for i := range slices.Backward(g.Nodes) { // of nodes with the same id, the first counts
		tasks[i], nodes[g.Nodes[i].ID] = g.Nodes[i].Task(), &g.Nodes[i]
	}
	byPeople := map[*Node]bool{} // whether only people lead to a choice
	for i := range g.Edges {
		e := &g.Edges[i]
		to := nodes[e.To]
		if to == nil {
			continue
		}
		if c, ok := to.Step.(*Choice); !ok || c.Ask == nil {
			continue
		}
		only, led := byPeople[to]
		byPeople[to] = (only || !led) && e.On == OnSuccess && g.answers(nodes[e.From], to)
	}
	for i := range g.Nodes {
		if byPeople[&g.Nodes[i]] && !g.isLeftTo(g.Nodes[i].ID) {
			tasks[i] = nil
		}
	}
	return tasks
}

// answers reports whether a person at a node can only answer the question of a choice.
func (g *Graph) answers(n, choice *Node) bool {
	if n == nil {
		return false
	}
	h, ok := n.Step.(*Human)
	return ok && !h.Custom && g.AskedBehind(n) == choice
}

// isLeftTo reports whether an edge leads to a node from inside a loop of g.
func (g *Graph) isLeftTo(id string) bool {
	for i := range g.Nodes {
		if l, ok := g.Nodes[i].Step.(*Loop); ok {
			leads := func(e Edge) bool { return e.To == id }
			if slices.ContainsFunc(l.Body.Edges, leads) || l.Body.isLeftTo(id) {
				return true
			}
		}
	}
	return false
}

// WalkTasks calls visit for every task of g and of the graphs in it, as Walk does for every node.
func (g *Graph) WalkTasks(visit func(n *Node, t *Task)) {
	for i, t := range g.Tasks() {
		n := &g.Nodes[i]
		if t != nil {
			visit(n, t)
		}
		if body := n.Body(); body != nil {
			body.WalkTasks(visit)
		}
	}
}

// Chosen returns the value of the option with the given value or label. Instead of approve and
// reject, people may also write yes, no and the like.
func Chosen(options []Option, said string) (value string, ok bool) {
	for _, o := range options {
		if said == o.Value {
			return o.Value, true
		}
	}
	word := BareLabel(said)
	if word == "" {
		return "", false
	}
	for _, o := range options {
		if word == BareLabel(o.Value) || word == BareLabel(o.Label) {
			return o.Value, true
		}
	}
	plain := len(options) == 2 && options[0].Value == Approve && options[1].Value == Reject
	switch word {
	case "yes", "y", "ok", "true", "approved":
		return Approve, plain
	case "no", "n", "false", "rejected":
		return Reject, plain
	}
	return "", false
}

// BareLabel returns a label in the form used for comparison: in lower case and without
// surrounding punctuation.
func BareLabel(s string) string {
	return strings.ToLower(strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.IsSymbol(r)
	}))
}
