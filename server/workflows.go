package server

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/draw"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/syntax/complete"
	"github.com/hocket-dev/hocket/workflow"
)

// WorkflowLine is a workflow in a list.
type WorkflowLine struct {
	Name       string `json:"name"`
	Title      string `json:"title,omitempty" doc:"Its description"`
	File       string `json:"file" doc:"Relative to the project"`
	Notation   string `json:"notation" enum:"yaml,xml,mermaid,plantuml,json,"`
	Digest     string `json:"digest,omitempty"`
	Steps      int    `json:"steps"`
	Valid      bool   `json:"valid"`
	Problem    string `json:"problem,omitempty" doc:"The first error"`
	Unapproved bool   `json:"unapproved,omitempty" doc:"A model wrote it, and nobody has approved it"`
}

// Workflow is a workflow with its text and what can be said about it.
type Workflow struct {
	WorkflowLine
	Text        string       `json:"text"`
	Revision    string       `json:"revision" doc:"Of the text, to save it later"`
	Inputs      []Input      `json:"inputs"`
	Agents      []string     `json:"agents" doc:"The agents that it uses"`
	Abilities   string       `json:"abilities,omitempty" doc:"What a run may do on this machine"`
	Diagnostics []Diagnostic `json:"diagnostics"`
	Plan        *Plan        `json:"plan,omitempty" doc:"The most that a run would do; absent if the workflow has errors"`
}

// Input is an input of a workflow.
type Input struct {
	Name        string `json:"name"`
	Type        string `json:"type" doc:"As in JSON Schema; empty: any value" enum:"string,number,integer,boolean,array,object,"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required"`
	Default     any    `json:"default,omitempty"`
}

// Plan is the most that a run would do and cost.
type Plan struct {
	Least    int        `json:"least" doc:"How many tasks start if nothing fails"`
	Steps    *float64   `json:"steps" doc:"At most so many tasks start; null: unknown"`
	Parallel *float64   `json:"parallel" doc:"At most so many at the same time"`
	Tokens   *float64   `json:"tokens"`
	CostUSD  *float64   `json:"cost_usd"`
	Unknown  []string   `json:"unknown" doc:"Why a bound is not known"`
	Limits   Limits     `json:"limits" doc:"Where the run stops"`
	Nodes    []PlanNode `json:"nodes"`
}

// PlanNode is a node of a workflow in a plan.
type PlanNode struct {
	Workflow string   `json:"workflow"`
	ID       string   `json:"id"`
	Kind     string   `json:"kind"`
	Uses     string   `json:"uses,omitempty"`
	Times    *float64 `json:"times" doc:"At most so often; null: unknown"`
}

// Limits are limits of a run. Zero means that the limit of the workflow or the project applies.
type Limits struct {
	Steps    int     `json:"steps,omitempty" minimum:"0"`
	Parallel int     `json:"parallel,omitempty" minimum:"0"`
	Depth    int     `json:"depth,omitempty" minimum:"0"`
	Seconds  float64 `json:"seconds,omitempty" minimum:"0" maximum:"31536000" doc:"Working time"`
	CostUSD  float64 `json:"cost_usd,omitempty" minimum:"0"`
	Tokens   int64   `json:"tokens,omitempty" minimum:"0"`
	Replans  int     `json:"replans,omitempty" minimum:"0"`
}

