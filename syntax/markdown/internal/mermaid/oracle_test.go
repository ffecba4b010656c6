package mermaid

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// shared is where vectors and charts of other people stand, beside the project.
// Tests that need them are skipped without.
const shared = "../../../../../shared"

// verdict is what Mermaid makes of a chart.
type verdict struct {
	Name, File, Src string
	Line            int             // of the fence, in Markdown
	Ok              json.RawMessage // true, or true for some versions
	Type, Error     string
	Direction       string
	Vertices        []struct{ ID, Text, Shape string }
	Edges           []struct {
		ID, From, To, Text, Type, Stroke string
		UserID                           bool
		Length                           int
	}
	Subgraphs []struct {
		ID, Title, Dir string
		Nodes          []string
	}
}

// ok says whether a version of Mermaid accepts the chart.
func (v *verdict) ok(version string) bool {
	var all bool
	if json.Unmarshal(v.Ok, &all) == nil {
		return all
	}
	var each map[string]bool
	_ = json.Unmarshal(v.Ok, &each)
	return each[version]
}

const newest = "12.3.0"

func decodeVerdicts(t *testing.T, r io.Reader) (all []verdict) {
	t.Helper()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var v verdict
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// known are the charts of a file of verdicts, with their sources.
func known(t *testing.T, name string) (all []verdict) {
	t.Helper()
	f, err := os.Open(filepath.Join(shared, name))
	if err != nil {
		t.Skip("no charts of other people here")
	}
	defer f.Close()
	for _, v := range decodeVerdicts(t, f) {
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

// fenced is the block of a Markdown file that starts behind a line.
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

// ask asks the real Mermaid about charts. Without it the test is skipped.
func ask(t *testing.T, version string, sources []string) []verdict {
	t.Helper()
	if testing.Short() {
		t.Skip("Mermaid is slow to start")
	}
	dir := os.Getenv("HOCKET_ORACLES")
	if dir == "" {
		home, _ := os.UserHomeDir()
		dir = filepath.Join(home, ".cache", "hocket-oracles")
	}
	program := filepath.Join(dir, "mermaid-check")
	if _, err := os.Stat(program); err != nil {
		t.Skip("no Mermaid here")
	}
	var list bytes.Buffer
	tmp := t.TempDir()
	for i, s := range sources {
		name := filepath.Join(tmp, fmt.Sprintf("%d.mmd", i))
		if err := os.WriteFile(name, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&list, name)
	}
	names := filepath.Join(tmp, "list")
	if err := os.WriteFile(names, list.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--json", "@"+names)
	cmd.Env = append(os.Environ(), "MERMAID_VERSION="+version)
	out, err := cmd.Output() // it fails if one chart is refused
	all := decodeVerdicts(t, bytes.NewReader(out))
	if len(all) != len(sources) {
		t.Fatalf("%d verdicts of %d: %v", len(all), len(sources), err)
	}
	return all
}
