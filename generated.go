package hocket

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/importer"
	"github.com/hocket-dev/hocket/agent/tool"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// Kind is what a definition defines: a workflow, an agent or a tool.
type Kind = project.Kind

// The kinds of definitions.
const (
	WorkflowKind = project.WorkflowKind
	AgentKind    = project.AgentKind
	ToolKind     = project.ToolKind
)

// Origin says which model wrote a definition, when, and what for.
type Origin = project.Origin

// Draft is a definition that a model wrote.
type Draft struct {
	Kind Kind
	// Name is the name of what it defines, and of its directory; see [GeneratedName].
	Name string
	// Files are its files by name. A workflow or an agent has only one; its extension names its
	// notation. A tool has a tool.yml.
	Files  map[string][]byte
	Origin Origin
}

// DefinitionState is what people have decided about a definition.
type DefinitionState string

// The states of a definition.
const (
	Proposed DefinitionState = "proposed"
	Approved DefinitionState = "approved"
	Changed  DefinitionState = "changed"  // since it was approved
	Rejected DefinitionState = "rejected" // and then written again
	Broken   DefinitionState = "broken"   // it cannot be read
)

// Generated is a definition that a model wrote. It cannot be used until a person has approved it.
type Generated struct {
	ID     string          `json:"id"` // the name of its directory
	Kind   Kind            `json:"kind"`
	Name   string          `json:"name"`
	File   string          `json:"file"`
	Origin Origin          `json:"origin"`
	Digest string          `json:"digest,omitempty"` // of everything that it would use
	State  DefinitionState `json:"state"`
	// By and At are who approved or rejected it, and when.
	By string    `json:"by,omitempty"`
	At time.Time `json:"at,omitzero"`
	// Diagnostics are the reasons why it cannot be used.
	Diagnostics workflow.Diagnostics `json:"-"`
}

// OnlyApproved makes Start and Record refuse a workflow that nobody has approved by its digest,
// whoever wrote it. It is for callers that a model controls.
func OnlyApproved() StartOption { return func(s *starting) { s.onlyApproved = true } }

// GeneratedName returns a valid name for a draft that is as close as possible to some words.
func GeneratedName(words string) string {
	name := strings.Join(strings.FieldsFunc(strings.ToLower(words), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }), "-")
	if most := 40; len(name) > most {
		if end := strings.LastIndexByte(name[:most+1], '-'); end > 0 {
			most = end
		}
		name = name[:most]
	}
	if !project.IsGeneratedName(name) {
		name = strings.TrimSuffix("draft-"+name, "-")
	}
	return name
}

// Propose checks a definition that a model wrote and stores it in .hocket/generated, where it
// waits for a person. The error is an *[InvalidError] if it has mistakes or is not allowed, and a
// *[NameTakenError] if something already has its name.
func (p *Project) Propose(_ context.Context, d Draft) (*Generated, error) {
	if err := p.Reload(); err != nil { // what other processes have written
		return nil, err
	}
	newest := p
	p = p.steady()
	known, err := p.Approvals().Definitions(p.Root())
	if err != nil {
		return nil, err
	}
	if d.Origin.At.IsZero() {
		d.Origin.At = time.Now().UTC()
	}
	if !project.IsGeneratedName(d.Name) {
		return nil, fmt.Errorf("hocket: invalid name %q: use lower-case letters, digits, - and _", d.Name)
	}
	if err := p.checkName(d.Name); err != nil {
		return nil, err
	}
	files, err := d.files()
	if err != nil {
		return nil, err
	}
	s := p.read(project.NewGenerated(p.Root(), d.Kind, d.Name, d.Origin, files))
	if s.found.Errors() {
		return nil, &InvalidError{s.found}
	}
	if n := len(p.now().generated); n >= mostDefinitions {
		return nil, fmt.Errorf("hocket: there are already %d definitions in .hocket/generated; `hocket approve` lists them: reject some, or make them files of the project with --promote", n)
	}
	if err := p.remember(s); err != nil {
		return nil, err
	}
	if err := p.store("generated/"+d.Name, s.g.All(), ".", &NameTakenError{Name: d.Name, What: "a definition that waits for approval"}); err != nil {
		return nil, err
	}
	if err := newest.Reload(); err != nil {
		return nil, err
	}
	if p = newest.steady(); p.now().definition(d.Name) == nil {
		return nil, p.unknownDefinition(d.Name, known)
	}
	return p.read(p.now().definition(d.Name)).describe(d.Name, known), nil
}

