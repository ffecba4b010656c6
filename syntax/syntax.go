// Package syntax picks the notation of a workflow file by its name and content,
// and reads, writes and lays out workflows in it. The notations are the folders
// below it; each imports the model and never this package.
package syntax

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// Notation is one way to write a workflow.
type Notation struct {
	Name    string
	Endings []string // of file names, the usual one first
	like    *regexp.Regexp
	Parse   func(file string, text []byte) (*workflow.Workflow, workflow.Diagnostics)
	Format  func(w *workflow.Workflow) ([]byte, error)
	Fmt     func(file string, text []byte) ([]byte, workflow.Diagnostics)
}

// notations are tried in this order.
var notations = []Notation{
	{
		Name:    "yaml",
		Endings: []string{".yml", ".yaml"},
		like:    regexp.MustCompile(`(?m)^(steps|name):(\s|$)`),
		Parse:   yaml.Parse,
		Format:  yaml.Format,
		Fmt:     yaml.Fmt,
	},
}

const codeNotation = "notation-unknown"

// Codes lists every code that a diagnostic of a notation can have.
var Codes = append(slices.Clone(yaml.Codes),
	strictyaml.Code{Name: codeNotation, Meaning: "The file is in no notation that Hocket reads."})

// Notations are the names of all notations.
func Notations() []string {
	names := make([]string, len(notations))
	for i, n := range notations {
		names[i] = n.Name
	}
	return names
}

// Named finds a notation by its name.
func Named(name string) (Notation, bool) {
	i := slices.IndexFunc(notations, func(n Notation) bool { return n.Name == name })
	if i < 0 {
		return Notation{}, false
	}
	return notations[i], true
}

// IsWorkflow says whether a file has the ending of a notation.
func IsWorkflow(file string) bool {
	_, ok := byEnding(file)
	return ok
}

// Of finds the notation of a file: by its ending, else by what it looks like.
func Of(file string, text []byte) (Notation, bool) {
	if n, ok := byEnding(file); ok {
		return n, true
	}
	for _, n := range notations {
		if n.like.Match(text) {
			return n, true
		}
	}
	return Notation{}, false
}

func byEnding(file string) (Notation, bool) {
	ending := strings.ToLower(path.Ext(file))
	for _, n := range notations {
		if slices.Contains(n.Endings, ending) {
			return n, true
		}
	}
	return Notation{}, false
}

// Parse reads a workflow in whatever notation it is written. It is nil if
// nothing could be made of the file, and must not be run if one of the
// diagnostics is an error.
func Parse(file string, text []byte) (*workflow.Workflow, workflow.Diagnostics) {
	n, ok := Of(file, text)
	if !ok {
		return nil, unknown(file)
	}
	return n.Parse(file, text)
}

// Fmt lays a file out in the canonical way of its notation. A file with errors
// comes back as it is.
func Fmt(file string, text []byte) ([]byte, workflow.Diagnostics) {
	n, ok := Of(file, text)
	if !ok {
		return text, unknown(file)
	}
	return n.Fmt(file, text)
}

// Format writes a workflow in the notation of that name.
func Format(w *workflow.Workflow, notation string) ([]byte, error) {
	n, ok := Named(notation)
	if !ok {
		return nil, fmt.Errorf("syntax: there is no notation %q; there are %s", notation, strings.Join(Notations(), ", "))
	}
	return n.Format(w)
}

func unknown(file string) workflow.Diagnostics {
	var endings []string
	for _, n := range notations {
		endings = append(endings, n.Endings...)
	}
	pos := workflow.Pos{File: file, Line: 1, Column: 1, EndLine: 1, EndColumn: 2}
	return workflow.Diagnostics{workflow.Errorf(pos, codeNotation,
		"supported are "+strings.Join(Notations(), ", ")+" in files that end in "+strings.Join(endings, " or "),
		"this is no notation that can be read")}
}
