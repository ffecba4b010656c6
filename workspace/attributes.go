package workspace

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
)

const attributesName = ".gitattributes"

// mergeAttributes writes the files .gitattributes of a base that say how git merges commits into a directory, and returns that; "" if
// there are none. Git reads them there if it is the work tree, with all its rules for patterns and macros, and finds no driver but its own,
// since no configuration has one. Those of the commits are not read: agents can change them.
func (q *quarantine) mergeAttributes(ctx context.Context, base string, commits ...string) (dir string, err error) {
	names, err := q.attributesOf(ctx, base, commits)
	if err != nil {
		return "", err
	}
	const most = 100 << 20 // git ignores larger ones
	files, err := q.filesOf(ctx, base, names, most)
	if err != nil || len(files) == 0 {
		return "", err
	}
	dir = filepath.Join(q.dir, "merged")
	if err := errors.Join(removeAll(dir), os.Mkdir(dir, 0o700)); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	for name, v := range files {
		if v.Special || v.Large {
			continue
		}
		// Conflict markers have the usual length, by which we find them.
		content := append(v.Content, "\n* !conflict-marker-size\n"...)
		file := filepath.FromSlash(name)
		if err := errors.Join(root.MkdirAll(filepath.Dir(file), 0o700), root.WriteFile(file, content, 0o600)); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// attributesOf returns the names that files .gitattributes have if they concern files that differ between a base and some commits. Git merges no
// others, and to list all files of a large project would take longer than to merge a few.
func (q *quarantine) attributesOf(ctx context.Context, base string, commits []string) (map[string]bool, error) {
	names := map[string]bool{}
	for _, commit := range commits {
		moves, err := q.moves(ctx, [2]tree{base, commit})
		if err != nil {
			return nil, err
		}
		for _, m := range moves {
			for dir := path.Dir(m.Path); ; dir = path.Dir(dir) {
				name := path.Join(dir, attributesName)
				if names[name] {
					break
				}
				if names[name] = true; dir == "." {
					break
				}
			}
		}
	}
	return names, nil
}
