package tool

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/sandbox"
	"github.com/hocket-dev/hocket/internal/strictyaml"
)

// paths reads the permission fs: {read, write}, or only what may be read.
func (r *reader) paths(n strictyaml.Node) {
	if !n.IsMap() {
		r.Permissions.Read = readPaths(n)
		return
	}
	m := n.Map()
	r.Permissions.Read, r.Permissions.Write = readPaths(m.Get("read")), readPaths(m.Get("write"))
	for _, n := range m.Peek("write").OneOrMany() {
		if n.IsText() && r.rewrites(n.Text()) {
			n.Warningf(CodeDefinition, "name the folders that it writes, such as `write: [src, docs]`", "the tool may write Hocket's own configuration, and so extend its own permissions")
		}
	}
	m.Done()
}

func readPaths(n strictyaml.Node) []string {
	var list []string
	for _, n := range n.OneOrMany() {
		if n.IsNull() && n.Written() == "~" {
			n.Errorf(CodeDefinition, `write "~" in quotes: otherwise YAML reads it as null`, "a path is missing")
			continue
		}
		p := n.Text()
		if why := badPath(p); why != "" && n.IsText() {
			n.Errorf(CodeDefinition, why, "invalid path %q in a permission", p)
			continue
		}
		list = append(list, p)
	}
	return list
}

// badPath explains why an entry of fs is invalid; "" if it is valid.
func badPath(p string) string {
	switch {
	case p == "":
		return "write a path in the project, or one that begins with ~/ or /"
	case strings.ContainsAny(p, "*?"):
		return "name a folder, which includes everything in it"
	case strings.HasPrefix(p, "$") || strings.HasPrefix(p, "%"):
		return "variables are not expanded; write ~/… for the home directory"
	case strings.HasPrefix(p, "~") && p != "~" && !strings.HasPrefix(p, "~/"):
		return "write ~/… for a path in the home directory"
	case strings.ContainsFunc(p, func(r rune) bool { return r < ' ' }):
		return "remove the control character"
	}
	return ""
}

func isHome(p string) bool { return p == "~" || strings.HasPrefix(p, "~/") }

// rewrites reports whether a tool that may write a path could change Hocket's own
// configuration. It may write inside its own folder.
func (r *reader) rewrites(p string) bool {
	if strings.Trim(path.Clean(p), "./~") == "" { // all, or what is above the project
		return true
	}
	within := func(file, dir string) bool {
		below, err := filepath.Rel(filepath.FromSlash(dir), filepath.FromSlash(file))
		return err == nil && filepath.IsLocal(below)
	}
	return slices.ContainsFunc(agent.Homes, func(home string) bool {
		own := path.Join(home, "tools", r.Name)
		if within(p, own) && !within(path.Join(own, File), p) {
			return false
		}
		return within(home, p) || slices.ContainsFunc(settled, func(part string) bool { return within(p, path.Join(home, part)) })
	})
}

// settled lists Hocket's configuration in its folder of a project.
var settled = []string{"config.yml", "tools", "agents", "clis", "prompts", "workflows"}

// places returns the paths of a permission in a project and a home directory.
func places(paths []string, project, home string) []sandbox.Place {
	var all []sandbox.Place
	for _, p := range paths {
		place := sandbox.Place{Base: project, Path: p, Name: p}
		switch {
		case isHome(p):
			place.Base, place.Path = home, strings.TrimPrefix(p[1:], "/")
		case filepath.IsAbs(p):
			place.Base = "/"
		}
		for above := true; above; { // the project's own directory may be reached through a link
			if place.Path, above = strings.CutPrefix(place.Path, "../"); above {
				place.Base += "/.."
			}
		}
		if place.Path == ".." {
			place.Base, place.Path = place.Base+"/..", ""
		}
		all = append(all, place)
	}
	return all
}
