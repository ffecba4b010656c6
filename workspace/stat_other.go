//go:build !unix

package workspace

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// tellsChanges says whether the system tells when a file was changed, in a way that no program can choose.
const tellsChanges = false

// statOf knows nothing: this system does not tell when a file was changed.
func statOf(string) (s stat, ok bool) { return s, false }

// mayRead and mayWrite are not known on this system: whatever was denied was writing.
func mayRead(string) bool { return true }

func mayWrite(string) bool { return false }

// hasOtherNames is not known on this system.
func hasOtherNames(string) bool { return false }

// walk visits a directory and what is in it, see [visitor].
func walk(root string, visit visitor) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, wrong := filepath.Rel(root, path)
		if wrong != nil {
			return wrong
		}
		if name = filepath.ToSlash(name); name == "." {
			name = ""
		}
		mode := fs.ModeIrregular
		if d != nil {
			mode = d.Type()
			if info, wrong := d.Info(); wrong == nil {
				mode = info.Mode()
			}
		}
		return visit(name, mode, nil, err)
	})
}

// removeTree removes the files in a directory and in those below it of which may says so, and then all directories that are empty.
func removeTree(root string, may func(name string, s stat, relinked bool) bool) (err error) {
	var dirs []string
	_ = walk(root, func(name string, mode fs.FileMode, _ *stat, wrong error) error {
		file := filepath.Join(root, filepath.FromSlash(name))
		switch {
		case wrong != nil:
			err = cmp.Or(err, wrong)
		case mode.IsDir():
			dirs = append(dirs, file)
		case may(name, roughly(file), false):
			err = cmp.Or(err, os.Remove(file))
		}
		return nil
	})
	for _, dir := range slices.Backward(dirs) {
		_ = os.Remove(dir) // the caller sees what is left
	}
	return err
}
