// Package syntax picks the notation of a workflow file by its name and content, and parses,
// writes and formats workflows in it. Each notation is a folder below it, which imports the model
// but never this package.
package syntax

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax/internal/fidelity"
	"github.com/hocket-dev/hocket/syntax/json"
	"github.com/hocket-dev/hocket/syntax/markdown"
	"github.com/hocket-dev/hocket/syntax/plantuml"
	"github.com/hocket-dev/hocket/syntax/xml"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// Notation is one way to write a workflow.
type Notation struct {
	Name    string
	Also    []string // other names that people use for it
	Endings []string // extensions of file names, the usual one first
	// Like reports whether a text looks like this notation, whatever its file is called. If files
	// with these endings usually contain something else, Often is false, and only Like decides.
	Like  func(text []byte) bool
	Often bool

	Parse func(file string, text []byte) (*workflow.Workflow, workflow.Diagnostics)
	// Recover parses the answer of a model, which need not be a whole file, and reports repairs as
	// warnings. It is nil if the notation has only one way to parse.
	Recover func(file string, text []byte) (*workflow.Workflow, workflow.Diagnostics)

	Format func(w *workflow.Workflow) ([]byte, error)
	Fmt    func(file string, text []byte) ([]byte, workflow.Diagnostics)
	// Diagram returns the mistakes in a text as a diagram, as the diagram's own tool would report
	// them. It is nil if the notation is not a diagram.
	Diagram func(file string, text []byte) workflow.Diagnostics
	// Marks returns what a person sees as parts of the workflow, even if the text is not
	// well-formed. It is nil if Parse finds all of them. See [Fix].
	Marks func(text []byte) []string
	// Fidelity says how the output of Format represents each part of the workflow. It is nil if
	// the notation can express everything directly.
	Fidelity func(w *workflow.Workflow) []Item
}

// Item says how a notation represents one part of a workflow.
type Item = fidelity.Item

// How is one of the ways in which a part can be represented.
type How = fidelity.How

// The ways.
const (
	Exact    = fidelity.Exact
	Carried  = fidelity.Carried
	Rejected = fidelity.Rejected
)

// notations are tried in this order: those that are easy to recognize come first.
var notations = []Notation{
	{
		Name:    "yaml",
		Endings: []string{".yml", ".yaml"},
		Often:   true,
		Like:    likeYAML,
		Parse:   yaml.Parse,
		Format:  yaml.Format,
		Fmt:     yaml.Fmt,
	},
	{
		Name:    "xml",
		Endings: []string{".xml"},
		Like:    xml.Like,
		Parse:   xml.Parse,
		Recover: recoverXML,
		Format:  xml.Format,
		Fmt:     xml.Fmt,
	},
	{
		Name:     "mermaid",
		Also:     []string{"markdown"},
		Endings:  []string{".md", ".markdown", ".mmd", ".mermaid"},
		Like:     markdown.Like,
		Parse:    markdown.Parse,
		Format:   markdown.Format,
		Fmt:      markdown.Fmt,
		Diagram:  markdown.Diagram,
		Marks:    markdown.Marks,
		Fidelity: markdown.Fidelity,
	},
	{
		Name:     "plantuml",
		Also:     []string{"puml"},
		Endings:  []string{".puml", ".plantuml", ".uml", ".pu", ".iuml"},
		Often:    true,
		Like:     plantuml.Like,
		Parse:    plantuml.Parse,
		Format:   plantuml.Format,
		Fmt:      plantuml.Fmt,
		Diagram:  plantuml.Diagram,
		Marks:    plantuml.Marks,
		Fidelity: plantuml.Fidelity,
	},
	{
		Name:    "json",
		Endings: []string{".json"},
		Like:    likeJSON,
		Parse:   json.Parse,
		Format:  json.Format,
		Fmt:     json.Fmt,
	},
}

// JSON with nodes and edges is an object with both keys. Any other object may be YAML.
var jsonKeys = lazy.Regexp(`"(nodes|edges)"\s*:`)

func likeJSON(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) && len(jsonKeys().FindAll(text, 2)) == 2
}

// A YAML workflow begins with a key, and has a name or steps. As JSON, it may have both in one
// line, without blanks. A text with a fence at the margin is not YAML: what looks like a key
// above the fence is part of the answer around it.
var (
	yamlStart = lazy.Regexp(`\A(\s*(#[^\n]*|---)?\n)*(["']?[\w$]+["']?:(\s|\z)|\{)`)
	yamlKey   = lazy.Regexp(`(?m)^\s*\{?\s*["']?(steps|name)["']?:(\s|$)|\A\s*\{[^\n]*"steps"\s*:`)
	fenceMark = lazy.Regexp("(?m)^(```|~~~)")
)

