package project

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/workflow"
)

// codeTemplate is the code of an unknown prompt.
const codeTemplate = "template-unknown"

// templateName is the setting of a task that names a prompt of the project. It is replaced
// here, so that no agent sees it. If there is no such prompt, the setting stays, as its
// value is part of the meaning of the workflow.
const templateName = "template"

// missing is a task whose prompt does not exist.
type missing struct {
	node *workflow.Node
	workflow.Diagnostic
}

// readTemplate sets the prompt of a task that names a prompt of the project.
func (l *Loaded) readTemplate(w *workflow.Workflow, n *workflow.Node, task *workflow.Task) {
	name, _ := task.Settings[templateName].(string)
	homes := l.project.homesFor(filepath.Dir(w.Pos.File))
	pos := n.Pos
	if src := task.SettingsSrc[templateName]; src.Pos.Line > 0 {
		pos = src.Pos
	}
	if t := l.template(name, homes); t != nil {
		task.Settings = maps.Clone(task.Settings)
		delete(task.Settings, templateName)
		l.apply(use{w: w, node: n, task: task, template: t, name: name, pos: pos})
		return
	}
	l.missing = append(l.missing, missing{n, workflow.Errorf(pos, codeTemplate, templateHint(name, homes), "unknown prompt %q", name)})
}

// template returns the prompt with a name, nil if there is none.
func (l *Loaded) template(name string, homes []string) *template {
	if !filepath.IsLocal(name) { // it leaves the directory
		return nil
	}
	for _, home := range homes {
		file := filepath.Join(home, "prompts", filepath.FromSlash(name)+".md")
		if !l.inside(file, home) { // a symbolic link: other files of the user must not reach a model
			continue
		}
		if t, err := l.templateIn(file); err == nil {
			return t
		}
	}
	return nil
}

var errNoText = errors.New("project: not a text file")

// templateIn returns the prompt in a file, which it reads only once.
func (l *Loaded) templateIn(file string) (*template, error) {
	if t := l.templates[file]; t != nil {
		return t, nil
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return nil, errNoText
	}
	text, err := l.project.read(file, filepath.Dir(file)) // the caller has checked where it is
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(text) {
		return nil, errNoText
	}
	t, found := readFront(file, bytes.TrimPrefix(text, []byte("\ufeff")))
	l.Diagnostics = append(l.Diagnostics, found...)
	if l.templates == nil {
		l.templates = map[string]*template{}
	}
	l.templates[file] = t
	return t, nil
}

// homesFor returns the directories whose agents and prompts a workflow can use: those next to
// its file, and those of the project.
func (p *Project) homesFor(dir string) []string { return append(p.homesIn(dir), p.homes...) }

// templateHint suggests a similar prompt, or where to create it.
func templateHint(name string, homes []string) string {
	var names []string
	for _, home := range homes {
		dir := filepath.Join(home, "prompts")
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if known, ok := strings.CutSuffix(path, ".md"); ok && err == nil && !d.IsDir() {
				names = append(names, filepath.ToSlash(strings.TrimPrefix(known, dir+string(filepath.Separator))))
			}
			return nil // skip what cannot be read
		})
	}
	if !filepath.IsLocal(name) {
		return "use the name of a file in .hocket/prompts, without its extension"
	}
	if slices.Contains(names, name) {
		return "the file exists, but is not UTF-8 text, or is a symbolic link that leaves the project"
	}
	if hint := workflow.DidYouMean(name, names); hint != "" {
		return hint
	}
	return "create .hocket/prompts/" + name + ".md, or set `prompt` at the step"
}

// missingPrompts returns diagnostics for tasks whose prompts do not exist: warnings for
// those with a scripted reply, which need no prompt.
func (l *Loaded) missingPrompts(replied func(*workflow.Node) bool) workflow.Diagnostics {
	var found workflow.Diagnostics
	for _, m := range l.missing {
		if replied != nil && replied(m.node) {
			m.Severity, m.Detail = workflow.Warning, "its reply is used instead; "+m.Detail
		}
		found = append(found, m.Diagnostic)
	}
	return found
}
