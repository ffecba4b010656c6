package workspace

import (
	"path/filepath"
	"slices"
)

// Runs returns the runs that have directories.
func (s *Store) Runs() (runs []string, err error) {
	homes, err := filepath.Glob(filepath.Join(globEscape(s.dir), "work", "*", "*"))
	for _, home := range homes {
		if m, err := readMarker(home); err == nil && !slices.Contains(runs, m.Run) {
			runs = append(runs, m.Run)
		}
	}
	return runs, err
}

// Left reports whether a run has directories that [Store.Release] could not remove.
func (s *Store) Left(run string) (bool, error) {
	homes, err := s.homes(run)
	return len(homes) > 0, err
}
