package tool

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// Generated is a tool that a model wrote, with the contents of its files by their paths with
// slashes. A person has approved exactly these, so a call uses them and not what is on disk.
type Generated struct {
	Dir   string
	Files map[string][]byte
}

// Read reads the manifest, and reports what such a tool must not do: it has no permissions outside
// of the project, and starts its own script, or a program of the user.
func (g Generated) Read() (*Manifest, workflow.Diagnostics) {
	m, found := Read(filepath.Join(g.Dir, File), g.Files[File])
	if m == nil {
		return nil, found
	}
	m.Dir, m.files = g.Dir, g.Files
	refuse := func(detail, summary string, args ...any) {
		found = append(found, workflow.Errorf(m.Pos, CodeDefinition, detail, summary, args...))
	}
	for _, path := range append(m.Permissions.Read, m.Permissions.Write...) {
		if !filepath.IsLocal(filepath.FromSlash(path)) || strings.HasPrefix(path, "~") {
			refuse("name paths in the project", "a tool that a model wrote cannot use %q", path)
		}
	}
	c, ok := m.Work.(*Command)
	if !ok {
		return m, found
	}
	if c.File != "" && g.Files[filepath.ToSlash(filepath.Clean(c.File))] == nil {
		refuse("put it beside "+File, "the script %q is missing", c.File)
	}
	if len(c.Argv) > 0 && filepath.Base(c.Argv[0]) != c.Argv[0] {
		refuse("use `kind: script`, and put the script beside "+File, "a tool that a model wrote cannot start the program %q", c.Argv[0])
	}
	return m, found
}

// unpack writes the approved files of a tool to a new directory of the user.
func (m *Manifest) unpack() (dir string, err error) {
	dir, err = os.MkdirTemp("", "hocket-tool-*")
	for name, text := range m.files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(file), 0o700)
		}
		if err == nil {
			err = os.WriteFile(file, text, 0o700)
		}
	}
	if err != nil {
		return dir, agent.Errorf("cannot write its files: %v", err)
	}
	return dir, nil
}
