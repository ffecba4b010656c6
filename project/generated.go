package project

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// Kind is what a definition defines.
type Kind string

// The kinds of definitions.
const (
	WorkflowKind Kind = "workflow"
	AgentKind    Kind = "agent"
	ToolKind     Kind = "tool"
)

// Origin says which model wrote a definition, when, and what for.
type Origin struct {
	By   string    `json:"by,omitempty"`
	Goal string    `json:"goal,omitempty"`
	At   time.Time `json:"at,omitzero"`
}

// Generated is a definition that a model wrote: a directory in .hocket/generated with an
// origin.yml and the files of the definition. Everything there counts as written by a model,
// whatever its origin.yml says.
type Generated struct {
	ID     string // the name of the directory, and of what it defines
	Kind   Kind
	Dir    string
	File   string // of the definition
	Origin Origin
	// Files are the contents of its files except origin.yml, by their paths with slashes.
	Files map[string][]byte
	// Wrong are the mistakes that make it unusable.
	Wrong workflow.Diagnostics

	about []byte // origin.yml
}

// Parts returns the files of the definition, as a person approves them.
func (g *Generated) Parts() trust.Parts {
	all := trust.Parts{g.origin()}
	for name, text := range g.Files {
		all = append(all, trust.Part{Name: "file " + name, Text: string(text)})
	}
	return all
}

// CodeGenerated is the code of mistakes in .hocket/generated.
const CodeGenerated = "generated-definition"

// OriginFile is the file with the origin of a definition.
const OriginFile = "origin.yml"

const (
	generatedDir = "generated"

	mostGenerated  = 200     // directories; more are not read
	mostFiles      = 50      // in one of them
	mostFilesBytes = 1 << 20 // all together
)

var generatedName = lazy.Regexp(`^[a-z][a-z0-9]*([-_][a-z0-9]+)*$`)

// devices cannot be file names on Windows.
var devices = strings.Fields("con prn aux nul com0 com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt0 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9")

// IsGeneratedName reports whether a definition that a model wrote may have a name. Only a few
// characters are allowed, so that no two names look the same or mean the same file anywhere.
func IsGeneratedName(name string) bool {
	return len(name) <= 64 && generatedName().MatchString(name) && !slices.Contains(devices, name)
}

// GeneratedDir returns the directory of the definitions that models wrote.
func GeneratedDir(root string) string { return filepath.Join(root, agent.Homes[0], generatedDir) }

// GeneratedPath returns the path of a definition in its project, for a name that is ambiguous. file is
// that of the definition.
func GeneratedPath(id, file string) string {
	path := agent.Homes[0] + "/" + generatedDir + "/" + id
	if base := filepath.Base(file); base != id { // otherwise it has no file that could be read
		path += "/" + base
	}
	return path
}

// ReadGenerated reads the definitions that models wrote in a project. Each definition contains its
// own mistakes; the diagnostics are about the directory as a whole.
func ReadGenerated(root string) ([]*Generated, workflow.Diagnostics) {
	dir := GeneratedDir(root)
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	refused := func(detail, summary string, args ...any) ([]*Generated, workflow.Diagnostics) {
		return nil, workflow.Diagnostics{workflow.Errorf(workflow.Pos{File: dir}, CodeGenerated, detail, summary, args...)}
	}
	if err != nil || !info.IsDir() {
		return refused("replace it with a real directory", "%s is not a directory", generatedDir)
	}
	entries, err := projectfile.List(dir, root)
	if err != nil {
		return refused("replace it with a real directory", "%s cannot be read: %v", generatedDir, err)
	}
	var all []*Generated
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") { // being written
			continue
		}
		if len(all) == mostGenerated {
			return all, workflow.Diagnostics{workflow.Warningf(workflow.Pos{File: dir}, CodeGenerated, "review them with `hocket approve`, and reject those that you do not need",
				"there are more than %d definitions, and the others are not read", mostGenerated)}
		}
		all = append(all, readGenerated(root, filepath.Join(dir, e.Name())))
	}
	return all, nil
}

func readGenerated(root, dir string) *Generated {
	g := &Generated{ID: filepath.Base(dir), Dir: dir, File: dir, Files: map[string][]byte{}}
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		g.refuse(dir, "replace it with a real directory", "%q is not a directory", g.ID)
		return g
	}
	if !IsGeneratedName(g.ID) {
		g.refuse(dir, "use lower-case letters, digits, - and _", "invalid name %q", g.ID)
		return g
	}
	if err := g.readFiles(root); err != nil {
		g.refuse(dir, "a definition has at most 50 regular files of at most 1 MB together", "%q cannot be read: %v", g.ID, err)
		return g
	}
	g.readOrigin()
	g.findFile()
	return g
}

