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

// Effect is something that a definition does or may do.
type Effect = project.Effect

// EffectKind is a kind of effect.
type EffectKind = project.EffectKind

// The kinds of effects.
const (
	CommandEffect    = project.CommandEffect
	AddressEffect    = project.AddressEffect
	PermissionEffect = project.PermissionEffect
)

// Review is what a person has to see before approving a definition.
type Review struct {
	Generated
	Workflow *Workflow           // to draw; nil for an agent or a tool
	Meaning  string              // all that the workflow, and those that it calls, say, in canonical form
	Plan     *check.Plan         // the most that a run of it could do and cost; nil for an agent or a tool
	Effects  []Effect            // every command, address and permission
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
		r.Generated = *s.describe(known)
		if err := p.remember(s); err != nil { // somebody may have put the file there
			return nil, err
		}
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
	r.Agents, r.Effects = w.l.Used(), w.l.Effects()
	for _, d := range r.Agents {
		r.Effects = append(r.Effects, p.now().toolEffects(d.Tools)...)
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
		r.Effects = append(s.files.AgentEffects(d), s.toolEffects(d.Tools)...)
	}
	if g.Kind == ToolKind {
		if m, _ := (tool.Generated{Dir: g.Dir, Files: g.Files}).Read(); m != nil {
			r.Effects = toolEffect(m)
		}
	}
}

// toolEffects returns what the tools with some names do.
func (s *snapshot) toolEffects(names []string) (all []Effect) {
	for _, name := range names {
		if m, ok := s.tools.Manifest(name); ok {
			all = append(all, toolEffect(m)...)
		}
	}
	return all
}

func toolEffect(m *tool.Manifest) (all []Effect) {
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
		all = append(all, Effect{Kind: CommandEffect, What: name + " runs " + strings.Join(words, " ")})
	case *tool.Request:
		all = append(all, Effect{Kind: AddressEffect, What: name + " requests " + w.URL})
	case *tool.Search:
		all = append(all, Effect{Kind: AddressEffect, What: name + " requests " + w.URL})
	case nil:
	}
	may := strings.TrimPrefix(m.Permissions.String(), ", ")
	if _, program := m.Work.(*tool.Command); program && len(m.Permissions.Read)+len(m.Permissions.Write) == 0 {
		may = strings.TrimPrefix(may+", and cannot read the project", ", and ")
	}
	if may != "" {
		all = append(all, Effect{Kind: PermissionEffect, What: name + " " + may})
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
