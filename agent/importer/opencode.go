package importer

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// readOpencode reads a Markdown file with one agent, or the configuration, which may hold
// several. What the configuration denies to all agents is denied to each.
func readOpencode(fsys fs.FS, file string, text []byte) []*reading {
	common, wrong := commonRules(fsys, file)
	if strings.HasSuffix(file, ".md") {
		r := newReading(file, text)
		r.id = opencodeName(file)
		if r.refuse == "" {
			r.refuse = wrong
			r.opencode(common)
		}
		return []*reading{r}
	}
	root, ok := readConfig(file, text)
	if !ok {
		return []*reading{{refuse: noJSON, digest: digestOf(text)}}
	}
	var list []*reading
	for _, key := range []string{"agent", "agents", "mode"} {
		agents := root.Map().Peek(key)
		if !agents.IsMap() {
			continue
		}
		for _, e := range agents.Map().Entries() {
			if !e.Value.IsMap() {
				continue
			}
			r := &reading{id: e.Name, refuse: wrong, digest: digestOf([]byte(workflow.FormatJSON(e.Value.Value())))}
			r.take(e.Value)
			r.opencode(common)
			r.included(fsys, path.Dir(file))
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b *reading) int { return strings.Compare(a.id, b.id) })
	return list
}

const noJSON = "it is not valid JSON"

// readConfig reads a configuration of opencode.
func readConfig(file string, text []byte) (strictyaml.Node, bool) {
	doc := strictyaml.Read(file, plainJSON(text))
	return doc.Root(), doc.Readable() && !doc.Failed() && doc.Root().IsMap()
}

// commonRules returns the rules that the configurations next to a file have for all agents.
// The second result says why they are unknown.
func commonRules(fsys fs.FS, file string) (rules []rule, wrong string) {
	configs := []string{"opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"}
	if home := ".config/opencode/"; strings.HasPrefix(file, home) {
		configs = []string{home + "opencode.json", home + "opencode.jsonc"}
	}
	for _, name := range existing(fsys, configs...) {
		text, err := readFile(fsys, name)
		if err != nil {
			return nil, name + " may deny something to all agents: " + err.Error()
		}
		root, ok := readConfig(name, text)
		if !ok {
			return nil, name + " may deny something to all agents: " + noJSON
		}
		r := &reading{}
		r.take(root)
		if rules = append(rules, r.rules()...); r.refuse != "" {
			return nil, name + ": " + r.refuse
		}
	}
	return rules, ""
}

// opencodeName returns opencode's name for the agent in a file: its path below the
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

func (r *reading) opencode(common []rule) {
	r.named(false)
	for _, key := range []string{"disable", "disabled"} {
		if v, _ := r.get(key); v == true {
			r.refuse = "it is disabled"
		}
	}
	for _, key := range []string{"prompt", "system"} {
		if p := r.text(key); p != "" && strings.TrimSpace(r.body) == "" {
			r.body = p
		} else if p != "" {
			r.lose(key, "the text below the front matter is its prompt")
		}
	}
	r.model("model")
	for _, key := range []string{"temperature", "top_p"} {
		v, _ := r.get(key)
		r.wish(key, v)
	}
	for _, key := range []string{"reasoningEffort", "variant"} { // the second is opencode's own name
		effort, _ := r.get(key)
		r.wish("effort", effort)
	}
	r.agent.MaxTurns = r.count("steps")
	if old := r.count("maxSteps"); r.agent.MaxTurns == 0 {
		r.agent.MaxTurns = old
	}
	if len(common) > 0 {
		r.digest = digestOf(fmt.Append([]byte(r.digest), common))
	}
	r.settleRules(append(slices.Clone(common), r.rules()...))
	r.loseAll("a workflow can name every agent", "mode")
	r.loseAll(forScreens, "color", "hidden")
	r.loseAll("request fields are supported only by opencode itself", "options", "request")
	for _, key := range r.keys {
		if v, left := r.values[key]; left && v != nil {
			r.get(key)
			r.lose(key, "opencode sends it to the model unchanged, which no executor of Hocket does")
		}
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
		r.refuse = "its prompt file " + name + " is outside the project"
		return
	}
	text, err := readFile(fsys, file)
	if err != nil {
		r.refuse = "its prompt file " + name + ": " + err.Error()
		return
	}
	r.body = string(text)
	r.digest = digestOf(append([]byte(r.digest), text...))
}

// plainJSON removes the comments and trailing commas that opencode allows in JSON.
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
