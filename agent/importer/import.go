package importer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/internal/wholefile"
)

// Action is what an import does with an agent.
type Action string

// The actions.
const (
	Made      Action = "made"      // the definition is new
	Updated   Action = "updated"   // its source has changed, or it is replaced on demand
	Unchanged Action = "unchanged" // its source has not changed
	Kept      Action = "kept"      // its source has changed, but the definition was edited
	Refused   Action = "refused"   // it cannot be imported as an agent
	Gone      Action = "gone"      // its source no longer exists; the definition stays
)

// Outcome is what happened to one agent.
type Outcome struct {
	Action  Action
	From    string
	File    string // of the source
	Name    string // of the agent
	Target  string // file of the definition, in the directory of agents
	Edited  bool   // the definition was edited since it was imported
	Reason  string // for Refused
	Lost    []Lost
	Changes []Change // for Updated and Kept: what has changed in the source, as a definition
}

// Options configure where an import writes.
type Options struct {
	Dir       string              // the directory of agents
	Agents    []*agent.Definition // all agents of the project
	Executors []string            // names of built-in agents that no imported agent may take
	Now       time.Time
	User      bool // the user's own files were searched too
	Overwrite bool // replace definitions that were edited
	DryRun    bool // write nothing
}

// Import writes what was found as definitions, and reports what happened to each. Froms are
// the requested programs, for which it also reports missing sources. Definitions are
// replaced atomically.
func Import(found []Found, froms []string, o Options) ([]Outcome, error) {
	im := &importing{Options: o, taken: map[string]bool{}, claimed: map[string]bool{}}
	if err := im.look(); err != nil {
		return nil, err
	}
	var list []Outcome
	for _, f := range found {
		out, err := im.one(f)
		if err != nil {
			return list, err
		}
		list = append(list, out)
	}
	return append(list, im.gone(found, froms)...), nil
}

// importing is one import in progress.
type importing struct {
	Options
	known   []known
	taken   map[string]bool // names and ids that are already used
	claimed map[string]bool // files that a source of this import is written to
}

// known is a definition in the directory.
type known struct {
	file string
	def  *agent.Definition
	text []byte
}

// look reads the definitions in the directory.
func (im *importing) look() error {
	for _, name := range im.Executors {
		im.taken[strings.ToLower(name)] = true
	}
	for _, d := range im.Agents {
		im.take(d)
	}
	entries, err := os.ReadDir(im.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("importer: %w", err)
	}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); e.IsDir() || ext != ".yml" && ext != ".yaml" {
			continue
		}
		file := filepath.Join(im.Dir, e.Name())
		text, err := projectfile.Read(file, im.Dir)
		var outside *projectfile.OutsideError
		if errors.As(err, &outside) || errors.Is(err, projectfile.ErrNotFile) {
			continue // the project itself rejects it
		}
		if err != nil {
			return fmt.Errorf("importer: %w", err)
		}
		d, wrong := agent.ReadDefinition(file, text)
		if d == nil { // it may come from an earlier import, and another one would duplicate it
			return fmt.Errorf("importer: nothing was imported, because an agent of the project cannot be read: %s", strings.TrimSpace(wrong.String()))
		}
		im.take(d)
		im.taken[strings.ToLower(strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())))] = true
		im.known = append(im.known, known{file, d, text})
	}
	return nil
}

func (im *importing) take(d *agent.Definition) {
	for _, name := range append([]string{d.ID, d.Name, d.Role}, d.Capabilities...) {
		im.taken[strings.ToLower(name)] = name != ""
	}
}

// one imports one agent.
func (im *importing) one(f Found) (Outcome, error) {
	out := Outcome{Action: Refused, From: f.From, File: sourceFile(f), Reason: f.Refuse, Lost: f.Lost}
	if f.Refuse != "" {
		return out, nil
	}
	def := f.Agent
	def.Source = &agent.Source{From: f.From, File: out.File, ImportedAt: im.Now.UTC().Format(time.RFC3339), Digest: f.Digest}
	if old := im.before(&def, f); old != nil {
		return im.again(out, old, &def)
	}
	out.Action = Made
	im.baptize(&def)
	out.Name, out.Target = def.Name, filepath.Join(im.Dir, def.ID+".yml")
	return out, im.write(out.Target, &def)
}

