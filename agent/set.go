package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Set is all agents that a project can use: its definitions, and a built-in agent
// for every executor. It is not changed once made, and safe for concurrent use.
type Set struct {
	executors map[string]Executor
	traits    map[string]Traits // of the executors
	agents    []*Definition     // the project's, then the built-in ones, by name
	fallback  string
	reserved  []string // sorted
}

// NewSet puts together executors by the names under which definitions ask for
// them, definitions, and the agent of tasks that name none ("": such a task has no
// agent). A definition that does not say what does its work is given an executor,
// where one suggests itself. A reserved name always means the executor of that name,
// and no definition.
func NewSet(executors map[string]Executor, definitions []*Definition, fallback string, reserved ...string) *Set {
	s := newSet(executors, definitions, fallback, reserved)
	s.Snapshot().employ() // of the same agents
	return s
}

func newSet(executors map[string]Executor, definitions []*Definition, fallback string, reserved []string) *Set {
	s := &Set{
		executors: executors, traits: map[string]Traits{}, agents: slices.Clone(definitions), fallback: fallback,
		reserved: slices.Sorted(slices.Values(reserved)),
	}
	slices.SortStableFunc(s.agents, func(a, b *Definition) int { return strings.Compare(a.Name, b.Name) })
	for _, name := range s.Executors() {
		s.traits[name] = executors[name].Traits()
		s.agents = append(s.agents, &Definition{Name: name, Agent: name, Description: s.traits[name].About, Builtin: true})
	}
	for _, name := range s.reserved {
		if _, here := executors[name]; !here { // it is known to be missing, and nothing else takes its place
			s.agents = append(s.agents, &Definition{Name: name, Agent: name, Builtin: true})
		}
	}
	return s
}

// Snapshot is the set with this machine as it is now: what an executor lacks is looked
// up at most once. Whoever asks about many tasks uses one.
func (s *Set) Snapshot() *Set {
	now := *s
	now.traits = make(map[string]Traits, len(s.traits))
	for name, t := range s.traits {
		if t.Missing != nil {
			t.Missing = sync.OnceValue(t.Missing)
		}
		now.traits[name] = t
	}
	return &now
}

// Resolve finds the agent that a task names. In this order a name is: a reserved
// executor, the name or id of a definition, a role, a built-in agent, a capability that exactly one
// agent has, a built-in agent in other letter case. The error is a [*ResolveError]. Where only the executor is missing,
// the definition comes with the error.
func (s *Set) Resolve(name string) (*Definition, Executor, error) {
	if name == "" {
		name = s.fallback
	}
	d, err := s.find(name)
	if err != nil {
		return nil, nil, err
	}
	if failed := s.Missing(d); failed != nil {
		failed.Name = name
		return d, nil, failed
	}
	return d, s.executors[d.Agent], nil
}

// Missing is why the agent of a definition cannot work here; nil: it can.
func (s *Set) Missing(d *Definition) *ResolveError {
	failed := &ResolveError{Why: NoExecutor, Name: d.Name, Definition: d, Executors: s.Executors(), Reserved: slices.Contains(s.reserved, d.Agent)}
	t, known := s.traits[d.Agent]
	switch {
	case known:
		if failed.Missing = t.missing(); failed.Missing == "" {
			return nil
		}
	case d.Agent == "":
		failed.Usable = s.Usable()
	}
	return failed
}

// ResolveLane is Resolve for a name of which a workflow says a role: a lane that
// is no agent itself is done by the agent of its role.
func (s *Set) ResolveLane(name, role string) (*Definition, Executor, error) {
	if name != "" && role != "" && s.unknown(name) && !s.unknown(role) {
		name = role
	}
	return s.Resolve(name)
}

func (s *Set) unknown(name string) bool {
	_, err := s.find(name)
	return err != nil && err.Why == Unknown
}

