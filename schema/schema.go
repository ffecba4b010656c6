// Package schema holds the published JSON Schemas of the files that people
// write: workflows, agents, tools, CLIs, project settings and replies. Editors use them, and
// the command line prints them. Its tests keep them equal to what the readers
// accept. It imports no other package of Hocket.
package schema

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed *.schema.json
var files embed.FS

const ending = ".schema.json"

// Names returns the names of the schemas: agent, cli, config, replies, tool and workflow.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(fmt.Sprintf("schema: list the embedded files: %v", err))
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ending)
	}
	return names
}

// JSON returns the text of a schema.
func JSON(name string) ([]byte, error) {
	text, err := files.ReadFile(name + ending)
	if err != nil {
		return nil, fmt.Errorf("schema: unknown schema %q; the schemas are %s", name, strings.Join(Names(), ", "))
	}
	return text, nil
}
