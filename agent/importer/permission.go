package importer

import (
	"slices"
	"strings"
)

// How much an agent may do. The words are those of definitions.
const (
	readOnly = "read-only"
	edit     = "edit"
	full     = "full"
	ask      = "ask"
)

// modes are the words of a program for how much an agent may do, and ours.
type modes map[string]string

// permits reads how much an agent may do.
func (r *reading) permits(known modes, key string) {
	word := r.text(key)
	switch mode := known[word]; {
	case word == "":
	case mode == "":
		r.lose(key, "there is nothing like "+word+" here")
	default:
		r.mode(mode)
	}
}

func (r *reading) mode(mode string) { r.permission("mode", mode) }

func (r *reading) permission(key string, value any) {
	if r.agent.Permissions == nil {
		r.agent.Permissions = map[string]any{}
	}
	r.agent.Permissions[key] = value
}

// onlyTools reads the tools of its program that an agent may use.
func (r *reading) onlyTools(key string) {
	if list := r.words(key); !slices.Contains(list, "*") && !slices.Contains(list, "all") {
		r.only = list
	}
}

// denies reads a list of what an agent may not do, in the words of its program.
func (r *reading) denies(key string) { r.denied = append(r.denied, r.words(key)...) }

// The tools of all programs with which files are changed, and commands are run. Their
// names do not collide; what an entry says behind a bracket narrows it further.
var (
	writers = strings.Fields("edit write multiedit notebookedit patch write_file replace edit_file")
	runners = strings.Fields("bash shell execute run_shell_command")
)

func among(tools, kind []string) bool {
	return slices.ContainsFunc(tools, func(tool string) bool {
		name, _, _ := strings.Cut(strings.ToLower(tool), "(")
		return slices.Contains(kind, name)
	})
}

// listing are the programs that can be told what to allow and deny, tool by tool.
var listing = []string{"claude", "copilot"}

// settlePermissions says as permissions which of its program's own tools an agent may
// use. Where that cannot be said tool by tool, it is a mode that allows no more.
func (r *reading) settlePermissions(from string) {
	lists := slices.Contains(listing, from)
	if len(r.only) > 0 {
		r.settleTools(lists)
	}
	switch {
	case len(r.denied) == 0:
	case lists:
		r.permission("deny", anys(r.denied))
	default:
		if among(r.denied, writers) {
			r.mode(readOnly)
		} else if among(r.denied, runners) && r.agent.Permissions["mode"] != any(readOnly) {
			r.mode(edit)
		}
		for _, tool := range r.denied {
			if !among([]string{tool}, writers) && !among([]string{tool}, runners) {
				r.lose("deny "+tool, "there is only a mode for all tools of "+from)
			}
		}
	}
}

func (r *reading) settleTools(lists bool) {
	if _, given := r.agent.Permissions["mode"]; !given {
		r.mode(readOnly)
		if among(r.only, writers) {
			r.mode(edit)
		}
	}
	switch {
	case lists:
		r.permission("allow", anys(r.only))
		r.lose("tools", "they are allowed; others are not taken away, but bounded by the mode of the permissions")
	case among(r.only, runners):
		r.lose("tools", "commands need the mode full here, which allows everything: decide that yourself")
	default:
		r.lose("tools", "there is only a mode for all of them")
	}
}

func anys(list []string) []any {
	out := make([]any, 0, len(list))
	for _, s := range list {
		if !slices.Contains(out, any(s)) {
			out = append(out, s)
		}
	}
	return out
}
