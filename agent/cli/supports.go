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

// preferences are settings that say how the model should work. A CLI that does not support
// them works without.
var preferences = []string{"effort", "max_turns", "temperature", "top_p"}

// unfollowed returns the preferences among settings that the CLI does not support.
func (x *Executor) unfollowed(d *agent.Definition, settings map[string]any) []string {
	talks := x.m().talks(modeOf(d))
	return slices.DeleteFunc(slices.Clone(preferences), func(name string) bool { return settings[name] == nil || x.m().tells(name, talks) })
}

// keeps is supports for a CLI in a conversation, or headless.
func (x *Executor) keeps(key string, talks bool) bool {
	switch key {
	case "model", "max_turns":
		return x.m().tells(key, talks) || key == "model" && talks && x.m().acp != nil && x.m().acp.quirks.SetsModel
	case "tools", "mcp":
		return talks || len(x.m().serverForms) > 0
	}
	return true
}

// tells reports whether a value reaches the CLI: by its arguments, its environment, a file,
// or the parameters of a conversation.
func (m *Manifest) tells(name string, talks bool) bool {
	if talks {
		return m.acp != nil && m.usesTalking[name]
	}
	return m.usesAlone[name]
}

// tellsAll reports whether all of some values reach the CLI.
func (m *Manifest) tellsAll(said values, talks bool) bool {
	for name := range said {
		if !m.tells(name, talks) {
			return false
		}
	}
	return true
}
