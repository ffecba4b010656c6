package hocket

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/tool"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// Deed is something that a definition does or may do.
type Deed = project.Deed

// DeedKind is a kind of deed.
type DeedKind = project.DeedKind

// The kinds of deeds.
const (
	CommandDeed    = project.CommandDeed
	AddressDeed    = project.AddressDeed
	PermissionDeed = project.PermissionDeed
)

// Review is what a person has to see before approving a definition.
type Review struct {
	Generated
	Workflow *Workflow           // to draw; nil for an agent or a tool
	Meaning  string              // all that the workflow, and those that it calls, say, in canonical form
	Plan     *check.Plan         // the most that a run of it could do and cost; nil for an agent or a tool
	Deeds    []Deed              // every command, address and permission
	Agents   []*agent.Definition // that it uses, with their prompts
	Texts    map[string]string   // the files of an agent or a tool
	Found    workflow.Diagnostics
	// Changes are the differences to what was approved before; nil: nothing was.
	Changes []trust.PartChange
	Before  *trust.Verdict // that approval
}

// Review returns what a person has to see before approving a definition that a model wrote, or a
// workflow of the project by its name. The error is an *[UnknownDefinitionError] if there is none,
// and an *[InvalidError] if it cannot be used.
func (p *Project) Review(id string) (*Review, error) {
	if err := p.Reload(); err != nil {
		return nil, err
	}
	p = p.steady()
	known, err := p.Approvals().Definitions(p.Root())
	if err != nil {
		return nil, err
	}
	s, err := p.subject(id)
	if err != nil {
		return nil, err
	}
	r := &Review{Generated: Generated{ID: id, Name: id, Kind: WorkflowKind}}
	if s.g != nil {
		r.Generated = *p.describe(s.g, known)
	}
	if s.w != nil {
		r.does(p, s.w, s.parts)
	} else {
		r.about(p.now(), s.g)
	}
	r.Digest = s.parts.Digest()
	r.State, r.By, r.At = stateOf(id, r.Digest, known)
	if v, ok := known.Last(id); ok && !v.Rejected && v.Digest != r.Digest {
		r.Before, r.Changes = &v, s.parts.Diff(v.Parts)
	}
	return r, nil
}

// ReviewPlan is Review for a workflow that is not stored in a file yet, such as a new plan of a run.
func (p *Project) ReviewPlan(w *Workflow, id string, o Origin) (*Review, error) {
	parts, err := w.parts()
	if err != nil {
		return nil, err
	}
	known, err := p.Approvals().Definitions(p.Root())
	if err != nil {
		return nil, err
	}
	r := &Review{Generated: Generated{ID: id, Name: w.Model().Name, Kind: WorkflowKind, Origin: o, Digest: parts.Digest()}}
	r.does(p, w, parts)
	r.File = "" // there is none
	r.State, r.By, r.At = stateOf(id, r.Digest, known)
	return r, nil
}

// does adds what a workflow does. The parts are those that the digest is of.
func (r *Review) does(p *Project, w *Workflow, parts trust.Parts) {
	r.Workflow = w
	for _, part := range parts {
		if project.IsWorkflow(part) {
			r.Meaning += part.Text
		}
	}
	r.File = w.Model().Pos.File
	r.Found = w.Check(nil)
	plan := w.Plan(nil)
	r.Plan = &plan
	r.Agents, r.Deeds = w.l.Used(), w.l.Deeds()
	for _, d := range r.Agents {
		r.Deeds = append(r.Deeds, p.now().toolDeeds(d.Tools)...)
	}
}

// about adds what an agent or a tool may do.
func (r *Review) about(s *snapshot, g *project.Generated) {
	r.Found, r.Texts = r.Diagnostics, map[string]string{}
	for name, text := range g.Files {
		r.Texts[name] = string(text)
	}
	if d := s.files.AgentOf(g); d != nil {
		r.Agents = []*agent.Definition{d}
		r.Deeds = append(s.files.AgentDeeds(d), s.toolDeeds(d.Tools)...)
	}
	if g.Kind == ToolKind {
		if m, _ := (tool.Generated{Dir: g.Dir, Files: g.Files}).Read(); m != nil {
			r.Deeds = toolDeed(m)
		}
	}
}

// toolDeeds returns what the tools with some names do.
func (s *snapshot) toolDeeds(names []string) (all []Deed) {
	for _, name := range names {
		if m, ok := s.tools.Manifest(name); ok {
			all = append(all, toolDeed(m)...)
		}
	}
	return all
}

func toolDeed(m *tool.Manifest) (all []Deed) {
	name := "the tool " + m.Name
	switch w := m.Work.(type) {
	case *tool.Command:
		words := slices.Clone(w.Argv)
		for _, arg := range w.Args {
			words = append(words, workflow.FormatText(arg))
		}
		if w.File != "" {
			words = append(words, w.File)
		}
		all = append(all, Deed{Kind: CommandDeed, What: name + " runs " + strings.Join(words, " ")})
	case *tool.Request:
		all = append(all, Deed{Kind: AddressDeed, What: name + " requests " + w.URL})
	case *tool.Search:
		all = append(all, Deed{Kind: AddressDeed, What: name + " requests " + w.URL})
	case nil:
	}
	if may := strings.TrimPrefix(m.Permissions.String(), ", "); may != "" {
		all = append(all, Deed{Kind: PermissionDeed, What: name + " " + may})
	}
	return all
}

// CheckChange finds what a model may not write in a workflow that it changed: the restrictions
// apply to the steps that are new, or that differ from those in old. Limits of the workflow
// itself must not be higher than before.
func (w *Workflow) CheckChange(old *workflow.Workflow) workflow.Diagnostics {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.l.Bundle.Root == nil {
		return w.l.Diagnostics
	}
	return w.l.CheckChange(old)
}
