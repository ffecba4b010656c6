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

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// The codes of mistakes about workflows as a whole.
const (
	codeUnknown   = "workflow-unknown"
	codeAmbiguous = "workflow-ambiguous"
)

// Loaded is a workflow with everything that it calls.
type Loaded struct {
	Bundle workflow.Bundle // Root is nil if its file could not be parsed
	// Limits are the limits of a run: those of the workflow, otherwise of the project, else
	// the defaults.
	Limits workflow.Limits
	// Diagnostics are the mistakes that the parsers found. A check finds more.
	Diagnostics workflow.Diagnostics
	// Generated is the definition, if a model wrote the workflow; nil: a person did.
	Generated *Generated

	project   *Project                      // a copy, which also has what was found next to the workflow
	read      workflow.Diagnostics          // diagnostics of the parsers alone
	files     map[string]*workflow.Workflow // by file; nil: could not be parsed
	broken    []string                      // ambiguous names; already reported
	beside    []string                      // directories of the files that were read
	places    map[place][]found             // cache of find: a name may be called many times
	missing   []missing                     // tasks whose prompts do not exist
	templates map[string]*template          // by file
	uses      []use                         // tasks with prompts of the project
	unmet     []workflow.Pos                // undefined references in these prompts; already reported
	chosen    []chosen                      // tasks whose agents were chosen automatically
	settled   bool                          // choose has run
	alone     bool                          // it is a single task, from LoadTask
}

// place is a name and the directory of the file that uses it.
type place struct{ dir, name string }

// Load reads a workflow, by its file or name, and everything that it calls. The error is an
// *[UnknownError] if there is none.
func (p *Project) Load(nameOrFile string) (*Loaded, error) {
	return p.loaded(func(l *Loaded) error {
		file, err := l.findRoot(nameOrFile)
		if err != nil || file == nil {
			return err
		}
		return l.load(file)
	})
}

// LoadNamed is Load for a name alone: that of a workflow of the project, or of one that a model wrote. It
// is never taken for a path, which could be a file that nobody chose for this project.
func (p *Project) LoadNamed(name string) (*Loaded, error) {
	names := p.Names()
	return p.loaded(func(l *Loaded) (err error) {
		known := len(l.project.found)
		var list []found
		if slices.Contains(names, name) || l.generatedWorkflow(name) != nil {
			list, err = l.findNamed(name)
		} else if len(l.project.found) == known { // otherwise it exists, but cannot be used
			all, _ := ReadGenerated(p.Root) // the check reports what is wrong with them
			for _, g := range all {
				if g.Kind == WorkflowKind && !slices.Contains(names, g.ID) {
					names = append(names, g.ID)
				}
			}
			err = &UnknownError{workflow.Errorf(workflow.Pos{}, codeUnknown, namesHint(name, names), "unknown workflow %q", name)}
		}
		if err != nil {
			return err
		}
		if file := l.only(name, list, workflow.Pos{}); file != nil {
			err = l.load(file)
		}
		return err
	})
}

func namesHint(name string, names []string) string {
	const most = 30
	switch near := workflow.DidYouMean(name, names); {
	case near != "":
		return near
	case len(names) == 0:
		return "the project has none"
	case len(names) > most:
		names = append(slices.Clone(names[:most]), fmt.Sprintf("and %d more", len(names)-most))
	}
	return "expected one of: " + strings.Join(names, ", ")
}

// UnknownError reports that there is no workflow or file with a name. It is an
// [fs.ErrNotExist].
type UnknownError struct{ Diagnostic workflow.Diagnostic }

func (e *UnknownError) Error() string { return e.Diagnostic.Summary }

// Hint returns what to do about it.
func (e *UnknownError) Hint() string { return e.Diagnostic.Detail }

// Is makes it an [fs.ErrNotExist].
func (*UnknownError) Is(target error) bool { return target == fs.ErrNotExist }

// LoadFile is Load for a path that nobody typed here, with slashes and relative to the root: it is that of a workflow's file
// in the project, or nothing is read. The error is an *[UnknownError] then.
func (p *Project) LoadFile(name string) (*Loaded, error) {
	unknown := func(why string) error {
		return &UnknownError{workflow.Errorf(workflow.Pos{}, codeUnknown, why, "%q is not a workflow file of the project", name)}
	}
	path := filepath.FromSlash(name)
	if !filepath.IsLocal(path) || projectfile.InGit(name) || !syntax.IsWorkflow(name) {
		return nil, unknown("it has to be in the project, with the extension of a notation")
	}
	return p.loaded(func(l *Loaded) error {
		file := filepath.Join(p.Root, path)
		text, err := l.project.read(file)
		if errors.As(err, new(*projectfile.OutsideError)) || errors.Is(err, projectfile.ErrNotFile) {
			return unknown(err.Error())
		}
		if err != nil {
			return err
		}
		if _, ok := syntax.Of(file, text); !ok {
			return unknown("it is in no notation")
		}
		return l.load(&found{file, text})
	})
}

