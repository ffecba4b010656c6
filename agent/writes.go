package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/sandbox"
)

// WriteLimit says where a task may write: its executor, the programs that it starts, and
// everything that these start. Paths are absolute, or relative to the project's root. A
// directory stands for everything in it.
//
// The kernel enforces it for programs, see [WriteLimits]. The devices that programs need,
// the system's directory for temporary files and, for a CLI agent, the directories where it
// stores its own settings and sessions can be written too, but not the project through them.
// Reading is not limited, nor is anything else that is not writing: a program may connect,
// and change the permission bits and times of files. It cannot gain privileges, as with
// sudo.
//
// For programs, Except also means that in the directories above such a path, nothing can be
// created, removed or renamed directly; what exists there can be changed. With Except: src,
// a program may write README.md and create docs/new.md, but neither NEWS.md nor a directory
// next to src.
type WriteLimit struct {
	// Only lists where it may write, if not empty. In the project, these paths contain no
	// link. They must exist, except that a path with a trailing slash is a directory that is
	// created if it does not.
	Only []string
	// Except lists where it may not write, even inside Only. The paths need not exist.
	Except []string
	// Advisory lets the task run on a system that cannot enforce the limit. Otherwise its
	// attempts fail.
	Advisory bool
}

// WriteLimits returns why this system cannot enforce a [WriteLimit] for programs; "" if it
// can, with Landlock.
func WriteLimits() (why string) { return unlimited() }

var unlimited = sandbox.Unlimited // tests replace it

// Limit returns what programs must be started with to obey the task's limit; nil if there is
// none, or if it is not enforced. The programs may also write to the given paths, as far as
// they exist and are not in the project; one with a trailing slash is a directory that is
// created.
func (t *Task) Limit(also ...string) (*sandbox.Limit, error) {
	if t == nil || t.Writes == nil {
		return nil, nil
	}
	if why := WriteLimits(); why != "" {
		if t.Writes.Advisory {
			return nil, nil
		}
		return nil, Permanentf("the task is limited in where it may write, which cannot be enforced here: %s", why)
	}
	limit := &sandbox.Limit{}
	except := t.absolute(t.Writes.Except)
	for _, name := range t.Writes.Only {
		limit.Areas = append(limit.Areas, sandbox.Area{Place: t.place(name), Except: except})
	}
	if len(t.Writes.Only) == 0 {
		limit.Areas = append(limit.Areas, sandbox.Area{Place: sandbox.Place{Base: "/"}, Except: except})
	}
	for _, name := range append(also, os.TempDir()) {
		area := sandbox.Area{Place: outside(name), Optional: true, Except: except}
		if !inside(t.Dir, area.Base) {
			area.Except = append(slices.Clip(except), t.Dir)
		}
		if len(t.Writes.Only) > 0 {
			limit.Areas = append(limit.Areas, area)
		}
	}
	return limit, badLimit(limit.Check())
}

// absolute returns paths of a limit as absolute ones.
func (t *Task) absolute(names []string) []string {
	var all []string
	for _, name := range names {
		if !filepath.IsAbs(name) {
			name = filepath.Join(t.Dir, name)
		}
		all = append(all, filepath.Clean(name))
	}
	return all
}

// place returns a path of Only. No link in the project is followed: an agent could make it
// point anywhere.
func (t *Task) place(name string) sandbox.Place {
	full := t.absolute([]string{name})[0]
	slash := ""
	if strings.HasSuffix(filepath.ToSlash(name), "/") {
		slash = "/"
	}
	place := outside(full + slash)
	if below, err := filepath.Rel(t.Dir, full); err == nil && filepath.IsLocal(below) {
		place = sandbox.Place{Base: t.Dir, Path: filepath.ToSlash(below) + slash}
	}
	place.Name = strings.TrimSuffix(name, "/")
	return place
}

// outside returns a path that is not the agent's: links are followed. One with a trailing
// slash is created.
func outside(name string) sandbox.Place {
	if strings.HasSuffix(filepath.ToSlash(name), "/") {
		_ = os.MkdirAll(name, 0o700) // otherwise it does not exist, which is reported
	}
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	name = filepath.Clean(name)
	return sandbox.Place{Base: filepath.Dir(name), Path: filepath.Base(name)}
}

// badLimit explains why a limit cannot be used.
func badLimit(err error) error {
	var at *sandbox.PlaceError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &at):
		return Errorf("cannot limit where the task may write: %v", err)
	case at.Link != "":
		return Permanentf("the task may write only in %q, in which %q is a link to %q; name the path without links", at.Place, at.Link, at.Target)
	case errors.Is(err, fs.ErrNotExist):
		return Permanentf("the task may write only in %q, which does not exist; create it, or write \"%s/\" for a directory to be created", at.Place, at.Place)
	}
	return Permanentf("cannot limit where the task may write: %v", err)
}

// MayWrite returns an error if the task's limit does not allow writing a file of the
// project. It is for executors that write files themselves; they must follow no link on the
// way to the file.
func (t *Task) MayWrite(name string) error {
	if t.Writes == nil {
		return nil
	}
	at := *t
	if dir, err := filepath.EvalSymlinks(t.Dir); err == nil {
		at.Dir = dir
	}
	file := at.absolute([]string{name})[0]
	may := len(t.Writes.Only) == 0
	for _, only := range at.absolute(t.Writes.Only) {
		target, err := filepath.EvalSymlinks(only)
		linked := err == nil && target != only && inside(at.Dir, only)
		may = may || !linked && inside(only, file)
	}
	for _, except := range at.absolute(t.Writes.Except) {
		may = may && !inside(except, file)
	}
	if !may {
		return Permanentf("this task may not write %q", name)
	}
	return nil
}

// inside reports whether a file is a given one or below it, under any name of that.
func inside(dir, file string) bool {
	is, err := os.Stat(dir)
	for at := file; ; at = filepath.Dir(at) {
		same, wrong := os.Stat(at)
		if at == dir || err == nil && wrong == nil && os.SameFile(is, same) {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}
