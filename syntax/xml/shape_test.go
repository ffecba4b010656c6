package xml

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// Every element and every attribute is documented on the page about XML.
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

// A name with only one possible meaning is fixed, in both tags.
func TestFixesNames(t *testing.T) {
	const wrong = `<workflow name="x" taskID="1">
  <Agent name="a" id="1"><prompt>hi</prompt ></Agent>
  <agent name="a" id="2" Depends-On="1" maxParallel="2" for_each="inputs.l"><settings/></agent>
  <agent name="a" id="3" prompt="twice"><task>hi</task><title><Type/></title></agent>
</workflow>
`
	const right = `<workflow name="x" taskId="1">
  <agent name="a" id="1"><task>hi</task ></agent>
  <agent name="a" id="2" dependsOn="1" max_parallel="2" for_each="inputs.l"><config/></agent>
  <agent name="a" id="3" prompt="twice"><task>hi</task><title><Type/></title></agent>
</workflow>
`
	text := []byte(wrong)
	for range 3 {
		_, found := Parse("x.xml", text)
		text, _ = found.Fixed(text)
	}
	if string(text) != right {
		t.Errorf("got\n%s", text)
	}
}
