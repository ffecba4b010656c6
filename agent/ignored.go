package agent

import (
	"fmt"
	"strings"
)

// optionalKeys are the keys of a definition that not every executor supports. All
// others take effect outside of the executor.
var optionalKeys = []struct {
	key   string
	given func(d *Definition) bool
}{
	{"prompt", func(d *Definition) bool { return strings.TrimSpace(d.Prompt) != "" }},
	{"model", func(d *Definition) bool { return d.Model != "" }},
	{"tools", func(d *Definition) bool { return len(d.Tools) > 0 }},
	{"mcp", func(d *Definition) bool { return len(d.Servers) > 0 }},
	{"permissions", func(d *Definition) bool { return len(d.Permissions) > 0 }},
	{"max_turns", func(d *Definition) bool { return d.MaxTurns > 0 }},
}

// Ignored reports the keys of a definition that its executor ignores. The author of
// one relies on it, so each is a mistake; its path is the key.
func (s *Set) Ignored(d *Definition) []Problem {
	t, known := s.traits[d.Agent]
	if !known {
		return nil
	}
	var found []Problem
	for _, optional := range optionalKeys {
		if !optional.given(d) || t.supports(d, optional.key) {
			continue
		}
		p := Problem{
			Path:    []string{optional.key},
			Summary: fmt.Sprintf("%s does not support %q", d.Agent, optional.key),
			Detail:  "remove it: the settings say exactly what to do",
		}
		// What the settings of a definition say exactly, no task can leave open again.
		if t.FromPrompt(&Task{Agent: d, Settings: d.Settings}) {
			p.Detail = "remove it, or set `agent` to one that supports it"
		}
		found = append(found, p)
	}
	return found
}

// CheckPermissions reports what is wrong with the permissions of a definition, or
// cannot be enforced by its executor. Permissions that it ignores are left to [Set.Ignored].
func (s *Set) CheckPermissions(d *Definition) []Problem {
	t := s.traits[d.Agent]
	switch {
	case len(d.Permissions) == 0 || !t.supports(d, "permissions"):
		return nil
	case t.Permissions != nil:
		return t.Permissions(d.Permissions)
	}
	_, problems := ReadPermissions(d.Permissions)
	return problems
}
