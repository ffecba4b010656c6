package cli

import (
	"slices"

	"github.com/hocket-dev/hocket/agent"
)

// supports reports whether the CLI supports a key of a definition.
func (x *Executor) supports(d *agent.Definition, key string) bool {
	return x.keeps(key, x.m().talks(modeOf(d)))
}

func modeOf(d *agent.Definition) Mode {
	mode, _ := d.Permissions["mode"].(string)
	return Mode(mode)
}

// preferences are settings that say how the model should work. A CLI that cannot be told
// goes on without.
var preferences = []string{"effort", "max_turns", "temperature", "top_p"}

// unfollowed are the preferences among settings that the CLI cannot be told.
func (x *Executor) unfollowed(d *agent.Definition, settings map[string]any) []string {
	talks := x.m().talks(modeOf(d))
	return slices.DeleteFunc(slices.Clone(preferences), func(name string) bool { return settings[name] == nil || x.m().tells(name, talks) })
}

// keeps is supports for a CLI that is talked with, or run headless.
func (x *Executor) keeps(key string, talks bool) bool {
	switch key {
	case "model", "max_turns":
		return x.m().tells(key, talks) || key == "model" && talks && x.m().acp != nil && x.m().acp.quirks.SetsModel
	case "tools", "mcp":
		return talks || len(x.m().serverForms) > 0
	}
	return true
}

// tells says whether a value reaches the CLI: by its arguments, its environment, a file,
// or what a conversation is opened with.
func (m *Manifest) tells(name string, talks bool) bool {
	if talks {
		return m.acp != nil && m.usesTalking[name]
	}
	return m.usesAlone[name]
}

// tellsAll says whether all of some values do: what nothing names would be said to
// nobody.
func (m *Manifest) tellsAll(said values, talks bool) bool {
	for name := range said {
		if !m.tells(name, talks) {
			return false
		}
	}
	return true
}
