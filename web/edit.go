package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/draw"
	"github.com/hocket-dev/hocket/server"
	"github.com/hocket-dev/hocket/syntax"
)

// editData is a text in the editor.
type editData struct {
	preview
	Project  string
	Name     string // "": a new workflow
	File     string // its base name
	Path     string // of the page
	Notation string
	Revision string
	Text     string
	Saved    bool
	Problem  string // why it could not be saved
	Theirs   string // what the file contains now, if someone else has changed it
}

// preview is what can be said about a text while it is written.
type preview struct {
	Diagnostics []server.Diagnostic
	Drawing     *drawn // nil: the text cannot be read
	As          []notation
	Converted   string // the text in the notation that was chosen
	Lossy       string // why there is none
}

// preview reads a text and shows it in another notation.
func (s *site) preview(ctx context.Context, project, file, text, as string) (p preview, err error) {
	err = s.WithText(ctx, text, func() (err error) {
		p, err = s.read(ctx, project, file, text, as)
		return err
	})
	return p, err
}

func (s *site) read(ctx context.Context, project, file, text, as string) (preview, error) {
	in := &server.InText{InProject: server.InProject{Project: project}}
	in.Body.File, in.Body.Text = file, text
	loaded, said, err := s.Text(ctx, in)
	if err != nil {
		return preview{}, err
	}
	p := preview{Diagnostics: said.Diagnostics}
	for i := range p.Diagnostics {
		if d := &p.Diagnostics[i]; d.File == file || d.File == "" {
			d.File = "" // the one that is edited
		}
	}
	if as == "" || as == said.Notation {
		as = "yaml"
		if said.Notation == "yaml" {
			as = "mermaid"
		}
	}
	for _, n := range notations {
		if n[0] != said.Notation {
			p.As = append(p.As, notation{Name: n[0], Title: n[1], This: n[0] == as})
		}
	}
	m := loaded.Model()
	if m == nil {
		return p, nil
	}
	if b := loaded.Bundle(); b != nil {
		picture, err := draw.Inline{Bundle: b}.Draw(ctx)
		if err != nil {
			return p, err
		}
		p.Drawing = newDrawn(picture, draw.Look{}, nil)
	}
	if err := ctx.Err(); err != nil { // the person types on
		return p, err
	}
	converted, err := syntax.Format(m, as)
	if p.Converted = string(converted); err != nil {
		p.Lossy = err.Error()
	}
	return p, nil
}

