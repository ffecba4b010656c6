package mermaid

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/internal/tooltest"
)

// shared is the directory with test vectors and other people's charts, next to the project. Tests
// that need it are skipped without it.
const shared = "../../../../../shared"

// verdict is Mermaid's result for someone else's chart.
type verdict struct {
	Name, File, Src string
	Line            int // of the fence, in Markdown
	Ok              any `json:"ok"` // true, or true for some versions
	tooltest.Reading
}

// ok reports whether a version of Mermaid accepts the chart.
func (v *verdict) ok(version string) bool {
	if each, versions := v.Ok.(map[string]any); versions {
		return each[version] == true
	}
	return v.Ok == true
}

const newest = "12.3.0"

// ourCharts returns the charts of the project, with the recorded verdicts.
const ourCharts = "../../../testdata/diagrams/mermaid/*.txtar"

// everything returns the project's own charts and, if available, other people's.
func everything(t *testing.T) (all []verdict) {
	t.Helper()
	for _, d := range tooltest.Diagrams(t, ourCharts) {
		accepted := map[string]any{}
		for _, tool := range tooltest.Mermaid {
			accepted[tool.Version] = d.Accepts(tool)
		}
		all = append(all, verdict{Name: d.Name, Src: d.Text, Ok: accepted})
	}
	if _, err := os.Stat(shared); err == nil {
		all = slices.Concat(all, known(t, "vectors/mermaid.jsonl"), known(t, "corpus/mermaid.golden.jsonl"))
	}
	return all
}

// known returns the charts of a file of verdicts, with their sources.
func known(t *testing.T, name string) (all []verdict) {
	t.Helper()
	f, err := os.Open(filepath.Join(shared, name))
	if err != nil {
		t.Skip("a collection of files is missing that is not part of the project")
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var v verdict
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		if v.Type != "" && !strings.HasPrefix(v.Type, "flowchart") && v.Type != "---" {
			continue
		}
		if v.File != "" {
			file, _, _ := strings.Cut(v.File, "#")
			text, err := os.ReadFile(filepath.Join(shared, "corpus", file))
			if err != nil {
				t.Fatal(err)
			}
			v.Name, v.Src = v.File, string(text)
			if v.Line > 0 {
				v.Src = fenced(v.Src, v.Line)
			}
		}
		all = append(all, v)
	}
	return all
}

// fenced returns the block of a Markdown file that starts after a line.
func fenced(text string, line int) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	open := lines[line-1]
	body := strings.TrimLeft(open, " \t>")
	indent := open[:len(open)-len(body)]
	fence := body[:len(body)-len(strings.TrimLeft(body, body[:1]))]
	var block []string
	for _, l := range lines[line:] {
		if rest := strings.TrimLeft(l, " \t>"); strings.HasPrefix(rest, fence) && strings.Trim(rest, fence[:1]+" \t") == "" {
			break
		}
		block = append(block, strings.TrimPrefix(l, indent))
	}
	return strings.Join(block, "\n")
}
