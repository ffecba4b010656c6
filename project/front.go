package project

import (
	"bytes"
	"strings"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// codeTemplateKeys is the code of mistakes in the front matter of a prompt.
const codeTemplateKeys = "template-keys"

// template is a prompt of the project: its text, and its front matter, which has defaults
// for tasks that use it.
type template struct {
	src         workflow.Source // of the text after the front matter
	description string
	agent       string
	model       string
	output      workflow.Output
	declares    bool // the front matter lists its inputs
	inputs      []templateInput
}

// templateInput is an input of a prompt.
type templateInput struct {
	name        string
	description string
	hasDefault  bool
	value       any
}

// readFront reads a prompt's file:
//
//	description  for people
//	inputs       what the text needs: a list of names, or by name a default, or
//	             {description, default}; variables is another word for it
//	output       {mode, path, pattern, schema}, as at a step
//	agent        the agent for tasks with this prompt
//	model        of that agent
//
// The rest is the text, without line breaks at its end.
func readFront(file string, text []byte) (*template, workflow.Diagnostics) {
	front, body, ok := splitFront(text)
	t := &template{src: sourceOf(file, string(body), 1)}
	if !ok {
		return t, nil
	}
	t.src = sourceOf(file, string(body), bytes.Count(text[:len(text)-len(body)], []byte("\n"))+1)
	doc := strictyaml.ReadAt(file, front, 2, 1)
	t.read(doc.Root().Map())
	return t, doc.Diagnostics()
}

func (t *template) read(m *strictyaml.Map) {
	t.description = m.String("description")
	t.agent, t.model = m.Name("agent"), m.Name("model")
	t.readInputs(m.Get("inputs"))
	if more := m.Get("variables"); more.Exists() && t.declares {
		more.Key().Errorf(codeTemplateKeys, "keep one of them: they mean the same", "both inputs and variables are set")
	} else {
		t.readInputs(more)
	}
	output := m.Get("output")
	t.output = syntax.ReadOutput(output)
	if t.output.Var != "" {
		output.Errorf(codeTemplateKeys, "set the variable at the step instead", "the front matter of a prompt cannot set a variable for its output")
	}
	m.Done()
}

func (t *template) readInputs(n strictyaml.Node) {
	if !n.Exists() {
		return
	}
	t.declares = true
	if !n.IsMap() {
		for _, name := range n.OneOrMany() {
			t.inputs = append(t.inputs, templateInput{name: name.Name()})
		}
		return
	}
	for _, e := range n.Map().Entries() {
		in := templateInput{name: e.Name}
		switch {
		case e.Value.IsMap():
			m := e.Value.Map()
			in.description = m.String("description")
			if d := m.Get("default"); d.Exists() {
				in.hasDefault, in.value = true, d.Value()
			}
			m.Done()
		case !e.Value.IsNull():
			in.hasDefault, in.value = true, e.Value.Value()
		}
		t.inputs = append(t.inputs, in)
	}
}

// splitFront splits a file into the front matter, between two lines of ---, and the rest.
func splitFront(text []byte) (front, body []byte, ok bool) {
	first, rest, more := bytes.Cut(text, []byte("\n"))
	if !more || string(bytes.TrimRight(first, " \t\r")) != "---" {
		return nil, text, false
	}
	for at := 0; at < len(rest); {
		line, after := rest[at:], len(rest)
		if end := bytes.IndexByte(line, '\n'); end >= 0 {
			line, after = line[:end], at+end+1
		}
		if string(bytes.TrimRight(line, " \t\r")) == "---" {
			return rest[:at], rest[after:], true
		}
		at = after
	}
	return nil, text, false
}

// sourceOf returns a text that begins at a line of a file, without line breaks at its end.
func sourceOf(file, text string, line int) workflow.Source {
	text = strings.TrimRight(text, "\r\n")
	pos := workflow.Pos{File: file, Line: line, Column: 1, EndLine: line + strings.Count(text, "\n"), EndColumn: 1}
	last := text[strings.LastIndexByte(text, '\n')+1:]
	if pos.EndColumn += len([]rune(last)); text == "" {
		pos.EndColumn++
	}
	return workflow.Source{Text: text, Pos: pos}
}
