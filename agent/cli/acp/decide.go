package acp

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
)

// wish is what an agent wants to do, in terms of permissions.
type wish struct {
	power agent.Power // "": not subject to permissions
	what  []string    // the command, the paths or the URL; none: the agent does not say
}

// powers maps the tool kinds of the protocol to permissions.
var powers = map[string]agent.Power{
	"execute": agent.MayRun, "edit": agent.MayWrite, "delete": agent.MayWrite, "move": agent.MayWrite,
	"read": agent.MayRead, "search": agent.MayRead, "fetch": agent.MayReach,
}

func (c *client) wish(p *permissionRequest, call toolCall) wish {
	w := wish{power: powers[c.kind(p.ToolCall.Tool, call.title)]}
	var input struct {
		Command json.RawMessage `json:"command"`
		URL     string          `json:"url"`
		Paths   []string
	}
	members := map[string]json.RawMessage{}
	if json.Unmarshal(p.ToolCall.Input, &members) == nil {
		_ = json.Unmarshal(p.ToolCall.Input, &input) // ignore input of another form
		for _, key := range []string{"path", "file_path", "filePath", "filepath", "notebook_path"} {
			var path string
			if json.Unmarshal(members[key], &path) == nil && path != "" {
				input.Paths = append(input.Paths, path)
			}
		}
	}
	switch w.power {
	case agent.MayRun:
		var line string
		if json.Unmarshal(input.Command, &line) == nil && line != "" {
			w.what = []string{line}
		} else if len(input.Command) == 0 && c.start.Quirks.TitleCommand && p.ToolCall.Title != "" {
			w.what = []string{p.ToolCall.Title}
		}
	case agent.MayReach:
		if input.URL != "" {
			w.what = []string{input.URL}
		}
	case agent.MayRead, agent.MayWrite:
		w.what = input.Paths
		for _, l := range p.ToolCall.Locations {
			w.what = append(w.what, l.Path)
		}
		for _, content := range p.ToolCall.Content {
			if content.Type == "diff" {
				w.what = append(w.what, content.Path)
			}
		}
		if len(w.what) == 0 && w.power == agent.MayRead {
			w.power = "" // a search may be a web search
		}
	}
	return w
}

// kind returns the kind of a tool: as the agent reports it, otherwise by its title.
func (c *client) kind(told, title string) string {
	if told != "" && told != "other" {
		return told
	}
	for kind, pattern := range c.start.Quirks.Kinds {
		if pattern.MatchString(title) {
			return kind
		}
	}
	return told
}

// decide applies the permissions of the definition to a request; ask means that a person
// decides.
func (c *client) decide(w wish) agent.Permission {
	rules := c.start.Permissions.Named(w.power)
	whole := agent.Whole(rules)
	if len(rules) == 0 || w.power == "" {
		return agent.AskFirst
	}
	if len(w.what) == 0 { // only rules that apply to everything apply to it
		if whole == "" || w.power == agent.MayWrite && whole == agent.Allow {
			return agent.AskFirst
		}
		return whole
	}
	decision := agent.Allow
	for _, what := range w.what {
		decision = agent.Stricter(decision, c.decideOne(w.power, what, whole))
	}
	return decision
}

func (c *client) decideOne(power agent.Power, what string, whole agent.Permission) agent.Permission {
	switch power {
	case agent.MayRun:
		return c.start.Permissions.ForCommand(what)
	case agent.MayReach:
		return c.start.Permissions.For(power, what)
	case agent.MayRead, agent.MayWrite:
	}
	written, leadsTo, inside := inProject(c.task.Dir, c.start.Dir, what)
	if !inside { // permissions apply to files of the project
		return agent.Stricter(agent.AskFirst, whole)
	}
	return agent.Stricter(c.start.Permissions.For(power, written), c.start.Permissions.For(power, leadsTo))
}

// inProject returns a path relative to the project: as written, and with links resolved.
func inProject(project, dir, path string) (written, leadsTo string, inside bool) {
	switch {
	case filepath.IsAbs(path):
	case filepath.VolumeName(path) != "" || strings.HasPrefix(path, "/") || strings.HasPrefix(path, `\`): // on a drive, on Windows
		return "", "", false
	default:
		path = filepath.Join(dir, path)
	}
	written, err := filepath.Rel(project, filepath.Clean(path))
	top, wrong := filepath.EvalSymlinks(project)
	if err != nil || wrong != nil {
		return "", "", false
	}
	if !filepath.IsLocal(written) { // the agent may have resolved links in the project's path
		if written, err = filepath.Rel(top, filepath.Clean(path)); err != nil {
			return "", "", false
		}
	}
	leadsTo, err = filepath.Rel(top, resolve(filepath.Join(top, written)))
	if err != nil || !filepath.IsLocal(written) || !filepath.IsLocal(leadsTo) {
		return "", "", false
	}
	return filepath.ToSlash(written), filepath.ToSlash(leadsTo), true
}

// resolve resolves the links of a path, as far as it exists.
func resolve(path string) string {
	for at, rest := path, ""; ; at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest) {
		if found, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(found, rest)
		}
		if at == filepath.Dir(at) {
			return path
		}
	}
}

// named reports whether the definition names any power. Then only answers for a single
// request are allowed: the agent would not ask again, so nothing could be denied.
func (c *client) named() bool {
	return slices.ContainsFunc(agent.Powers, func(power agent.Power) bool { return len(c.start.Permissions.Named(power)) > 0 })
}

// once keeps only answers that apply to this one request.
func once(options []option) []option {
	return slices.DeleteFunc(slices.Clone(options), func(o option) bool { return strings.HasSuffix(o.Kind, "_always") })
}
