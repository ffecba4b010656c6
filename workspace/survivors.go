package workspace

import (
	"os"
	"path/filepath"

	"github.com/hocket-dev/hocket/internal/process"
)

// endCommands ends what the commands in a workspace have left running, because it could write there while the files are recorded or
// removed. It returns the programs that it cannot end, which run as another user.
func (s *Store) endCommands(home string) (others []string, err error) {
	if err := s.repairNotes(home); err != nil {
		return nil, err
	}
	return process.EndNoted(notesIn(home))
}

// repairNotes makes the file with the marks of the commands readable again, and sets aside what a step has put there instead: no step
// would ever end well in a directory in which that is not possible. Nothing is done through a link.
func (s *Store) repairNotes(home string) error {
	rel, err := filepath.Rel(s.dir, notesIn(home))
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	const need = 0o600
	info, err := root.Lstat(rel)
	switch {
	case err != nil:
		return ignoreMissing(err)
	case !info.Mode().IsRegular():
		return setAside(root, rel)
	case info.Mode().Perm()&need != need:
		return root.Chmod(rel, info.Mode().Perm()|need)
	}
	return nil
}
