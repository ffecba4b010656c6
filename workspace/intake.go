package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// intake is where git writes packs for a repository: a directory beside its objects, as git itself makes one for what it receives. When a
// pack is complete, it is moved to the others. So what fails leaves no part of one there, also if the disk is full or the process is killed.
type intake struct {
	git
	dir, objects string
}

const intakePrefix = "tmp_objdir-hocket-" // git removes what begins so when it prunes

// intake returns one for the repository in which g works.
func (g git) intake() (*intake, error) {
	dir, err := os.MkdirTemp(g.objects, intakePrefix)
	if err != nil {
		return nil, reason(err, g.objects)
	}
	return &intake{g.with("GIT_OBJECT_DIRECTORY="+dir, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+quotePath(g.objects)), dir, g.objects}, nil
}

func (in *intake) remove() { _ = removeAll(in.dir) }

// take moves what git has written. The repository may have the same pack: it is as young as the new one then, so that it is not taken for
// garbage before a ref leads to it.
func (in *intake) take() error {
	entries, err := os.ReadDir(filepath.Join(in.dir, "pack"))
	if err != nil {
		return ignoreMissing(err) // without objects there is no pack
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { // the index last: without it, git does not look at the pack
		return strings.Compare(filepath.Ext(b.Name()), filepath.Ext(a.Name()))
	})
	if err := os.MkdirAll(filepath.Join(in.objects, "pack"), 0o777); err != nil {
		return reason(err, in.objects)
	}
	for _, e := range entries {
		to := filepath.Join(in.objects, "pack", e.Name())
		if err := os.Rename(filepath.Join(in.dir, "pack", e.Name()), to); err != nil {
			if _, exists := os.Lstat(to); exists != nil {
				return reason(err, in.objects)
			}
			now := time.Now() // a system that does not replace files that are open
			if err := os.Chtimes(to, now, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeUnfinished removes what processes that were killed have left among the objects of the store.
func (s *Store) removeUnfinished() {
	for _, dir := range []string{s.objects(), filepath.Join(s.objects(), "pack")} {
		left, _ := filepath.Glob(filepath.Join(globEscape(dir), "tmp_*")) // the pattern is valid
		for _, name := range left {
			if info, err := os.Lstat(name); err == nil && time.Since(info.ModTime()) > leftovers {
				_ = removeAll(name)
			}
		}
	}
}
