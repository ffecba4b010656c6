package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/workflow"
)

// stdin stands for standard input in place of a file name.
const stdin = "-"

// readStdin reads standard input, once.
func (a *app) readStdin() ([]byte, error) {
	if a.stdinText != nil {
		return a.stdinText, nil
	}
	if _, err := a.openProject(); errors.As(err, new(exitError)) { // another program has read it
		return nil, err
	}
	const largest = 16 << 20 // the same as for files
	text, err := io.ReadAll(io.LimitReader(a.std.In, largest+1))
	if err == nil && len(text) > largest {
		return nil, usagef("check that it is a workflow", "standard input is larger than 16 MB")
	}
	a.stdinText = text
	return text, err
}

// readFile reads a file to change or convert.
func (a *app) readFile(name, verb string) (file string, text []byte, err error) {
	if name == stdin {
		text, err = a.readStdin()
		return stdin, text, err
	}
	file = a.path(name)
	if text, err = a.readNamed(file); err != nil {
		return "", nil, usagef(verb+" takes the path of a file, not a name", "%v", err)
	}
	return file, text, nil
}

// load reads a workflow, by file or by name, with all workflows that it calls.
func (a *app) load(nameOrFile string) (*hocket.Workflow, error) {
	p, err := a.openProject()
	if err != nil {
		return nil, err
	}
	if nameOrFile == stdin {
		text, err := a.readStdin()
		if err != nil {
			return nil, err
		}
		return p.LoadText(stdin, text)
	}
	if file := a.path(nameOrFile); a.dir != "" && isFile(file) {
		abs, err := filepath.Abs(file)
		if err != nil {
			return nil, err
		}
		nameOrFile = abs
	}
	w, err := p.Load(nameOrFile)
	var unknown *hocket.UnknownWorkflowError
	switch {
	case errors.As(err, &unknown) && isDir(a.path(nameOrFile)):
		return nil, usagef("name a file in it, or run the command there with -C "+quoteWord(nameOrFile), "%s is a directory", nameOrFile)
	case errors.As(err, &unknown) && isFile(a.path(nameOrFile)): // such as a pipe
		_, err := a.readNamed(a.path(nameOrFile))
		return nil, usagef("use a regular file, or - for standard input", "%v", err)
	case errors.As(err, &unknown):
		return nil, &diagnosticsError{workflow.Diagnostics{suggestFile(unknown.Diagnostic, nameOrFile)}}
	case errors.Is(err, fs.ErrPermission):
		return nil, usagef("check the permissions of the file", "%s", strings.TrimPrefix(err.Error(), "project: "))
	case err == nil && w.Model() == nil:
		found := w.Diagnostics()
		if d, ok := a.isHandoff(nameOrFile, found); ok {
			return nil, &diagnosticsError{workflow.Diagnostics{d}}
		}
		for i := range found {
			if found[i].File == "" {
				found[i].File = nameOrFile
			}
		}
	}
	return w, err
}

// isHandoff returns a diagnostic for a file that is not a workflow because it is a handoff.
func (a *app) isHandoff(name string, found workflow.Diagnostics) (d workflow.Diagnostic, ok bool) {
	file := a.path(name)
	text, err := a.readNamed(file)
	if err != nil || len(found) == 0 {
		return d, false
	}
	if h, err := a.requestsIn(file, text); err != nil || h == nil {
		return d, false
	}
	return workflow.Errorf(workflow.Pos{File: name}, found[0].Code,
		"`"+a.self("convert", quoteWord(name), "--to", "yaml")+"` makes a workflow of it; `"+a.self("handoff", "send", quoteWord(name))+"` carries it out",
		"this file is a handoff, not a workflow"), true
}

// suggestFile suggests an existing file with a similar name.
func suggestFile(unknown workflow.Diagnostic, file string) workflow.Diagnostic {
	unknown.File = file
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		return unknown
	}
	var names []string
	for _, e := range entries {
		names = append(names, filepath.Join(filepath.Dir(file), e.Name()))
	}
	if near := workflow.DidYouMean(filepath.Clean(file), names); near != "" {
		unknown.Detail = near
	}
	return unknown
}