// ProposeAgent is Propose for an agent.
func (p *Project) ProposeAgent(ctx context.Context, d *agent.Definition, o Origin) (*Generated, error) {
	return p.Propose(ctx, Draft{Kind: AgentKind, Name: d.Name, Files: map[string][]byte{"agent.yml": importer.Text(d)}, Origin: o})
}

// mostDefinitions is how many definitions may exist at the same time, approved or not. A model could write any
// number.
const mostDefinitions = 100

// files returns the files of a draft as they are stored.
func (d *Draft) files() (map[string][]byte, error) {
	all := map[string][]byte{}
	size := 0
	for name, text := range d.Files {
		if d.Kind != ToolKind {
			name = d.Name + strings.ToLower(path.Ext(name))
			if d.Kind == AgentKind {
				name = d.Name + ".yml"
			}
		}
		if !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\:") || name == project.OriginFile || strings.HasPrefix(path.Base(name), ".") {
			return nil, fmt.Errorf("hocket: invalid file name %q in a draft", name)
		}
		if size += len(text); size > 1<<20 || !utf8.Valid(text) {
			return nil, fmt.Errorf("hocket: a draft must be UTF-8 text of at most 1 MB")
		}
		all[name] = text
	}
	if len(all) == 0 || len(all) > 40 || d.Kind != ToolKind && len(d.Files) != 1 {
		return nil, fmt.Errorf("hocket: a draft of kind %q cannot have %d files", d.Kind, len(d.Files))
	}
	return all, nil
}

// checkName refuses a name that anything in the project has, in any letter case, so that a model
// cannot put its own definition in the place of another one.
func (p *Project) checkName(name string) error {
	s := p.now()
	taken := map[string][]string{"a workflow": p.Workflows(), "an agent": s.files.Agents.Executors(), "a tool": s.tools.Names()}
	for _, d := range s.files.Agents.Definitions() {
		taken["an agent"] = append(append(taken["an agent"], d.Name, d.ID, d.Role), d.Capabilities...)
	}
	for _, g := range s.generated {
		taken["a definition that waits for approval"] = append(taken["a definition that waits for approval"], g.ID)
	}
	for _, what := range []string{"a workflow", "an agent", "a tool", "a definition that waits for approval"} {
		if slices.ContainsFunc(taken[what], func(other string) bool { return strings.EqualFold(other, name) }) {
			return &NameTakenError{Name: name, What: what}
		}
	}
	return nil
}

// subject is what a person decides about. It is read once, so that the digest is of what the person
// sees.
type subject struct {
	g     *project.Generated   // nil: a workflow of the project
	w     *Workflow            // nil: an agent or a tool
	found workflow.Diagnostics // mistakes, and what a model may not write
	parts trust.Parts          // everything that it would use; nil if there are errors
}

// read reads a definition that a model wrote.
func (p *Project) read(g *project.Generated) *subject {
	s := &subject{g: g, found: g.Wrong}
	if s.found.Errors() {
		return s
	}
	switch g.Kind {
	case WorkflowKind:
		p.readWorkflow(s)
	case AgentKind:
		now := p.now()
		if s.found = now.files.CheckAgentDraft(g, now.tools.Names()); !s.found.Errors() {
			s.parts = now.agentParts(g, now.files.AgentOf(g))
		}
	case ToolKind:
		if _, s.found = toolOf(g).Read(); !s.found.Errors() {
			s.parts = p.withoutSecrets(toolParts(p.Root(), g))
		}
	default:
		s.refuse(workflow.Pos{}, "use workflow, agent or tool", "unknown kind %q", g.Kind)
	}
	return s
}

func (s *subject) refuse(pos workflow.Pos, detail, summary string, args ...any) {
	s.found = append(s.found, workflow.Errorf(pos, project.CodeGenerated, detail, summary, args...))
}

func (p *Project) readWorkflow(s *subject) {
	file := s.g.File
	text := s.g.Files[filepath.Base(file)]
	if _, ok := syntax.Of(file, text); !ok {
		s.refuse(workflow.Pos{File: file}, "write it in one of: "+strings.Join(syntax.Notations(), ", "), "%s is not a workflow", filepath.Base(file))
		return
	}
	w, err := p.LoadText(file, text)
	if err != nil {
		s.refuse(workflow.Pos{File: file}, "", "%v", err)
		return
	}
	s.check(w)
	// Lists of runs show this name.
	if w.Model() != nil && strings.ContainsFunc(w.Model().Name, func(r rune) bool { return r < ' ' || r > '~' }) {
		s.refuse(w.Model().Pos, "call it "+s.g.ID, "the name %q has characters that can look like others", w.Model().Name)
	}
	if w.Model() != nil && GeneratedName(w.Model().Name) != s.g.ID && p.checkName(GeneratedName(w.Model().Name)) != nil {
		s.refuse(w.Model().Pos, "call it "+s.g.ID, "something else in the project is called %q", w.Model().Name)
	}
}

