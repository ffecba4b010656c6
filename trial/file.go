package trial

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode"

	"github.com/hocket-dev/hocket/agent/scripted"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// Code is the code of mistakes in a test file other than YAML errors.
const Code = "test-invalid"

// Dir is where a project has its tests, relative to its root.
const Dir = ".hocket/tests"

// File is a file of tests.
type File struct {
	Path  string // absolute
	Name  string // its path below [Dir], with slashes and without its extension
	Cases []*Case

	names map[string]bool // the files that it names, such as cassettes
	other bool            // it is a cassette
}

// Case is one test.
type Case struct {
	File     *File
	Name     string
	Workflow string
	Inputs   map[string]any
	Files    map[string]Source
	Replies  *scripted.Replies // nil: none
	own      *scripted.Replies // those of the case, without those of all cases of its file; nil: none
	Cassette string            // the file of recordings, absolute; "": none
	Exec     bool              // commands and file steps really run
	Expect   Expect
	Pos      workflow.Pos

	workflowAt, cassetteAt workflow.Pos // where Workflow and Cassette are written
}

// Source is the content of a file at the start of a test.
type Source struct {
	Text string
	From string // a file of the project, absolute, instead of a text
	Pos  workflow.Pos
}

// Expect is what a test expects of its run. Zero fields expect nothing.
type Expect struct {
	Status   engine.Status // "": success, or error if an error is expected
	Output   *Match
	Outputs  []Named[*Match]
	Taken    []Named[bool] // nodes, addresses or edges; the value says whether they are to be taken
	Attempts []Named[int]
	Cost     *float64
	MaxCost  *float64
	Error    *Match
	Files    []Named[*Match] // nil: there must be no such file
	// Workspaces are files of the workspaces of steps.
	Workspaces []Named[[]Named[*Match]]

	statusAt, costAt workflow.Pos // where they are written; zero: nowhere
}

// Named is something about a step or a file.
type Named[T any] struct {
	Name  string
	Value T
	Pos   workflow.Pos
}

// Match is what a value has to be.
type Match struct {
	Value    any            // equal to this, unless one of the others is given
	Contains string         // text in it
	Matches  *regexp.Regexp // of its text
	Pos      workflow.Pos
}

// ID returns the name of a case among all of the project.
func (c *Case) ID() string { return c.File.Name + "/" + c.Name }

// remake returns the command that records a case, and no other one.
func (c *Case) remake() string {
	name := c.ID()
	if len(c.File.Cases) == 1 {
		name = c.File.Name
	}
	if strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./", r)
	}) {
		name = "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return "hocket test " + name + " --record"
}

// ReadAll reads the test files of a project, also those in folders of [Dir], and says what is wrong with each. A cassette is
// none, and neither is a file that a test names.
func ReadAll(root string, read func(file string) ([]byte, error)) (files []*File, wrong map[*File]workflow.Diagnostics, err error) {
	paths, err := listed(root, filepath.Join(root, filepath.FromSlash(Dir)))
	if err != nil {
		return nil, nil, err
	}
	wrong = map[*File]workflow.Diagnostics{}
	for _, path := range paths {
		f, found := &File{Path: path, Name: nameOf(root, path)}, workflow.Diagnostics(nil)
		if text, err := read(path); err == nil {
			f, found = Read(root, path, text)
		} else {
			found = append(found, unreadable(path, err))
		}
		files, wrong[f] = append(files, f), found
	}
	named := map[string]bool{}
	for _, f := range files {
		maps.Copy(named, f.names)
	}
	return slices.DeleteFunc(files, func(f *File) bool { return f.other || named[f.Path] }), wrong, nil
}

// unreadable says why a file in [Dir] cannot be read. It need not be a test: it may be a cassette that no test names.
func unreadable(file string, err error) workflow.Diagnostic {
	hint := "make it readable, or move it to another folder"
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) && hinted.Hint() != "" {
		hint = hinted.Hint()
	}
	why := strings.TrimPrefix(err.Error(), "cannot read "+file+": ")
	return workflow.Errorf(workflow.Pos{File: file}, Code, hint, "the file cannot be read: %s", why)
}

// listed returns the YAML files in a folder of a project and in its folders. Those with a dot at the beginning belong to
// programs: an editor may have a link there that leads nowhere.
func listed(root, dir string) (files []string, err error) {
	entries, err := projectfile.List(dir, root)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch ext := filepath.Ext(e.Name()); {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			below, err := listed(root, path)
			if err != nil {
				return nil, err
			}
			files = append(files, below...)
		case ext == ".yml" || ext == ".yaml":
			files = append(files, path)
		}
	}
	return files, nil
}

