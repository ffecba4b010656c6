package importer

import (
	"io/fs"
	"path"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// readCodex reads a TOML file with one agent, or the configuration, which may name several.
func readCodex(fsys fs.FS, file string, text []byte) []*reading {
	values, ok := readTOML(text)
	if !ok {
		return []*reading{{refuse: "it is not valid TOML", digest: digestOf(text)}}
	}
	if path.Base(file) != "config.toml" {
		r := ofValues(strings.TrimSuffix(path.Base(file), ".toml"), values)
		r.digest = digestOf(text)
		r.codex()
		return []*reading{r}
	}
	var list []*reading
	agents, _ := values["agents"].(map[string]any)
	for _, name := range sorted.Keys(agents) {
		entry, ok := agents[name].(map[string]any)
		if !ok {
			continue // a setting for all agents, such as max_threads
		}
		r := ofValues(name, entry)
		r.configured(fsys, path.Dir(file))
		if r.refuse == "" {
			r.codex()
		}
		list = append(list, r)
	}
	return list
}

// readTOML reads TOML into plain values.
func readTOML(text []byte) (values map[string]any, ok bool) {
	var raw map[string]any
	if err := toml.Unmarshal(text, &raw); err != nil {
		return nil, false
	}
	v, err := workflow.Normalize(raw)
	values, isMap := v.(map[string]any)
	return values, err == nil && isMap
}

// configured adds the keys of the file that an entry of config.toml names.
func (r *reading) configured(fsys fs.FS, dir string) {
	name := r.text("config_file")
	if name == "" {
		return
	}
	file := path.Join(dir, name)
	if path.IsAbs(name) || strings.HasPrefix(name, "~") || !fs.ValidPath(file) {
		r.refuse = "its file " + name + " is elsewhere"
		return
	}
	text, err := readFile(fsys, file)
	if err != nil {
		r.refuse = "its file " + name + ": " + err.Error()
		return
	}
	more, ok := readTOML(text)
	if !ok {
		r.refuse = "its file " + name + " is not valid TOML"
		return
	}
	for _, key := range sorted.Keys(more) {
		if _, own := r.values[key]; !own {
			r.keys = append(r.keys, key)
			r.values[key] = more[key]
		}
	}
	r.digest = digestOf(append([]byte(r.digest), text...))
}

func (r *reading) codex() {
	r.named(false)
	r.body = r.text("developer_instructions")
	if r.body == "" {
		r.refuse = "it has no developer_instructions, so codex does not treat it as an agent either"
	}
	r.model("model")
	effort, _ := r.get("model_reasoning_effort")
	r.wish("effort", effort)
	if r.values["sandbox_mode"] == "danger-full-access" {
		r.lose("sandbox_mode", "codex does not grant it to agents either; to allow it, write mode: full under permissions")
	}
	r.permits("codex", "sandbox_mode")
	r.codexPermissions()
	r.servers("mcp_servers")
	r.loseAll(forScreens, "nickname_candidates")
	r.loseAll(noSkills, "skills")
	r.loseAll(ofCodex, "model_reasoning_summary", "model_verbosity", "personality", "service_tier", "model_provider")
}

const ofCodex = "it is a setting of codex; write it in the config.toml of codex"

// codexPermissions reads what limits an agent in addition to its sandbox. What a file
// allows beyond that is dropped, and what it removes is denied or refused.
func (r *reading) codexPermissions() {
	switch policy := plain(r.values["approval_policy"]); policy {
	case "", "never", "on-request", "on-failure": // inside its sandbox codex does not ask
		r.loseAll(ofCodex, "approval_policy")
	default:
		r.refuseFor("approval_policy", policy, "codex cannot ask about commands here")
	}
	if r.values["web_search"] == "disabled" || r.values["web_search"] == false {
		r.denied = append(r.denied, "web_search")
	}
	sandbox, _ := r.values["sandbox_workspace_write"].(map[string]any)
	if sandbox["network_access"] == false {
		r.denied = append(r.denied, "web_search")
	}
	for _, key := range []string{"exclude_tmpdir_env_var", "exclude_slash_tmp"} {
		if v, given := sandbox[key]; given && v != false {
			r.refuseFor("sandbox_workspace_write."+key, plain(v), "codex has no such permission")
		}
	}
	for _, key := range []string{"default_permissions", "permissions"} {
		if v, given := r.values[key]; given {
			r.refuseFor(key, plain(v), "permission profiles are supported only by codex itself")
		}
	}
	for _, key := range []string{"features", "tools"} {
		switches, _ := r.values[key].(map[string]any)
		for _, name := range sorted.Keys(switches) {
			if switches[name] == false {
				r.denied = append(r.denied, name)
			}
		}
	}
	r.loseAll(ofCodex, "features", "tools", "sandbox_workspace_write", "web_search")
}
