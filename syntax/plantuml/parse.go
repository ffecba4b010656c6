package plantuml

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/syntax/plantuml/internal/activity"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// Parse parses a workflow. The diagnostics contain every mistake in the file. The workflow is nil
// if nothing could be parsed, and must not be run if one of the diagnostics is an error.
func Parse(file string, text []byte) (*workflow.Workflow, workflow.Diagnostics) {
	r := readFlow(file, text)
	if r.diagram.Preprocessed { // nothing else is known about it
		return nil, r.found[:1]
	}
	w, found := r.w, r.found.Sort()
	resolve(w) // after everything else can be released
	return w, found
}

// Diagram returns the mistakes in a text as a diagram of PlantUML. PlantUML has a preprocessor,
// which is not supported in workflows.
func Diagram(file string, text []byte) workflow.Diagnostics {
	_, found := activity.Parse(source.New(file, text))
	for i := range found {
		if found[i].Code == activity.CodePreprocessor {
			found[i].Severity = workflow.Warning
		}
	}
	return found
}

// reader turns one file into a workflow.
type reader struct {
	src     *source.Text
	diagram *activity.Diagram
	found   workflow.Diagnostics
	w       *workflow.Workflow

	words      []words // by the number of the element
	spareParts []part
	head       head
	last       map[string]int // numbers of generated ids
	places

	// Reused for every note.
	pool  strictyaml.Pool
	texts []byte
	steps yaml.StepReader
	said  said
	names map[*workflow.Choice]drawnName // tests that are names, which may be questions
	drawn map[*workflow.Choice]bool      // those that are questions

	laneAt map[string]workflow.Pos // where each lane is first written

	drawer
}

func read(file string, text []byte) *reader {
	r := readFlow(file, text)
	resolve(r.w)
	return r
}

// resolve makes references canonical.
func resolve(w *workflow.Workflow) { expr.Resolve(w, expr.PlantUML, ids(&w.Body)) }

// readFlow reads a workflow with its references as they are written.
func readFlow(file string, text []byte) *reader {
	src := source.New(file, text)
	r := &reader{src: src, last: map[string]int{}, names: map[*workflow.Choice]drawnName{}, drawn: map[*workflow.Choice]bool{}}
	r.diagram, r.found = activity.Parse(src)
	r.runs()
	r.words = make([]words, r.diagram.Size)
	r.byID = make(map[string]*node, r.diagram.Size/2)
	r.checkEncoding()
	r.w = &workflow.Workflow{Pos: src.Pos(firstLine(src, r.diagram))}
	r.notes()
	r.heading(file)
	r.lanes()
	r.draw()
	if r.head.handler != nil {
		r.handle(r.head.handler)
	}
	r.w.Body = r.lift()
	r.settle()
	return r
}

// runs turns errors into warnings that only PlantUML refuses: a part of a diagram, as
// documentation shows it, is clear enough to run.
func (r *reader) runs() {
	isPiece := r.diagram.Opener == r.diagram.Closer // it has neither
	for i := range r.found {
		if code := r.found[i].Code; code == activity.CodeLateLane || code == activity.CodeMarker && isPiece {
			r.found[i].Severity = workflow.Warning
		}
	}
}