func (g *Generated) refuse(file, detail, summary string, args ...any) {
	g.Wrong = append(g.Wrong, workflow.Errorf(workflow.Pos{File: file}, CodeGenerated, detail, summary, args...))
}

// OriginPart is the name of the part with the origin, which only definitions of models have.
const OriginPart = "origin"

func (g *Generated) origin() trust.Part { return trust.Part{Name: OriginPart, Text: string(g.about)} }

// readFiles reads all files. Links are refused, even those inside of the project: what they
// lead to is not part of what a person approves.
func (g *Generated) readFiles(root string) error {
	total := 0
	return filepath.WalkDir(g.Dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(g.Dir, path)
		if err != nil {
			return err
		}
		if !e.Type().IsRegular() {
			return fmt.Errorf("%s is not a regular file", rel)
		}
		text, err := projectfile.Read(path, root)
		if err != nil {
			return err
		}
		if total += len(text); total > mostFilesBytes || len(g.Files) == mostFiles {
			return errors.New("it is too large")
		}
		if rel == OriginFile {
			g.about = text
		} else {
			g.Files[filepath.ToSlash(rel)] = text
		}
		return nil
	})
}

// readOrigin reads origin.yml: by, at, goal, kind and name.
func (g *Generated) readOrigin() {
	file := filepath.Join(g.Dir, OriginFile)
	if g.about == nil {
		g.refuse(file, "have it proposed again", "%q has no %s", g.ID, OriginFile)
		return
	}
	doc := strictyaml.Read(file, g.about)
	m := doc.Root().Map()
	g.Origin.By, g.Origin.Goal = m.String("by"), m.String("goal")
	at := m.Get("at")
	if when, err := time.Parse(time.RFC3339, at.Name()); at.Exists() {
		if g.Origin.At = when; err != nil {
			at.Errorf(CodeGenerated, "write a time such as 2026-01-31T12:00:00Z", "invalid time %q", at.Name())
		}
	}
	g.Kind = Kind(m.Word("kind", string(WorkflowKind), string(AgentKind), string(ToolKind)))
	if name := m.Get("name"); !name.Exists() {
		g.refuse(file, "add `name: "+g.ID+"`", "the origin of %q has no name", g.ID)
	} else if name.Name() != g.ID {
		name.Errorf(CodeGenerated, "give both the same name", "%q is in the directory %q", name.Name(), g.ID)
	}
	m.Done()
	if g.Wrong = append(g.Wrong, doc.Diagnostics()...); g.Kind == "" && !g.Wrong.Errors() {
		g.refuse(file, "write `kind: workflow`, `agent` or `tool`", "the origin of %q has no kind", g.ID)
	}
}

// findFile finds the file of the definition. A workflow or an agent has only one.
func (g *Generated) findFile() {
	switch g.Kind {
	case WorkflowKind, AgentKind:
		for name := range g.Files {
			if len(g.Files) == 1 && strings.TrimSuffix(name, filepath.Ext(name)) == g.ID && (g.Kind == AgentKind && name == g.ID+".yml" || g.Kind == WorkflowKind && syntax.IsWorkflow(name)) {
				g.File = filepath.Join(g.Dir, name)
				return
			}
		}
		g.refuse(g.Dir, "it must be the only file beside "+OriginFile+", and have the name of the directory", "%q has no file with its %s", g.ID, g.Kind)
	case ToolKind:
		g.File = filepath.Join(g.Dir, "tool.yml")
		if g.Files["tool.yml"] == nil {
			g.refuse(g.Dir, "add it", "the tool %q has no tool.yml", g.ID)
		}
	}
}

// NewGenerated returns a definition that is not stored yet.
func NewGenerated(root string, kind Kind, name string, o Origin, files map[string][]byte) *Generated {
	quoted := func(text string) string { return workflow.FormatJSON(text) } // JSON is YAML
	g := &Generated{ID: name, Kind: kind, Dir: filepath.Join(GeneratedDir(root), name), Origin: o, Files: files}
	g.about = []byte("# Written by Hocket. A model made this definition: it can be used once a person has approved it.\n" +
		"kind: " + string(kind) + "\nname: " + quoted(name) + "\nby: " + quoted(o.By) + "\nat: " + quoted(o.At.UTC().Format(time.RFC3339Nano)) + "\ngoal: " + quoted(o.Goal) + "\n")
	g.findFile()
	return g
}

