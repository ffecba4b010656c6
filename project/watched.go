package project

import (
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/glob"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// Files fires when a file of the project is new or has changed.
type Files struct {
	Patterns []string // of paths relative to the project
	// Settle is how long a file has to stay unchanged, so that one that is being written does not fire.
	Settle time.Duration

	globs []glob.Pattern
	at    []workflow.Pos // of the patterns
}

const filesKind = "files"

func (*Files) Kind() string { return filesKind }
func (f *Files) String() string {
	return "when a file is new or has changed: " + strings.Join(f.Patterns, ", ")
}
func (*Files) values() []string { return []string{"path", "name", "digest", "content"} }

// Globs returns the patterns to search for.
func (f *Files) Globs() []glob.Pattern { return f.globs }

const (
	defaultSettle = 2 * time.Second
	longestSettle = time.Hour
	// maxPatterns is how many patterns a trigger can have; each is searched for by itself.
	maxPatterns = 20
)

// unwatched are directories that Hocket and git change by themselves.
var unwatched = []string{".git", ".hocket", ".glee"}

// readFiles reads `files: PATTERN`, a list of patterns, or {paths: …, settle: 5s}.
func readFiles(n strictyaml.Node) *Files {
	f := &Files{Settle: defaultSettle}
	patterns := n
	if n.IsMap() {
		m := n.Map()
		patterns = m.Get("paths")
		if settle := m.Get("settle"); settle.Exists() {
			if f.Settle = settle.Duration(); f.Settle > longestSettle {
				settle.Errorf(codeTrigger, "write at most 1h", "the settling time %s is too long", settle.Text())
			}
		}
		m.Done()
	}
	all := patterns.OneOrMany()
	switch {
	case len(all) == 0:
		n.Key().Errorf(codeTrigger, "write a path or a pattern, such as `files: inbox/*.csv`", "the trigger does not say which files it watches")
	case len(all) > maxPatterns:
		patterns.Errorf(codeTrigger, "use * and **, or several triggers", "a trigger has at most %d patterns, but this one has %d", maxPatterns, len(all))
		return f
	}
	for _, one := range all {
		text := one.Text()
		if !one.IsScalar() { // which is reported
			continue
		}
		pattern, wrong, hint := parseWatched(text)
		if wrong != "" {
			one.Errorf(codeTrigger, hint, "invalid pattern %q: %s", text, wrong)
			continue
		}
		f.Patterns, f.globs, f.at = append(f.Patterns, text), append(f.globs, pattern), append(f.at, one.Pos())
	}
	return f
}

// parseWatched parses a pattern of files. The text says what is wrong, "" if nothing is.
func parseWatched(text string) (p glob.Pattern, wrong, hint string) {
	const example = "write a path in the project, such as inbox/*.csv or **/*.md"
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~") || filepath.IsAbs(text) {
		return p, "it is not relative to the project", example
	}
	p, err := glob.Parse(text)
	switch {
	case errors.Is(err, glob.ErrNotRelative):
		return p, err.Error(), example
	case err != nil:
		return p, "its brackets are not closed, or empty", "write [abc] or [a-z], or \\[ for a bracket in a name"
	case p.Dirs():
		return p, "it matches directories", "write " + text + "* for the files in it, or " + text + "** for all below"
	}
	for _, part := range p.Parts() {
		for _, dir := range unwatched {
			if ok, _ := path.Match(part, dir); ok && part[0] == '.' { // without the dot, no hidden directory matches
				return p, "files below " + dir + " are not watched", "watch other files"
			}
		}
	}
	return p, "", ""
}

// checkFiles looks for links in the paths of a trigger: what they lead to is not watched.
func (p *Project) checkFiles(f *Files) (found workflow.Diagnostics) {
	for i, pattern := range f.globs {
		at := ""
		for _, part := range pattern.Parts() {
			if !glob.Literal(part) {
				break
			}
			at = path.Join(at, part)
			info, err := os.Lstat(filepath.Join(p.Root, filepath.FromSlash(at)))
			if err != nil {
				break // it can be created later
			}
			if info.Mode()&os.ModeSymlink != 0 {
				found = append(found, workflow.Errorf(f.at[i], codeTrigger, "watch the files themselves, inside of the project", "%s is a symbolic link, which a trigger does not follow", at))
				break
			}
		}
	}
	return found
}

// codeOwnFiles is the code of the warning about a workflow that writes files which its own trigger watches.
const codeOwnFiles = "trigger-own-files"

// checkOwnFiles finds the files that steps of a workflow write and that its trigger watches, as far as their paths are known.
func (f *Files) checkOwnFiles(b *workflow.Bundle) (found workflow.Diagnostics) {
	written := map[string]string{} // the step that writes it, by path
	for _, w := range append([]*workflow.Workflow{b.Root}, slices.Collect(maps.Values(b.Called))...) {
		if w == nil {
			continue
		}
		w.Body.WalkTasks(func(n *workflow.Node, t *workflow.Task) {
			name, _ := t.Settings["path"].(string)
			if action := t.Settings["action"]; t.Agent == "file" && (action == "write" || action == "append") && !strings.Contains(name, "${") {
				written[name] = n.ID
			}
		})
	}
	for _, name := range sorted.Keys(written) {
		for i, pattern := range f.globs {
			if pattern.Match(name) {
				found = append(found, workflow.Warningf(f.at[i], codeOwnFiles, "write the result elsewhere, or narrow the pattern; such a trigger is paused after 10 runs",
					"the trigger fires for %s, which the step %q of its own workflow writes", name, written[name]))
				break
			}
		}
	}
	return found
}
