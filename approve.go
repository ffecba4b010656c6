package hocket

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/tool"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// Approve records that a person has seen a definition with a digest and allows its use: one that a
// model wrote, or a workflow of the project by its name. The caller makes sure that it is a person.
// The error is a *[ChangedError] if the definition is no longer what the person saw, and a
// *[DecidedError] if someone has already approved or rejected it.
func (p *Project) Approve(_ context.Context, id, digest string) error {
	return p.approveSeen(id, digest, false)
}

// ApproveRejected is Approve for a definition of which the person saw that it was rejected before.
func (p *Project) ApproveRejected(_ context.Context, id, digest string) error {
	return p.approveSeen(id, digest, true)
}

func (p *Project) approveSeen(id, digest string, rejected bool) error {
	err := p.changeDefinitions(func(p *Project, d *trust.Definitions) error {
		id := p.canonical(id)
		s, err := p.subject(id, d)
		if err != nil {
			return err
		}
		if v, ok := d.Approved(digest); s.parts.Digest() == digest && (ok || v.Rejected && !rejected) {
			return &DecidedError{ID: p.spelled(id), Verdict: v}
		}
		return p.approve(d, id, digest, s.parts)
	})
	if err != nil {
		return err
	}
	return p.Reload() // agents and tools can be used from now on
}

// canonical returns the name under which decisions about a definition are stored, however a person
// spells it: a workflow of the project has a name and a path.
func (p *Project) canonical(id string) string {
	if g := p.meant(id); g != nil {
		return p.idOf(g)
	}
	if w, err := p.Load(id); err == nil && w.Model() != nil {
		return p.idOfWorkflow(w)
	}
	if p.isPath(id) && !p.now().files.AtRoot() {
		return cmp.Or(p.pathOf(p.now().files.Named(id)), id)
	}
	return id
}

// spelled returns the name of a definition, as canonical returns it, as a person has to type it here: paths that
// are stored begin at the root of the project.
func (p *Project) spelled(id string) string {
	if !p.isPath(id) || p.meant(id) != nil {
		return id
	}
	return p.now().files.Spell(id)
}

// isPath reports whether the name of a definition is the path of a file.
func (p *Project) isPath(id string) bool {
	return filepath.Base(id) != id || syntax.IsWorkflow(id) || filepath.Ext(id) != "" && !p.now().files.Has(id)
}

// idOfWorkflow returns the name under which decisions about a workflow are stored.
func (p *Project) idOfWorkflow(w *Workflow) string {
	if w.l.Generated != nil {
		return p.idOf(w.l.Generated)
	}
	return p.nameOf(w.Model())
}

// idOf returns the name by which people find a definition that a model wrote: its path if a workflow
// of the project, or a file, has the same name.
func (p *Project) idOf(g *project.Generated) string {
	if files := p.now().files; files.Has(g.ID) || files.IsFile(g.ID) {
		return project.GeneratedPath(g.ID, g.File)
	}
	return g.ID
}

// meant returns the definition that a model wrote and that a person means, nil if it is another one. A
// name that a workflow of the project has as well means neither.
func (p *Project) meant(id string) *project.Generated {
	all := p.now().generated
	i := slices.IndexFunc(all, func(g *project.Generated) bool { return g.ID == id || project.GeneratedPath(g.ID, g.File) == id })
	if i < 0 || all[i].ID == id && p.idOf(all[i]) != id {
		return nil
	}
	return all[i]
}

// unambiguous returns an *[InvalidError] if a definition of a model and a workflow of the project, or a
// file, have the name.
func (p *Project) unambiguous(id string) error {
	if p.now().definition(id) == nil || p.meant(id) != nil {
		return nil
	}
	w, err := p.Load(id)
	if err != nil {
		return err
	}
	return &InvalidError{w.Diagnostics()}
}

