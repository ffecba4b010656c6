package importer

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
)

// settings describes the files in which a program configures what all of its agents may do,
// and their format.
type settings struct {
	files []string // patterns of file names
	read  func(r *reading)
}

// settingsOf has the settings of the programs. They have the same names in a home
// directory; opencode has rules of its own.
var settingsOf = map[string]settings{
	"claude": {[]string{".claude/settings.json", ".claude/settings.local.json"}, func(r *reading) {
		r.permits("claude", "permissions.defaultMode")
		r.permits("claude", "permissions.disableBypassPermissionsMode")
		r.denies("permissions.deny")
		r.denies("permissions.ask") // denied, because no one would be asked
		r.hooks()
		r.cannot("Hocket has no such sandbox", "sandbox.enabled")
	}},
	"codex": {[]string{".codex/config.toml", ".codex/hooks.json"}, func(r *reading) {
		r.permits("codex", "sandbox_mode")
		r.codexPermissions()
		r.hooks()
	}},
	"copilot": {[]string{".github/copilot/settings*.json", ".github/hooks/*.json", ".claude/settings*.json", ".copilot/settings.json", ".copilot/config.json", ".copilot/hooks/*.json"}, func(r *reading) {
		r.hooks()
		r.cannot("copilot has no such permission", "deniedUrls", "denied_urls")
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
		r.cannot("Hocket has no such sandbox", "tools.sandbox", "sandbox")
		r.cannot("policies are supported only by gemini itself", "rule")
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
		r.cannot("Hocket has no such sandbox", "tools.sandbox", "sandbox")
	}},
}

// bounds returns the most that the settings of a program at a place allow its agents.
func bounds(from string, fsys fs.FS) *reading {
	all := &reading{}
	of := settingsOf[from]
	for _, pattern := range of.files {
		files := []string{pattern}
		if strings.Contains(pattern, "*") {
			files, _ = fs.Glob(fsys, pattern) // never happens for the patterns above
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

// ofSettings returns a reading of settings, with a.b for the key b of the map a.
func ofSettings(file string, text []byte, err error) *reading {
	if err != nil {
		return &reading{refuse: "it may restrict all agents: " + err.Error()}
	}
	values, ok := map[string]any{}, false
	if path.Ext(file) == ".toml" {
		values, ok = readTOML(text)
	} else if root, read := readConfig(file, text); read {
		values, ok = root.Value().(map[string]any)
	}
	if !ok {
		return &reading{refuse: "it may restrict all agents, and cannot be read"}
	}
	for _, key := range sorted.Keys(values) {
		members, _ := values[key].(map[string]any)
		for name, v := range members {
			values[key+"."+name] = v
		}
	}
	return ofValues("", values)
}

// within narrows what an agent may do to what the bounds also allow.
func (r *reading) within(b *reading) {
	if r.refuse == "" {
		r.refuse = b.refuse
	}
	if b.mode != full { // which is not a restriction
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

// watching lists hooks that only observe. Any other may stop what an agent does.
var watching = strings.Fields("enabled sessionstart sessionend setup instructionsloaded notification posttooluse posttoolusefailure posttoolbatch stop stopfailure subagentstart subagentstop agentstop erroroccurred precompact postcompact precompress aftertool aftermodel afteragent afterfileedit afterreadfile aftershellexecution aftermcpexecution afteragentresponse afteragentthought aftertabfileedit userpromptsubmitted")

// hooks reads the commands before and after the steps of an agent. One that may stop a step
// restricts the agent, and Hocket would not run it.
func (r *reading) hooks() {
	v := r.values["hooks"]
	members, isMap := v.(map[string]any)
	if v != nil && !isMap {
		r.refuseFor("hooks", plain(v), "it is not a map")
	}
	for _, name := range sorted.Keys(members) {
		if !slices.Contains(watching, strings.ToLower(name)) && given(members[name]) {
			r.refuseFor("hooks."+name, plain(members[name]), "it may stop what the agent does, and Hocket would not run it")
		}
	}
	r.loseAll(noHooks, "hooks")
}

// cannot refuses an agent that is restricted by one of the keys.
func (r *reading) cannot(reason string, keys ...string) {
	for _, key := range keys {
		if v := r.values[key]; given(v) {
			r.refuseFor(key, plain(v), reason)
		}
	}
}

// given reports whether a value has an effect.
func given(v any) bool {
	list, isList := v.([]any)
	return v != nil && v != false && (!isList || len(list) > 0)
}
