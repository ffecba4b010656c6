package project

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hocket-dev/hocket/workflow"
)

func TestPrompts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"review.md":     "---\ndescription: Reviews\ninputs: {file: {description: which}, tone: kind}\n---\nReview ${file}, be ${inputs.tone}. Costs $${1}.\n",
		"plain.md":      "Explain {{topic}} in ${words ?? 100} words.\n",
		"deep/inner.md": "No inputs.\n",
		"broken.md":     "---\ninputs: [\n---\n${a\n",
		"other.txt":     "not a prompt",
	} {
		file := filepath.Join(dir, ".hocket/prompts", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	p, err := Open(dir, Options{State: filepath.Join(dir, "state")})
	if err != nil {
		t.Fatal(err)
	}
	all := p.Prompts()
	var names []string
	for _, one := range all {
		names = append(names, one.Name)
	}
	if diff := cmp.Diff([]string{"deep/inner", "plain", "review"}, names); diff != "" {
		t.Fatal(diff)
	}
	want := []PromptInput{{Name: "file", Description: "which"}, {Name: "tone", HasDefault: true, Default: "kind"}}
	if diff := cmp.Diff(want, all[2].Inputs, cmpopts.EquateEmpty()); diff != "" || all[2].Description != "Reviews" {
		t.Error(diff)
	}
	for i, c := range []struct {
		given map[string]string
		want  string
	}{
		{nil, "No inputs."},
		{map[string]string{"topic": "Go"}, "Explain Go in 100 words."},
		{map[string]string{"file": "a.go ${b}"}, "Review a.go ${b}, be kind. Costs ${1}."},
	} {
		if got, err := all[i].Text(c.given); err != nil || got != c.want {
			t.Errorf("%q, %v; want %q", got, err, c.want)
		}
	}
	if _, err := all[1].Text(nil); err == nil {
		t.Error("a missing input is accepted")
	}
}

func TestConfigOfTheMCPServer(t *testing.T) {
	c, found := readConfig("config.yml", []byte("mcp_server: {workflows: [a, b]}\n"), map[string]workflow.Pos{})
	if diff := cmp.Diff([]string{"a", "b"}, c.MCP.Workflows); diff != "" || len(found) > 0 {
		t.Error(diff, found)
	}
	if c, found = readConfig("config.yml", []byte("mcp_server: {answers: all}\n"), map[string]workflow.Pos{}); !found.Errors() || c.MCP.Answers != "" {
		t.Errorf("a project can set it: %+v, %v", c.MCP, found)
	}
	if found := c.readUser("config.yml", []byte("mcp_server: {answers: all}\n")); len(found) > 0 || c.MCP.Answers != "all" {
		t.Errorf("%+v, %v", c.MCP, found)
	}
}
