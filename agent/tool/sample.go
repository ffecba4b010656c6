package tool

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:embed sample
var samples embed.FS

// Sample returns the files of a new tool of a kind, by name, as a starting point.
func Sample(kind string) (map[string][]byte, error) {
	dir := "sample/" + kind
	entries, err := fs.ReadDir(samples, dir)
	if err != nil {
		return nil, fmt.Errorf("tool: unknown kind %q", kind)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = samples.ReadFile(dir + "/" + e.Name()); err != nil {
			return nil, fmt.Errorf("tool: %w", err)
		}
	}
	return files, nil
}
