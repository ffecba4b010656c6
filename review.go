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
	PromptEffect     = project.PromptEffect
)

// Review is what a person has to see before approving a definition.
type Review struct {
	Generated
	Workflow *Workflow         `json:"-"`                 // to draw; nil for an agent or a tool
	Meaning  string            `json:"meaning,omitempty"` // all that the workflow, and those that it calls, say, in canonical form
	Plan     *check.Plan       `json:"plan,omitempty"`    // the most that a run of it could do and cost; nil for an agent or a tool
	Effects  []Effect          `json:"effects"`           // every command, address, permission and prompt
	Agents   []ReviewedAgent   `json:"agents"`            // that it uses
	Texts    map[string]string `json:"files,omitempty"`   // of an agent or a tool
	// Covered are the files of the project that its commands name, by name. Of a long one it is the
	// beginning.
	Covered map[string]string    `json:"covered,omitempty"`
	Found   workflow.Diagnostics `json:"-"`
	// Changes are the differences to what was approved before.
	Changes []trust.PartChange `json:"changes"`
	Before  *trust.Verdict     `json:"-"` // that approval; nil: there is none
}

// ReviewedAgent is an agent that a definition uses.
type ReviewedAgent struct {
	Name   string `json:"name"`
	Agent  string `json:"agent"`
	Model  string `json:"model,omitempty"`
	Prompt string `json:"prompt,omitempty"`
}

// Review returns what a person has to see before approving a definition that a model wrote, or a
// workflow of the project by its name. The error is an *[UnknownDefinitionError] if there is none,
// and an *[InvalidError] if it cannot be used.
func (p *Project) Review(id string) (*Review, error) {
	if err := p.Reload(); err != nil {
		return nil, err
	}
	p = p.steady()
	id = p.canonical(id)
	known, err := p.Approvals().Definitions(p.Root())
	if err != nil {
		return nil, err
	}
	s, err := p.subject(id, known)
	if err != nil {
		return nil, err
	}
	r := p.review(s.describe(id, known), s, known)
	r.ID, r.Name = p.spelled(id), p.spelled(id)
	return r, p.remember(s) // somebody may have put the file there
}

// ReviewPlan is Review for a workflow that is not stored in a file yet, such as a new plan of a run.
func (p *Project) ReviewPlan(w *Workflow, id string, o Origin) (*Review, error) {
	known, err := p.Approvals().Definitions(p.Root())
	if err != nil {
		return nil, err
	}
	s := &subject{}
	if s.check(w); w.Model() == nil {
		return nil, &InvalidError{s.found}
	}
	g := &Generated{ID: id, Name: w.Model().Name, Kind: WorkflowKind, Origin: o, Digest: s.parts.Digest()}
	g.State, g.By, g.At = stateOf(id, g.Digest, known)
	return p.review(g, s, known), nil
}

func (p *Project) review(g *Generated, s *subject, known *trust.Definitions) *Review {
	r := &Review{Generated: *g, Found: s.found, Effects: []Effect{}, Agents: []ReviewedAgent{}, Changes: []trust.PartChange{}}
	if s.w != nil {
		r.does(p, s.w, s.parts)
	} else {
		r.about(p.now(), s.g)
	}
	r.Covered = map[string]string{}
	for _, part := range s.parts {
		name, ok := part.File()
		if _, own := r.Texts[name]; own { // it is shown already
			continue
		}
		if ok && part.Hash != "" {
			r.Covered[name] = "(not shown: it contains a secret)"
		} else if ok {
			r.Covered[name] = part.Text
		}
	}
	if v, ok := known.Last(r.ID); ok && !v.Rejected && v.Digest != r.Digest {
		r.Before, r.Changes = &v, readable(s.parts.Diff(v.Parts))
	}
	return r
}

// readable removes the hashes of files from changes if the changes of their texts are there, too.
func readable(changes []trust.PartChange) (all []trust.PartChange) {
	shown := map[string]bool{}
	for _, c := range changes {
		if name, ok := (trust.Part{Name: c.Name}).File(); ok {
			shown[name] = true
		}
	}
	for _, c := range changes {
		if had := len(c.Lines) > 0; had && project.IsFiles(c.Name) {
			c.Lines = slices.DeleteFunc(c.Lines, func(line string) bool { return shown[line[1:max(strings.LastIndexByte(line, ' '), 1)]] })
			if len(c.Lines) == 0 {
				continue
			}
		}
		all = append(all, c)
	}
	return all
}

// does adds what a workflow does. The parts are those that the digest is of.
func (r *Review) does(p *Project, w *Workflow, parts trust.Parts) {
	r.Workflow = w
	for _, part := range parts {
		if project.IsWorkflow(part) {
			r.Meaning += part.Text
		}
	}
	plan := w.Plan(nil)
	r.Plan = &plan
	r.Effects = append(r.Effects, w.l.Effects()...)
	for _, d := range w.l.Used() {
		r.uses(p.now(), d)
	}
}

func (r *Review) uses(s *snapshot, d *agent.Definition) {
	r.Agents = append(r.Agents, ReviewedAgent{d.Name, d.Agent, d.Model, d.Prompt})
	for _, name := range d.Tools {
		if m, ok := s.tools.Manifest(name); ok {
			r.Effects = append(r.Effects, toolEffects(m)...)
		}
	}
}

// about adds what an agent or a tool may do.
func (r *Review) about(s *snapshot, g *project.Generated) {
	r.Texts = map[string]string{}
	for name, text := range g.Files {
		r.Texts[name] = string(text)
	}
	if d := s.files.AgentOf(g); d != nil {
		r.Effects = append(r.Effects, s.files.AgentEffects(d)...)
		r.uses(s, d)
	} else if m, _ := toolOf(g).Read(); m != nil {
		r.Effects = toolEffects(m)
	}
}

// toolEffects returns what a tool does.
func toolEffects(m *tool.Manifest) (all []Effect) {
	name := "the tool " + m.Name
	switch w := m.Work.(type) {
	case *tool.Command:
		all = append(all, Effect{Kind: CommandEffect, What: name + " runs " + strings.Join(w.Words(), " ")})
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
