package project

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// found is a workflow's file.
type found struct {
	file string // as in positions
	text []byte
}

// find finds the files of a workflow by name, also in the given directories, which are
// those of the callers. Files with the same content count as one, and a page about a
// workflow that has its name does not count.
func (p *Project) find(name string, among ...string) ([]found, error) {
	var list []found
	for _, file := range p.candidates(name, among) {
		text, err := p.read(file, among...)
		if os.IsNotExist(err) || p.unusable(file, err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		same := func(f found) bool { return bytes.Equal(f.text, text) }
		if _, ok := syntax.Of(file, text); ok && !slices.ContainsFunc(list, same) {
			list = append(list, found{file, text})
		}
	}
	return list, nil
}

// Source returns the file of a workflow of the project, also of one that a model wrote, and its text. A
// path is not a name. The error is an *[UnknownError] if there is none, or if several files have the
// name.
func (p *Project) Source(name string) (file string, text []byte, err error) {
	l := p.newLoaded()
	var list []found
	if filepath.Base(name) == name {
		if list, err = l.findNamed(name); err != nil {
			return "", nil, err
		}
	}
	if f := l.only(name, list, workflow.Pos{}); f != nil {
		return f.file, f.text, nil
	}
	if len(l.Diagnostics) > 0 {
		return "", nil, &UnknownError{l.Diagnostics[0]}
	}
	return "", nil, &UnknownError{workflow.Errorf(workflow.Pos{}, codeUnknown, hint(name, p.Names()), "unknown workflow %q", name)}
}

// findNamed is find for a name that a person or a client chose: a workflow that a model wrote can have
// it, too. It is found last.
func (l *Loaded) findNamed(name string) ([]found, error) {
	list, err := l.project.find(name)
	switch {
	case err != nil:
	case len(list) == 0:
		if f := l.generatedWorkflow(name); f != nil {
			list = append(list, *f)
		}
	case IsGeneratedName(name): // a person could review one of them, and run the other
		dir := filepath.Join(GeneratedDir(l.project.Root), name)
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			list = append(list, found{file: readGenerated(l.project.Root, dir).File})
		}
	}
	return list, err
}

// Has reports whether a file of the project has the name of a workflow.
func (p *Project) Has(name string) bool {
	list, err := p.find(name)
	return err == nil && len(list) > 0
}

// Named returns the file of a path that a person typed, which begins in the directory in which the project was
// opened.
func (p *Project) Named(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.dir, path)
}

// AtRoot reports whether the project was opened in its root.
func (p *Project) AtRoot() bool { return sameFile(p.dir, p.Root) }

// Spell returns a path that begins at the root as a person has to type it, see Named.
func (p *Project) Spell(path string) string {
	if p.AtRoot() {
		return path
	}
	file := filepath.Join(p.Root, path)
	dir, err := filepath.Abs(p.dir)
	if err != nil {
		return file
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if rel, err := filepath.Rel(dir, file); err == nil && sameFile(p.Named(rel), file) { // .. of a link may lead elsewhere
		if isWord(rel) {
			return "./" + rel
		}
		return filepath.ToSlash(rel)
	}
	return file
}

// IsFile reports whether a name could also mean a file in the directory in which the project was opened.
func (p *Project) IsFile(name string) bool { return isWord(name) && isFile(p.Named(name)) }

// IsName reports whether a name means a file, and no other.
func (p *Project) IsName(name, file string) bool {
	list, err := p.find(name)
	return err == nil && len(list) == 1 && sameFile(list[0].file, file) && !p.IsFile(name)
}

// candidates returns the files that a name may mean, likeliest first.
func (p *Project) candidates(name string, among []string) []string {
	dirs := append(slices.Clone(among), p.workflowDirs()...)
	names := []string{name}
	if !syntax.IsWorkflow(name) {
		names = nil
		for _, ext := range endings() {
			names = append(names, name+ext)
		}
	}
	within := func(file string) bool {
		return slices.ContainsFunc(append(dirs, p.Root, p.spelled), func(dir string) bool { return isBelow(dir, file) })
	}
	var files []string
	for _, dir := range dirs {
		for _, name := range names {
			file := filepath.Join(dir, name)
			if !within(file) {
				continue // nobody may learn from the project whether it exists
			}
			if isFile(file) && !slices.ContainsFunc(files, func(f string) bool { return sameFile(f, file) }) {
				files = append(files, file)
			}
		}
	}
	return files
}

func (p *Project) workflowDirs() []string {
	var dirs []string
	for _, home := range p.homes {
		dirs = append(dirs, filepath.Join(home, "workflows"))
	}
	return dirs
}

// Names returns the names of the project's workflows, and of those in other directories.
func (p *Project) Names(among ...string) []string {
	read := func(file string) ([]byte, error) { return projectfile.Read(file, append(among, p.Root)...) }
	list := func(dir string) ([]os.DirEntry, error) { return projectfile.List(dir, append(among, p.Root)...) }
	return workflowsIn(read, list, slices.Concat(among, p.workflowDirs()))
}

// workflowsIn returns the workflows in some directories, by name. It skips files of the
// same notation with other content, such as replies.
func workflowsIn(read func(string) ([]byte, error), list func(string) ([]os.DirEntry, error), dirs []string) []string {
	var names []string
	for _, dir := range dirs {
		entries, err := list(dir)
		if err != nil {
			continue // a project need not have the directory
		}
		for _, e := range entries {
			name := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))
			if e.IsDir() || !syntax.IsWorkflow(e.Name()) || slices.Contains(names, name) {
				continue
			}
			if text, err := read(filepath.Join(dir, e.Name())); err == nil && hasSteps(e.Name(), text) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// hasSteps reports whether a file may be a workflow. In YAML, a workflow has steps.
func hasSteps(file string, text []byte) bool {
	n, ok := syntax.Of(file, text)
	return ok && (n.Name != "yaml" || bytes.HasPrefix(text, []byte("{")) || bytes.HasPrefix(text, []byte("steps:")) || bytes.Contains(text, []byte("\nsteps:")))
}

// endings returns the file extensions of all notations.
func endings() []string {
	var list []string
	for _, name := range syntax.Notations() {
		if n, ok := syntax.Named(name); ok {
			list = append(list, n.Endings...)
		}
	}
	return list
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