func likeYAML(text []byte) bool {
	return yamlStart().Match(text) && yamlKey().Match(text) && !fenceMark().Match(text) && !likeJSON(text) && !markdown.Like(text)
}

const codeNotation = "notation-unknown"

// Codes lists every code that a diagnostic of a notation can have.
var Codes = append(slices.Concat(yaml.Codes, xml.Codes, json.Codes, markdown.Codes, plantuml.Codes),
	strictyaml.Code{Name: codeNotation, Meaning: "The file is not in a notation that Hocket reads."})

// Notations returns the names of all notations.
func Notations() []string {
	names := make([]string, len(notations))
	for i, n := range notations {
		names[i] = n.Name
	}
	return names
}

// Named returns the notation with a name.
func Named(name string) (Notation, bool) {
	i := slices.IndexFunc(notations, func(n Notation) bool { return n.Name == name || slices.Contains(n.Also, name) })
	if i < 0 {
		return Notation{}, false
	}
	return notations[i], true
}

// IsWorkflow reports whether a file has the extension of a notation.
func IsWorkflow(file string) bool {
	_, ok := ByEnding(file)
	return ok
}

// Of returns the notation of a file: by its extension, otherwise by its content.
func Of(file string, text []byte) (Notation, bool) {
	if n, ok := ByEnding(file); ok {
		if n.Often || n.Like(text) {
			return n, true
		}
		return Notation{}, false
	}
	for _, n := range notations {
		if n.Like(text) {
			return n, true
		}
	}
	return Notation{}, false
}

// ByEnding returns the notation that files with the extension of a file usually have.
func ByEnding(file string) (Notation, bool) {
	ending := strings.ToLower(path.Ext(file))
	for _, n := range notations {
		if slices.Contains(n.Endings, ending) {
			return n, true
		}
	}
	return Notation{}, false
}

// find is like Of, but also looks into the answer of a model if the file as a whole is in no
// notation.
func find(file string, text []byte) (Notation, []byte, bool) {
	named, ok := ByEnding(file)
	if ok && named.Recover != nil { // a file may not have mistakes that are repaired in an answer
		return named, text, true
	}
	if n, ok := Of(file, text); ok {
		return n.forAnswers(), text, true
	}
	if n, inner, ok := answered(file, text); ok {
		return n, inner, true
	}
	return named, text, ok // its parser reports best what is missing
}

// Parse parses a workflow in any notation. The workflow is nil if nothing could be parsed, and
// must not be run if one of the diagnostics is an error.
func Parse(file string, text []byte) (*workflow.Workflow, workflow.Diagnostics) {
	n, text, ok := find(file, text)
	if !ok {
		return nil, unknown(file)
	}
	w, found := n.Parse(file, text)
	found.Place(file, text)
	return w, found
}

// Fmt formats a file in the canonical style of its notation. A file with errors is returned
// unchanged.
func Fmt(file string, text []byte) ([]byte, workflow.Diagnostics) {
	n, ok := Of(file, text)
	if !ok {
		return text, unknown(file)
	}
	return n.Fmt(file, text)
}

// Format writes a workflow in the named notation.
func Format(w *workflow.Workflow, notation string) ([]byte, error) {
	n, ok := Named(notation)
	if !ok {
		return nil, fmt.Errorf("syntax: unknown notation %q; the notations are %s", notation, strings.Join(Notations(), ", "))
	}
	return n.Format(w)
}

// Diagram returns the mistakes in the diagram in a file; ok is false if its notation is not a
// diagram.
func Diagram(file string, text []byte) (found workflow.Diagnostics, ok bool) {
	n, text, known := find(file, text)
	if !known || n.Diagram == nil {
		return nil, false
	}
	found = n.Diagram(file, text)
	found.Place(file, text)
	return found, true
}

func unknown(file string) workflow.Diagnostics {
	var endings []string
	for _, n := range notations {
		endings = append(endings, n.Endings...)
	}
	pos := workflow.Pos{File: file, Line: 1, Column: 1, EndLine: 1, EndColumn: 2}
	return workflow.Diagnostics{workflow.Errorf(pos, codeNotation,
		"the supported notations are "+strings.Join(Notations(), ", ")+", in files that end in "+strings.Join(endings, " or "),
		"the notation of this file is not supported")}
}

// Fidelity says how a notation represents each part of a workflow. If the notation can express
// everything directly, all parts are exact.
func Fidelity(w *workflow.Workflow, n Notation) []Item {
	if n.Fidelity != nil {
		return n.Fidelity(w)
	}
	items := []Item{{Construct: "workflow", How: Exact}}
	w.Body.Walk(func(_ *workflow.Graph, node *workflow.Node) {
		items = append(items, Item{Node: node.ID, Construct: node.Kind(), How: Exact})
	})
	return items
}
