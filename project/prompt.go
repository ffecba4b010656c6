package project

import (
	"errors"
	"maps"
	"path/filepath"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// codePromptFile is the code of a prompt file that is invalid or cannot be read.
const codePromptFile = "prompt-file"

// promptFile is the setting of a task that names the file of its prompt. It is replaced
// with the text here, so that the workflow is self-contained.
const promptFile = "prompt_file"

// readPrompts sets the prompt of every task that refers to a named prompt or to a file,
// with its references resolved.
func (l *Loaded) readPrompts(w *workflow.Workflow) {
	read := false
	var before []workflow.Param // required inputs, without those of the prompts
	w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		task := n.Task()
		if task == nil || task.Settings[promptFile] == nil && task.Settings[templateName] == nil {
			return
		}
		if !read {
			before = expr.FreeInputs(w)
		}
		read = true
		if task.Settings[promptFile] != nil {
			l.readPrompt(w, n, task)
		} else {
			l.readTemplate(w, n, task)
		}
	})
	if read {
		expr.Resolve(w, expr.Canonical, nil)
		l.unmetVariables(w, before)
	}
}

func (l *Loaded) readPrompt(w *workflow.Workflow, n *workflow.Node, task *workflow.Task) {
	pos := n.Pos
	if src := task.SettingsSrc[promptFile]; src.Pos.Line > 0 {
		pos = src.Pos
	}
	refuse := func(detail, summary string, args ...any) {
		l.report(workflow.Errorf(pos, codePromptFile, detail, summary, args...))
	}
	name, isText := task.Settings[promptFile].(string)
	_, twice := task.Settings[templateName]
	task.Settings = maps.Clone(task.Settings)
	delete(task.Settings, promptFile)
	delete(task.Settings, templateName)
	file := filepath.Join(filepath.Dir(w.Pos.File), filepath.FromSlash(name))
	switch {
	case !isText || name == "" || strings.Contains(name, "${"):
		refuse("use the path of a file, without references", "the name of a prompt file must be constant")
		return
	case task.Prompt.Text != "" || twice:
		refuse("remove one of them", "both prompt and a prompt file are set")
		return
	case filepath.IsAbs(name) || !l.inside(file, filepath.Dir(w.Pos.File)):
		refuse("use a path inside of the project, relative to the workflow", "%q is outside of the project", name)
		return
	}
	switch t, err := l.templateIn(file); {
	case errors.Is(err, errNoText):
		refuse("save the file as UTF-8", "%q is not a text file", name)
	case err != nil:
		refuse("the path is relative to the file of the workflow", "cannot read the prompt file %q", name)
	default:
		l.apply(use{w: w, node: n, task: task, template: t, name: name, pos: pos})
	}
}

// inside reports whether a file is in the project or below the directory of the workflow,
// after resolving symbolic links.
func (l *Loaded) inside(file, dir string) bool {
	resolved, err := filepath.EvalSymlinks(file)
	if err != nil {
		resolved = file // it does not exist, so there is no link to resolve
	}
	for _, root := range []string{l.project.Root, dir} {
		if led, err := filepath.EvalSymlinks(root); err == nil {
			root = led
		}
		if isBelow(root, resolved) || err != nil && isBelow(root, file) {
			return true
		}
	}
	return false
}

func isBelow(root, file string) bool {
	absRoot, errRoot := filepath.Abs(root)
	abs, errFile := filepath.Abs(file)
	rel, err := filepath.Rel(absRoot, abs)
	return errRoot == nil && errFile == nil && err == nil && filepath.IsLocal(rel)
}