func (a *api) addWorkflows() {
	const tag = "Workflows"
	add(a, op{id: "list-workflows", method: http.MethodGet, path: "/projects/{project}/workflows", scope: Read, tag: tag, summary: "List the workflows of a project", errors: []int{404}},
		func(ctx context.Context, in *InProject) (*reply[[]WorkflowLine], error) {
			all, err := a.Workflows(ctx, in.Project)
			return say(all), err
		})
	add(a, op{id: "show-workflow", method: http.MethodGet, path: "/projects/{project}/workflows/{name}", scope: Read, tag: tag, summary: "Show a workflow, its text, inputs, diagnostics and plan", errors: []int{404}},
		func(ctx context.Context, in *InWorkflow) (*reply[Workflow], error) {
			_, one, err := a.Workflow(ctx, in)
			return say(one), err
		})
	add(a, op{id: "save-workflow", method: http.MethodPut, path: "/projects/{project}/workflows/{name}", scope: Admin, tag: tag, summary: "Save the text of a workflow",
		detail: "The revision is that of the text that was edited, or empty for a new workflow. If the file has changed since, nothing is saved. A text with errors is saved, too: it cannot run.", errors: []int{404, 409, 422}},
		func(ctx context.Context, in *struct {
			InWorkflow
			Body struct {
				Text     string `json:"text" maxLength:"2000000"`
				Revision string `json:"revision" doc:"Of the text that was edited; empty for a new workflow" maxLength:"100"`
				File     string `json:"file,omitempty" doc:"The name of a new file, with the ending of its notation" maxLength:"200"`
			}
		}) (*reply[Workflow], error) {
			one, err := a.Save(ctx, &in.InWorkflow, in.Body.Text, in.Body.Revision, in.Body.File)
			return say(one), err
		})
	add(a, op{id: "draw-workflow", method: http.MethodGet, path: "/projects/{project}/workflows/{name}/graph", scope: Read, tag: tag, summary: "Draw a workflow", errors: []int{404, 422}},
		func(ctx context.Context, in *struct {
			InWorkflow
			AsDrawing
		}) (*rawBody, error) {
			_, w, err := a.load(ctx, in.Project, in.Name)
			if err != nil {
				return nil, err
			}
			if w.Model() == nil {
				return nil, &hocket.InvalidError{Diagnostics: w.Diagnostics()}
			}
			return in.draw(ctx, w.Model())
		})
	add(a, op{id: "check-text", method: http.MethodPost, path: "/projects/{project}/check", scope: Read, tag: tag, summary: "Check a text as a workflow of the project, without saving it", errors: []int{404, 413}},
		func(ctx context.Context, in *InText) (out *reply[Workflow], err error) {
			err = a.WithText(ctx, in.Body.Text, func() error {
				_, one, err := a.Text(ctx, in)
				out = say(one)
				return err
			})
			return out, err
		})
	add(a, op{id: "complete-text", method: http.MethodPost, path: "/projects/{project}/complete", scope: Read, tag: tag, summary: "List what can be written at a place of a text",
		detail: "Keys, agents, steps and references, as an editor offers them.", errors: []int{404, 413}},
		func(ctx context.Context, in *struct {
			InProject
			Body struct {
				TextBody
				Offset int `json:"offset" doc:"In bytes" minimum:"0"`
			}
		}) (out *reply[Completed], err error) {
			p, err := a.project(ctx, in.Project)
			if err != nil {
				return nil, err
			}
			text := in.Body.Text
			at := min(in.Body.Offset, len(text))
			err = a.WithText(ctx, text, func() error {
				from, found := complete.At(in.Body.File, []byte(text), at, namesIn(p))
				out = say(Completed{text[from:at], append([]complete.Suggestion{}, found...)})
				return nil
			})
			return out, err
		})
	add(a, op{id: "draw-text", method: http.MethodPost, path: "/projects/{project}/graph", scope: Read, tag: tag, summary: "Draw a text", errors: []int{404, 413, 422}},
		func(ctx context.Context, in *struct {
			InText
			AsDrawing
		}) (out *rawBody, err error) {
			err = a.WithText(ctx, in.Body.Text, func() error {
				_, w, err := a.loadText(ctx, &in.InText)
				if err != nil {
					return err
				}
				if w.Model() == nil {
					return &hocket.InvalidError{Diagnostics: w.Diagnostics()}
				}
				out, err = in.draw(ctx, w.Model())
				return err
			})
			return out, err
		})
	add(a, op{id: "convert-text", method: http.MethodPost, path: "/projects/{project}/convert", scope: Read, tag: tag, summary: "Convert a text to another notation, or format it in its own", errors: []int{404, 413, 422}},
		func(ctx context.Context, in *struct {
			InText
			To string `query:"to" doc:"Empty: its own notation, with comments kept" enum:"yaml,xml,mermaid,plantuml,"`
		}) (out *reply[Converted], err error) {
			err = a.WithText(ctx, in.Body.Text, func() (err error) {
				out, err = convert(ctx, in.Body.File, in.Body.Text, in.To)
				return err
			})
			return out, err
		})
}

