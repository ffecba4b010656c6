package yaml

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/hocket-dev/hocket/workflow"
)

// nameSteps gives an id to every step that has none, and to the choices that `when`, `until` and
// `while` create: a base name, or the base name with -2, -3, … in the order in which the steps
// are written.
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
	steps map[string]*step // by id, the first if there are two; nil for the id of a choice
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

// name returns a new id for a step, or for a choice if s is nil.
func (n *namer) name(base string, s *step) string {
	id := FreeName(base, n.last, func(id string) bool {
		_, taken := n.steps[id]
		return taken
	})
	n.steps[id] = s
	return id
}

// FreeName returns the base, or the base with the first free number from 2 on. last has the
// number of the last name made from a base. The names end and again are never free, because they
// have a meaning as targets.
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

// setID sets the id of a step, and of the node that it repeats.
func (s *step) setID(id string) {
	s.node.ID = id
	if each, ok := s.node.Step.(*workflow.Each); ok && s.body == nil && len(each.Body.Nodes) == 1 {
		each.Body.Nodes[0].ID = id
	}
}

// slug turns a name into an id. A valid id is returned unchanged.
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

// each visits every step, a composite before the steps in it.
func (b *block) each(visit func(*step)) {
	for _, s := range b.steps {
		visit(s)
		if s.body != nil {
			s.body.each(visit)
		}
	}
}

// ids returns the ids of the block's steps by index.
func (b *block) ids() []string {
	ids := make([]string, len(b.steps))
	for i, s := range b.steps {
		ids[i] = s.node.ID
	}
	return ids
}

// checkNames reports duplicate ids, and gives the second step a new name, so that ids are always
// unique in the model. A for_each over a single step may have the same id as that step.
func (r *reader) checkNames(names *namer) {
	r.body.each(func(s *step) {
		other := names.steps[s.node.ID]
		switch {
		case other == s:
		case s.outer == other && !other.isLoop() && len(other.body.steps) == 1:
		default:
			r.doc.Report(workflow.Errorf(s.node.Pos, codeDuplicateID,
				"it is also used at "+other.node.Pos.String()+"; rename one of them", "id %q is used twice", s.node.ID))
			s.setID(names.name(slug(s.node.ID), s))
		}
	})
}