// check adds a workflow, what is wrong with it, and its parts.
func (s *subject) check(w *Workflow) {
	if s.w = w; w.Model() == nil {
		s.found = w.Diagnostics()
		return
	}
	s.found = w.Check(nil)
	s.parts, _ = w.parts() // there is a workflow
}

// Wrote records that a model wrote a workflow. Wherever its file is stored, it runs only after a
// person has approved it.
func (p *Project) Wrote(w *workflow.Workflow, o Origin) error {
	origin, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return p.Approvals().Propose(workflow.Digest(w), origin)
}

// IsProposalFile reports whether a file, which may not exist yet, is in the directory of what models wrote.
func (p *Project) IsProposalFile(file string) bool {
	abs, err := filepath.Abs(file)
	if err != nil {
		return false
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		abs = filepath.Join(dir, filepath.Base(abs))
	}
	rel, err := filepath.Rel(project.GeneratedDir(p.Root()), abs)
	return err == nil && filepath.IsLocal(rel)
}

// wrote returns the origin of a workflow, and whether a model wrote it.
func (p *Project) wrote(w *workflow.Workflow) (o Origin, wrote bool, err error) {
	origin, wrote, err := p.Approvals().Proposed(workflow.Digest(w))
	if len(origin) > 0 && json.Unmarshal(origin, &o) != nil {
		o = Origin{} // what wrote it is not known, but that a model did
	}
	return o, wrote, err
}

// remember is Wrote for what a definition means, if it is a workflow.
func (p *Project) remember(s *subject) error {
	if s.g == nil || s.w == nil || s.w.Model() == nil {
		return nil
	}
	return p.Wrote(s.w.Model(), s.g.Origin)
}

// store writes files into .hocket: all of them as a directory, or only one. It gets its final name when
// it is complete. It does not follow links, and does not overwrite anything.
func (p *Project) store(final string, files map[string][]byte, only string, taken *NameTakenError) error {
	root, err := p.home(path.Dir(final))
	if err != nil {
		return err
	}
	defer root.Close()
	temp := ".new-" + strings.ToLower(rand.Text())
	defer root.RemoveAll(temp)
	for name, text := range files {
		name = path.Join(temp, name)
		if err := errors.Join(root.MkdirAll(path.Dir(name), 0o755), root.WriteFile(name, text, 0o644)); err != nil {
			return err
		}
	}
	if only != "." { // a file would be replaced, also one that somebody makes at this moment
		err = reserve(root, final)
	} else if _, wrong := root.Lstat(final); wrong == nil {
		err = fs.ErrExist
	}
	if err == nil {
		err = root.Rename(path.Join(temp, only), final)
	}
	if errors.Is(err, fs.ErrExist) {
		return taken
	}
	return err
}

