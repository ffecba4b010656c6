package doctest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/hocket-dev/hocket/schema"
)

// Every key and every fixed value in a schema is on a page about it.
func TestEveryWordIsDocumented(t *testing.T) {
	tests := map[string][]string{
		"workflow":       {"docs/spec/02-yaml.md"},
		"agent":          {"docs/spec/05-agents.md"},
		"cli":            {"docs/spec/10-cli-agents.md"},
		"config":         {"docs/spec/05-agents.md", "docs/spec/23-notifications.md", "docs/spec/24-traces.md", "docs/spec/26-workspaces.md"},
		"handoff-result": {"docs/spec/17-handoff.md"},
		"handoff-state":  {"docs/spec/17-handoff.md"},
		"replies":        {"docs/spec/05-agents.md"},
		"test":           {"docs/spec/25-tests.md", "docs/spec/05-agents.md"}, // the latter about replies
		"tool":           {"docs/spec/12-tools.md"},
		"trigger":        {"docs/spec/22-triggers.md"},
	}
	for _, name := range schema.Names() {
		text, err := schema.JSON(name)
		if err != nil {
			t.Fatal(err)
		}
		var document any
		if err := json.Unmarshal(text, &document); err != nil {
			t.Fatal(err)
		}
		var pages []byte
		for _, file := range tests[name] {
			page, err := os.ReadFile(filepath.Join(root, file))
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, page...)
		}
		for _, word := range words(document) {
			if !regexp.MustCompile(`\b` + regexp.QuoteMeta(word) + `\b`).Match(pages) {
				t.Errorf("%v does not mention %q of %s", tests[name], word, name)
			}
		}
	}
}

// words returns the keys and fixed values of a schema, without the keywords of JSON
// Schema itself.
func words(schema any) []string {
	var all []string
	switch v := schema.(type) {
	case map[string]any:
		if properties, ok := v["properties"].(map[string]any); ok {
			for key := range properties {
				all = append(all, key)
			}
		}
		if values, ok := v["enum"].([]any); ok {
			for _, value := range values {
				if word, ok := value.(string); ok {
					all = append(all, word)
				}
			}
		}
		for _, inner := range v {
			all = append(all, words(inner)...)
		}
	case []any:
		for _, inner := range v {
			all = append(all, words(inner)...)
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(word string) bool { return word == "$schema" })
}