// ApprovePlan is Approve for a workflow that is not stored in a file yet, see [Project.ReviewPlan].
func (p *Project) ApprovePlan(w *Workflow, id, digest string) error {
	parts, err := w.parts()
	if err != nil {
		return err
	}
	return p.changeDefinitions(func(p *Project, d *trust.Definitions) error { return p.approve(d, id, digest, parts) })
}

// approve adds an approval of parts, if their digest is the one that the person saw.
func (p *Project) approve(d *trust.Definitions, id, digest string, parts trust.Parts) error {
	if now := parts.Digest(); now != digest {
		return &ChangedError{p.spelled(id), digest, now}
	}
	if _, ok := d.Approved(digest); !ok {
		d.Verdicts = append(d.Verdicts, trust.Verdict{ID: id, Digest: digest, Parts: parts, At: time.Now().UTC(), By: p.owner.By})
	}
	return nil
}

// changeDefinitions changes what is stored about definitions, with the files of the project as
// they are while no other process does that.
func (p *Project) changeDefinitions(change func(*Project, *trust.Definitions) error) error {
	return p.Approvals().ChangeDefinitions(p.Root(), func(d *trust.Definitions) error {
		if err := p.Reload(); err != nil {
			return err
		}
		return change(p.steady(), d)
	})
}

// find returns a definition, or a workflow of the project, by its canonical name. It may have mistakes.
func (p *Project) find(id string, known *trust.Definitions) (*subject, error) {
	if g := p.meant(id); g != nil {
		return p.read(g), nil
	}
	w, err := p.Load(p.spelled(id))
	if errors.As(err, new(*UnknownWorkflowError)) {
		err = p.unknownDefinition(id, known)
	}
	s := &subject{}
	if err == nil {
		s.check(w)
	}
	return s, err
}

// subject is find, but the error is an *[InvalidError] if there are mistakes.
func (p *Project) subject(id string, known *trust.Definitions) (*subject, error) {
	s, err := p.find(id, known)
	if err == nil && s.found.Errors() {
		err = &InvalidError{s.found}
	}
	return s, err
}

// Reject records that a person has rejected a definition, even if it was approved before. Runs of it
// do not continue. One that a model wrote is removed; a workflow of the project stays. seen is the state in which the
// person saw it: if someone else has decided since, the error is a *[DecidedError].
func (p *Project) Reject(_ context.Context, id string, seen DefinitionState) error {
	if err := p.unambiguous(id); err != nil {
		return err
	}
	if g := p.meant(id); g != nil { // somebody may have put the file there
		if err := p.remember(p.steady().read(g)); err != nil {
			return err
		}
	}
	err := p.changeDefinitions(func(p *Project, d *trust.Definitions) error {
		id := p.canonical(id)
		now := &Generated{State: Proposed}
		s, err := p.find(id, d)
		switch last, had := d.Last(id); {
		case err == nil:
			if now = s.describe(id, d); had && now.State != seen {
				return &DecidedError{ID: p.spelled(id), Verdict: last}
			}
		case !had || last.Rejected: // otherwise its file is gone, but was approved
			return err
		}
		rejected := trust.Verdict{ID: id, Digest: now.Digest, Rejected: true, At: time.Now().UTC(), By: p.owner.By}
		g := p.meant(id)
		for i, v := range d.Verdicts {
			if v.ID == id || g != nil && v.ID == g.ID && isProposal(v.Parts) {
				d.Verdicts[i] = rejected
				d.Verdicts[i].Digest = v.Digest
			}
		}
		d.Verdicts = append(d.Verdicts, rejected)
		if g == nil {
			return nil
		}
		return p.remove(g.ID)
	})
	if err != nil {
		return err
	}
	return p.Reload()
}

// isProposal reports whether a model wrote the definition that consists of the parts.
func isProposal(parts trust.Parts) bool {
	return slices.ContainsFunc(parts, func(p trust.Part) bool { return p.Name == project.OriginPart })
}

