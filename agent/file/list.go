package file

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/glob"
	"github.com/hocket-dev/hocket/workflow"
)

// listed returns the paths below a directory that match a pattern, as JSON.
func listed(ctx context.Context, root *os.Root, dir, names string, limit int64) (string, error) {
	found, err := list(ctx, root, dir, names)
	if err != nil {
		return "", err
	}
	paths := make([]any, len(found))
	for i, p := range found {
		paths[i] = p
	}
	output := workflow.FormatJSON(paths)
	if int64(len(output)) > limit {
		return "", agent.Permanentf("the list of %d paths exceeds %d KiB; narrow the glob, or raise max_output_kb", len(paths), limit>>10)
	}
	return output, nil
}

// list returns the paths below a directory that match a pattern, sorted.
func list(ctx context.Context, root *os.Root, dir, names string) ([]string, error) {
	if dir == "" {
		dir = "."
	}
	if names == "" {
		names = "*"
	}
	pattern, err := glob.Parse(names)
	if errors.Is(err, glob.ErrNotRelative) {
		return nil, agent.Permanentf("glob %q: write it relative to path, without empty parts, . or ..", names)
	}
	if err != nil {
		return nil, agent.Permanentf("glob %q: %v", names, err)
	}
	if _, err := root.Stat(filepath.FromSlash(dir)); err != nil {
		return nil, agent.PathError(dir, err)
	}
	return pattern.Find(root.FS(), filepath.ToSlash(dir), glob.Options{
		Links: true,
		Enter: func(string) error {
			if ctx.Err() != nil {
				return agent.Interrupted(ctx)
			}
			return nil
		},
		Unreadable: func(dir string, err error) error { return agent.PathError(dir, err) },
	})
}
