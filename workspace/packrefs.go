package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/filelock"
)

// maxLooseRefs is how many refs of the store have files of their own before they are put into one. Each command for refs looks at all files,
// see [checkRefs].
var maxLooseRefs int64 = 1000

// packManyRefs puts the refs of the store into one file if there are many. Others may work with them meanwhile. If its process is killed,
// each ref is in its own file or in that one, or has the same commit in both.
func (s *Store) packManyRefs(ctx context.Context) error {
	if s.refs.repo.loose.Load() < maxLooseRefs {
		return nil
	}
	lock, err := filelock.Take(filepath.Join(s.dir, "garbage.lock"))
	if errors.Is(err, filelock.ErrLocked) {
		return nil // it is done now, or later
	}
	if err != nil {
		return err
	}
	return errors.Join(s.packRefs(ctx), lock.Release())
}

// packRefs puts our refs into one file. Git can pack only all refs, and removes their files: if there are others, they are not ours.
func (s *Store) packRefs(ctx context.Context) error {
	refs, err := s.refs.out(ctx, "for-each-ref", "--format=%(refname)")
	if err != nil {
		return err
	}
	for ref := range strings.FieldsSeq(refs) {
		if !strings.HasPrefix(ref, "refs/hocket/") {
			return nil
		}
	}
	return s.refs.do(ctx, "pack-refs", "--all")
}

// removeRefLocks removes what commands for refs have left that were killed. Git would wait for them in vain.
func (s *Store) removeRefLocks() {
	remove := func(name string) {
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > leftovers {
			_ = os.Remove(name)
		}
	}
	store := filepath.Join(s.dir, "store.git")
	remove(filepath.Join(store, "packed-refs.lock"))
	remove(filepath.Join(store, "packed-refs.new"))
	_ = filepath.WalkDir(filepath.Join(store, "refs"), func(name string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".lock") {
			remove(name)
		}
		return nil //nolint:nilerr // what cannot be read is noticed by git
	})
}
