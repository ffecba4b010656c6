package cli

import (
	"maps"
	"slices"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/strictyaml"
)

// permissions reads how permissions are passed to the CLI: the values for each mode, and
// for each power that a definition may also name.
func (r *reader) permissions(n strictyaml.Node) {
	if !n.Exists() {
		return
	}
	m, names := n.Map(), map[string]bool{}
	r.m.permissions, r.m.powers, r.m.words = map[Mode]values{}, map[agent.Power]means{}, map[string]values{}
	for _, mode := range []Mode{ReadOnly, Edit, Full, AskFirst} {
		if entry := m.Get(string(mode)); entry.Exists() {
			r.m.permissions[mode] = r.saying(entry, names)
		}
	}
	for _, power := range agent.Powers {
		if entry := m.Get(string(power)); entry.Exists() {
			r.m.powers[power] = r.means(entry.Map(), names)
		}
	}
	for _, list := range []string{"allow", "deny"} {
		if entry := m.Get(list); entry.Exists() {
			r.m.words[list] = r.saying(entry, names)
		}
	}
	m.Done()
}

// saying reads values that tell the CLI something. The values allow and deny always exist:
// these are added to them.
func (r *reader) saying(n strictyaml.Node, names map[string]bool) values {
	set := values{}
	for _, e := range n.Map().Entries() {
		if isList := e.Name == "allow" || e.Name == "deny"; isList && !e.Value.IsList() {
			e.Value.WrongType("a list")
		} else if !isList && !names[e.Name] {
			names[e.Name] = true
			r.value(e.Key, e.Name)
		}
		set[e.Name] = e.Value.Value()
	}
	return set
}

func (r *reader) means(m *strictyaml.Map, names map[string]bool) means {
	out := means{told: map[agent.Permission]values{}}
	for _, permission := range []agent.Permission{agent.Allow, agent.AskFirst, agent.Deny} {
		if entry := m.Get(string(permission)); entry.Exists() {
			out.told[permission] = r.saying(entry, names)
		}
	}
	if entry := m.Get("some"); entry.Exists() {
		out.some = r.saying(entry, names)
	}
	if entry := m.Get("pattern"); entry.Exists() {
		out.pattern = r.template(entry, []string{"pattern"})
		if !slices.Contains(out.pattern.names(), "pattern") {
			entry.Errorf(CodeManifest, "write {pattern} where the pattern belongs", "{pattern} is missing")
		}
	}
	m.Done()
	return out
}

// asks reads the powers about which the CLI asks in a conversation.
func (r *reader) asks(n strictyaml.Node) map[agent.Power]bool {
	words := make([]string, len(agent.Powers))
	for i, power := range agent.Powers {
		words[i] = string(power)
	}
	out := map[agent.Power]bool{}
	for _, entry := range n.OneOrMany() {
		if entry.Exists() {
			out[agent.Power(entry.Word(words...))] = true
		}
	}
	return out
}

// add merges values into existing ones: entries are appended to a list, members are added
// to a map, and anything else replaces the previous value.
func (v values) add(more values) {
	for name, value := range more {
		v[name] = merged(v[name], value)
	}
}

func merged(before, value any) any {
	switch value := value.(type) {
	case []any:
		if list, isList := before.([]any); isList {
			return slices.Concat(list, value)
		}
	case map[string]any:
		if members, isMap := before.(map[string]any); isMap {
			out := maps.Clone(members)
			for key, member := range value {
				out[key] = merged(out[key], member)
			}
			return out
		}
	}
	return value
}