// previewText answers with the parts of the editor that depend on its text, and with nothing else: it is asked
// while a person types.
func (s *site) previewText(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, "the form could not be read", http.StatusBadRequest)
		return
	}
	p, err := s.preview(r.Context(), r.PathValue("project"), r.PostForm.Get("file"), formText(r, "text"), r.PostForm.Get("as"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var parts bytes.Buffer
	if err := s.pages["edit"].ExecuteTemplate(&parts, "preview", p); err != nil {
		http.Error(w, s.Explain(r.Context(), err).Detail, http.StatusInternalServerError)
		return
	}
	send(w, r, http.StatusOK, "text/html; charset=utf-8", reveal(parts.Bytes()))
}

// formText returns a text of a form with the line ends of a file; a form writes others.
func formText(r *http.Request, name string) string {
	return strings.ReplaceAll(r.PostForm.Get(name), "\r\n", "\n")
}

// edit shows the editor with the text of a file.
func (s *site) edit(r *http.Request) (string, any, error) {
	in := &server.InWorkflow{InProject: server.InProject{Project: r.PathValue("project")}, Name: r.PathValue("name")}
	_, shown, err := s.Workflow(r.Context(), in)
	if err != nil {
		return "", nil, err
	}
	d := editData{Project: in.Project, Name: in.Name, File: filepath.Base(shown.File), Path: workflowPath(in.Project, in.Name) + "/edit",
		Notation: shown.Notation, Revision: shown.Revision, Text: shown.Text, Saved: r.URL.Query().Has("saved")}
	d.preview, err = s.preview(r.Context(), in.Project, d.File, d.Text, "")
	var large *server.Problem
	if errors.As(err, &large) { // it can still be edited
		d.Problem, err = large.Detail, nil
	}
	return "Edit " + in.Name, d, err
}

// first is what a new workflow begins with.
const first = `name: new
description: What it is for
inputs:
  topic:
    type: string
    description: What to write about
steps:
  - id: write
    prompt: Write a short text about ${topic}.
`

// firstCommand is what a new workflow begins with on a machine on which no agent works from a prompt.
const firstCommand = `name: new
description: What it is for
steps:
  - id: look
    agent: shell
    config:
      command: date
`

// create shows the editor with a new workflow.
func (s *site) create(r *http.Request) (string, any, error) {
	project, as := r.PathValue("project"), r.URL.Query().Get("as")
	if _, err := s.Definitions(r.Context(), project); err != nil { // is there such a project?
		return "", nil, err
	}
	n, ok := syntax.Named(as)
	if !ok {
		n, _ = syntax.Named("yaml")
	}
	text := first
	if p, err := s.preview(r.Context(), project, "new.yml", first, ""); err == nil && slices.ContainsFunc(p.Diagnostics, func(d server.Diagnostic) bool { return d.Severity == "error" }) {
		text = firstCommand
	}
	if n.Name != "yaml" {
		w, _ := syntax.Parse("new.yml", []byte(text))
		converted, err := n.Format(w)
		if err != nil {
			return "", nil, err
		}
		text = string(converted)
	}
	d := editData{Project: project, File: "new" + n.Endings[0], Path: projectPath(project) + "/new", Notation: n.Name, Text: text}
	var err error
	d.preview, err = s.preview(r.Context(), project, d.File, text, "")
	return "New workflow", d, err
}

// save saves what is in the editor, or shows it again: checked, formatted, or with the reason why it could not be
// saved. Nothing that a person has written is lost.
func (s *site) save(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, "the form could not be read", http.StatusBadRequest)
		return
	}
	project, name := r.PathValue("project"), r.PathValue("name")
	d := editData{Project: project, Name: name, File: r.PostForm.Get("file"), Path: r.URL.Path, Revision: r.PostForm.Get("revision"), Text: formText(r, "text")}
	if name == "" {
		name = strings.TrimSuffix(d.File, filepath.Ext(d.File))
	}
	if n, ok := syntax.ByEnding(d.File); ok {
		d.Notation = n.Name
	}
	in := &server.InWorkflow{InProject: server.InProject{Project: project}, Name: name}
	status := http.StatusOK
	switch r.PostForm.Get("do") {
	case "format":
		err := s.WithText(r.Context(), d.Text, func() error {
			text, found, err := server.Format(r.Context(), d.File, d.Text)
			if err == nil && found.Errors() {
				d.Problem = "a text with mistakes is not formatted"
			} else if err == nil {
				d.Text = string(text)
			}
			return err
		})
		if err != nil {
			p := s.Explain(r.Context(), err)
			status, d.Problem = p.Status, p.Detail
		}
	case "check":
	default:
		_, err := s.Save(r.Context(), in, d.Text, d.Revision, d.File)
		if err == nil {
			http.Redirect(w, r, workflowPath(project, name)+"/edit?saved", http.StatusSeeOther)
			return
		}
		p := s.Explain(r.Context(), err)
		status, d.Problem = p.Status, p.Detail
		var changed *hocket.RevisionError
		if errors.As(err, &changed) && !changed.Exists {
			if _, now, err := s.Workflow(r.Context(), in); err == nil {
				d.Theirs, d.Revision = now.Text, now.Revision
			}
		} else if p.Hint != "" {
			d.Problem += ": " + p.Hint
		}
	}
	var err error
	if d.preview, err = s.preview(r.Context(), project, d.File, d.Text, r.PostForm.Get("as")); err != nil && d.Problem == "" {
		p := s.Explain(r.Context(), err)
		status, d.Problem = p.Status, p.Detail
	}
	s.render(w, r, status, "edit", "Edit "+name, d)
}
