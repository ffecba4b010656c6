package cli

import (
	"bytes"
	"errors"
	"strings"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// inputFile is a file of inputs: their values and positions.
type inputFile struct {
	values map[string]any
	places map[string]workflow.Pos
}

// readInputFile reads a YAML or JSON file with one value per input.
func (a *app) readInputFile(file string) (inputFile, error) {
	data, err := a.readNamed(file)
	if err != nil {
		return inputFile{}, usagef("--inputs takes a YAML or JSON file with one value per input", "%v", err)
	}
	doc := strictyaml.Read(file, data)
	values, isMap := doc.Root().Value().(map[string]any)
	if ds := doc.Diagnostics(); ds.Errors() {
		return inputFile{}, &diagnosticsError{ds}
	}
	if !isMap && len(bytes.TrimSpace(data)) > 0 {
		return inputFile{}, usagef("write one `name: value` per input", "%s is not a map of inputs", file)
	}
	in := inputFile{values, map[string]workflow.Pos{}}
	if isMap {
		for _, e := range doc.Root().Map().Entries() {
			in.places[e.Name] = e.Value.Pos()
		}
	}
	return in, nil
}

// place sets the positions of diagnostics: in the file, otherwise on the command line. To find
// out which input a diagnostic is about, it checks each input alone, and ignores what is
// then missing.
func (in *inputFile) place(wrong workflow.Diagnostics, l *hocket.Workflow) workflow.Diagnostics {
	type mistake struct{ code, summary string }
	at := map[mistake]workflow.Pos{}
	for name, pos := range in.places {
		_, alone := l.Inputs(map[string]any{name: in.values[name]}, nil)
		for _, d := range alone {
			at[mistake{d.Code, d.Summary}] = pos
		}
	}
	_, missing := l.Inputs(nil, nil)
	for _, d := range missing {
		delete(at, mistake{d.Code, d.Summary})
	}
	for i, d := range wrong {
		if pos, ok := at[mistake{d.Code, d.Summary}]; ok {
			wrong[i].Pos = pos
		} else if d.Line == 0 { // otherwise it points to the declaration in the workflow
			wrong[i].Pos = workflow.Pos{File: "--input"}
		}
		if d.Code == "input-missing" {
			wrong[i].Detail = "set it with --input NAME=VALUE"
		}
	}
	return wrong.Sort()
}

// onceEach refuses two values for one input on the command line.
func onceEach(pairs []string) error {
	given := map[string]bool{}
	for _, pair := range pairs {
		name, _, _ := strings.Cut(pair, "=")
		if given[name] {
			return usagef("keep one of them", "duplicate --input %q", name)
		}
		given[name] = true
	}
	return nil
}

// nearSecret makes the path in an error relative to the current directory.
func (a *app) nearSecret(err error) error {
	var exposed *hocket.SecretError
	if errors.As(err, &exposed) && exposed.File != "" {
		near := *exposed
		near.File = nearPath(near.File)
		return &near
	}
	return err
}
