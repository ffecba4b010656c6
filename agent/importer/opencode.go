package importer

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/strictyaml"
)

// readOpencode reads a Markdown file of one agent, or the configuration, which may
// hold several.
func readOpencode(fsys fs.FS, file string, text []byte) []*reading {
	if strings.HasSuffix(file, ".md") {
		r := newReading(file, text)
		r.id = opencodeName(file)
		if r.refuse == "" {
			r.opencode()
		}
		return []*reading{r}
	}
	doc := strictyaml.Read(file, plainJSON(text))
	if !doc.Readable() || doc.Failed() || !doc.Root().IsMap() {
		return []*reading{{refuse: "it cannot be read as JSON", digest: digestOf(text)}}
	}
	config, _ := doc.Root().Value().(map[string]any)
	var list []*reading
	for _, key := range []string{"agent", "agents", "mode"} {
		agents, _ := config[key].(map[string]any)
		for _, name := range sorted(agents) {
			values, ok := agents[name].(map[string]any)
			if !ok {
				continue
			}
			r := ofValues(name, values)
			r.opencode()
			r.included(fsys, path.Dir(file))
			list = append(list, r)
		}
	}
	return list
}

// opencodeName is what opencode calls the agent of a file: its path below the
// directory of agents.
func opencodeName(file string) string {
	parts := strings.Split(strings.TrimSuffix(file, ".md"), "/")
	for i, part := range parts {
		if i > 0 && slices.Contains([]string{"agent", "agents", "mode", "modes"}, part) {
			return strings.Join(parts[i+1:], "/")
		}
	}
	return path.Base(strings.TrimSuffix(file, ".md"))
}

func (r *reading) opencode() {
	r.named(false)
	for _, key := range []string{"disable", "disabled"} {
		if v, _ := r.get(key); v == true {
			r.refuse = "it is switched off"
		}
	}
	for _, key := range []string{"prompt", "system"} {
		if p := r.text(key); p != "" && strings.TrimSpace(r.body) == "" {
			r.body = p
		} else if p != "" {
			r.lose(key, "the text below the keys is its prompt")
		}
	}
	r.model("model")
	for _, key := range []string{"temperature", "top_p"} {
		v, _ := r.get(key)
		r.wish(key, v)
	}
	effort, _ := r.get("variant")
	r.wish("effort", effort)
	r.agent.MaxTurns = r.count("steps")
	if old := r.count("maxSteps"); r.agent.MaxTurns == 0 {
		r.agent.MaxTurns = old
	}
	r.switchedTools()
	r.allowances("permission")
	r.allowances("permissions")
	r.loseAll("a workflow can name every agent", "mode")
	r.loseAll(forScreens, "color", "hidden")
	r.loseAll("fields of requests stay with the program", "options", "request")
	for _, key := range r.keys {
		if v, left := r.values[key]; left && v != nil {
			r.get(key)
			r.lose(key, "opencode sends it to the model as it is; no executor here does")
		}
	}
}

// switchedTools reads the old map of tools that are on or off.
func (r *reading) switchedTools() {
	if _, isMap := r.values["tools"].(map[string]any); !isMap {
		r.tools()
		return
	}
	v, _ := r.get("tools")
	switches, _ := v.(map[string]any)
	if switches["*"] == false {
		for _, name := range sorted(switches) {
			if switches[name] == true {
				r.only = append(r.only, name)
			}
		}
		r.bare = len(r.only) == 0
		return
	}
	for _, name := range sorted(switches) {
		if switches[name] == false {
			r.denied = append(r.denied, name)
		}
	}
}

// allowances reads what an agent may do: one word for all, or words by tool.
func (r *reading) allowances(key string) {
	v, _ := r.get(key)
	switch v := v.(type) {
	case nil:
	case string:
		r.allowance(key, "*", v)
	case map[string]any:
		for _, tool := range sorted(v) {
			r.allowance(key, tool, v[tool])
		}
	default:
		r.lose(key, "it is neither a word nor a map")
	}
}

func (r *reading) allowance(key, tool string, v any) {
	patterns, isMap := v.(map[string]any)
	if isMap {
		for _, pattern := range sorted(patterns) {
			if pattern == "*" {
				r.allowance(key, tool, patterns[pattern])
			} else {
				r.lose(key+"."+tool+"."+pattern, "a definition allows or denies a tool as a whole")
			}
		}
		return
	}
	switch {
	case v == "ask":
		r.mode(ask)
	case tool == "*" && v == "allow":
		r.mode(full)
	case tool == "*" && v == "deny":
		r.mode(readOnly)
	case v == "allow":
	case v == "deny":
		r.denied = append(r.denied, tool)
	default:
		r.lose(key+"."+tool, "it is neither ask, allow nor deny")
	}
}

// included reads a prompt that is written as {file:./prompts/review.txt}.
func (r *reading) included(fsys fs.FS, dir string) {
	name, ok := strings.CutPrefix(r.body, "{file:")
	name, ends := strings.CutSuffix(name, "}")
	if !ok || !ends {
		return
	}
	r.body = ""
	file := path.Join(dir, name)
	if path.IsAbs(name) || strings.HasPrefix(name, "~") || !fs.ValidPath(file) {
		r.refuse = "the file of its prompt, " + name + ", is elsewhere"
		return
	}
	text, err := readFile(fsys, file)
	if err != nil {
		r.refuse = "the file of its prompt, " + name + ": " + err.Error()
		return
	}
	r.body = string(text)
	r.digest = digestOf(append([]byte(r.digest), text...))
}

// plainJSON is JSON without the comments and the commas at the ends of lists that
// opencode allows.
func plainJSON(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			end := i + 1
			for end < len(text) && text[end] != '"' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(text))
			out = append(out, text[i:end]...)
			i = end
		case c == '/' && i+1 < len(text) && text[i+1] == '/':
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case c == '/' && i+1 < len(text) && text[i+1] == '*':
			end := strings.Index(string(text[i+2:]), "*/")
			if end < 0 {
				return out
			}
			i += end + 4
		case c == ']' || c == '}':
			trimmed := strings.TrimRight(string(out), " \t\r\n")
			if strings.HasSuffix(trimmed, ",") {
				out = out[:len(trimmed)-1]
			}
			out = append(out, c)
			i++
		default:
			out = append(out, c)
			i++
		}
	}
	return out
}
