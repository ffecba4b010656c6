package yaml

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/hocket-dev/hocket/workflow"
)

// nameSteps gives an id to every step that has none, and to the choices that
// `when`, `until` and `while` become: what it is made from, then that with -2,
// -3, … in the order in which the steps are written.
func nameSteps(b *block) *namer {
	n := &namer{steps: make(map[string]*step, len(b.steps)), last: map[string]int{}}
	b.each(func(s *step) {
		if s.node.ID != "" && n.steps[s.node.ID] == nil {
			n.steps[s.node.ID] = s
		}
	})
	n.block(b)
	return n
}

type namer struct {
	steps map[string]*step // by id, of two the first; nil under the id of a choice
	last  map[string]int   // number of the last id made from a base
}

func (n *namer) block(b *block) {
	for _, s := range b.steps {
		if s.when.Text != "" {
			s.guard = n.name("choice", nil)
		}
		if s.node.ID == "" {
			s.setID(n.name(slug(s.base), s))
		}
		if s.body != nil {
			n.block(s.body)
		}
		if s.until.Text != "" || s.while.Text != "" {
			s.test = n.name("choice", nil)
		}
	}
}

// name makes an id for a step, or for a choice if there is none.
func (n *namer) name(base string, s *step) string {
	id := FreeName(base, n.last, func(id string) bool {
		_, taken := n.steps[id]
		return taken
	})
	n.steps[id] = s
	return id
}

// FreeName is the base, or the base with the first number from 2 on that is not
// taken. Last has the number of the last name made from a base. To lead to end or
// again means something else, so these are always taken.
func FreeName(base string, last map[string]int, taken func(id string) bool) string {
	if !taken(base) && base != "end" && base != "again" {
		return base
	}
	for number := max(last[base], 1) + 1; ; number++ {
		if id := base + "-" + strconv.Itoa(number); !taken(id) {
			last[base] = number
			return id
		}
	}
}

// setID names a step, and what it repeats.
func (s *step) setID(id string) {
	s.node.ID = id
	if each, ok := s.node.Step.(*workflow.Each); ok && s.body == nil && len(each.Body.Nodes) == 1 {
		each.Body.Nodes[0].ID = id
	}
}

// slug makes an id of a name: a name that can be one stays as it is.
func slug(name string) string {
	if name != "" && !strings.HasPrefix(name, "-") && strings.IndexFunc(name, notInID) < 0 {
		return name
	}
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return notInID(r) || r == '-' })
	return orElse(strings.Join(words, "-"), "task")
}

func notInID(r rune) bool {
	return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
}

// each visits every step, a composite before what is in it.
func (b *block) each(visit func(*step)) {
	for _, s := range b.steps {
		visit(s)
		if s.body != nil {
			s.body.each(visit)
		}
	}
}

// ids are the ids of the block's steps by index.
func (b *block) ids() []string {
	ids := make([]string, len(b.steps))
	for i, s := range b.steps {
		ids[i] = s.node.ID
	}
	return ids
}

// checkNames reports ids that stand twice, and gives the second step a name of
// its own, so that ids are unique in the model whatever the file says. A
// for_each over a single step may share its id with that step.
func (r *reader) checkNames(names *namer) {
	r.body.each(func(s *step) {
		other := names.steps[s.node.ID]
		switch {
		case other == s:
		case s.outer == other && !other.isLoop() && len(other.body.steps) == 1:
		default:
			r.doc.Report(workflow.Errorf(s.node.Pos, codeDuplicateID,
				"the other one is at "+other.node.Pos.String()+"; rename one of them", "id %q is used twice", s.node.ID))
			s.setID(names.name(slug(s.node.ID), s))
		}
	})
}