// nameOf returns the name of a test file.
func nameOf(root, file string) string {
	name := filepath.Base(file)
	if rel, err := filepath.Rel(filepath.Join(root, filepath.FromSlash(Dir)), file); err == nil && filepath.IsLocal(rel) {
		name = filepath.ToSlash(rel)
	}
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// Read reads a test file of a project and reports every mistake. If there is an error, it must not be used.
func Read(root, file string, text []byte) (*File, workflow.Diagnostics) {
	doc := strictyaml.Read(file, text)
	f := &File{Path: file, Name: nameOf(root, file), names: map[string]bool{}}
	r := &reading{root: root, file: f}
	m := doc.Root().Map()
	f.other = m.Peek("cassette").Exists()
	shared := r.setting(m, setting{})
	seen := map[string]bool{}
	cases := m.Get("cases")
	for _, n := range cases.List() {
		c := r.readCase(n, shared)
		if seen[c.Name] {
			n.Errorf(Code, "give every case its own name", "there are two cases with the name %q", c.Name)
		}
		seen[c.Name] = true
		f.Cases = append(f.Cases, c)
	}
	if doc.Readable() && len(f.Cases) == 0 && !cases.IsMap() { // which is another mistake
		doc.Report(workflow.Errorf(doc.Start(), Code, "add a list under `cases`, each with a name and what it expects", "the file has no test cases"))
	}
	m.Done()
	return f, doc.Diagnostics()
}

type reading struct {
	root string
	file *File
}

// setting is what a case starts with. A file has one for all its cases.
type setting struct {
	workflow string
	at       workflow.Pos // of its name
	inputs   map[string]any
	files    map[string]Source
	replies  *scripted.Replies
	own      *scripted.Replies // without those of the file
	exec     bool
}

func (r *reading) setting(m *strictyaml.Map, shared setting) setting {
	s := shared
	if n := m.Get("workflow"); n.Name() != "" {
		s.workflow, s.at = n.Name(), n.Pos()
	}
	if exec := m.Get("exec"); exec.Exists() {
		s.exec = exec.Bool()
	}
	s.inputs = maps.Clone(shared.inputs)
	for _, e := range m.Map("inputs").Entries() {
		if s.inputs == nil {
			s.inputs = map[string]any{}
		}
		s.inputs[e.Name] = e.Value.Value()
	}
	s.files = maps.Clone(shared.files)
	for _, e := range m.Map("files").Entries() {
		if s.files == nil {
			s.files = map[string]Source{}
		}
		s.files[e.Name] = r.source(e)
	}
	s.own = nil
	if n := m.Get("replies"); n.Exists() {
		s.own = r.replies(n)
		s.replies = s.own.Over(shared.replies)
	}
	return s
}

// replies reads replies, or the file that has them.
func (r *reading) replies(n strictyaml.Node) *scripted.Replies {
	if !n.IsScalar() || n.IsNull() {
		return scripted.Read(n)
	}
	file := r.inProject(n)
	if file == "" {
		return scripted.Read(strictyaml.Node{})
	}
	text, err := projectfile.Read(file, r.root)
	if err != nil {
		n.Errorf(Code, "name a file of replies relative to the test file", "cannot read %q: %v", n.Name(), rootError(err))
		return scripted.Read(strictyaml.Node{})
	}
	replies, found := scripted.Parse(file, text)
	for _, d := range found {
		n.Report(d)
	}
	return replies
}

// rootError returns an error without the path, which the message has.
func rootError(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// source reads the content of a file at the start of a test.
func (r *reading) source(e strictyaml.Entry) Source {
	s := Source{Pos: e.Key.Pos()}
	if err := projectfile.CheckPath(e.Name); err != nil {
		e.Key.Errorf(Code, "name a file in the directory of the test, with slashes", "%v", err)
	}
	if !e.Value.IsMap() {
		s.Text = e.Value.Name()
		return s
	}
	m := e.Value.Map()
	from := m.Get("from")
	s.From = r.inProject(from)
	m.Done()
	if !from.Exists() {
		e.Value.Errorf(Code, "write the text of the file, or {from: FILE}", "the file has no content")
	}
	return s
}

// inProject returns the absolute path of a file that is named relative to the test file. It must be in the project.
func (r *reading) inProject(n strictyaml.Node) string {
	name := n.Name()
	if name == "" {
		return ""
	}
	file := filepath.Join(filepath.Dir(r.file.Path), filepath.FromSlash(name))
	if rel, err := filepath.Rel(r.root, file); err != nil || !filepath.IsLocal(rel) || filepath.IsAbs(filepath.FromSlash(name)) {
		n.Errorf(Code, "name a file relative to the test file", "%q is not in the project", name)
		return ""
	}
	r.file.names[file] = true
	return file
}

func (r *reading) readCase(n strictyaml.Node, shared setting) *Case {
	m := n.Map()
	c := &Case{File: r.file, Name: strings.TrimSpace(m.Name("name")), Pos: n.Pos()}
	if c.Name == "" && n.IsMap() {
		n.Errorf(Code, "add `name`, which says what the case tests", "the case has no name")
	}
	s := r.setting(m, shared)
	if c.own = s.own; s.workflow == shared.workflow { // all replies of the file are for this workflow
		c.own = s.replies
	}
	c.Workflow, c.workflowAt, c.Inputs, c.Files, c.Replies, c.Exec = s.workflow, s.at, s.inputs, s.files, s.replies, s.exec
	if c.Workflow == "" && n.IsMap() {
		n.Errorf(Code, "add `workflow` to the case or to the file", "the case names no workflow")
	}
	c.Cassette, c.cassetteAt = r.inProject(m.Get("cassette")), m.Get("cassette").Pos()
	c.Expect = readExpect(m.Get("expect"))
	m.Done()
	return c
}

func readExpect(n strictyaml.Node) Expect {
	m := n.Map()
	var x Expect
	x.Status = engine.Status(m.Word("status", string(engine.Success), string(engine.Partial), string(engine.Failed), string(engine.TimedOut), string(engine.Cancelled), string(engine.Waiting)))
	if status := m.Get("status"); status.Exists() {
		x.statusAt = status.Pos()
	}
	x.Output, x.Error = readMatch(m.Get("output")), readMatch(m.Get("error"))
	for _, e := range m.Map("outputs").Entries() {
		x.Outputs = append(x.Outputs, Named[*Match]{e.Name, readMatch(e.Value), e.Key.Pos()})
	}
	for key, want := range map[string]bool{"taken": true, "not_taken": false} {
		for _, one := range m.Get(key).OneOrMany() {
			x.Taken = append(x.Taken, Named[bool]{one.Name(), want, one.Pos()})
		}
	}
	sort.SliceStable(x.Taken, func(i, j int) bool {
		a, b := x.Taken[i].Pos, x.Taken[j].Pos
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) < 0
	})
	for _, e := range m.Map("attempts").Entries() {
		x.Attempts = append(x.Attempts, Named[int]{e.Name, int(e.Value.Int(0)), e.Key.Pos()})
	}
	cost := m.Get("cost_usd")
	if cost.Exists() {
		x.costAt = cost.Pos()
	}
	if cost.IsMap() {
		limit := cost.Map()
		most := limit.Float("max")
		x.MaxCost = &most
		if !limit.Get("max").Exists() {
			cost.Errorf(Code, "write {max: 0.50}, or an amount", "the limit has no amount")
		}
		limit.Done()
	} else if cost.Exists() {
		exactly := cost.Float()
		x.Cost = &exactly
	}
	x.Files = readFiles(m.Map("files"))
	for _, e := range m.Map("workspaces").Entries() {
		x.Workspaces = append(x.Workspaces, Named[[]Named[*Match]]{e.Name, readFiles(e.Value.Map()), e.Key.Pos()})
	}
	m.Done()
	if x.Status == "" {
		x.Status = engine.Success
		if x.Error != nil {
			x.Status = engine.Failed
		}
	}
	return x
}

// readFiles reads what files have to be.
func readFiles(m *strictyaml.Map) (files []Named[*Match]) {
	for _, e := range m.Entries() {
		f := Named[*Match]{Name: e.Name, Pos: e.Key.Pos()}
		if err := projectfile.CheckPath(e.Name); err != nil {
			e.Key.Errorf(Code, "name a file in the directory of the test, with slashes", "%v", err)
		}
		if !e.Value.IsNull() {
			f.Value = readMatch(e.Value)
		}
		files = append(files, f)
	}
	return files
}

// readMatch reads what a value has to be: the value itself, or a map with one of the words contains, matches and equals.
func readMatch(n strictyaml.Node) *Match {
	if !n.Exists() {
		return nil
	}
	match := &Match{Pos: n.Pos()}
	if n.IsMap() {
		m := n.Map()
		if names := m.Names(); len(names) == 1 {
			value := m.Peek(names[0])
			switch names[0] {
			case "contains":
				if match.Contains = value.Name(); match.Contains == "" {
					value.Errorf(Code, "write the text", "everything contains nothing")
				}
				return match
			case "matches":
				re, err := regexp.Compile(value.Name())
				if err != nil {
					value.Errorf(Code, "see https://pkg.go.dev/regexp/syntax", "invalid regular expression: %v", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
					re = regexp.MustCompile("")
				}
				match.Matches = re
				return match
			case "equals":
				match.Value = value.Value()
				return match
			}
		}
	}
	match.Value = n.Value()
	return match
}

// accepts reports whether a value is as expected.
func (m *Match) accepts(value any) bool {
	switch {
	case m.Contains != "":
		return strings.Contains(workflow.FormatText(value), m.Contains)
	case m.Matches != nil:
		return m.Matches.MatchString(workflow.FormatText(value))
	}
	if want, ok := m.Value.(string); ok { // a text block ends in a newline, which an agent's answer need not have
		return strings.TrimRight(want, "\n") == strings.TrimRight(workflow.FormatText(value), "\n")
	}
	return workflow.FormatJSON(m.Value) == workflow.FormatJSON(value) || isScalar(m.Value) && workflow.FormatText(m.Value) == workflow.FormatText(value)
}

func isScalar(v any) bool {
	switch v.(type) {
	case []any, map[string]any:
		return false
	}
	return true
}

// String returns what a value has to be, for people.
func (m *Match) String() string {
	switch {
	case m.Contains != "":
		return fmt.Sprintf("text that contains %q", m.Contains)
	case m.Matches != nil:
		return "text that matches " + m.Matches.String()
	}
	return workflow.FormatText(m.Value)
}
