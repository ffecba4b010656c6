package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hocket-dev/hocket/internal/sorted"
)

// Set holds all agents that a project can use: its definitions, and a built-in agent for
// every executor. It is immutable and safe for concurrent use.
type Set struct {
	executors map[string]Executor
	traits    map[string]Traits // of the executors
	agents    []*Definition     // the project's, then the built-in ones, by name
	names     []string          // of the agents, each once
	fallback  string
	reserved  []string // sorted
	away      bool     // tasks are done on other machines
}

// NewSet combines executors, by the names that definitions use for them, with definitions and the
// default agent of tasks that do not name one ("" means that there is no default). A definition
// without an executor is given one if the choice is clear. A reserved name always means the
// executor of that name, never a definition.
func NewSet(executors map[string]Executor, definitions []*Definition, fallback string, reserved ...string) *Set {
	s := newSet(executors, definitions, fallback, reserved)
	s.Snapshot().employ() // for the same agents
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
		if _, here := executors[name]; !here { // known to be missing, with no replacement
			s.agents = append(s.agents, &Definition{Name: name, Agent: name, Builtin: true})
		}
	}
	for _, d := range s.agents {
		if !slices.Contains(s.names, d.Name) {
			s.names = append(s.names, d.Name)
		}
	}
	return s
}

// Snapshot returns a copy of the set that looks up at most once what an executor is missing
// on this machine. Use one to ask about many tasks.
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

// Away returns a copy of the set for tasks that are done on other machines: what an executor lacks on this one
// does not matter to Resolve.
func (s *Set) Away() *Set {
	there := *s
	there.away = true
	return &there
}

// Resolve returns the agent that a task names. A name is, in this order: a reserved
// executor, the name or id of a definition, a role, a built-in agent, a capability that
// exactly one agent has, or a built-in agent in different letter case. The error is a
// [*ResolveError]. If only the executor is missing, the definition is returned with the
// error.
func (s *Set) Resolve(name string) (*Definition, Executor, error) {
	if name == "" {
		name = s.fallback
	}
	d, err := s.find(name)
	if err != nil {
		return nil, nil, err
	}
	if failed := s.Missing(d); failed != nil && (!s.away || failed.Missing == "") {
		failed.Name = name
		return d, nil, failed
	}
	return d, s.executors[d.Agent], nil
}

// Missing returns why the agent of a definition cannot work on this machine; nil if it can.
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

// ResolveLane is Resolve for a name to which a workflow assigns a role: if a lane is not an
// agent itself, the agent of its role does the work.
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

// find returns the definition for a name: the only one for which the name has its first meaning.
func (s *Set) find(name string) (*Definition, *ResolveError) {
	first := noMeaning
	var found []*Definition
	for _, d := range s.agents {
		m := s.meaning(name, d)
		if m < first {
			first, found = m, nil
		}
		if m == first && m != noMeaning {
			found = append(found, d)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	if len(found) > 1 {
		return nil, &ResolveError{Why: Ambiguous, Name: name, Candidates: labels(found)}
	}
	if name != "" {
		return nil, &ResolveError{Why: Unknown, Name: name, Candidates: s.names}
	}
	var able []string
	for _, d := range s.able(nil) {
		able = append(able, s.called(d))
	}
	return nil, &ResolveError{Why: Unknown, Candidates: able}
}

// noMeaning is the meaning of a name for a definition that it does not refer to.
const noMeaning = 6

// meaning returns what a name means for a definition; a lower number comes first.
func (s *Set) meaning(name string, d *Definition) int {
	switch {
	case name == "":
		return noMeaning
	case d.Builtin && d.Name == name && slices.Contains(s.reserved, name):
		return 0
	case !d.Builtin && (d.Name == name || d.ID == name):
		return 1
	case d.Role == name && !d.Generated:
		return 2
	case d.Builtin && d.Name == name:
		return 3
	case slices.Contains(d.Capabilities, name) && !d.Generated:
		return 4
	case d.Builtin && strings.EqualFold(d.Name, name): // planning tools write Browser
		return 5
	}
	return noMeaning
}

// labels returns definitions with their files, because their names may be equal.
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

// Definitions returns the project's agents and then the built-in ones, each sorted by name.
func (s *Set) Definitions() []*Definition { return slices.Clone(s.agents) }

// Default returns the name of the agent of tasks that name none, "" if there is none.
func (s *Set) Default() string { return s.fallback }

// Names returns the names of all agents, in the same order.
func (s *Set) Names() []string { return slices.Clone(s.names) }

// Executors returns the names of the executors, sorted.
func (s *Set) Executors() []string { return sorted.Keys(s.executors) }

// Traits returns the traits of an executor, or the zero value if there is none of that
// name.
func (s *Set) Traits(executor string) Traits { return s.traits[executor] }

// ValidateSettings checks the settings of a task of an agent, those of the definition and
// its own together, as [Schema.CheckTemplates] does. It does not check settings if the
// executor does not exist.
func (s *Set) ValidateSettings(d *Definition, settings map[string]any) []Problem {
	t := s.traits[d.Agent]
	if t.Prompted {
		settings = ownSettings(settings)
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
		if p.Detail != unenforcedDetail {
			continue
		}
		if others := s.enforcers(nil); len(others) > 0 {
			found[i].Detail = "set `agent` to one that can enforce them: " + strings.Join(others, ", ")
		}
	}
	for _, p := range t.Settings.CheckTemplates(settings) {
		if len(p.Path) > 0 && p.Path[0] == "max_turns" && written["max_turns"] == nil { // as the step names it
			p.Path, p.Summary = []string{"maxSteps"}, strings.Replace(p.Summary, "max_turns", "maxSteps", 1)
		}
		found = append(found, p)
	}
	if len(found) > 0 {
		return found
	}
	if narrowed == d { // all work is in the settings
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

// firstOf returns the first of the names that settings contain.
func firstOf(settings map[string]any, names ...string) string {
	return names[max(0, slices.IndexFunc(names, func(name string) bool { return settings[name] != nil }))]
}

// ownSettings returns the settings that an executor sees.
func ownSettings(settings map[string]any) map[string]any {
	if settings[SessionSetting] == nil && settings[HandoffSetting] == nil {
		return settings
	}
	own := maps.Clone(settings)
	delete(own, SessionSetting)
	delete(own, HandoffSetting)
	return own
}