// RunsOf returns the ids of the runs that have not ended, and that need the approval of a definition.
func (p *Project) RunsOf(ctx context.Context, id string) (ids []string, err error) {
	if err := p.unambiguous(id); err != nil {
		return nil, err
	}
	id = p.canonical(id)
	name := id
	if g := p.meant(id); g != nil {
		name = g.ID
	}
	all, err := p.Runs(ctx, Filter{Status: []engine.Status{engine.Running, engine.Waiting}})
	for _, info := range all {
		run, err := p.Run(ctx, info.ID)
		if err != nil {
			return nil, err
		}
		needs, err := run.Approval(ctx)
		if err != nil {
			return nil, err
		}
		if needs != nil && (needs.ID == id || needs.ID == name && needs.Origin != nil || needs.Agents[name] != "") {
			ids = append(ids, info.ID)
		}
	}
	return ids, err
}

// remove removes the directory of a definition.
func (p *Project) remove(id string) error {
	root, err := p.home("generated")
	if err != nil {
		return err
	}
	defer root.Close()
	return root.RemoveAll("generated/" + id)
}

// Promote makes a definition that a model wrote a file of the project, as if a person had written
// it, and returns the file. It does not overwrite anything. The digest is that of what the person
// saw, as for Approve.
func (p *Project) Promote(_ context.Context, id, digest string) (file string, err error) {
	var s *subject
	newest := p
	err = p.changeDefinitions(func(p *Project, d *trust.Definitions) error {
		id := p.canonical(id)
		if s, err = p.subject(id, d); err != nil {
			return err
		}
		if s.g == nil {
			return p.unknownDefinition(id, d)
		}
		if v, _ := d.Approved(digest); v.Rejected {
			return &DecidedError{ID: id, Verdict: v}
		}
		if err := p.approve(d, id, digest, s.parts); err != nil {
			return err
		}
		if file, err = p.install(s.g); err != nil {
			return err
		}
		if err := errors.Join(p.remove(s.g.ID), newest.Reload()); err != nil || s.w == nil {
			return err
		}
		return newest.steady().approvePromoted(d, s.g.ID)
	})
	if err != nil {
		return "", err
	}
	if s.w != nil {
		err = p.Approvals().Adopt(workflow.Digest(s.w.Model()))
	}
	return file, errors.Join(err, p.Reload())
}

// approvePromoted approves a workflow as a file of the project. It means the same as before, but has
// another digest, because the limits for what models write no longer apply.
func (p *Project) approvePromoted(d *trust.Definitions, id string) error {
	s, err := p.subject(id, d)
	if err != nil {
		return err
	}
	return p.approve(d, id, s.parts.Digest(), s.parts)
}

// CheckPromote returns a *[NameTakenError] if Promote cannot work because of a file of the project, so
// that nobody reviews a definition in vain.
func (p *Project) CheckPromote(id string) error {
	if g := p.meant(id); g != nil {
		return p.placeFree(g)
	}
	return nil
}

// promoted returns where in .hocket a definition is promoted to.
func promoted(g *project.Generated) string {
	base := filepath.Base(g.File)
	return map[Kind]string{WorkflowKind: "workflows/" + base, AgentKind: "agents/" + base, ToolKind: "tools/" + g.ID}[g.Kind]
}

// placeFree returns a *[NameTakenError] if a definition cannot be promoted.
func (p *Project) placeFree(g *project.Generated) error {
	taken := ".hocket/" + promoted(g)
	if _, err := os.Lstat(filepath.Join(p.Root(), filepath.FromSlash(taken))); err == nil {
		return &NameTakenError{Name: g.ID, What: taken, promoted: true}
	}
	if g.Kind == WorkflowKind && p.now().files.Has(g.ID) { // in another notation
		return &NameTakenError{Name: g.ID, What: "a workflow of the project", promoted: true}
	}
	return nil
}

