package xml

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// Every element and every attribute stands on the page about XML.
func TestEveryWordIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/spec/07-xml.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[*shape]bool{}
	var words []string
	var visit func(s *shape)
	visit = func(s *shape) {
		if seen[s] {
			return
		}
		seen[s] = true
		words = append(words, s.names()...)
		for _, part := range s.parts {
			visit(part)
		}
	}
	visit(rootShape)
	for _, s := range stepShapes {
		visit(s)
	}
	slices.Sort(words)
	for _, word := range slices.Compact(words) {
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(word) + `\b`).Match(page) {
			t.Errorf("the page does not mention %q", word)
		}
	}
}