// sourceFile returns the name of a source; a file of the user begins with ~.
func sourceFile(f Found) string {
	if f.User {
		return ownFile + f.File
	}
	return f.File
}

const ownFile = "~/"

// before returns the definition that an earlier import made from a source. A file with
// several agents made several, which differ by name.
func (im *importing) before(def *agent.Definition, f Found) *known {
	for i := range im.known {
		k := &im.known[i]
		if k.def.Source == nil || im.claimed[k.file] {
			continue
		}
		s := k.def.Source
		if s.From == f.From && s.File == def.Source.File && (!f.shared() || k.def.ID == safeID(def.Name) || strings.HasPrefix(k.def.ID, safeID(def.Name)+"-"+f.From)) {
			im.claimed[k.file] = true
			return k
		}
	}
	return nil
}

// shared reports whether the source holds several agents.
func (f *Found) shared() bool {
	return !strings.HasSuffix(f.File, ".md") && (f.From == "opencode" || strings.HasSuffix(f.File, "config.toml"))
}

// again imports an agent that was imported before.
func (im *importing) again(out Outcome, old *known, def *agent.Definition) (Outcome, error) {
	keepOwn(def, old.def)
	out.Name, out.Target = def.Name, old.file
	out.Edited = old.def.Source.Written != writtenDigest(old.text)
	out.Changes = changes(old.def, def)
	// The same source can yield a different definition, because a newer Hocket may support
	// more of it. In an edited definition, that cannot be distinguished from the edits.
	sameSource := old.def.Source.Digest == def.Source.Digest
	switch {
	case out.Edited && im.Overwrite, !out.Edited && len(out.Changes) > 0:
		out.Action = Updated
		return out, im.write(old.file, def)
	case len(out.Changes) == 0 || sameSource:
		out.Action, out.Changes = Unchanged, nil
	default:
		out.Action = Kept
	}
	return out, nil
}

// keepOwn keeps the keys that only people set, and no source does.
func keepOwn(def, old *agent.Definition) {
	def.ID, def.Name, def.Role, def.Capabilities = old.ID, old.Name, old.Role, old.Capabilities
	def.Retry, def.Budget, def.MaxOutputKB = old.Retry, old.Budget, old.MaxOutputKB
}

// baptize gives a new definition an id and a name that are not used yet, so that no
// external file changes what a name in a workflow means.
func (im *importing) baptize(def *agent.Definition) {
	base := safeID(def.Name)
	id := base
	for n := 1; im.taken[strings.ToLower(id)]; n++ {
		id = base + "-" + def.Source.From
		if n > 1 {
			id += fmt.Sprintf("-%d", n)
		}
	}
	if id != base || im.taken[strings.ToLower(def.Name)] || !isName(def.Name) {
		def.Name = id
	}
	def.ID = id
	im.take(def)
}

// gone returns the definitions whose sources no longer exist.
func (im *importing) gone(found []Found, froms []string) []Outcome {
	var list []Outcome
	for _, k := range im.known {
		if k.def.Source == nil || im.claimed[k.file] || !slices.Contains(froms, k.def.Source.From) {
			continue
		}
		s := k.def.Source
		if strings.HasPrefix(s.File, ownFile) && !im.User {
			continue // the home directory was not searched
		}
		if !slices.ContainsFunc(found, func(f Found) bool { return f.From == s.From && f.Refuse != "" && sourceFile(f) == s.File }) {
			list = append(list, Outcome{Action: Gone, From: s.From, File: s.File, Name: k.def.Name, Target: k.file})
		}
	}
	return list
}

// write writes a definition atomically.
func (im *importing) write(file string, def *agent.Definition) error {
	if im.DryRun {
		return nil
	}
	if err := os.MkdirAll(im.Dir, 0o777); err != nil {
		return fmt.Errorf("importer: %w", err)
	}
	if err := wholefile.Write(file, Text(def), 0o644); err != nil {
		return fmt.Errorf("importer: %w", err)
	}
	return nil
}
