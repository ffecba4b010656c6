package web

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/draw"
	"github.com/hocket-dev/hocket/server"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

type workflowData struct {
	server.Workflow
	Project  string
	Path     string
	Drawing  *drawn // nil: it has errors
	Fields   []field
	Notation string // of the text that is shown
	As       []notation
	Shown    string              // the text in that notation
	Problem  string              // why it cannot be written in that notation
	Key      string              // so that a form that is sent twice starts one run
	Wrong    []server.Diagnostic // with the inputs that were sent
	Recent   []server.RunLine

	query url.Values // what was chosen
}

// notation is one in which the workflow can be shown.
type notation struct {
	Name, Title string
	This, Own   bool
}

// field is an input in a form.
type field struct {
	server.Input
	Value string // the default as text, or what a person has written
	Wrong string // what is wrong with it
	JSON  bool   // the value is written as JSON
	Area  bool   // it may be long
}

var notations = [][2]string{{"yaml", "YAML"}, {"xml", "XML"}, {"mermaid", "Markdown"}, {"plantuml", "PlantUML"}}

// In returns the address of this page with another notation.
func (d workflowData) In(notation string) string { return linker(d.query, "as")(notation) }

func (s *site) workflow(r *http.Request) (string, any, error) {
	d, err := s.workflowData(r)
	return d.Name, d, err
}

func (s *site) workflowData(r *http.Request) (d workflowData, err error) {
	in := &server.InWorkflow{InProject: server.InProject{Project: r.PathValue("project")}, Name: r.PathValue("name")}
	loaded, shown, err := s.Workflow(r.Context(), in)
	if err != nil {
		return d, err
	}
	d = workflowData{Workflow: shown, Project: in.Project, Path: workflowPath(in.Project, in.Name), Shown: shown.Text, Notation: r.URL.Query().Get("as"), Key: newKey(), query: chosen(r.URL.Query())}
	if d.Notation == "" {
		d.Notation = shown.Notation
	}
	for _, n := range notations {
		d.As = append(d.As, notation{n[0], n[1], n[0] == d.Notation, n[0] == shown.Notation})
	}
	m := loaded.Model()
	if m == nil {
		d.Notation = shown.Notation
	}
	if m != nil && d.Notation != shown.Notation {
		text, err := syntax.Format(m, d.Notation)
		if d.Shown = string(text); err != nil {
			d.Problem = err.Error()
		}
	}
	if loaded.Bundle() != nil { // also with errors
		picture, err := s.picture(r.Context(), draw.Inline{Bundle: loaded.Bundle()}, r.URL.Query()["unfold"])
		if err != nil {
			return d, err
		}
		d.Drawing = newDrawn(picture, draw.Look{}, d.query)
	}
	given := map[string]any{}
	if from := r.URL.Query().Get("run"); from != "" { // with the inputs of that run
		if given, err = s.Inputs(r.Context(), &server.InRun{InProject: in.InProject, Run: from}); err != nil {
			return d, err
		}
	}
	for _, i := range shown.Inputs {
		if v, ok := given[i.Name]; ok {
			i.Default = v
		}
		f := field{Input: i, JSON: i.Type == "array" || i.Type == "object" || i.Type == "", Area: i.Type == "array" || i.Type == "object"}
		switch v := i.Default.(type) {
		case nil:
		case string:
			if f.Value = v; i.Type == "" {
				f.Value = workflow.FormatJSON(v)
			}
		default:
			f.Value = workflow.FormatJSON(v)
		}
		d.Fields = append(d.Fields, f)
	}
	runs, err := s.Runs(r.Context(), &server.ListRuns{InProject: in.InProject, Paged: server.Paged{Limit: 10}, Workflow: shown.Name})
	d.Recent = runs.Items
	return d, err
}

// start starts a run with the inputs of a form, or shows the form again with what is wrong.
func (s *site) start(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, "the form could not be read", http.StatusBadRequest)
		return
	}
	next, err := s.startForm(r)
	if err == nil {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return
	}
	var invalid *hocket.InvalidError
	d, failed := s.workflowData(r)
	if !errors.As(err, &invalid) || failed != nil {
		s.fail(w, r, err)
		return
	}
	p := s.Explain(r.Context(), err)
	d.Wrong, d.Key = p.Diagnostics, r.PostForm.Get("key")
	for i := range d.Fields {
		f := &d.Fields[i]
		f.Value = r.PostForm.Get("input." + f.Name)
		for _, one := range d.Wrong {
			if strings.Contains(one.Summary, strconv.Quote(f.Name)) {
				f.Wrong = one.Summary
			}
		}
	}
	s.render(w, r, p.Status, "workflow", d.Name, d)
}

// startForm starts a run with the inputs of a form. An empty field is an input that is not given.
func (s *site) startForm(r *http.Request) (string, error) {
	in := &server.InWorkflow{InProject: server.InProject{Project: r.PathValue("project")}, Name: r.PathValue("name")}
	_, shown, err := s.Workflow(r.Context(), in)
	if err != nil {
		return "", err
	}
	what := &server.StartRun{Workflow: in.Name, Inputs: server.Inputs{}}
	for _, i := range shown.Inputs {
		text := formText(r, "input."+i.Name)
		switch {
		case i.Type == "boolean":
			what.Inputs[i.Name] = text != ""
		case text == "":
		case i.Type == "string":
			what.Inputs[i.Name] = text
		default:
			what.Inputs[i.Name] = valueOf(text)
		}
	}
	line, err := s.Start(r.Context(), in.Project, formKey(r), what)
	return runPath(line.Project, line.ID), err
}

// valueOf reads a value that is written as JSON. What is no JSON is a text: the host says whether it fits.
func valueOf(text string) any {
	if v, err := workflow.ParseJSON([]byte(text)); err == nil {
		return v
	}
	return text
}