// find is the definition for a name. What the name may be is tried in order; the
// first that has an answer, or too many, decides.
func (s *Set) find(name string) (*Definition, *ResolveError) {
	meanings := [...]func(*Definition) bool{
		func(d *Definition) bool { return d.Builtin && d.Name == name && slices.Contains(s.reserved, name) },
		func(d *Definition) bool { return !d.Builtin && (d.Name == name || d.ID == name) },
		func(d *Definition) bool { return d.Role == name },
		func(d *Definition) bool { return d.Builtin && d.Name == name },
		func(d *Definition) bool { return slices.Contains(d.Capabilities, name) },
		func(d *Definition) bool { return d.Builtin && strings.EqualFold(d.Name, name) }, // planners write Browser
	}
	for _, meant := range meanings {
		var found []*Definition
		for _, d := range s.agents {
			if name != "" && meant(d) {
				found = append(found, d)
			}
		}
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return nil, &ResolveError{Why: Ambiguous, Name: name, Candidates: labels(found)}
		}
	}
	if name != "" {
		return nil, &ResolveError{Why: Unknown, Name: name, Candidates: s.Names()}
	}
	var able []string
	for _, d := range s.able(nil) {
		able = append(able, s.called(d))
	}
	return nil, &ResolveError{Why: Unknown, Candidates: able}
}

// labels name definitions with their files, because their names may be the same.
func labels(list []*Definition) []string {
	out := make([]string, len(list))
	for i, d := range list {
		out[i] = d.Name
		if d.Pos.File != "" {
			out[i] += " (" + d.Pos.File + ")"
		}
	}
	return out
}

// Definitions are the agents of the project and then the built-in ones, each in
// order of their names.
func (s *Set) Definitions() []*Definition { return slices.Clone(s.agents) }

// Names are the names of all agents, in the same order.
func (s *Set) Names() []string {
	var names []string
	for _, d := range s.agents {
		if !slices.Contains(names, d.Name) {
			names = append(names, d.Name)
		}
	}
	return names
}

// Executors are the names of the executors, sorted.
func (s *Set) Executors() []string { return slices.Sorted(maps.Keys(s.executors)) }

// Traits describe an executor; the zero value: there is none of that name.
func (s *Set) Traits(executor string) Traits { return s.traits[executor] }

// ValidateSettings checks the settings of a task of an agent, the definition's and
// its own together, as [Schema.CheckTemplates] does. Settings of an agent whose executor
// does not exist are not checked.
func (s *Set) ValidateSettings(d *Definition, settings map[string]any) []Problem {
	t := s.traits[d.Agent]
	if t.Prompted {
		settings = withoutSession(settings)
	}
	written := settings
	narrowed, settings, found := t.ForStep(d, settings)
	if narrowed != d && len(found) == 0 {
		for _, p := range s.CheckPermissions(narrowed) {
			p.Path = []string{firstOf(written, "permission", "permissions", "tools")}
			found = append(found, p)
		}
	}
	for i, p := range found {
		if others := s.enforcers(nil); p.Detail == unenforcedDetail && len(others) > 0 {
			found[i].Detail = "set `agent` to one that can enforce them: " + strings.Join(others, ", ")
		}
	}
	for _, p := range t.Settings.CheckTemplates(settings) {
		if len(p.Path) > 0 && p.Path[0] == "max_turns" && written["max_turns"] == nil { // as the step calls it
			p.Path, p.Summary = []string{"maxSteps"}, strings.Replace(p.Summary, "max_turns", "maxSteps", 1)
		}
		found = append(found, p)
	}
	if len(found) > 0 {
		return found
	}
	if narrowed == d { // an exact step
		for _, name := range []string{"mode", "maxSteps"} {
			if written[name] != nil && settings[name] == nil {
				found = append(found, Problem{Path: []string{name}, Note: true, Summary: fmt.Sprintf("%s does exactly what the settings say: %s has no effect", d.Agent, name)})
			}
		}
	}
	if summary, detail, _ := strings.Cut(t.incomplete(narrowed, settings), "; "); summary != "" && t.missing() == "" {
		return []Problem{{Summary: summary, Detail: detail}}
	}
	if t.Unfollowed != nil {
		for _, name := range t.Unfollowed(narrowed, settings) {
			name = firstOf(written, name, "maxSteps")
			found = append(found, Problem{Path: []string{name}, Note: true, Summary: fmt.Sprintf("%s does not support %s: it has no effect", d.Agent, name)})
		}
	}
	return found
}

// firstOf is the first of some names that settings have.
func firstOf(settings map[string]any, names ...string) string {
	return names[max(0, slices.IndexFunc(names, func(name string) bool { return settings[name] != nil }))]
}

// withoutSession are the settings that an executor sees.
func withoutSession(settings map[string]any) map[string]any {
	if _, named := settings[SessionSetting]; !named {
		return settings
	}
	own := maps.Clone(settings)
	delete(own, SessionSetting)
	return own
}
