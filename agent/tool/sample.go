package tool

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:embed sample
var samples embed.FS

// Sample is the files of a new tool of a kind, by name: it is there to be changed.
func Sample(kind string) (map[string][]byte, error) {
	dir := "sample/" + kind
	entries, err := fs.ReadDir(samples, dir)
	if err != nil {
		return nil, fmt.Errorf("tool: there is no kind %q", kind)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = samples.ReadFile(dir + "/" + e.Name()); err != nil {
			return nil, fmt.Errorf("tool: %w", err)
		}
	}
	return files, nil
}