// All returns the files of the definition with origin.yml.
func (g *Generated) All() map[string][]byte {
	all := map[string][]byte{OriginFile: g.about}
	maps.Copy(all, g.Files)
	return all
}

// generatedIn returns the directory of the definition that a file belongs to if a model wrote it:
// the file is in the .hocket/generated of any project, whatever its path is and however it is
// spelled; "" if it is not.
func (p *Project) generatedIn(file string) string {
	abs, err := filepath.Abs(file)
	if err != nil {
		return ""
	}
	paths := []string{abs}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		paths = append(paths, real)
	}
	own, err := os.Stat(GeneratedDir(p.Root))
	for _, path := range paths {
		for at := path; at != filepath.Dir(at); at = filepath.Dir(at) {
			above := filepath.Dir(at)
			if info, wrong := os.Stat(above); err == nil && wrong == nil && os.SameFile(info, own) || above == GeneratedDir(p.spelled) {
				return filepath.Join(GeneratedDir(p.Root), filepath.Base(at))
			}
			if strings.EqualFold(filepath.Base(above), generatedDir) && strings.EqualFold(filepath.Base(filepath.Dir(above)), agent.Homes[0]) {
				return at
			}
		}
	}
	return ""
}

// generatedWorkflow returns the file of a workflow that a model wrote; nil if there is none, or
// if it cannot be used.
func (l *Loaded) generatedWorkflow(name string) *found {
	if !IsGeneratedName(name) {
		return nil
	}
	dir := filepath.Join(GeneratedDir(l.project.Root), name)
	if info, err := os.Lstat(filepath.Dir(dir)); err != nil || !info.IsDir() || !isDir(dir) {
		return nil
	}
	g := readGenerated(l.project.Root, dir)
	if g.Wrong.Errors() {
		l.project.found = append(l.project.found, g.Wrong...)
		return nil
	}
	if g.Kind != WorkflowKind {
		return nil
	}
	text := g.Files[filepath.Base(g.File)]
	l.project.Sources[g.File] = text
	return &found{g.File, text}
}

// restrict holds the workflow to what a model may write, as far as it concerns limits: its own
// can only be lower than those of the project for such workflows.
func (l *Loaded) restrict(dir string) {
	g := &Generated{ID: filepath.Base(dir), Kind: WorkflowKind, Dir: dir}
	if filepath.Dir(dir) != GeneratedDir(l.project.Root) {
		g.refuse(l.Bundle.Root.Pos.File, "run it there: its approval is for that project", "a model wrote this workflow in another project, %s", filepath.Dir(filepath.Dir(filepath.Dir(dir))))
	} else if _, err := os.Lstat(dir); err == nil { // otherwise it is about to be proposed
		g = readGenerated(l.project.Root, dir)
	}
	l.Generated, l.Diagnostics = g, append(l.Diagnostics, g.Wrong...)
	l.Limits = check.Override(check.Lower(l.project.Config.Limits, l.project.Config.Generated), l.Bundle.Root.Limits)
}

// restriction returns what the check holds the workflow to; nil if a person wrote it.
func (l *Loaded) restriction() *check.Generated {
	if l.Generated == nil {
		return nil
	}
	return &check.Generated{Limits: check.Lower(l.project.Config.Limits, l.project.Config.Generated)}
}

// CheckChange finds what a model may not write in the steps in which the workflow differs from an
// older one. A run keeps its limits, so those of the workflow must not be higher than before.
func (l *Loaded) CheckChange(old *workflow.Workflow) workflow.Diagnostics {
	written := func(w *workflow.Workflow, n *workflow.Node) string {
		text := workflow.PrintNode(n)
		if task := n.Task(); task != nil {
			text += w.RoleOf(task.Agent) // it may decide which agent that is
		}
		return text
	}
	before := map[string]bool{}
	old.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) { before[written(old, n)] = true })
	limits := check.Override(l.project.Config.Limits, old.Limits)
	found := check.Run(check.Input{
		Bundle: l.Bundle, Agents: l.directory(), Limits: check.Override(limits, l.Bundle.Root.Limits),
		Generated: &check.Generated{Limits: limits, Wrote: func(n *workflow.Node) bool { return !before[written(l.Bundle.Root, n)] }},
	})
	return slices.DeleteFunc(found, func(d workflow.Diagnostic) bool { return !strings.HasPrefix(d.Code, "generated-") })
}
