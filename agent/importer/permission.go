package importer

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
)

// permits reads a mode of its program. If a file has two, the narrower one counts.
func (r *reading) permits(from, key string) {
	v, given := r.get(key)
	if !given || v == nil {
		return
	}
	word, _ := v.(string)
	mode, known := vocabularies[from].modes[word]
	if !known {
		r.refuseFor(key, plain(v), "unknown mode")
	}
	r.narrow(mode)
}

// narrow sets one of our modes if it allows less than the current one.
func (r *reading) narrow(mode string) {
	order := []string{readOnly, ask, edit, full}
	if mode != "" && (r.mode == "" || slices.Index(order, mode) < slices.Index(order, r.mode)) {
		r.mode = mode
	}
}

// refuseFor refuses the agent, because it must not run without a restriction.
func (r *reading) refuseFor(key, value, reason string) {
	if r.refuse == "" {
		r.refuse = "its `" + key + ": " + value + "` cannot be imported: " + reason
	}
}

func (r *reading) permission(key string, value any) {
	if r.agent.Permissions == nil {
		r.agent.Permissions = map[string]any{}
	}
	r.agent.Permissions[key] = value
}

// deny removes a power. For an agent that never asks, no writing means read-only.
func (r *reading) deny(power agent.Power) {
	if power == agent.MayWrite && r.mode != ask && r.mode != full {
		r.mode = readOnly
		return
	}
	r.permission(string(power), "deny")
}

// onlyTools reads the tools of its program that an agent may use. An empty list means none;
// a missing one means all.
func (r *reading) onlyTools(key string) {
	if _, given := r.values[key]; !given {
		return
	}
	if list := r.words(key); !slices.Contains(list, "*") && !slices.Contains(list, "all") {
		r.limit(list)
	}
}

// limit restricts the agent to some of the tools that it has. A tool that one list has
// completely and the other in part stays in part.
func (r *reading) limit(only []string) {
	if r.limited {
		has := func(list []string, tool string) bool {
			name, _, _ := strings.Cut(tool, "(")
			return slices.Contains(list, tool) || slices.Contains(list, name)
		}
		before := r.only
		r.only = slices.DeleteFunc(slices.Clone(before), func(tool string) bool { return !has(only, tool) })
		for _, tool := range only {
			if has(before, tool) && !slices.Contains(r.only, tool) {
				r.only = append(r.only, tool)
			}
		}
		return
	}
	r.limited, r.only = true, only
}

// denies reads a list of what an agent may not do, in the syntax of its program.
func (r *reading) denies(key string) {
	written, lost := r.values[key], len(r.lost)
	list := r.words(key)
	switch {
	case len(r.lost) > lost:
		r.refuseFor(key, plain(written), r.lost[lost].Reason)
	case slices.Contains(list, "*") || slices.Contains(list, "all"):
		r.limit(nil)
	default:
		r.denied = append(r.denied, list...)
	}
}

// settlePermissions expresses what an agent may do in the terms that are common to all
// agents if these mean exactly that, otherwise in those of its program. It never permits
// more: what a definition without permissions may not do is allowed only if the program
// would not ask about it either.
func (r *reading) settlePermissions(from string) {
	v := vocabularies[from]
	if r.limited {
		r.settleTools(&v)
	}
	r.settleDenied(&v, from)
	if r.mode != "" {
		r.permission("mode", r.mode)
	}
}

// settleTools sets the permissions of an agent that has only some tools. Having a tool
// allows its use only if the program never asks.
func (r *reading) settleTools(v *vocabulary) {
	free := r.mode == full // which would also allow tools that it does not have
	r.settlePaths(v)
	switch {
	case !v.among(r.only, agent.MayWrite):
		if r.mode == full {
			r.mode = ""
		}
		r.deny(agent.MayWrite)
	case r.mode == full || r.mode == "":
		r.mode = edit
	}
	var allow []string
	asking := false
	for _, power := range []agent.Power{agent.MayRead, agent.MayRun, agent.MayReach} {
		switch has := v.among(r.only, power); {
		case len(v.tools[power]) == 0, power == agent.MayRead && has:
		case !has:
			r.deny(power)
		case free && v.whole(r.only, power):
			r.permission(string(power), "allow")
		case r.mode != ask:
			few := slices.DeleteFunc(slices.Clone(r.only), func(tool string) bool {
				p, known := v.power(tool)
				return !known || p != power || !free && !narrowed(tool)
			})
			allow, asking = append(allow, few...), asking || len(few) == 0
		}
	}
	if len(allow) > 0 {
		r.permission("allow", anys(allow))
	}
	if asking {
		r.lose("tools", "whatever its program would ask about is denied; allow it with `shell: allow` or `network: allow` under permissions")
	}
	r.lose("tools", "only tools for files, commands and the network are removed; others have no effect by themselves")
}