// LoadText is Load for a text that is not in a file. Files that it calls are relative to
// the given name.
func (p *Project) LoadText(file string, text []byte) (*Loaded, error) {
	return p.loaded(func(l *Loaded) error {
		l.project.Sources[file] = text
		return l.load(&found{file, text})
	})
}

// LoadModel is Load for a workflow that was built by a program.
func (p *Project) LoadModel(w *workflow.Workflow) (*Loaded, error) { return p.loadModel(w, false) }

// LoadTask is Load for a workflow with a single task, whose limits become the budget of the
// task.
func (p *Project) LoadTask(w *workflow.Workflow) (*Loaded, error) { return p.loadModel(w, true) }

func (p *Project) loadModel(w *workflow.Workflow, alone bool) (*Loaded, error) {
	return p.loaded(func(l *Loaded) error {
		l.Bundle.Root, l.alone = w, alone
		l.Limits = check.Override(p.Config.Limits, w.Limits)
		return l.follow()
	})
}

// loaded returns what load reads. Mistakes that it finds next to the workflow are not
// mistakes of the project.
func (p *Project) loaded(load func(l *Loaded) error) (*Loaded, error) {
	l := p.newLoaded()
	if err := load(l); err != nil {
		return nil, err
	}
	l.Diagnostics = append(l.project.found[len(p.found):], l.Diagnostics...)
	l.project.found = p.found
	return l, nil
}

// Pinned returns the workflow and the agents that a run was started with, in the project as
// it is now. alone means that LoadTask made it.
func (p *Project) Pinned(b workflow.Bundle, agents *agent.Set, alone bool) *Loaded {
	l := p.newLoaded()
	l.project.Agents = agents
	l.Bundle, l.settled, l.alone = b, true, alone
	return l
}

func (p *Project) newLoaded() *Loaded {
	own := *p
	own.Sources = maps.Clone(p.Sources)
	own.found, own.definitions = slices.Clip(p.found), slices.Clip(p.definitions)
	l := &Loaded{project: &own, Limits: p.Config.Limits, files: make(map[string]*workflow.Workflow), places: make(map[place][]found)}
	l.Bundle.Called = make(map[string]*workflow.Workflow)
	return l
}

// Agents returns the agents that the workflow's steps can use: the project's, and those next
// to its file.
func (l *Loaded) Agents() *agent.Set { return l.project.Agents }

// Sources returns the texts of all files that were read for the workflow, including the
// project's own, by the names that they have in positions.
func (l *Loaded) Sources() map[string][]byte { return l.project.Sources }

func (l *Loaded) load(file *found) error {
	p := l.project
	l.Bundle.Root = l.parse(*file)
	if l.Bundle.Root == nil {
		return nil
	}
	if err := p.agentsBeside(file.file); err != nil {
		return err
	}
	l.Limits = check.Override(p.Config.Limits, l.Bundle.Root.Limits)
	if dir := p.generatedIn(file.file); dir != "" {
		l.restrict(dir)
	}
	return l.follow()
}

// agentsBeside adds the agents of the project that contains a workflow's file, if that is
// another one, so that a directory of examples runs from anywhere.
func (p *Project) agentsBeside(file string) error {
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return fmt.Errorf("project: %w", err)
	}
	if dir == p.Root || dir == p.spelled {
		return nil
	}
	return p.readAgents(p.homesIn(dir))
}

// findRoot returns the file of the root, nil if it cannot be used or is ambiguous.
func (l *Loaded) findRoot(nameOrFile string) (*found, error) {
	known := len(l.project.found)
	file := l.project.Named(nameOrFile)
	text, err := l.project.readNamed(file)
	if text, err = l.project.keep(file, text, err); err == nil {
		var named []found
		if isWord(nameOrFile) { // a person could review one of them, and run the other
			if named, err = l.findNamed(nameOrFile); err != nil {
				return nil, err
			}
		}
		return l.only(nameOrFile, append([]found{{file, text}}, named...), workflow.Pos{}), nil
	}
	if !isDir(file) && l.project.unusable(file, err) {
		return nil, nil
	}
	if !os.IsNotExist(err) && isFile(file) {
		return nil, err
	}
	list, err := l.findNamed(nameOrFile)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 && len(l.project.found) == known { // otherwise it exists, but cannot be used
		return nil, &UnknownError{workflow.Errorf(workflow.Pos{}, codeUnknown, hint(nameOrFile, l.project.Names()), "unknown workflow %q", nameOrFile)}
	}
	return l.only(nameOrFile, list, workflow.Pos{}), nil
}

// isWord reports whether a person may mean the name of a workflow as well as a file.
func isWord(nameOrFile string) bool {
	return filepath.Base(nameOrFile) == nameOrFile && !syntax.IsWorkflow(nameOrFile)
}

