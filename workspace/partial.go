package workspace

import (
	"context"
	"fmt"
	"strings"
)

// partialError means that the user's repository is a partial clone without some files of a commit.
type partialError struct {
	Dir  string // the top of its checkout
	File string // one of the files
}

func (e *partialError) Error() string {
	return fmt.Sprintf("the repository of %s is a partial clone that lacks files of the project, such as %s, and Hocket fetches nothing: "+
		"run git sparse-checkout disable, or git fetch --refetch --no-filter to keep your sparse checkout", e.Dir, Shown(e.File))
}

// isPartial reports whether a configuration is that of a partial clone.
func isPartial(values map[string]string) bool {
	for key, value := range values {
		if key == "extensions.partialclone" || strings.HasPrefix(key, "remote.") && strings.HasSuffix(key, ".promisor") && value == "true" {
			return true
		}
	}
	return false
}

// checkComplete returns a partialError if files of a commit are missing because the user's repository is a partial clone.
func (s *Store) checkComplete(ctx context.Context, commit string) error {
	if s.user == nil || !s.user.partial {
		return nil
	}
	text, err := s.git.out(ctx, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return err
	}
	files := map[string]string{} // by object
	var objects strings.Builder
	for _, line := range records(text) {
		about, name, _ := strings.Cut(line, "\t")
		if fields := strings.Fields(about); len(fields) == 3 && fields[1] == "blob" {
			files[fields[2]] = name
			objects.WriteString(fields[2] + "\n")
		}
	}
	if text, err = s.git.input(ctx, objects.String(), "cat-file", "--batch-check=%(objecttype)"); err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		if object, is := strings.CutSuffix(strings.TrimSpace(line), " missing"); is {
			return &partialError{s.root, files[object]}
		}
	}
	return nil
}