// install writes the reviewed files of a definition into the project's own folders.
func (p *Project) install(g *project.Generated) (file string, err error) {
	if err := p.placeFree(g); err != nil {
		return "", err
	}
	final, only := promoted(g), filepath.Base(g.File)
	if file = final; g.Kind == ToolKind {
		file, only = path.Join(final, only), "."
	}
	err = p.store(final, g.Files, only, &NameTakenError{Name: g.ID, What: ".hocket/" + final, promoted: true})
	return filepath.Join(filepath.Dir(project.GeneratedDir(p.Root())), filepath.FromSlash(file)), err
}

// RunApproval is what a run stores about the approval of its workflow and agents.
type RunApproval struct {
	ID     string  `json:"id,omitempty"`     // of the workflow; "": it needed none
	Digest string  `json:"digest,omitempty"` // of everything that it uses
	Origin *Origin `json:"origin,omitempty"` // of the workflow; nil: a person wrote it
	// Agents are the digests of the agents that models wrote, by name.
	Agents map[string]string `json:"agents,omitempty"`
}

// admit refuses a workflow that needs an approval and has none, and agents that have lost theirs.
// It returns what the run stores about the approval; nil if none is needed.
func (p *Project) admit(w *Workflow, s *starting) (*RunApproval, error) {
	id, called, err := p.needsApproval(w, s)
	if err != nil {
		return nil, err
	}
	pin := &RunApproval{Agents: map[string]string{}}
	for _, d := range w.l.Used() {
		if g := p.now().definition(d.ID); d.Generated && g != nil {
			pin.Agents[d.ID] = p.read(g).parts.Digest()
		}
	}
	if id == "" && len(pin.Agents) == 0 {
		return nil, nil
	}
	if id != "" {
		parts, err := w.parts()
		if err != nil {
			return nil, err
		}
		if pin.ID, pin.Digest = id, parts.Digest(); w.l.Generated != nil {
			pin.Origin = &w.l.Generated.Origin
		} else if o, wrote, err := p.wrote(w.Model()); err != nil {
			return nil, err
		} else if wrote {
			pin.Origin = &o
		}
	}
	err = p.checkApproval(pinnedTrust{Definition: pin})
	if e := (*UnapprovedError)(nil); errors.As(err, &e) && e.Kind == WorkflowKind {
		e.Calls = called
	}
	return pin, err
}

// needsApproval returns the name of a workflow that needs its own approval, otherwise "": a model wrote
// it or a workflow that it calls, even if the file was moved, or the caller demands it. called is the
// name of the called one. The approval is of both: the caller decides what the called one gets.
func (p *Project) needsApproval(w *Workflow, s *starting) (id, called string, err error) {
	if w.l.Generated != nil {
		return p.idOf(w.l.Generated), "", nil
	}
	if w.only != nil { // it is a task for an agent
		return "", "", nil
	}
	for i, one := range check.Workflows(*w.Bundle()) {
		_, proposed, err := p.wrote(one)
		if err != nil {
			return "", "", err
		}
		if proposed && i > 0 {
			called = p.spelled(p.nameOf(one))
		}
		if proposed {
			return p.nameOf(w.Model()), called, nil
		}
	}
	if s.onlyApproved {
		id = p.nameOf(w.Model())
	}
	return id, "", nil
}

// nameOf returns the name by which people find a workflow: that of its file in .hocket/workflows,
// otherwise, and if a definition of a model has that name, its path.
func (p *Project) nameOf(w *workflow.Workflow) string {
	file := w.Pos.File
	base := filepath.Base(file)
	if name := base[:len(base)-len(filepath.Ext(base))]; file != "" && p.now().files.IsName(name, file) && p.now().definition(name) == nil {
		return name
	}
	if file == "" {
		return w.Name
	}
	return cmp.Or(p.pathOf(file), w.Name)
}