// settlePaths sets the permissions of an agent that has tools for some files only. They can
// be enforced for an agent that asks.
func (r *reading) settlePaths(v *vocabulary) {
	paths := map[agent.Power]map[string]any{}
	for _, tool := range r.only {
		power, _ := v.power(tool)
		if !narrowed(tool) || power != agent.MayRead && power != agent.MayWrite {
			continue
		}
		if paths[power] == nil {
			paths[power] = map[string]any{"*": "deny"}
		}
		pattern, ok := pathPattern(tool)
		if !ok {
			r.refuseFor("tools", tool, "a definition has no pattern for exactly these files")
		}
		paths[power][pattern] = "allow"
		if power == agent.MayWrite && r.mode == ask {
			paths[power][pattern] = "ask"
		}
	}
	if r.mode == readOnly {
		delete(paths, agent.MayWrite)
	}
	for power, rules := range paths {
		r.permission(string(power), rules)
	}
	if len(paths) > 0 && r.mode != readOnly {
		if paths[agent.MayWrite] == nil && r.mode != ask {
			r.permission(string(agent.MayWrite), "allow") // like an agent that does not ask
		}
		r.mode = ask
	}
}

// pathPattern returns the pattern for the files of a tool: those below a directory, or one
// file.
func pathPattern(tool string) (pattern string, ok bool) {
	_, files, _ := strings.Cut(strings.TrimSuffix(tool, ")"), "(")
	files = strings.TrimPrefix(files, "./")
	dir, below := strings.CutSuffix(files, "/**")
	if below {
		files = dir + "/*"
	}
	return files, fs.ValidPath(dir) && dir != "." && !strings.ContainsAny(dir, `*?[]{}!\~(),`)
}

// settleDenied sets what an agent may not do. If the executor does not accept the syntax of
// the program, a whole power is denied instead of a part.
func (r *reading) settleDenied(v *vocabulary, from string) {
	var words []string
	for _, tool := range r.denied {
		switch power, known := v.power(tool); {
		case power != inert && (v.whole(r.denied, power) && !narrowed(tool) || v.lists == none || v.lists == names && narrowed(tool)):
			r.deny(power)
		case v.lists == patterns, v.lists == names && known:
			words = append(words, tool)
		case !known:
			r.refuseFor("deny", tool, "no such permission exists for "+from)
		}
	}
	if len(words) > 0 {
		r.permission("deny", anys(words))
	}
}

// settleServers keeps the servers that the project has, if the agent may use all of their
// tools: a definition cannot select some.
func (r *reading) settleServers(target Target) {
	var kept []string
	for _, name := range r.agent.Servers {
		switch {
		case r.partial[name] || r.limited && !slices.ContainsFunc(r.only, func(tool string) bool { return isServer(tool, name) }):
			r.lose("server "+name, "the agent may use only some of its tools, and a definition always includes all of them")
		case target.Serves == nil || !target.Serves(name):
			r.lose("server "+name, "config.yml has no such server; add it there under mcp, then list it under mcp of the agent")
		default:
			kept = append(kept, name)
		}
	}
	r.agent.Servers = kept
}

// isServer reports whether an entry of a list of tools means all tools of a server, in any
// of the notations of the programs.
func isServer(word, server string) bool {
	return slices.Contains([]string{"mcp__" + server, "mcp__" + server + "__*", "mcp_" + server + "_*", "mcp_*", server + "/*", server + "_*"}, word)
}

// someTools reports whether the configuration of a server includes only some of its tools,
// or none.
func someTools(config any) bool {
	members, _ := config.(map[string]any)
	if members["enabled"] == false || members["disabled"] == true {
		return true
	}
	for _, key := range []string{"enabled_tools", "disabled_tools", "include_tools", "exclude_tools", "includeTools", "excludeTools"} {
		if members[key] != nil {
			return true
		}
	}
	tools, listed := members["tools"]
	return listed && !slices.Equal(asTexts(tools), []string{"*"})
}

func asTexts(v any) (list []string) {
	entries, _ := v.([]any)
	for _, e := range entries {
		list = append(list, plain(e))
	}
	return list
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

// enforced refuses an agent whose permissions its executor cannot enforce.
func (r *reading) enforced(target Target) {
	if target.Unenforced == nil || r.refuse != "" {
		return
	}
	if problems := target.Unenforced(&r.agent); len(problems) > 0 {
		r.refuse = "its permissions cannot be enforced: " + strings.Join(problems, "; ")
	}
}
