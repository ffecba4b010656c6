package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
)

// Runs can be in several places, such as a journal and a server. Only who knows where a run is can tell that it was deleted, so each place has
// a folder with a file for each of its runs that a worker has worked for here. The file has the id, because names are made shorter.

// Enter remembers that a run is in a place. The name of the place has letters and digits.
func (s *Store) Enter(place, run string) error {
	file := filepath.Join(s.dir, "places", place, nameOf(run))
	if text, err := os.ReadFile(file); err == nil && string(text) == run {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(run), 0o600)
}

// Entered returns the runs in a place of which the store may have something.
func (s *Store) Entered(place string) (runs []string, err error) {
	dir := filepath.Join(s.dir, "places", place)
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		text, wrong := os.ReadFile(filepath.Join(dir, e.Name()))
		if wrong == nil && nameOf(string(text)) == e.Name() { // otherwise the process was killed while it wrote
			runs = append(runs, string(text))
		}
	}
	return runs, ignoreMissing(err)
}

// forgetPlaces forgets in which places a run is, unless something is left of it.
func (s *Store) forgetPlaces(run string) error {
	homes, err := s.homes(run)
	if len(homes) > 0 || err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(globEscape(s.dir), "places", "*", nameOf(run)))
	for _, file := range files {
		err = errors.Join(err, ignoreMissing(os.Remove(file)))
	}
	return err
}

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