// pathOf returns the path of a file from the root of the project, "" if there is none.
func (p *Project) pathOf(file string) string {
	abs, err := filepath.Abs(file)
	if err != nil {
		return ""
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil { // as that of the root
		abs = filepath.Join(dir, filepath.Base(abs))
	}
	rel, err := filepath.Rel(p.Root(), abs)
	switch {
	case err != nil:
		return ""
	case rel == filepath.Base(rel) && filepath.Ext(rel) == "": // it could be a name
		return "./" + rel
	}
	return filepath.ToSlash(rel)
}

// checkApproval returns an *[UnapprovedError] if something that a run uses is not approved, or no
// longer.
func (p *Project) checkApproval(t pinnedTrust) error {
	if t.Definition == nil {
		return nil
	}
	known, err := p.Approvals().Definitions(p.Root())
	if err != nil {
		return err
	}
	unapproved := func(kind Kind, id, digest string) error {
		if state, _, _ := stateOf(id, digest, known); digest != "" && state != Approved {
			return &UnapprovedError{ID: p.spelled(id), Kind: kind, Digest: digest, State: state, Gone: state == Rejected && p.gone(id, known)}
		}
		return nil
	}
	all := []error{unapproved(WorkflowKind, t.Definition.ID, t.Definition.Digest)}
	for id, digest := range t.Definition.Agents {
		all = append(all, unapproved(AgentKind, id, digest))
	}
	return errors.Join(all...)
}

// gone reports whether a definition no longer exists. Another process may have removed it.
func (p *Project) gone(id string, known *trust.Definitions) bool {
	if g := p.meant(id); g != nil {
		_, err := os.Stat(g.File)
		return err != nil
	}
	_, err := p.find(id, known)
	return err != nil
}

// CheckApproval returns an *[UnapprovedError] if the run cannot continue because what a model wrote
// for it is no longer approved.
func (r *Run) CheckApproval(ctx context.Context) error {
	definition, err := r.Approval(ctx)
	if err != nil {
		return err
	}
	return r.p.checkApproval(pinnedTrust{Definition: definition})
}

// readGenerated reads the definitions that models wrote, and what people decided about them. If
// approvals cannot be read, there are none.
func (s *snapshot) readGenerated(root string) workflow.Diagnostics {
	all, found := project.ReadGenerated(root)
	s.generated, s.known = all, &trust.Definitions{}
	if len(all) > 0 {
		if known, err := trust.Open(stateHome()).Definitions(root); err == nil { // Record and Review report it
			s.known = known
		}
	}
	return found
}

func (s *snapshot) approves(parts trust.Parts) bool {
	_, ok := s.known.Approved(parts.Digest())
	return ok
}

// admitAgents adds the approved agents that models wrote.
func (s *snapshot) admitAgents() {
	s.files.Admit(s.generated, func(g *project.Generated, d *agent.Definition) bool { return s.approves(s.agentParts(g, d)) })
}

// approvedTools returns the approved tools that models wrote.
func (s *snapshot) approvedTools(root string) (all []tool.Generated) {
	for _, g := range s.generated {
		if g.Kind == ToolKind && !g.Wrong.Errors() && s.approves(toolParts(root, g)) {
			all = append(all, toolOf(g))
		}
	}
	return all
}

// MadeByLabel is the label of a run whose workflow a model wrote: the name of that model.
const MadeByLabel = "made_by"

// label adds the label of a run whose workflow a model wrote.
func (a *RunApproval) label(labels map[string]string) map[string]string {
	if a == nil || a.Origin == nil {
		return labels
	}
	all := map[string]string{MadeByLabel: cmp.Or(a.Origin.By, "a model")}
	maps.Copy(all, labels)
	return all
}

// Approval returns the approval that the run was started with; nil if its workflow and agents
// needed none.
func (r *Run) Approval(ctx context.Context) (*RunApproval, error) {
	pin, err := r.pinned(ctx)
	if err != nil {
		return nil, err
	}
	t, err := trustOf(pin)
	return t.Definition, err
}