// Workflows returns the workflows of a project.
func (s *Server) Workflows(ctx context.Context, project string) ([]WorkflowLine, error) {
	p, err := s.project(ctx, project)
	if err != nil {
		return nil, err
	}
	_ = p.Reload()
	own := p.Workflows()
	all := []WorkflowLine{}
	for i, name := range slices.Concat(own, p.GeneratedWorkflows()) {
		line := WorkflowLine{Name: name}
		w, err := p.LoadNamed(name)
		if err == nil {
			line.fill(p, w)
			if i >= len(own) {
				state, wrong := w.State()
				line.Unapproved, err = state != hocket.Approved, wrong
			}
		}
		if err != nil {
			line.Problem = err.Error()
		}
		all = append(all, line)
	}
	return all, nil
}

// HasWorkflow reports whether a project has a workflow with this name. Runs of other files, tasks and handoffs have names, too.
func (s *Server) HasWorkflow(project, name string) bool {
	for _, p := range s.projects {
		if p.name == project {
			return slices.Contains(p.Workflows(), name) || slices.Contains(p.GeneratedWorkflows(), name)
		}
	}
	return false
}

// Workflow returns a workflow of a project, and what the API says about it.
func (s *Server) Workflow(ctx context.Context, in *InWorkflow) (*hocket.Workflow, Workflow, error) {
	p, w, err := s.load(ctx, in.Project, in.Name)
	if err != nil {
		return nil, Workflow{}, err
	}
	one, err := describeWorkflow(p, in.Name, w)
	return w, one, err
}

// Text returns what the API says about a text that is not saved. Call it in WithText.
func (s *Server) Text(ctx context.Context, in *InText) (*hocket.Workflow, Workflow, error) {
	p, w, err := s.loadText(ctx, in)
	if err != nil {
		return nil, Workflow{}, err
	}
	w.Check(nil)
	if err := ctx.Err(); err != nil {
		return nil, Workflow{}, err
	}
	one, err := describeText(p, in.Body.File, in.Body.Text, w)
	for i := range one.Diagnostics {
		if d := &one.Diagnostics[i]; d.File == unsaved+"/"+in.Body.File {
			d.File = in.Body.File
		}
	}
	if one.File != "" {
		one.File = in.Body.File
	}
	return w, one, err
}

// Save saves the text of a workflow. revision is that of the text that was edited; if it is empty, the
// workflow is new and file is the name of its file.
func (s *Server) Save(ctx context.Context, in *InWorkflow, text, revision, file string) (Workflow, error) {
	p, err := s.project(ctx, in.Project)
	if err != nil {
		return Workflow{}, err
	}
	name, err := p.SaveWorkflow(in.Name, file, []byte(text), revision)
	if err != nil {
		return Workflow{}, err
	}
	w, err := p.Load(name)
	if err != nil {
		return Workflow{}, err
	}
	return describeWorkflow(p, name, w)
}

// InWorkflow names a workflow of a project.
type InWorkflow struct {
	InProject
	Name string `path:"name" doc:"The name of the workflow" maxLength:"200"`
}

// InText is a text that is not saved.
type InText struct {
	InProject
	Body TextBody
}

// TextBody is a text and the name of its file.
type TextBody struct {
	File string `json:"file" doc:"Its file name, with the ending of the notation" maxLength:"200" example:"review.yml"`
	Text string `json:"text"`
}

