package file

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// listed returns the paths below a directory that match a pattern, as JSON.
func listed(ctx context.Context, root *os.Root, dir, glob string, limit int64) (string, error) {
	found, err := list(ctx, root, dir, glob)
	if err != nil {
		return "", err
	}
	paths := make([]any, len(found))
	for i, p := range found {
		paths[i] = p
	}
	output := workflow.FormatJSON(paths)
	if int64(len(output)) > limit {
		return "", agent.Permanentf("the list of %d paths exceeds %d KiB; narrow the glob, or raise max_output_kb", len(paths), limit>>10)
	}
	return output, nil
}

// list returns the paths below a directory that match a pattern, sorted.
func list(ctx context.Context, root *os.Root, dir, glob string) ([]string, error) {
	if dir == "" {
		dir = "."
	}
	if glob == "" {
		glob = "*"
	}
	l := &lister{ctx: ctx, files: root.FS(), dirs: strings.HasSuffix(glob, "/"), seen: map[place]bool{}}
	var err error
	if l.pattern, err = split(glob); err != nil {
		return nil, err
	}
	if _, err := root.Stat(filepath.FromSlash(dir)); err != nil {
		return nil, agent.PathError(dir, err)
	}
	if err := l.walk(path.Clean(filepath.ToSlash(dir)), 0); err != nil {
		return nil, err
	}
	slices.Sort(l.found)
	return slices.Compact(l.found), nil
}

const anyDirs = "**"

// split splits a glob at its slashes. Repeated ** are redundant, and a ** at the end
// matches everything below.
func split(glob string) ([]string, error) {
	var pattern []string
	for part := range strings.SplitSeq(strings.TrimSuffix(glob, "/"), "/") {
		if _, err := path.Match(part, ""); err != nil {
			return nil, agent.Permanentf("glob %q: invalid pattern %q", glob, part)
		}
		if part == "" || part == "." || part == ".." {
			return nil, agent.Permanentf("glob %q: write it relative to path, without empty parts, . or ..", glob)
		}
		if part == anyDirs && len(pattern) > 0 && pattern[len(pattern)-1] == anyDirs {
			continue
		}
		pattern = append(pattern, part)
	}
	if pattern[len(pattern)-1] == anyDirs {
		pattern = append(pattern, "*")
	}
	return pattern, nil
}

// lister walks directories along a pattern.
type lister struct {
	ctx     context.Context
	files   fs.FS
	pattern []string
	dirs    bool // find directories, not files
	found   []string
	seen    map[place]bool
}

// place is a directory together with the part of the pattern to match there. Each is
// visited once: otherwise several ** would take unbounded time.
type place struct {
	dir  string
	part int
}

func (l *lister) walk(dir string, part int) error {
	if l.ctx.Err() != nil {
		return agent.Interrupted(l.ctx)
	}
	if l.seen[place{dir, part}] {
		return nil
	}
	l.seen[place{dir, part}] = true
	entries, err := fs.ReadDir(l.files, dir)
	if err != nil {
		return agent.PathError(dir, err)
	}
	deep := l.pattern[part] == anyDirs
	if deep {
		if err := l.walk(dir, part+1); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if err := l.visit(dir, part, deep, e); err != nil {
			return err
		}
	}
	return nil
}

func (l *lister) visit(dir string, part int, deep bool, e fs.DirEntry) error {
	name := path.Join(dir, e.Name())
	if deep {
		if e.IsDir() && !hidden(e.Name()) {
			return l.walk(name, part)
		}
		return nil
	}
	if ok, _ := path.Match(l.pattern[part], e.Name()); !ok || hidden(e.Name()) && !hidden(l.pattern[part]) {
		return nil
	}
	isDir, isFile := l.kind(name, e)
	switch {
	case part < len(l.pattern)-1 && isDir:
		return l.walk(name, part+1)
	case part == len(l.pattern)-1 && (l.dirs && isDir || !l.dirs && isFile):
		l.found = append(l.found, name)
	}
	return nil
}

// kind follows a symbolic link. One that is broken, or leads outside the project, is
// neither directory nor file.
func (l *lister) kind(name string, e fs.DirEntry) (isDir, isFile bool) {
	mode := e.Type()
	if mode&fs.ModeSymlink != 0 {
		info, err := fs.Stat(l.files, name)
		if err != nil {
			return false, false
		}
		mode = info.Mode()
	}
	return mode.IsDir(), mode.IsRegular()
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") }
