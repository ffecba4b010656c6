package cli

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// powers returns what needs trust if an agent of a project uses this CLI: the settings that
// the project has for it, and task settings that change how it is started.
func (x *Executor) powers(root string, settings map[string]any) trust.Powers {
	var list trust.Powers
	name := x.name()
	dir, _ := settings["dir"].(string)
	dir = filepath.Join(root, filepath.FromSlash(dir))
	if found := existing(slices.Concat(x.m().ProjectFiles, x.m().talkFiles()), root, dir); len(found.paths) > 0 {
		files := found.names()
		list = append(list, trust.Power{Kind: trust.Settings, What: name + " uses the project's " + strings.Join(files, ", "), Where: files[0], Material: found.material()})
	}
	if program, ok := settings["program"].(string); ok {
		file, _ := trust.Locate(root, program, lookupEnv(x.env, "PATH")) // without one, nothing starts
		list = append(list, trust.Power{Kind: trust.Program, What: name + " is the program " + program, Material: trust.Material(root, file, dir)})
	}
	for key, what := range map[string]string{"args": "the arguments", "env": "the variables"} {
		if value, ok := settings[key]; ok {
			list = append(list, trust.Power{Kind: trust.Program, What: fmt.Sprintf("%s is started with %s %s", name, what, workflow.FormatJSON(value)), Material: trust.Material(root, "", dir, texts(value)...)})
		}
	}
	if x.o.Manifest != nil {
		list = append(list, x.o.Manifest.power(root, dir))
	}
	return list
}

// texts returns all strings in a JSON value.
func texts(value any) []string {
	var all []string
	switch v := value.(type) {
	case string:
		all = append(all, v)
	case []any:
		for _, item := range v {
			all = append(all, texts(item)...)
		}
	case map[string]any:
		for _, key := range sorted.Keys(v) {
			all = append(all, texts(v[key])...)
		}
	}
	return all
}

func (x *Executor) name() string {
	if x.o.Manifest != nil {
		return x.o.Manifest.Name
	}
	return x.o.Builtin
}

func (m *Manifest) talkFiles() []string {
	if m.acp == nil {
		return nil
	}
	return m.acp.files
}

// LoadManifests reads the manifests of a project, .hocket/clis/*.yml. If two have the same
// name, the one in .hocket counts. The diagnostics describe what is wrong with them.
func LoadManifests(root string) ([]*Manifest, workflow.Diagnostics, error) {
	var all []*Manifest
	var found workflow.Diagnostics
	homes, _ := agent.HomesIn(root)
	for _, home := range homes {
		entries, err := projectfile.List(filepath.Join(home, "clis"), root)
		if err != nil {
			found = append(found, unusable(filepath.Join(home, "clis"), err))
			continue
		}
		for _, e := range entries {
			file := filepath.Join(home, "clis", e.Name())
			if e.IsDir() || filepath.Ext(file) != ".yml" {
				continue
			}
			text, err := projectfile.Read(file, root)
			if err != nil {
				found = append(found, unusable(file, err))
				continue
			}
			m, wrong := ReadManifest(file, text)
			found = append(found, wrong...)
			if m == nil || slices.ContainsFunc(all, func(o *Manifest) bool { return o.Name == m.Name }) {
				continue
			}
			m.root, m.meaning = root, strictyaml.Read(file, text).Root().Value()
			all = append(all, m)
		}
	}
	return all, found, nil
}

func unusable(file string, err error) workflow.Diagnostic {
	return workflow.Errorf(workflow.Pos{File: file}, CodeManifest, "replace it with a regular file", "a manifest cannot be read: %v", err)
}

// Powers returns what needs trust for the manifests of a project: each starts programs.
func Powers(root string, manifests []*Manifest) trust.Powers {
	var list trust.Powers
	for _, m := range manifests {
		list = append(list, m.power(root, root))
	}
	return list
}

// aside lists the keys of a manifest that do not affect how its programs start.
var aside = []string{"$schema", "description", "install", "login", "account", "keys", "project_files", "program", "reply", "exit", "errors", "stderr"}

// power returns what needs trust for a manifest of a project whose CLI runs in a directory.
func (m *Manifest) power(root, dir string) trust.Power {
	what := "the CLI agent " + m.Name
	if slices.Contains(Builtin(), m.Name) {
		what = "in place of the built-in " + m.Name + ", the CLI agent of the project"
	}
	what += " starts " + strings.Join(m.Programs, " or ")
	said, _ := m.meaning.(map[string]any)
	shown := maps.Clone(said)
	maps.DeleteFunc(shown, func(key string, _ any) bool { return slices.Contains(aside, key) })
	if len(shown) > 0 {
		what += " with " + workflow.FormatJSON(shown)
	}
	material, words := workflow.FormatJSON(m.meaning), texts(shown)
	for _, program := range m.allPrograms() {
		file, _ := trust.Locate(root, program, os.Getenv("PATH"))
		material += "\n" + trust.Material(root, file, dir, words...)
	}
	return trust.Power{Kind: trust.CLI, What: what, Where: at(root, m.Pos), Material: material}
}

// at formats a position in a file of the project.
func at(root string, pos workflow.Pos) string {
	file := pos.File
	if rel, err := filepath.Rel(root, file); err == nil {
		file = filepath.ToSlash(rel)
	}
	return fmt.Sprintf("%s:%d", file, max(pos.Line, 1))
}