// only returns the only file that was found for a name. It reports if there are several.
func (l *Loaded) only(name string, list []found, pos workflow.Pos) *found {
	switch len(list) {
	case 0: // the check reports an unknown call
		return nil
	case 1:
		return &list[0]
	}
	var files []string
	for _, f := range list {
		files = append(files, f.file)
	}
	remedy := "name one by its path, or keep only one: "
	if dir := l.project.generatedIn(list[len(list)-1].file); dir != "" {
		remedy = "a model wrote the last of them: reject it with `hocket approve " + GeneratedPath(name, files[len(files)-1]) + " --reject`, rename another, or name the file by its path: "
	}
	l.report(workflow.Errorf(pos, codeAmbiguous, remedy+strings.Join(files, ", "), "ambiguous workflow %q: it matches %d files", name, len(list)))
	return nil
}

func hint(name string, names []string) string {
	switch near := workflow.DidYouMean(name, names); {
	case near != "":
		return near
	case len(names) == 0:
		return "pass the path of a file, or put it into .hocket/workflows"
	default:
		return "pass the path of a file, or one of: " + strings.Join(names, ", ")
	}
}

// parse parses a file once, even if several names refer to it.
func (l *Loaded) parse(f found) *workflow.Workflow {
	key, err := filepath.Abs(f.file)
	if err != nil {
		key = f.file
	}
	if w, ok := l.files[key]; ok {
		return w
	}
	w, found := syntax.Parse(f.file, f.text)
	if w != nil && refused(w, found) {
		w = nil
	}
	l.files[key] = w
	l.read = append(l.read, found...)
	l.Diagnostics = append(l.Diagnostics, found...)
	if w != nil {
		l.readPrompts(w)
	}
	if dir := filepath.Dir(f.file); w != nil && !slices.Contains(l.beside, dir) {
		l.beside = append(l.beside, dir)
	}
	return w
}

// refused reports whether the parser rejects the file as a whole, so that its parts cannot
// be checked.
func refused(w *workflow.Workflow, found workflow.Diagnostics) bool {
	return slices.ContainsFunc(found, func(d workflow.Diagnostic) bool { return d.Severity == workflow.Error && d.Pos == w.Pos })
}

// follow reads the workflows that are called, directly and indirectly.
func (l *Loaded) follow() error {
	for todo := []*workflow.Workflow{l.Bundle.Root}; len(todo) > 0; todo = todo[1:] {
		for _, c := range callsOf(todo[0]) {
			known := len(l.files)
			w, err := l.call(c)
			if err != nil {
				return err
			}
			if w != nil && len(l.files) > known {
				todo = append(todo, w)
			}
		}
	}
	return nil
}

// call finds the workflow that a node calls. A name means the same workflow in the whole
// bundle.
func (l *Loaded) call(c called) (*workflow.Workflow, error) {
	list, err := l.find(c)
	if err != nil {
		return nil, err
	}
	file := l.only(c.name, list, c.pos)
	if file == nil {
		if len(list) > 1 {
			l.broken = append(l.broken, c.name)
		}
		return nil, nil
	}
	if dir := l.project.generatedIn(file.file); dir != "" && l.Generated == nil {
		l.report(workflow.Errorf(c.pos, CodeGenerated, "review it and make it a workflow of the project with `hocket approve "+filepath.Base(dir)+" --promote`", "%q calls a workflow that a model wrote", c.name))
		l.broken = append(l.broken, c.name)
		return nil, nil
	}
	w := l.parse(*file)
	if w == nil {
		l.broken = append(l.broken, c.name)
		return nil, nil
	}
	if other := l.Bundle.Called[c.name]; other != nil && other != w {
		l.report(workflow.Errorf(c.pos, codeAmbiguous, "rename one of them: "+file.file+", "+other.Pos.File, "ambiguous workflow %q: two callers mean different files", c.name))
		return nil, nil
	}
	l.Bundle.Called[c.name] = w
	return w, nil
}

func (l *Loaded) find(c called) ([]found, error) {
	at := place{c.dir, c.name}
	list, ok := l.places[at]
	if ok {
		return list, nil
	}
	list, err := l.project.find(c.name, c.dir)
	l.places[at] = list
	return list, err
}

func (l *Loaded) report(d workflow.Diagnostic) { l.Diagnostics = append(l.Diagnostics, d) }

// called is a call in a workflow.
type called struct {
	name string
	dir  string // of the file that calls
	pos  workflow.Pos
}

func callsOf(w *workflow.Workflow) []called {
	var list []called
	dir := filepath.Dir(w.Pos.File)
	w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		if c, ok := n.Step.(*workflow.Call); ok && c.Workflow != "" {
			list = append(list, called{c.Workflow, dir, n.Pos})
		}
	})
	return list
}