// checkEncoding reports the first byte that is not valid UTF-8.
func (r *reader) checkEncoding() {
	text := r.src.Bytes
	if utf8.Valid(text) {
		return
	}
	at := 0
	for at < len(text) {
		c, size := utf8.DecodeRune(text[at:])
		if c == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	r.report(workflow.Errorf(r.pos(source.Span{From: at, To: at + 1}), codeEncoding, "save the file as UTF-8", "the file is not valid UTF-8"))
}

// firstLine returns the position for diagnostics about the whole file.
func firstLine(src *source.Text, d *activity.Diagram) source.Span {
	if d.Opener.To > d.Opener.From {
		return d.Opener
	}
	end := slices.Index(src.Bytes, '\n')
	if end < 0 {
		end = len(src.Bytes)
	}
	return source.Span{From: 0, To: min(end, 80)}
}

func (r *reader) report(d workflow.Diagnostic) { r.found = append(r.found, d) }

// ids returns the ids of the nodes of a graph, in the order of steps[0], steps[1] and so on.
func ids(g *workflow.Graph) []string {
	list := make([]string, len(g.Nodes))
	for i := range g.Nodes {
		list[i] = g.Nodes[i].ID
	}
	return list
}

// head is what the notes set for the workflow as a whole.
type head struct {
	words   *strictyaml.Map // nil if there is none
	inputs  *strictyaml.Map // of <<input>> notes
	name    string
	named   bool // keys set the name, which may be empty
	onError workflow.OnError
	handler *target
	docs    []*strictyaml.Document
	notes   []*activity.Note
	lanes   bool // keys list the agents, so that the lanes do not
}

// target is the name of a step, with its position.
type target struct {
	name string
	pos  workflow.Pos
}

// heading finds the name and the description of the workflow. The name is the one in a note,
// otherwise the one after @startuml, otherwise the title, otherwise that of the file. A title
// that is not the name is the description.
func (r *reader) heading(file string) {
	r.readHead()
	d := r.diagram
	title := strings.TrimSpace(d.Title)
	switch {
	case r.head.named:
		r.w.Name = r.head.name
	case d.Name != "":
		r.w.Name, r.w.Pos = d.Name, r.src.Pos(d.NameSpan)
	case title != "":
		r.w.Name, r.w.Pos = title, r.src.Pos(d.TitleSpan)
		return
	default:
		r.w.Name = yaml.NameOf(file)
	}
	if r.w.Description == "" && title != r.w.Name {
		r.w.Description = title
	}
}

// lanes turns the lanes into agents, unless a note lists them.
func (r *reader) lanes() {
	known := map[string]activity.Lane{}
	r.laneAt = map[string]workflow.Pos{}
	for _, l := range r.diagram.Lanes {
		r.laneAt[l.Name] = r.pos(l.Span)
		name := strings.TrimSpace(l.Name)
		bare := strings.ToLower(name)
		if other, ok := known[bare]; ok {
			r.report(workflow.Errorf(r.src.Pos(l.Span), codeLaneTwice,
				"write both as |"+strings.TrimSpace(other.Name)+"|; PlantUML compares names exactly",
				"lane %q is almost the same as %q", l.Name, other.Name))
			continue
		}
		known[bare] = l
		if l.Again != (source.Span{}) {
			r.report(workflow.Warningf(r.src.Pos(l.Again), codeLaneTwice,
				"PlantUML draws the last colour and the last title for the whole lane; write |"+name+"| here, or give one of the two another name",
				"lane %q is defined differently above", l.Name))
		}
		if !r.head.lanes && name != "" {
			a := workflow.AgentRef{Name: name, Color: l.Color, Pos: r.src.Pos(l.Span)}
			if l.Titled {
				a.Title = strings.TrimSpace(l.Label.String())
			}
			r.w.Agents = append(r.w.Agents, a)
		}
	}
}

func (r *reader) pos(s source.Span) workflow.Pos { return r.src.Pos(s) }

// Like reports whether a text contains a diagram of PlantUML, even without its marks: it begins
// like an activity diagram, and has an activity.
func Like(text []byte) bool {
	begun, begins := false, false
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		activity := bytes.HasPrefix(line, []byte(":")) && bytes.HasSuffix(line, []byte(";"))
		switch {
		case bytes.HasPrefix(line, []byte("@startuml")):
			return true
		case !begun && len(line) > 0 && line[0] != '\'':
			lane := line[0] == '|' && line[len(line)-1] == '|'
			begun, begins = true, activity || lane || string(line) == "start" || bytes.HasPrefix(line, []byte("title "))
		}
		if begins && activity {
			return true
		}
	}
	return false
}
