package tool

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/extract"
)

// Options configure how tools work. The zero value is the default.
type Options struct {
	// Secret returns the value of a secret by its name; nil means that there are none. Its
	// error says how to set it.
	Secret func(name string) (string, error)
	// Env is the environment from which programs get harmless variables; nil means that of
	// this process.
	Env []string
	// Sandbox says whether the permissions of programs are enforced.
	Sandbox Sandbox
	// Generated are tools that models wrote and that a person has approved.
	Generated []Generated
}

// Set holds all tools of a project, and the built-in ones that it does not replace. It is
// immutable and safe for concurrent use.
type Set struct {
	root    string
	options Options
	own     []*Manifest        // the project's, by name
	all     func() []*Manifest // and then the built-in ones
	told    sync.Map           // attempts whose logs say what is not enforced
}

// File is the name of the file that makes a folder a tool.
const File = "tool.yml"

// Load reads the tools of the project in a directory. The diagnostics describe what is
// wrong with their files; an error is one of the machine.
func Load(root string, o Options) (*Set, workflow.Diagnostics, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, nil, fmt.Errorf("tool: %w", err)
	}
	if o.Env == nil {
		o.Env = os.Environ()
	}
	s := &Set{root: root, options: o}
	var found workflow.Diagnostics
	homes, _ := agent.HomesIn(root)
	for _, home := range homes {
		found = append(found, s.read(filepath.Join(home, "tools"))...)
	}
	for _, g := range o.Generated {
		m, wrong := g.Read()
		found = append(found, wrong...)
		if m != nil && !slices.ContainsFunc(slices.Concat(s.own, builtins()), func(o *Manifest) bool { return strings.EqualFold(o.Name, m.Name) }) {
			s.own = append(s.own, m)
		}
	}
	slices.SortFunc(s.own, func(a, b *Manifest) int { return strings.Compare(a.Name, b.Name) })
	// Most commands need none, and reading a schema takes time.
	s.all = sync.OnceValue(func() []*Manifest {
		all := slices.Clone(s.own)
		for _, m := range builtins() {
			if !slices.ContainsFunc(s.own, func(o *Manifest) bool { return o.Name == m.Name }) {
				all = append(all, m)
			}
		}
		return all
	})
	return s, found, nil
}

// read adds the tools of a directory. A tool that already exists stays.
func (s *Set) read(dir string) workflow.Diagnostics {
	entries, err := projectfile.List(dir, s.root)
	if err != nil {
		return workflow.Diagnostics{unusable(dir, err)}
	}
	var found workflow.Diagnostics
	for _, e := range entries {
		file := filepath.Join(dir, e.Name(), File)
		if !e.IsDir() && !isDir(filepath.Dir(file)) {
			continue
		}
		text, err := projectfile.Read(file, s.root)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			found = append(found, unusable(file, err))
			continue
		}
		m, wrong := Read(file, text)
		if m != nil {
			m.Dir = filepath.Dir(file)
			wrong = append(wrong, m.missingFile()...)
			if !slices.ContainsFunc(s.own, func(o *Manifest) bool { return o.Name == m.Name }) {
				s.own = append(s.own, m)
			}
		}
		found = append(found, wrong...)
	}
	return found
}

func unusable(file string, err error) workflow.Diagnostic {
	return workflow.Errorf(workflow.Pos{File: file}, CodeDefinition, "replace it with a regular file", "a tool cannot be read: %v", err)
}

// missingFile reports that the file of a script is missing.
func (m *Manifest) missingFile() workflow.Diagnostics {
	c, ok := m.Work.(*Command)
	if !ok || c.File == "" || !isInside(c.File) {
		return nil
	}
	if err := inside(m.Dir, c.File); err != nil {
		return workflow.Diagnostics{workflow.Errorf(m.Pos, CodeDefinition, "put it beside "+File, "cannot use the script: %v", err)}
	}
	return nil
}

//go:embed builtin
var builtinFiles embed.FS

// builtins returns the tools that every project has.
func builtins() []*Manifest {
	const file = "builtin/http_request/" + File
	text, err := builtinFiles.ReadFile(file)
	if err != nil {
		panic(fmt.Sprintf("tool: %v", err)) // it is part of the program
	}
	request, _ := Read(file, text)
	request.Builtin = true
	search := &Manifest{
		Name: "web_search", Description: "Searches the web and returns titles, addresses and snippets.", Builtin: true,
		Inputs: searchInputs(), Outputs: searchOutputs(), Timeout: defaultTimeout, MaxOutputKB: defaultOutputKB, Work: &Search{},
		needs: "web_search has no search engine yet; run `hocket tools new web_search --kind search`, and set the address of one in .hocket/tools/web_search/tool.yml",
	}
	search.inputs, _ = extract.Compile(search.Inputs)
	return []*Manifest{request, search}
}

// Manifests returns the tools of the project and then the built-in ones, each sorted by
// name.
func (s *Set) Manifests() []*Manifest { return slices.Clone(s.all()) }

// Names returns the names of all tools, in the same order.
func (s *Set) Names() []string {
	names := make([]string, len(s.all()))
	for i, m := range s.all() {
		names[i] = m.Name
	}
	return names
}

// Manifest returns a tool by its name.
func (s *Set) Manifest(name string) (*Manifest, bool) {
	all := s.all()
	at := slices.IndexFunc(all, func(m *Manifest) bool { return m.Name == name })
	if at < 0 {
		return nil, false
	}
	return all[at], true
}

// Tool returns a tool that a model can call. The error lists the existing ones.
func (s *Set) Tool(name string) (agent.Tool, error) {
	m, ok := s.Manifest(name)
	if !ok {
		return agent.Tool{}, &UnknownError{Name: name, Names: s.Names()}
	}
	return agent.Tool{
		Name: m.Name, Description: m.describe(), Input: m.Inputs, Approval: m.Approval,
		Call: func(ctx context.Context, args map[string]any, task *agent.Task, log agent.Log) (string, error) {
			return s.call(ctx, m, args, task, log)
		},
	}, nil
}

// UnknownError reports that a tool does not exist.
type UnknownError struct {
	Name  string
	Names []string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("unknown tool %q; %s", e.Name, e.Hint())
}

// Hint suggests what was meant.
func (e *UnknownError) Hint() string {
	if hint := workflow.DidYouMean(e.Name, e.Names); hint != "" {
		return hint
	}
	return "there are " + strings.Join(e.Names, ", ")
}

// describe returns the description with the examples, from which a model learns.
func (m *Manifest) describe() string {
	parts := []string{strings.TrimSpace(m.Description)}
	if len(m.Examples) > 0 {
		parts = append(parts, "", "Examples of arguments:")
	}
	for _, e := range m.Examples {
		parts = append(parts, workflow.FormatJSON(e.Inputs))
	}
	return strings.Join(parts, "\n")
}

// dir returns the project that a call works in.
func (s *Set) dir(task *agent.Task) string {
	if task != nil && task.Dir != "" {
		return task.Dir
	}
	return s.root
}

// attemptOf returns the attempt that a call belongs to; "" if there is none.
func attemptOf(task *agent.Task) string {
	if task == nil {
		return ""
	}
	return task.Key
}

// key marks the processes of one call. It is unique: leftover processes of a call are
// killed by its key while other calls of the same attempt continue.
func (s *Set) key(task *agent.Task) string {
	key := "tool/" + rand.Text()
	if task != nil && task.Key != "" {
		key = task.Key + "/" + key
	}
	return key
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
