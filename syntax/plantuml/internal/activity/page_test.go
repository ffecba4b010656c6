package activity

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/workflow"
)

// Every code has a page, with an example that is wrong and the same example repaired. The fixes
// repair it in the same way.
func TestPagesOfTheCodes(t *testing.T) {
	for _, code := range Codes {
		text, err := os.ReadFile(filepath.Join("../../../../docs/rules", code.Name+".md"))
		if err != nil {
			t.Errorf("%s has no page", code.Name)
			continue
		}
		if !strings.Contains(strings.ToLower(string(text)), strings.ToLower(code.Meaning)) {
			t.Errorf("the page of %s does not say %q", code.Name, code.Meaning)
		}
		_, rest, _ := strings.Cut(string(text), "\n## Wrong\n\n```plantuml\n")
		wrong, rest, _ := strings.Cut(rest, "```\n")
		_, rest, _ = strings.Cut(rest, "\n## Fixed\n\n```plantuml\n")
		repaired, _, _ := strings.Cut(rest, "```\n")
		_, found := Parse(source.New("", []byte(wrong)))
		if !slices.ContainsFunc(found, func(d workflow.Diagnostic) bool { return d.Code == code.Name }) {
			t.Errorf("the wrong example of %s gives %s", code.Name, found)
		}
		if _, found := Parse(source.New("", []byte(repaired))); len(found) > 0 {
			t.Errorf("the repaired example of %s gives %s", code.Name, found)
		}
	}
}
