package agent

import (
	"fmt"
	"slices"
	"strings"
)

// optionalKeys are the keys of a definition that not every executor supports. All others
// take effect outside the executor.
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

// Ignored reports the keys of a definition that its executor ignores. The author relies on
// them, so each is an error; its path is the key.
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
		// If the settings of a definition say exactly what to do, no task can change that.
		if t.FromPrompt(&Task{Agent: d, Settings: d.Settings}) {
			p.Detail = "remove it, or set `agent` to one that supports it"
		}
		found = append(found, p)
	}
	return found
}

// CheckPermissions reports invalid permissions of a definition, and those that its executor
// cannot enforce, with the executors that can. Permissions that are ignored altogether are
// left to [Set.Ignored].
func (s *Set) CheckPermissions(d *Definition) []Problem {
	t := s.traits[d.Agent]
	if len(d.Permissions) == 0 || !t.supports(d, "permissions") {
		return nil
	}
	problems := t.unenforced(d.Permissions)
	if len(problems) == 0 {
		return nil // before asking every other executor, which reads their manifests
	}
	if others := s.enforcers(d.Permissions); len(others) > 0 {
		last := &problems[len(problems)-1]
		last.Detail = strings.TrimPrefix(last.Detail+"; or set `agent` to one that can enforce all of it: "+strings.Join(others, ", "), "; or ")
	}
	return problems
}

// enforcers returns the general executors for prompts that can enforce the given
// permissions.
func (s *Set) enforcers(permissions map[string]any) []string {
	return slices.DeleteFunc(s.Executors(), func(name string) bool {
		t := s.traits[name]
		return !t.Prompted || t.Specialist || !t.supports(&Definition{Agent: name, Permissions: permissions}, "permissions") || len(t.unenforced(permissions)) > 0
	})
}

func (t Traits) unenforced(permissions map[string]any) []Problem {
	if t.Permissions != nil {
		return t.Permissions(permissions)
	}
	_, problems := ReadPermissions(permissions)
	return problems
}