// namesIn returns what a workflow of a project can use.
func namesIn(p served) complete.Names {
	n := complete.Names{Agents: p.Agents().Names(), Workflows: p.Workflows()}
	for _, t := range p.Prompts() {
		n.Templates = append(n.Templates, t.Name)
	}
	return n
}

// Completed is what can be written at a place.
type Completed struct {
	Word        string                `json:"word" doc:"The word before the place, which the suggestions continue"`
	Suggestions []complete.Suggestion `json:"suggestions"`
}

// rawBody is a body that is encoded already: a drawing, a text, JSON.
type rawBody struct {
	Type string `header:"Content-Type"`
	Body []byte
}

// AsDrawing is how a workflow is drawn.
type AsDrawing struct {
	As   string `query:"as" enum:"tree,json,mermaid,plantuml,dot,svg" default:"json"`
	Fold int    `query:"fold" doc:"Draw more than this many steps of the same kind with the same edges as one; 0: never. json always has all" minimum:"0" maximum:"100000"`
}

func (d AsDrawing) draw(ctx context.Context, w *workflow.Workflow) (*rawBody, error) {
	if d.As == "json" {
		text, err := syntax.Format(w, d.As)
		return &rawBody{"application/json", text}, err
	}
	kind := "text/plain; charset=utf-8"
	if d.As == "svg" {
		kind = "image/svg+xml"
	}
	text, err := draw.Draw(ctx, w, d.As, draw.Fold{Over: d.Fold})
	return &rawBody{kind, []byte(text)}, err
}

// Converted is a text in another notation.
type Converted struct {
	Notation string          `json:"notation"`
	Text     string          `json:"text"`
	Report   []ConvertedPart `json:"report" doc:"What the notation has no form of its own for"`
}

// ConvertedPart is how a part of a workflow is written in a notation.
type ConvertedPart struct {
	Node string `json:"node,omitempty"`
	What string `json:"what"`
	How  string `json:"how" enum:"carried,rejected"`
	Note string `json:"note,omitempty"`
}

func convert(ctx context.Context, file, text, to string) (*reply[Converted], error) {
	if to == "" {
		n, ok := syntax.Of(file, []byte(text))
		formatted, found, err := Format(ctx, file, text)
		if err != nil {
			return nil, err
		}
		if found.Errors() || !ok {
			return nil, &hocket.InvalidError{Diagnostics: found}
		}
		return say(Converted{n.Name, string(formatted), []ConvertedPart{}}), nil
	}
	w, found := syntax.Parse(file, []byte(text))
	if err := fits(ctx, w); err != nil {
		return nil, err
	}
	if w == nil || found.Errors() {
		return nil, &hocket.InvalidError{Diagnostics: found}
	}
	n, _ := syntax.Named(to) // one of the enumerated
	out := Converted{Notation: n.Name, Report: []ConvertedPart{}}
	for _, it := range syntax.Fidelity(w, n) {
		if it.How != syntax.Exact {
			out.Report = append(out.Report, ConvertedPart{it.Node, it.Construct, string(it.How), it.Note})
		}
	}
	converted, err := n.Format(w)
	if err != nil {
		return nil, invalidRequest(http.StatusUnprocessableEntity, err.Error())
	}
	out.Text = string(converted)
	return say(out), nil
}

// load loads a workflow of a project by its name.
func (s *Server) load(ctx context.Context, project, name string) (served, *hocket.Workflow, error) {
	p, err := s.project(ctx, project)
	if err != nil {
		return p, nil, err
	}
	_ = p.Reload()
	w, err := p.LoadNamed(name)
	return p, w, err
}

// unsaved is where a text would be saved.
const unsaved = ".hocket/workflows"

