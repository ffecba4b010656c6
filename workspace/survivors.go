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

// ownFiles are the files that Hocket keeps beside a tree, see [Workspace]. Those with true are there as long as the tree is, or only what
// runs in it can be in their place.
var ownFiles = map[string]bool{
	markerName: true, indexName: true, notesName: true,
	markerName + newSuffix: false, removedName: false, seenName: false, filesNote: false, timeName: false,
}

// repairFiles makes our files beside a workspace readable again, and sets aside what somebody has put in their place: otherwise no step would ever
// end well in that directory, and we would wait for a pipe for ever.
func (s *Store) repairFiles(home string) error {
	at, err := s.openHome(home)
	if err != nil {
		return ignoreMissing(err)
	}
	return errors.Join(repairFiles(at), at.Close())
}

func repairFiles(home *os.Root) (err error) {
	for name, always := range ownFiles {
		err = errors.Join(err, repairFile(home, name, always))
	}
	return err
}

// repairFile repairs a file. A directory in its place may be a person's, unless the file is always there.
func repairFile(home *os.Root, name string, always bool) error {
	const need = 0o600
	info, err := home.Lstat(name)
	switch {
	case err != nil:
		return ignoreMissing(err)
	case info.IsDir() && !always:
		_, err := setAsideAs(home, name, name+".mine")
		return ignoreMissing(err)
	case !info.Mode().IsRegular():
		return setAside(home, name)
	case info.Mode().Perm()&need != need:
		return home.Chmod(name, info.Mode().Perm()|need)
	}
	return nil
}

// copyIndex copies the index of the files as they were checked out, if it is there.
func (w *Workspace) copyIndex(to string) error {
	if err := w.store.repairFiles(w.home); err != nil {
		return err
	}
	return copyIndex(filepath.Join(w.home, indexName), to)
}
