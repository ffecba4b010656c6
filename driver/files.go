package driver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
)

// Files describes the files of a project on a machine.
type Files struct {
	At      string            // the commit, and a digest of what was changed since; "": no git repository
	changed map[string]string // what was changed, by path
}

// FilesAt returns the description of files that differ from a commit.
func FilesAt(at string, changed map[string]string) Files { return Files{at, changed} }

// Changed are some of the files that differ from a commit: the first ones, so that a run stays small.
type Changed struct {
	Files map[string]string `json:"files"`          // the beginning of what each is now, by path; "" if it is gone
	More  bool              `json:"more,omitempty"` // there are more, all of which come later
}

const (
	mostChanged = 100     // files that a run has
	longChanged = 8 << 10 // bytes of their paths
	shortSum    = 20      // characters of what a file is: its mode, and enough of its digest to tell files apart
	mostNamed   = 5       // files that a text names
)

// Short returns the changes to send with a run, nil if there are none.
func (f Files) Short() *Changed {
	if len(f.changed) == 0 {
		return nil
	}
	c, size := &Changed{Files: map[string]string{}}, 0
	for _, name := range sorted.Keys(f.changed) {
		if size += len(name); len(c.Files) == mostChanged || size > longChanged {
			c.More = true
			break
		}
		c.Files[name] = short(f.changed[name])
	}
	return c
}

func short(sum string) string { return sum[:min(len(sum), shortSum)] }

// Differ says in which way files differ from those that a run was started with, and names some of them.
func (f Files) Differ(pin *Pin) string {
	here, _, _ := strings.Cut(f.At, " with changes ")
	there, _, changed := strings.Cut(pin.Files, " with changes ")
	if here != there {
		return fmt.Sprintf("%s instead of %s", cmp.Or(f.At, "no git repository"), pin.Files)
	}
	text := fmt.Sprintf("%s instead of %s", f.At, pin.Files)
	if changed && pin.Changed == nil { // an older version recorded the run
		return text
	}
	was := cmp.Or(pin.Changed, &Changed{})
	last := ""
	for name := range was.Files {
		last = max(last, name)
	}
	var names []string
	for name, sum := range f.changed {
		if old, ok := was.Files[name]; (!ok || old != short(sum)) && (name <= last || !was.More) {
			names = append(names, name)
		}
	}
	for name := range was.Files {
		if _, ok := f.changed[name]; !ok {
			names = append(names, name)
		}
	}
	if len(names) == 0 { // beyond those that the run has
		return text
	}
	slices.Sort(names)
	more := len(names) - mostNamed
	var quoted []string
	for _, name := range names[:min(len(names), mostNamed)] {
		quoted = append(quoted, fmt.Sprintf("%+q", name))
	}
	text = here + " with other changes: " + strings.Join(quoted, ", ") // the same text while a program goes on writing to them
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
