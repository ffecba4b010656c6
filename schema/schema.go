// Package schema holds the published schemas of the files that people write: JSON Schemas of
// workflows, agents, tools, CLIs, project settings and replies, and XML Schemas of handoffs.
// Editors use them, and the command line prints them. Its tests keep them equal to what the
// readers accept. It imports no other package of Hocket.
package schema

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed *.schema.json
var files embed.FS

//go:embed *.xsd
var xsds embed.FS

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

// newest is the file that agent-handoff-v1.xsd stands for.
const newest = "agent-handoff-v1.1.xsd"

// XSDs returns the file names of the XML Schemas of handoffs: of requests and responses.
func XSDs() []string {
	entries, err := xsds.ReadDir(".")
	if err != nil {
		panic(fmt.Sprintf("schema: list the embedded files: %v", err))
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// XSD returns the text of an XML Schema by its file name. The name agent-handoff-v1.xsd
// stands for the newest version 1.
func XSD(file string) ([]byte, error) {
	if file == "agent-handoff-v1.xsd" {
		file = newest
	}
	text, err := xsds.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("schema: unknown schema %q; the schemas are %s", file, strings.Join(XSDs(), ", "))
	}
	return text, nil
}
