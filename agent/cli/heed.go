package cli

import (
	"slices"

	"github.com/hocket-dev/hocket/agent"
)

var _ agent.Heeding = (*Executor)(nil)

// Heeds says whether the CLI has means to keep to a key of a definition.
func (x *Executor) Heeds(d *agent.Definition, key string) bool {
	return x.keeps(key, x.talks(permissions{mode: modeOf(d)}))
}

func modeOf(d *agent.Definition) Mode {
	mode, _ := d.Permissions["mode"].(string)
	return Mode(mode)
}

// keeps is Heeds for a CLI that is talked with, or run headless.
func (x *Executor) keeps(key string, talks bool) bool {
	switch key {
	case "model", "max_turns":
		if talks {
			return x.m().tells(key) || key == "model" && x.m().acp != nil && x.m().acp.quirks.SetsModel
		}
		return x.m().uses[key]
	case "tools", "mcp":
		return talks || len(x.m().serverForms) > 0
	}
	return true
}

// tells says whether a value reaches a CLI that is talked with: by its arguments, its
// environment or a file.
func (m *Manifest) tells(name string) bool {
	if m.acp == nil {
		return false
	}
	without, with := values{}, values{name: "x"}
	if !slices.Equal(arguments(m.acp.args, without), arguments(m.acp.args, with)) {
		return true
	}
	for _, v := range slices.Concat(m.env, m.acp.env) {
		before, _ := v.value.text(without)
		if after, _ := v.value.text(with); after != before {
			return true
		}
	}
	return slices.ContainsFunc(m.files, func(f file) bool {
		before, _ := f.fill(without)
		after, _ := f.fill(with)
		return before != after
	})
}
