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

// The tools of all programs with which files are read and changed, and commands are
// run. Their names do not collide; what an entry says behind a bracket narrows it
// further.
var (
	readers = strings.Fields("read grep glob ls list search view read_file read_many_files list_directory grep_search search_file_content")
	writers = strings.Fields("edit write multiedit notebookedit patch write_file replace edit_file")
	runners = strings.Fields("bash shell execute run_shell_command")
)

// fetchers are all tools of a program that reach into the network.
var fetchers = map[string][]string{
	"claude": {"webfetch", "websearch"}, "opencode": {"webfetch", "websearch"}, "gemini": {"web_fetch", "google_web_search"},
	"qwen": {"web_fetch"}, "copilot": {"web"},
}

func among(tools, kind []string) bool {
	return slices.ContainsFunc(tools, func(tool string) bool {
		name, _, _ := strings.Cut(strings.ToLower(tool), "(")
		return slices.Contains(kind, name)
	})
}

// whole says whether tools hold some of a kind without narrowing it.
func whole(tools, kind []string) bool {
	return slices.ContainsFunc(tools, func(tool string) bool { return slices.Contains(kind, strings.ToLower(tool)) })
}

// all says whether tools hold every one of a kind; false also of a kind that is empty.
func all(tools, kind []string) bool {
	return len(kind) > 0 && !slices.ContainsFunc(kind, func(name string) bool { return !whole(tools, []string{name}) })
}

func without(tools []string, kinds ...[]string) []string {
	return slices.DeleteFunc(slices.Clone(tools), func(tool string) bool {
		return slices.ContainsFunc(kinds, func(kind []string) bool { return whole([]string{tool}, kind) })
	})
}

// listing are the programs that can be told what to allow and deny, tool by tool.
var listing = []string{"claude", "copilot"}

// settlePermissions says as permissions which of its program's own tools an agent may
// use: in the words that are the same for all agents where these mean just that, else
// tool by tool, or by a mode that allows no more.
func (r *reading) settlePermissions(from string) {
	if len(r.only) > 0 {
		r.settleTools(from)
	}
	denied := r.denied
	if whole(denied, runners) {
		r.permission("shell", "deny")
		denied = without(denied, runners)
	}
	if all(denied, fetchers[from]) {
		r.permission("network", "deny")
		denied = without(denied, fetchers[from])
	}
	switch {
	case len(denied) == 0:
	case slices.Contains(listing, from):
		r.permission("deny", anys(denied))
	default:
		if among(denied, writers) {
			r.mode(readOnly)
		}
		if among(denied, runners) {
			r.permission("shell", "deny")
		}
		for _, tool := range without(denied, writers, runners) {
			if !among([]string{tool}, writers) && !among([]string{tool}, runners) {
				r.lose("deny "+tool, "there is nothing like it for tools of "+from+" alone")
			}
		}
	}
}

// settleTools says what an agent may do that has some tools only. Where it asks a
// person, or its program keeps it from changing anything, having a tool allows nothing.
func (r *reading) settleTools(from string) {
	_, given := r.agent.Permissions["mode"]
	if !given {
		r.mode(readOnly)
		if among(r.only, writers) {
			r.mode(edit)
		}
	}
	asks := given && r.agent.Permissions["mode"] == any(ask)
	bound := asks || given && r.agent.Permissions["mode"] == any(readOnly)
	if !among(r.only, writers) && r.agent.Permissions["mode"] != any(readOnly) {
		r.permission("write", "deny")
	}
	r.settleKind("shell", among(r.only, runners), whole(r.only, runners) && !bound)
	if kind := fetchers[from]; len(kind) > 0 {
		r.settleKind("network", among(r.only, kind), all(r.only, kind) && !bound)
	}
	left := without(r.only, readers, writers, runners)
	if r.agent.Permissions["network"] == any("allow") {
		left = without(left, fetchers[from])
	}
	switch {
	case slices.Contains(listing, from) && len(left) > 0 && !asks:
		r.permission("allow", anys(left))
	case among(left, runners) && !asks:
		r.lose("tools", "some commands cannot be allowed here: decide yourself whether all are, with `shell: allow`")
	}
	r.lose("tools", "others than those for files, commands and the network are not taken away")
}

// settleKind denies what an agent has no tool for, and allows what it has all tools for.
func (r *reading) settleKind(power string, some, every bool) {
	switch {
	case every:
		r.permission(power, "allow")
	case !some:
		r.permission(power, "deny")
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
