package expr

// Mention is something that a text refers to, as it is written, before names are resolved.
// Parsers derive edges from mentions.
type Mention struct {
	Kind     MentionKind
	Step     int    // the index, for MentionStep
	Name     string // for the others
	From, To int    // byte range in the text
}

// MentionKind is the kind of thing that a mention names.
type MentionKind int

// The kinds of mentions.
const (
	MentionStep  MentionKind = iota // steps[0]
	MentionNode                     // steps.id, nodes.id
	MentionGroup                    // parallel_group.g, groups.g
	MentionName                     // a bare name: a variable, an input or, before a dot, a node
)

// Mentions returns what the template refers to, in the order of the text.
func (t *Template) Mentions() []Mention { return mentions(t.refs) }

// Mentions returns what the expression refers to, in the order of the text.
func (e *Expr) Mentions() []Mention { return mentions(e.refs) }

func mentions(refs []*Ref) []Mention {
	var found []Mention
	for _, r := range refs {
		if m, ok := mention(r); ok {
			m.From, m.To = r.From, r.To
			found = append(found, m)
		}
	}
	return found
}

func mention(r *Ref) (Mention, bool) {
	switch r.Kind {
	case Nodes:
		return Mention{Kind: MentionNode, Name: r.Name}, r.Name != ""
	case Groups:
		return Mention{Kind: MentionGroup, Name: r.Name}, r.Name != ""
	case Vars:
		return Mention{Kind: MentionName, Name: r.Name}, r.Name != ""
	case Unresolved:
		return mentionWritten(r.Path)
	case Inputs, Previous, Failure, Item, Index, Iteration, Repeats:
	}
	return Mention{}, false
}

func mentionWritten(path []Key) (Mention, bool) {
	word, rest := path[0].Name, path[1:]
	if len(rest) > 0 {
		switch {
		case word == "steps" && rest[0].IsIndex:
			return Mention{Kind: MentionStep, Step: rest[0].Index}, true
		case word == "steps":
			return Mention{Kind: MentionNode, Name: rest[0].Name}, true
		case word == "parallel_group" && !rest[0].IsIndex:
			return Mention{Kind: MentionGroup, Name: rest[0].Name}, true
		case word == "state" && !rest[0].IsIndex:
			return Mention{Kind: MentionName, Name: rest[0].Name}, true
		case word == "context":
			return Mention{}, false
		}
	}
	if word == "input" || word == "output" {
		return Mention{}, false
	}
	return Mention{Kind: MentionName, Name: word}, true
}