func (s *Server) loadText(ctx context.Context, in *InText) (served, *hocket.Workflow, error) {
	p, err := s.project(ctx, in.Project)
	if err != nil {
		return p, nil, err
	}
	if base := filepath.Base(in.Body.File); base != in.Body.File {
		return p, nil, invalidRequest(http.StatusUnprocessableEntity, "invalid file name "+quote(in.Body.File)+": expected a name without a directory")
	}
	// As if it were saved: the files that it names are those of the project, wherever the server was started.
	w, err := p.LoadText(filepath.Join(p.Root(), unsaved, in.Body.File), []byte(in.Body.Text))
	if err == nil {
		err = fits(ctx, w.Model())
	}
	return p, w, err
}

func (l *WorkflowLine) fill(p served, w *hocket.Workflow) {
	found := w.Check(nil)
	l.Valid = w.Model() != nil && !found.Errors()
	for _, d := range found {
		if d.Severity == workflow.Error {
			d.Pos.File = inside(p.Root(), d.Pos.File)
			l.Problem = d.String()
			break
		}
	}
	if m := w.Model(); m != nil {
		l.Title, l.Digest, l.File = m.Description, workflow.Digest(m), inside(p.Root(), m.Pos.File)
		m.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
			if n.Body() == nil { // the nodes in it are counted
				l.Steps++
			}
		})
		if n, ok := syntax.ByEnding(m.Pos.File); ok {
			l.Notation = n.Name
		}
	}
}

// inside returns the path of a file relative to the project.
func inside(root, file string) string {
	if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.Base(file)
}

func describeWorkflow(p served, name string, w *hocket.Workflow) (Workflow, error) {
	file, text, revision, err := p.Source(name)
	if err != nil {
		return Workflow{}, err
	}
	one, err := describeText(p, file, string(text), w)
	one.Name, one.File, one.Revision = name, inside(p.Root(), file), revision
	return one, err
}

func describeText(p served, file, text string, w *hocket.Workflow) (Workflow, error) {
	one := Workflow{Text: text, Inputs: []Input{}, Agents: []string{}}
	one.fill(p, w)
	if n, ok := syntax.Of(file, []byte(text)); ok {
		one.Notation = n.Name
	}
	one.Diagnostics = diagnosticsOf(w.Check(nil))
	for i := range one.Diagnostics {
		if one.Diagnostics[i].File != "" {
			one.Diagnostics[i].File = inside(p.Root(), one.Diagnostics[i].File)
		}
	}
	m := w.Model()
	if m == nil {
		return one, nil
	}
	one.Name = m.Name
	for _, in := range m.Inputs {
		one.Inputs = append(one.Inputs, Input{in.Name, string(in.Type), in.Description, in.Required, in.Default})
	}
	m.Body.WalkTasks(func(_ *workflow.Node, t *workflow.Task) {
		if t.Agent != "" && !slices.Contains(one.Agents, t.Agent) {
			one.Agents = append(one.Agents, t.Agent)
		}
	})
	if one.Valid {
		one.Abilities = w.Abilities(nil)
		plan := w.Plan(nil)
		one.Plan = planOf(&plan)
	}
	return one, nil
}

func planOf(p *check.Plan) *Plan {
	out := &Plan{Least: p.Least, Steps: amount(p.Steps), Parallel: amount(p.Parallel), Tokens: amount(p.Tokens), CostUSD: amount(p.CostUSD),
		Unknown: append([]string{}, p.Open...), Limits: limitsOf(p.Limits), Nodes: []PlanNode{}}
	for _, w := range p.Workflows {
		for _, n := range w.Nodes {
			out.Nodes = append(out.Nodes, PlanNode{w.Name, n.ID, n.Kind, n.Uses, amount(n.Times)})
		}
	}
	return out
}

func amount(b workflow.Bound) *float64 {
	if n, ok := b.Amount(); ok {
		return &n
	}
	return nil
}

func quote(name string) string {
	if len(name) > 100 {
		name = strings.ToValidUTF8(name[:100], "") + "…"
	}
	return `"` + name + `"`
}
