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

// codeTemplate is the code of a prompt that no file of the project holds.
const codeTemplate = "template-unknown"

// templateName is the setting of a task that names a prompt of the project. It
// is read here; no agent sees it. It stays where there is no such prompt: which one
// is missing is part of what the workflow says.
const templateName = "template"

// missing is a task without the prompt that it names.
type missing struct {
	node *workflow.Node
	workflow.Diagnostic
}

// readTemplate gives a task the prompt of the project that it names.
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
	l.missing = append(l.missing, missing{n, workflow.Errorf(pos, codeTemplate, templateHint(name, homes), "there is no prompt %q", name)})
}

// template is the prompt of a name, nil if no file holds it.
func (l *Loaded) template(name string, homes []string) *template {
	if !filepath.IsLocal(name) { // it leads out of the directory
		return nil
	}
	for _, home := range homes {
		file := filepath.Join(home, "prompts", filepath.FromSlash(name)+".md")
		if !l.inside(file, home) { // a link: no other file of the user is told to a model
			continue
		}
		if t, err := l.templateIn(file); err == nil {
			return t
		}
	}
	return nil
}

var errNoText = errors.New("project: the file is no text")

// templateIn is the prompt in a file, which is read once.
func (l *Loaded) templateIn(file string) (*template, error) {
	if t := l.templates[file]; t != nil {
		return t, nil
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return nil, errNoText
	}
	text, err := l.project.read(file, filepath.Dir(file)) // where it may be was looked at before
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

// homesFor are the directories whose agents and prompts a workflow may use: those
// beside its file, and those of the project.
func (p *Project) homesFor(dir string) []string { return append(p.homesIn(dir), p.homes...) }

// templateHint says which prompt was meant, or where to write it.
func templateHint(name string, homes []string) string {
	var names []string
	for _, home := range homes {
		dir := filepath.Join(home, "prompts")
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if known, ok := strings.CutSuffix(path, ".md"); ok && err == nil && !d.IsDir() {
				names = append(names, filepath.ToSlash(strings.TrimPrefix(known, dir+string(filepath.Separator))))
			}
			return nil // what cannot be read has no names
		})
	}
	if !filepath.IsLocal(name) {
		return "name a file in .hocket/prompts, without its ending"
	}
	if slices.Contains(names, name) {
		return "there is a file, but it is no text in UTF-8, or a link that leads out of the project"
	}
	if hint := workflow.DidYouMean(name, names); hint != "" {
		return hint
	}
	return "write it to .hocket/prompts/" + name + ".md, or the prompt itself at the step"
}

// missingPrompts are the mistakes of tasks without their prompts. One with a
// scripted reply needs none, so then it is only worth a warning.
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
