package importer

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// settings are the files in which a program says what all of its agents may do, and how
// it says it.
type settings struct {
	files []string // patterns of them
	read  func(r *reading)
}

// settingsOf are those of the programs. In a home directory they have the same names;
// opencode has rules of its own.
var settingsOf = map[string]settings{
	"claude": {[]string{".claude/settings.json", ".claude/settings.local.json"}, func(r *reading) {
		r.permits("claude", "permissions.defaultMode")
		r.permits("claude", "permissions.disableBypassPermissionsMode")
		r.denies("permissions.deny")
		r.denies("permissions.ask") // nobody is asked
		r.hooks()
		r.cannot("it has no such sandbox here", "sandbox.enabled")
	}},
	"codex": {[]string{".codex/config.toml", ".codex/hooks.json"}, func(r *reading) {
		r.permits("codex", "sandbox_mode")
		r.codexPermissions()
		r.hooks()
	}},
	"copilot": {[]string{".github/copilot/settings*.json", ".github/hooks/*.json", ".claude/settings*.json", ".copilot/settings.json", ".copilot/config.json", ".copilot/hooks/*.json"}, func(r *reading) {
		r.hooks()
		r.cannot("there is no such permission for copilot", "deniedUrls", "denied_urls")
	}},
	"cursor": {[]string{".cursor/cli.json", ".cursor/cli-config.json", ".cursor/hooks.json"}, func(r *reading) {
		r.denies("permissions.deny")
		r.hooks()
	}},
	"gemini": {[]string{".gemini/settings.json", ".gemini/policies/*.toml"}, func(r *reading) {
		r.permits("gemini", "general.defaultApprovalMode")
		r.denies("tools.exclude")
		r.denies("excludeTools")
		r.onlyTools("tools.core")
		r.onlyTools("coreTools")
		r.hooks()
		r.cannot("it has no such sandbox here", "tools.sandbox", "sandbox")
		r.cannot("policies stay with gemini", "rule")
	}},
	"qwen": {[]string{".qwen/settings.json"}, func(r *reading) {
		for _, key := range []string{"tools.approvalMode", "approvalMode", "general.defaultPermissionMode"} {
			r.permits("qwen", key)
		}
		for _, key := range []string{"permissions.deny", "permissions.ask", "tools.exclude", "excludeTools"} {
			r.denies(key)
		}
		r.onlyTools("tools.core")
		r.onlyTools("coreTools")
		r.hooks()
		r.cannot("it has no such sandbox here", "tools.sandbox", "sandbox")
	}},
}

// bounds are what the settings of a program at a place allow its agents at most.
func bounds(from string, fsys fs.FS) *reading {
	all := &reading{}
	of := settingsOf[from]
	for _, pattern := range of.files {
		files := []string{pattern}
		if strings.Contains(pattern, "*") {
			files, _ = fs.Glob(fsys, pattern) // which fails for no pattern above
		}
		for _, file := range files {
			text, err := readFile(fsys, file)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			r := ofSettings(file, text, err)
			if r.refuse == "" {
				of.read(r)
			}
			if r.refuse != "" {
				r.refuse = file + ": " + r.refuse
			}
			all.within(r)
		}
	}
	return all
}

// ofSettings is a reading of settings, with a.b for what is in the map a.
func ofSettings(file string, text []byte, err error) *reading {
	if err != nil {
		return &reading{refuse: "it may bound all agents: " + err.Error()}
	}
	values, ok := map[string]any{}, false
	if path.Ext(file) == ".toml" {
		values, ok = readTOML(text)
	} else if root, read := readConfig(file, text); read {
		values, ok = root.Value().(map[string]any)
	}
	if !ok {
		return &reading{refuse: "it may bound all agents, and cannot be read"}
	}
	for _, key := range sorted(values) {
		members, _ := values[key].(map[string]any)
		for name, v := range members {
			values[key+"."+name] = v
		}
	}
	return ofValues("", values)
}

// within narrows what an agent may do to what bounds allow too.
func (r *reading) within(b *reading) {
	if r.refuse == "" {
		r.refuse = b.refuse
	}
	if b.mode != full { // which is no bound
		r.narrow(b.mode)
	}
	r.denied = append(r.denied, b.denied...)
	if b.limited {
		r.limit(b.only)
	}
	if b.mode != "" || b.limited || len(b.denied) > 0 {
		r.digest = digestOf(fmt.Append([]byte(r.digest), b.mode, b.limited, b.only, b.denied))
	}
}

// watching are hooks that only watch. Any other may stop what an agent does.
var watching = strings.Fields("enabled sessionstart sessionend setup instructionsloaded notification posttooluse posttoolusefailure posttoolbatch stop stopfailure subagentstart subagentstop agentstop erroroccurred precompact postcompact precompress aftertool aftermodel afteragent afterfileedit afterreadfile aftershellexecution aftermcpexecution afteragentresponse afteragentthought aftertabfileedit userpromptsubmitted")

// hooks reads the commands around the steps of an agent. One that may stop a step bounds
// the agent, and nothing here would.
func (r *reading) hooks() {
	v := r.values["hooks"]
	members, isMap := v.(map[string]any)
	if v != nil && !isMap {
		r.refuseFor("hooks", plain(v), "it is no map")
	}
	for _, name := range sorted(members) {
		if !slices.Contains(watching, strings.ToLower(name)) && given(members[name]) {
			r.refuseFor("hooks."+name, plain(members[name]), "it may stop what the agent does, and nothing here would")
		}
	}
	r.loseAll(noHooks, "hooks")
}

// cannot refuses an agent that is bound by one of some keys.
func (r *reading) cannot(reason string, keys ...string) {
	for _, key := range keys {
		if v := r.values[key]; given(v) {
			r.refuseFor(key, plain(v), reason)
		}
	}
}

// given says whether a value says something.
func given(v any) bool {
	list, isList := v.([]any)
	return v != nil && v != false && (!isList || len(list) > 0)
}
