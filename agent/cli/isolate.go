package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/secret"
)

// In a project that nobody has trusted, a CLI starts without the settings that the
// project has for it: they may start programs and send keys elsewhere. A manifest
// that names the value "isolated" knows how to switch them off. Of another CLI the
// files themselves decide: it is started only where there are none.

// isolate refuses to start the CLI where it would use the project's own settings.
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
	files := existing(names, task.Dir, dir)
	if uses["isolated"] || len(files) == 0 {
		return nil
	}
	return agent.Permanentf("the project is not trusted, and %s would use its %s, which can start programs; read it and run `hocket trust`, or choose another agent",
		x.m().Name, files[0])
}

// existing are the project's settings for a CLI that exist, seen from the project. A CLI
// looks in its working directory and in those above.
func existing(names []string, root, dir string) []string {
	var found []string
	for at := dir; ; at = filepath.Dir(at) {
		for _, name := range names {
			path := filepath.Join(at, filepath.FromSlash(name))
			if _, err := os.Lstat(path); err != nil {
				continue
			}
			if rel, err := filepath.Rel(root, path); err == nil && !slices.Contains(found, rel) {
				found = append(found, filepath.ToSlash(rel))
			}
		}
		if rel, err := filepath.Rel(root, at); err != nil || rel == "." || !filepath.IsLocal(rel) {
			return found
		}
	}
}

// environment is what of ours the CLI sees. In a project that nobody has trusted it
// keeps its own key, without which it could not work, and no other secret.
func (x *Executor) environment(task *agent.Task) []string {
	if !task.Untrusted {
		return x.env
	}
	env := secret.Unsecret(x.env)
	for _, pair := range x.env {
		if name, _, _ := strings.Cut(pair, "="); slices.Contains(x.m().Keys, name) {
			env = append(env, pair)
		}
	}
	return env
}
