package workspace

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Change is a file that differs between two commits. A file that was renamed is two of them.
type Change struct {
	Path    string   // from the project's directory, with slashes
	Was, Is *Version // nil: there was or is no such file
}

// Version is what a file is in a commit.
type Version struct {
	Special    bool // a symbolic link or another repository, which has no content here
	Large      bool // its content was left out
	Executable bool
	Content    []byte
}

// Changes returns what differs between two commits, by path, with the contents of files that have at most so many bytes.
func (s *Store) Changes(ctx context.Context, a, b string, most int) ([]Change, error) {
	if err := checkCommits(a, b); err != nil {
		return nil, err
	}
	moves, err := s.git.moves(ctx, [2]tree{a, b})
	if err != nil {
		return nil, err
	}
	var all []Change
	for _, m := range moves {
		c := Change{Path: relative(filepath.ToSlash(s.sub), m.Path)}
		if c.Was, err = s.git.version(ctx, m.Was, m.Old, most); err != nil {
			return nil, err
		}
		if c.Is, err = s.git.version(ctx, m.Mode, m.Object, most); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// relative returns a path as seen from a directory that need not contain it.
func relative(dir, name string) string {
	up := ""
	for ; dir != "" && dir != "."; dir = path.Dir(dir) {
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
			return up + rest
		}
		up += "../"
	}
	return up + name
}

// version reads an object of a tree.
func (g git) version(ctx context.Context, mode, object string, most int) (*Version, error) {
	switch mode {
	case "":
		return nil, nil //nolint:nilnil // there is no such file
	case "100644", "100755":
	default:
		return &Version{Special: true}, nil
	}
	v := &Version{Executable: mode == "100755"}
	text, err := g.out(ctx, "cat-file", "-s", object)
	if err != nil {
		return nil, err
	}
	size, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("git cat-file: unexpected output %.80q", text)
	}
	if v.Large = size > most; v.Large {
		return v, nil
	}
	content, _, err := g.run(ctx, nil, "cat-file", "blob", object)
	v.Content = []byte(content)
	return v, err
}