// reserve makes an empty file. The error is fs.ErrExist if there is one.
func reserve(root *os.Root, name string) error {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// home opens .hocket, and makes a directory in it if necessary. None of them is a link.
func (p *Project) home(dir string) (*os.Root, error) {
	home := filepath.Dir(project.GeneratedDir(p.Root()))
	for _, at := range []string{home, filepath.Join(home, dir)} {
		if err := os.Mkdir(at, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if info, err := os.Lstat(at); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("hocket: %s is not a directory", at)
		}
	}
	return os.OpenRoot(home)
}

// Generated returns all definitions that models wrote, the newest first.
func (p *Project) Generated() ([]*Generated, error) {
	if err := p.Reload(); err != nil {
		return nil, err
	}
	p = p.steady()
	known, err := p.Approvals().Definitions(p.Root())
	if err != nil {
		return nil, err
	}
	var all []*Generated
	for _, g := range p.now().generated {
		all = append(all, p.read(g).describe(p.idOf(g), known))
	}
	slices.SortStableFunc(all, func(a, b *Generated) int { return b.Origin.At.Compare(a.Origin.At) })
	return all, nil
}

// CheckGenerated returns how many definitions models wrote, and what is wrong with them, whether people have
// approved them or not.
func (p *Project) CheckGenerated() (n int, found workflow.Diagnostics) {
	p = p.steady()
	all := p.now().generated
	for _, g := range all {
		found = append(found, p.read(g).found...)
		for _, name := range p.Workflows() { // loading one with exactly this name reports it
			if name != g.ID && strings.EqualFold(name, g.ID) {
				found = append(found, workflow.Errorf(workflow.Pos{File: g.File}, project.CodeGenerated,
					"reject it with `hocket approve "+g.ID+" --reject`, or rename the other", "the workflow %q of the project has the same name, except for letter case", name))
			}
		}
	}
	return len(all), found
}

// unknownDefinition is the error for a definition that does not exist, or no longer.
func (p *Project) unknownDefinition(id string, known *trust.Definitions) error {
	if v, ok := known.Last(id); ok {
		return &DecidedError{ID: p.spelled(id), Verdict: v, Gone: true}
	}
	return &UnknownDefinitionError{p.spelled(id)}
}

func (s *snapshot) definition(id string) *project.Generated {
	i := slices.IndexFunc(s.generated, func(g *project.Generated) bool { return g.ID == id })
	if i < 0 {
		return nil
	}
	return s.generated[i]
}

// describe describes what a person decides about.
func (s *subject) describe(id string, known *trust.Definitions) *Generated {
	out := &Generated{ID: id, Name: id, Kind: WorkflowKind, State: Broken, Diagnostics: s.found}
	if s.g != nil {
		out.Kind, out.File, out.Origin = s.g.Kind, s.g.File, s.g.Origin
	} else if s.w.Model() != nil {
		out.File = s.w.Model().Pos.File
		out.Origin, _, _ = s.w.p.wrote(s.w.Model()) // only shown
	}
	if !s.found.Errors() {
		out.Digest = s.parts.Digest()
		out.State, out.By, out.At = stateOf(id, out.Digest, known)
	}
	return out
}

// stateOf returns what people have decided about a definition as it is now.
func stateOf(id, digest string, known *trust.Definitions) (state DefinitionState, by string, at time.Time) {
	if v, ok := known.Approved(digest); ok {
		return Approved, v.By, v.At
	} else if v.Rejected {
		return Rejected, v.By, v.At
	}
	if v, ok := known.Last(id); ok && !v.Rejected {
		return Changed, v.By, v.At
	}
	return Proposed, "", time.Time{}
}

// State returns what people have decided about the workflow as it is now.
func (w *Workflow) State() (DefinitionState, error) {
	known, err := w.p.Approvals().Definitions(w.p.Root())
	if err != nil {
		return "", err
	}
	s := &subject{}
	s.check(w)
	id := ""
	if w.Model() != nil {
		id = w.p.idOfWorkflow(w)
	}
	return s.describe(id, known).State, nil
}

// agentParts returns everything that an agent would use that a model wrote.
func (s *snapshot) agentParts(g *project.Generated, d *agent.Definition) trust.Parts {
	return slices.Concat(g.Parts(), s.files.AgentParts(d), s.usedTools(d))
}

func toolOf(g *project.Generated) tool.Generated { return tool.Generated{Dir: g.Dir, Files: g.Files} }

// toolParts returns everything that a tool would use that a model wrote.
func toolParts(root string, g *project.Generated) trust.Parts {
	all := g.Parts()
	if m, _ := toolOf(g).Read(); m != nil {
		if c, ok := m.Work.(*tool.Command); ok {
			material := trust.Material(root, "", root, c.Argv...)
			all = append(all, trust.Part{Name: "files that it names", Text: material})
			all = append(all, trust.Files(root, material)...)
		}
	}
	return all
}

// withoutSecrets removes the texts of files that contain secrets: an approval stores texts.
func (p *Project) withoutSecrets(parts trust.Parts) trust.Parts {
	for i, part := range parts {
		if _, file := part.File(); file && p.holdsSecret(part.Text) {
			parts[i] = part.WithoutText()
		}
	}
	return parts
}

// usedTools returns the tools that an agent names, with the contents of their files.
func (s *snapshot) usedTools(d *agent.Definition) (all trust.Parts) {
	for _, name := range d.Tools {
		m, known := s.tools.Manifest(name)
		if !known { // a tool of the CLI itself
			continue
		}
		part := trust.Part{Name: "tool " + name}
		if !m.Builtin {
			part.Text = trust.Tree(s.files.Root, s.files.Root, m.Dir)
		}
		all = append(all, part)
	}
	return all
}

// parts returns everything that a run of the workflow would use.
func (w *Workflow) parts() (trust.Parts, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.l.Bundle.Root == nil {
		return nil, &InvalidError{w.l.Diagnostics}
	}
	all := w.l.Parts()
	for _, d := range w.l.Used() {
		for _, part := range w.p.now().usedTools(d) {
			if !slices.ContainsFunc(all, func(o trust.Part) bool { return o.Name == part.Name }) {
				all = append(all, part)
			}
		}
	}
	return w.p.withoutSecrets(all), nil
}
