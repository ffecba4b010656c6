// Package glob finds files by patterns of their paths. In a name, * ? and [a-z] have their usual meaning; a ** matches
// any number of directories. Names that begin with a dot match only a pattern that does so, too. It imports no other
// package of Hocket.
package glob

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Pattern is a pattern, split at its slashes. Its last part is never a **.
type Pattern struct {
	parts []string
	dirs  bool // it ends with a slash: it matches directories
}

const anyDirs = "**"

// ErrNotRelative means that a pattern is not relative to the directory that is searched.
var ErrNotRelative = errors.New("it has an empty part, . or ..")

// Parse parses a pattern. Repeated ** are redundant, and a ** at the end matches everything below.
func Parse(text string) (Pattern, error) {
	p := Pattern{dirs: strings.HasSuffix(text, "/")}
	for part := range strings.SplitSeq(strings.TrimSuffix(text, "/"), "/") {
		if _, err := path.Match(part, ""); err != nil {
			return p, fmt.Errorf("invalid pattern %q", part)
		}
		if part == "" || part == "." || part == ".." {
			return p, ErrNotRelative
		}
		if part == anyDirs && len(p.parts) > 0 && p.parts[len(p.parts)-1] == anyDirs {
			continue
		}
		p.parts = append(p.parts, part)
	}
	if p.parts[len(p.parts)-1] == anyDirs {
		p.parts = append(p.parts, "*")
	}
	return p, nil
}

// Parts returns the parts of the pattern.
func (p Pattern) Parts() []string { return slices.Clone(p.parts) }

// Dirs reports whether the pattern matches directories.
func (p Pattern) Dirs() bool { return p.dirs }

// Match reports whether a file with a path would match.
func (p Pattern) Match(name string) bool {
	at := make([]bool, len(p.parts)+1) // the parts that the next name can match
	at[0] = true
	for name := range strings.SplitSeq(path.Clean(name), "/") {
		next := make([]bool, len(at))
		for i, part := range p.parts {
			switch ok, _ := path.Match(part, name); {
			case !at[i]:
			case part == anyDirs:
				at[i+1] = true
				next[i] = next[i] || !hidden(name)
			case ok && (!hidden(name) || hidden(part)):
				next[i+1] = true
			}
		}
		at = next
	}
	return !p.dirs && at[len(p.parts)]
}

// Literal reports whether a part of a pattern matches only itself.
func Literal(part string) bool { return !strings.ContainsAny(part, `*?[\`) }

// Options configure [Pattern.Find].
type Options struct {
	// Links says whether symbolic links count as what they lead to. Those in which a ** would have to look do not.
	Links bool
	// Enter is called before a directory is read. Its error ends the search.
	Enter func(dir string) error
	// Unreadable is called for a directory that cannot be read. Its error ends the search; nil: that of reading does.
	Unreadable func(dir string, err error) error
}

// Find returns the paths below a directory that match the pattern, sorted.
func (p Pattern) Find(files fs.FS, dir string, o Options) ([]string, error) {
	f := &finder{Pattern: p, Options: o, files: files, seen: map[place]bool{}}
	if err := f.walk(path.Clean(dir), 0); err != nil {
		return nil, err
	}
	slices.Sort(f.found)
	return slices.Compact(f.found), nil
}

// finder walks directories along a pattern.
type finder struct {
	Pattern
	Options
	files fs.FS
	found []string
	seen  map[place]bool
}

// place is a directory together with the part of the pattern to match there. Each is
// visited once: otherwise several ** would take unbounded time.
type place struct {
	dir  string
	part int
}

func (f *finder) walk(dir string, part int) error {
	if f.seen[place{dir, part}] {
		return nil
	}
	f.seen[place{dir, part}] = true
	if f.Enter != nil {
		if err := f.Enter(dir); err != nil {
			return err
		}
	}
	entries, err := fs.ReadDir(f.files, dir)
	if err != nil {
		if f.Unreadable != nil {
			err = f.Unreadable(dir, err)
		}
		return err
	}
	deep := f.parts[part] == anyDirs
	if deep {
		if err := f.walk(dir, part+1); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if err := f.visit(dir, part, deep, e); err != nil {
			return err
		}
	}
	return nil
}

func (f *finder) visit(dir string, part int, deep bool, e fs.DirEntry) error {
	name := path.Join(dir, e.Name())
	if deep {
		if e.IsDir() && !hidden(e.Name()) {
			return f.walk(name, part)
		}
		return nil
	}
	if ok, _ := path.Match(f.parts[part], e.Name()); !ok || hidden(e.Name()) && !hidden(f.parts[part]) {
		return nil
	}
	isDir, isFile := f.kind(name, e)
	switch {
	case part < len(f.parts)-1 && isDir:
		return f.walk(name, part+1)
	case part == len(f.parts)-1 && (f.dirs && isDir || !f.dirs && isFile):
		f.found = append(f.found, name)
	}
	return nil
}

// kind follows a symbolic link, if links count. One that is broken, or leads outside, is neither directory nor file.
func (f *finder) kind(name string, e fs.DirEntry) (isDir, isFile bool) {
	mode := e.Type()
	if f.Links && mode&fs.ModeSymlink != 0 {
		info, err := fs.Stat(f.files, name)
		if err != nil {
			return false, false
		}
		mode = info.Mode()
	}
	return mode.IsDir(), mode.IsRegular()
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") }
