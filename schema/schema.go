// Package schema holds the published schemas: JSON Schemas of the files that people write
// (workflows, agents, tools, CLIs, triggers, project settings, replies and tests) and of those that show the
// sessions of handoffs, and XML Schemas of requests and responses. Editors use them, and the
// command line prints them. Its tests keep them equal to what the readers accept. It imports
// no other package of Hocket.
package schema

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed *.schema.json
var files embed.FS

//go:embed *.xsd handoff-*.schema.json
var handoffs embed.FS

const ending = ".schema.json"

// Names returns the names of the JSON Schemas: agent, cli, config, handoff-result,
// handoff-state, replies, test, tool, trigger and workflow.
func Names() []string {
	names := list(files)
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, ending)
	}
	return names
}

func list(all embed.FS) []string {
	entries, err := all.ReadDir(".")
	if err != nil {
		panic(fmt.Sprintf("schema: list the embedded files: %v", err))
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
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

// newest is the file that agent-handoff-v1.xsd stands for.
const newest = "agent-handoff-v1.1.xsd"

// Handoffs returns the file names of the schemas of handoffs: the XML Schemas of requests and
// responses, and the JSON Schemas of state.json and result.json.
func Handoffs() []string { return list(handoffs) }

// Handoff returns the text of a schema of handoffs by its file name. The name
// agent-handoff-v1.xsd stands for the newest version 1.
func Handoff(file string) ([]byte, error) {
	if file == "agent-handoff-v1.xsd" {
		file = newest
	}
	text, err := handoffs.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("schema: unknown schema %q; the schemas are %s", file, strings.Join(Handoffs(), ", "))
	}
	return text, nil
}
