package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/secret"
	"github.com/hocket-dev/hocket/trust"
)

// In an untrusted project, a CLI starts without the settings that the project has for it:
// they may start programs and send keys elsewhere. A manifest that names the value
// "isolated" knows how to switch them off. Any other CLI is started only if no such files
// exist.

// isolate refuses to start the CLI if it would use the project's own settings.
func (x *Executor) isolate(task *agent.Task, dir string, talks bool) error {
	if !task.Untrusted {
		return nil
	}
	uses, names := x.m().usesAlone, x.m().ProjectFiles
	if talks {
		uses = x.m().usesTalking
		if x.m().acp.files != nil {
			names = x.m().acp.files
		}
	}
	files := existing(names, task.Dir, dir).names()
	if uses["isolated"] || len(files) == 0 {
		return nil
	}
	return agent.Permanentf("the project is not trusted, and %s would use its %s, which can start programs; read it and run `hocket trust`, or choose another agent",
		x.m().Name, files[0])
}

// ownFiles are the settings for a CLI that exist in its working directory and above.
type ownFiles struct {
	root   string // of the project, with links resolved
	paths  []string
	within []string // for each, its directory and the file that it resolves to
}

// existing finds the settings that a CLI would use in a directory of a project. It looks
// there and above: up to the repository that contains the project, or else up to the user's
// home, which has the user's own settings.
func existing(names []string, root, dir string) ownFiles {
	home, _ := os.UserHomeDir() // "": every directory above counts
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // the parent of a link is not the parent that the CLI sees
	}
	found := ownFiles{root: root}
	for at := dir; ; at = filepath.Dir(at) {
		rel, err := filepath.Rel(root, at)
		inside := err == nil && filepath.IsLocal(rel)
		within := at
		if inside {
			within = root
		}
		for _, name := range names {
			path := filepath.Join(at, filepath.FromSlash(name))
			if _, err := os.Lstat(path); err == nil && !slices.Contains(found.paths, path) {
				found.paths, found.within = append(found.paths, path), append(found.within, within)
			}
		}
		if inside && rel != "." {
			continue // a repository inside the project is not the one that contains it
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			for i := range found.within {
				found.within[i] = at
			}
			return found
		}
		if filepath.Dir(at) == home || filepath.Dir(at) == at {
			return found
		}
	}
}

// material returns the content of the files.
func (f ownFiles) material() string {
	var all []string
	for i, path := range f.paths {
		all = append(all, trust.Tree(f.root, f.within[i], path))
	}
	return strings.Join(all, "\n")
}

// names returns the files relative to the project; links are shown with their targets.
func (f ownFiles) names() []string {
	var all []string
	for _, path := range f.paths {
		name, err := filepath.Rel(f.root, path)
		if err != nil {
			name = path
		}
		if target, err := os.Readlink(path); err == nil {
			name += " -> " + target
		}
		all = append(all, filepath.ToSlash(name))
	}
	return all
}

// environment returns the part of our environment that the CLI sees. In an untrusted
// project it keeps its own variables, which it needs to work, and the usual ones.
func (x *Executor) environment(task *agent.Task) []string {
	if !task.Untrusted {
		return x.env
	}
	env, _ := secret.Usual(x.env, x.o.Secret...)
	for _, pair := range x.env {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "OTEL_") { // whatever a manifest says: the keys of a collector are not the CLI's own
			continue
		}
		if slices.ContainsFunc(x.m().Keys, func(own string) bool {
			prefix, all := strings.CutSuffix(own, "*")
			return own == name || all && strings.HasPrefix(name, prefix)
		}) {
			env = append(env, pair)
		}
	}
	return env
}
