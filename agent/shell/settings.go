package shell

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/hocket-dev/hocket/agent"
)

// defaultOutputKB limits the output of a command that sets no limit.
const defaultOutputKB = 1024

type settings struct {
	Command     command               `json:"command"`
	Script      string                `json:"script"`
	Args        []agent.Text          `json:"args"`
	Stdin       *agent.Text           `json:"stdin"`
	Env         map[string]agent.Text `json:"env"`
	Dir         string                `json:"dir"`
	Shell       string                `json:"shell"`
	MaxOutputKB int                   `json:"max_output_kb"`
}

// command is a program with its arguments, or the text of a script.
type command struct {
	argv []agent.Text
	text string
}

func (c *command) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("[")) {
		return json.Unmarshal(data, &c.argv)
	}
	if err := json.Unmarshal(data, new(bool)); err == nil { // the programs true and false; some notations have no other way to write them
		c.text = string(data)
		return nil
	}
	return json.Unmarshal(data, &c.text)
}

// schema describes the settings in the package comment.
func schema() map[string]any {
	scalar := map[string]any{"type": []any{"string", "number", "boolean"}}
	return map[string]any{
		"type":                 "object",
		"additionalProperties": false,
		"oneOf":                []any{map[string]any{"required": []any{"command"}}, map[string]any{"required": []any{"script"}}},
		"properties": map[string]any{
			"command": map[string]any{
				"description": "A program with its arguments as a list, or the text of a script for sh -c. The text must not contain references: use environment variables and arguments for values.",
				"type":        []any{"string", "array", "boolean"}, "items": scalar, "minItems": 1, "minLength": 1,
			},
			"script": agent.PathInside("A script file in the project, run with args."),
			"args":   map[string]any{"description": "Arguments, after those of command.", "type": "array", "items": scalar},
			"stdin":  map[string]any{"description": "Text on standard input. Default: the prompt."},
			"env": map[string]any{
				"description": "Environment variables.", "type": "object", "additionalProperties": scalar,
				"propertyNames": map[string]any{"description": "letters, digits and _, and does not begin with a digit", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
			},
			"dir":           agent.PathInside("Working directory, relative to the project."),
			"shell":         map[string]any{"description": "The program that runs a script given as text. Default: sh.", "enum": []any{"sh", "bash"}},
			"max_output_kb": map[string]any{"description": "Maximum size of standard output, in KiB. Default: 1024.", "type": "integer", "minimum": 1, "maximum": 1 << 20},
		},
	}
}

// argv returns the program to start and its arguments.
func (s *settings) argv(project string) ([]string, error) {
	sh := s.Shell
	if sh == "" {
		sh = "sh"
	}
	var argv []string
	switch {
	case s.Script != "":
		info, err := statInside(project, s.Script)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, agent.Permanentf("script %q is not a file", s.Script)
		}
		if info.Mode().Perm()&0o111 == 0 {
			argv = append(argv, sh)
		}
		argv = append(argv, filepath.Join(project, filepath.FromSlash(s.Script)))
	case s.Command.argv != nil:
		argv = texts(s.Command.argv)
	default:
		argv = []string{sh, "-c", s.Command.text, sh}
	}
	return append(argv, texts(s.Args)...), nil
}

// workDir returns the directory to run in, absolute.
func (s *settings) workDir(project string) (string, error) {
	if s.Dir == "" {
		return project, nil
	}
	info, err := statInside(project, s.Dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", agent.Permanentf("dir %q is not a directory", s.Dir)
	}
	return filepath.Join(project, filepath.FromSlash(s.Dir)), nil
}

// statInside stats a path that must be inside the project, even after symbolic links are
// followed.
func statInside(project, path string) (os.FileInfo, error) {
	root, err := os.OpenRoot(project)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(filepath.FromSlash(path))
	if err != nil {
		return nil, agent.PathError(path, err)
	}
	return info, nil
}

func texts(list []agent.Text) []string {
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = string(t)
	}
	return out
}
