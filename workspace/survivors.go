package workspace

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/hocket-dev/hocket/internal/process"
)

// endCommands ends what the commands in a workspace have left running, because it could write there while the files are recorded or
// removed. It returns the programs that it cannot end, which run as another user.
func (s *Store) endCommands(home string) (others []string, err error) {
	if err := s.repairFiles(home); err != nil {
		return nil, err
	}
	return process.EndNoted(notesIn(home))
}

// repairFiles makes our files beside a workspace readable again, and sets aside what a step has put there instead: no step would ever end well in
// a directory in which that is not possible, and we would wait for a pipe for ever. Nothing is done through a link.
func (s *Store) repairFiles(home string) error {
	rel, err := filepath.Rel(s.dir, home)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range []string{filepath.Base(notesIn(home)), "index", seenName, markerName + ".new"} {
		err = errors.Join(err, repairFile(root, filepath.Join(rel, name), name == filepath.Base(notesIn(home))))
	}
	return err
}

// repairFile repairs a file. A directory with its name may be a person's, unless there is such a file from the start.
func repairFile(root *os.Root, rel string, started bool) error {
	const need = 0o600
	info, err := root.Lstat(rel)
	switch {
	case err != nil:
		return ignoreMissing(err)
	case info.IsDir() && !started:
		return nil
	case !info.Mode().IsRegular():
		return setAside(root, rel)
	case info.Mode().Perm()&need != need:
		return root.Chmod(rel, info.Mode().Perm()|need)
	}
	return nil
}
