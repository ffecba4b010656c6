package syntax_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/internal/tooltest"
)

// shared is a directory next to the project, with other people's diagrams and what the real tools
// report about them. It is not part of the project: without it, these tests are skipped.
const shared = "../../shared"

// diagram is a text, with the verdict of the real tool for its notation.
type diagram struct {
	name string // the name in INDEX.tsv, of a probe, or of one of our own diagrams
	file string // a name with the extension of its notation
	text []byte

	taken map[string]bool // by version: whether it is read as a flowchart or an activity diagram
	open  bool            // PlantUML accepts it with an unclosed block
}

// set is a set of diagrams in one notation.
type set struct {
	name     string
	tools    []tooltest.Tool // whose verdict is known; that of the first counts
	diagrams []diagram
}

// ourSets are the project's own diagrams.
func ourSets(t *testing.T) []set {
	t.Helper()
	sets := []set{{name: "Mermaid, our own", tools: tooltest.Mermaid}, {name: "PlantUML, our own", tools: tooltest.PlantUML}}
	for i, kind := range []struct{ folder, ending string }{{"mermaid", ".mmd"}, {"plantuml", ".puml"}} {
		for _, d := range tooltest.Diagrams(t, "testdata/diagrams/"+kind.folder+"/*.txtar") {
			taken := map[string]bool{}
			for _, tool := range sets[i].tools {
				taken[tool.Version] = d.Accepts(tool)
			}
			sets[i].diagrams = append(sets[i].diagrams, diagram{name: d.Name, file: "own" + kind.ending, text: []byte(d.Text), taken: taken, open: d.Open()})
		}
	}
	return sets
}

// knownSets are all diagrams with a known verdict, including other people's if available.
func knownSets(t *testing.T) []set {
	t.Helper()
	if _, err := os.Stat(shared); err != nil {
		return ourSets(t)
	}
	index := verdictsOfIndex(t)
	return append(ourSets(t), []set{
		{"Mermaid, probes", tooltest.Mermaid, probes(t, "vectors/mermaid.jsonl", "flowchart", ".mmd")},
		{"Mermaid, files", tooltest.Mermaid, files(t, index, "corpus/mermaid.golden.jsonl", "flowchart")},
		{"Mermaid, blocks in Markdown", tooltest.Mermaid[:1], files(t, nil, "corpus/md.golden.jsonl", "flowchart")},
		{"Markdown, whole files", tooltest.Mermaid[:1], pages(t)},
		{"PlantUML, probes", tooltest.PlantUML, probes(t, "vectors/puml.jsonl", "ActivityDiagram3", ".puml")},
		{"PlantUML, files", tooltest.PlantUML, files(t, index, "corpus/puml.golden.jsonl", "ActivityDiagram3")},
	}...)
}

// probes returns the diagrams of a file of vectors, except those of another kind.
func probes(t *testing.T, name, kind, ending string) (all []diagram) {
	t.Helper()
	eachLine(t, filepath.Join(shared, name), func(line []byte) {
		var v struct {
			Name, Src, Type string
			OK              map[string]bool
			Unclosed        []string
		}
		decode(t, line, &v)
		for version, ok := range v.OK {
			v.OK[version] = ok && (strings.HasPrefix(v.Type, kind) || strings.HasPrefix(v.Type, "PSystemError"))
		}
		all = append(all, diagram{name: v.Name, file: "probe" + ending, text: []byte(v.Src), taken: v.OK, open: len(v.Unclosed) > 0})
	})
	return all
}

// files returns the diagrams of a file with the readings of the newest tool. The verdicts of older
// versions are in the index.
func files(t *testing.T, index map[string]map[string]bool, name, kind string) (all []diagram) {
	t.Helper()
	eachLine(t, filepath.Join(shared, name), func(line []byte) {
		var v struct {
			File, Type string
			OK         bool
			Line       int // of the fence, in Markdown
			Unclosed   []string
			Wrapped    bool // it has no @startuml, but was judged as if it had one
		}
		decode(t, line, &v)
		file, _, _ := strings.Cut(v.File, "#")
		text, err := os.ReadFile(filepath.Join(shared, "corpus", file))
		if err != nil {
			t.Fatal(err)
		}
		d := diagram{name: v.File, file: filepath.Base(file), text: text, taken: index[file], open: len(v.Unclosed) > 0}
		if strings.HasSuffix(file, ".md") {
			d.file, d.text = strings.TrimSuffix(d.file, ".md")+".mmd", fencedBlock(text, v.Line)
		}
		if d.taken == nil {
			d.taken = map[string]bool{tooltest.Mermaid[0].Version: v.OK && strings.HasPrefix(v.Type, kind)}
		}
		if v.Wrapped {
			all = append(all, diagram{name: v.File, file: d.file, text: text}) // as it is, PlantUML finds no diagram in it
			d.name, d.text = v.File+" between markers", slices.Concat([]byte("@startuml\n"), text, []byte("\n@enduml\n"))
		}
		all = append(all, d)
	})
	return all
}

// pages returns whole Markdown files whose first flowchart is accepted.
func pages(t *testing.T) (all []diagram) {
	t.Helper()
	at := map[string]int{}
	eachLine(t, filepath.Join(shared, "corpus/md.golden.jsonl"), func(line []byte) {
		var v struct {
			File, Type string
			OK         bool
		}
		decode(t, line, &v)
		file, _, _ := strings.Cut(v.File, "#")
		i, ok := at[file]
		if !ok {
			text, err := os.ReadFile(filepath.Join(shared, "corpus", file))
			if err != nil {
				t.Fatal(err)
			}
			i, at[file] = len(all), len(all)
			all = append(all, diagram{name: file, file: filepath.Base(file), text: text})
		}
		if all[i].taken == nil && strings.HasPrefix(v.Type, "flowchart") {
			all[i].taken = map[string]bool{tooltest.Mermaid[0].Version: v.OK}
		}
	})
	return all
}

// verdictsOfIndex returns the verdicts of every version, by file.
func verdictsOfIndex(t *testing.T) map[string]map[string]bool {
	t.Helper()
	index := map[string]map[string]bool{}
	eachLine(t, filepath.Join(shared, "corpus/INDEX.tsv"), func(line []byte) {
		columns := strings.Split(string(line), "\t")
		said := map[string]bool{}
		for word := range strings.FieldsSeq(columns[2]) {
			if version, verdict, ok := strings.Cut(word, "="); ok {
				said[version] = verdict == "OK"
			}
		}
		if len(said) > 0 {
			index[columns[0]] = said
		}
	})
	return index
}

// fencedBlock returns the block of a Markdown file whose fence is on a line.
func fencedBlock(text []byte, line int) []byte {
	lines := strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
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
	return []byte(strings.Join(block, "\n"))
}

func eachLine(t *testing.T, file string, do func([]byte)) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Skip("a collection of files is missing that is not part of the project")
	}
	for line := range bytes.Lines(text) {
		do(line)
	}
}

func decode(t *testing.T, line []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(line, into); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
}

// drawings returns whole files, valid or not: the project's own diagrams, and other people's.
func drawings(t *testing.T) (all []diagram) {
	t.Helper()
	for _, s := range ourSets(t) {
		for i, d := range s.diagrams {
			d.file = fmt.Sprintf("own-%d%s", i, filepath.Ext(d.file))
			all = append(all, d)
		}
	}
	for _, pattern := range []string{"mermaid/*.mmd", "md/*.md", "puml/*.puml"} {
		names, err := filepath.Glob(filepath.Join(shared, "corpus", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, diagram{name: name, file: filepath.Base(name), text: text})
		}
	}
	return all
}
