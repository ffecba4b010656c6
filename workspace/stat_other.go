//go:build !unix

package workspace

import (
	"io/fs"
	"path/filepath"
)

// tellsChanges says whether the system tells when a file was changed, in a way that no program can choose.
const tellsChanges = false

// statOf knows nothing: this system does not tell when a file was changed.
func statOf(string) (s stat, ok bool) { return s, false }

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
