package syntax_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// shared is a folder beside the project, with diagrams that other people wrote
// and what the real tools say about them. It is no part of the project: without
// it there is nothing to prove.
const shared = "../../shared"

// diagram is a text, and what the real tool of its notation makes of it.
type diagram struct {
	name string // in INDEX.tsv, or of a probe
	file string // a name with the ending of its notation
	text []byte

	taken map[string]bool // by version: it is read as a flowchart, or as an activity diagram
	open  bool            // PlantUML takes it with a block that does not end
}

// set is a number of diagrams of one notation.
type set struct {
	name     string
	newest   string   // the version that counts
	versions []string // all that are known
	diagrams []diagram
}

var (
	mermaidVersions  = []string{"12.3.0", "11.12.2", "10.9.1"}
	plantumlVersions = []string{"1.2026.8", "1.2024.7"}
)

// knownSets are all diagrams whose verdict is known.
func knownSets(t *testing.T) []set {
	t.Helper()
	if _, err := os.Stat(shared); err != nil {
		t.Skip("there are no diagrams of other people here")
	}
	index := verdictsOfIndex(t)
	return []set{
		{"Mermaid, probes", mermaidVersions[0], mermaidVersions, probes(t, "vectors/mermaid.jsonl", "flowchart", ".mmd")},
		{"Mermaid, files", mermaidVersions[0], mermaidVersions, files(t, index, "corpus/mermaid.golden.jsonl", "flowchart")},
		{"Mermaid, blocks in Markdown", mermaidVersions[0], mermaidVersions[:1], files(t, nil, "corpus/md.golden.jsonl", "flowchart")},
		{"Markdown, whole files", mermaidVersions[0], mermaidVersions[:1], pages(t)},
		{"PlantUML, probes", plantumlVersions[0], plantumlVersions, probes(t, "vectors/puml.jsonl", "ActivityDiagram3", ".puml")},
		{"PlantUML, files", plantumlVersions[0], plantumlVersions, files(t, index, "corpus/puml.golden.jsonl", "ActivityDiagram3")},
	}
}

// probes are the diagrams of a file of vectors. One that is read as something
// else than kind is not taken.
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

// files are the diagrams of a file of what the newest tool read. What older ones
// say stands in the index.
func files(t *testing.T, index map[string]map[string]bool, name, kind string) (all []diagram) {
	t.Helper()
	eachLine(t, filepath.Join(shared, name), func(line []byte) {
		var v struct {
			File, Type string
			OK         bool
			Line       int // of the fence, in Markdown
			Unclosed   []string
			Wrapped    bool // it has no @startuml, and was judged as if it had
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
			d.taken = map[string]bool{mermaidVersions[0]: v.OK && strings.HasPrefix(v.Type, kind)}
		}
		if v.Wrapped {
			all = append(all, diagram{name: v.File, file: d.file, text: text}) // as it is, PlantUML finds no diagram in it
			d.name, d.text = v.File+" between markers", slices.Concat([]byte("@startuml\n"), text, []byte("\n@enduml\n"))
		}
		all = append(all, d)
	})
	return all
}

// pages are whole Markdown files. Taken are those whose first flowchart is.
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
			all[i].taken = map[string]bool{mermaidVersions[0]: v.OK}
		}
	})
	return all
}

// verdictsOfIndex are the verdicts of every version, by file.
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

// fencedBlock is the block of a Markdown file whose fence stands in a line.
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
		t.Skip(err)
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

// reading is what a real tool makes of a diagram.
type reading struct {
	File, Type, Error string
	OK                bool
	Line              int
	Direction, Title  string
	Vertices          []struct{ ID, Text, Shape string }
	Edges             []struct{ From, To, Text, Type, Stroke string }
	Subgraphs         []struct {
		ID, Title string
		Nodes     []string
	}
	Swimlanes []map[string]any
	Body      any
}

// tool is one of the real tools, in one version.
type tool struct{ program, version, ending, kind string }

func mermaid(version string) tool {
	return tool{"mermaid-check", "MERMAID_VERSION=" + version, ".mmd", "flowchart"}
}

func plantuml(version string) tool {
	return tool{"puml-check", "PUML_VERSION=" + version, ".puml", "ActivityDiagram3"}
}

// takes says whether all of a text's diagrams can be workflows.
func (tl tool) takes(readings []reading) bool {
	return !slices.ContainsFunc(readings, func(r reading) bool { return !r.OK || !strings.HasPrefix(r.Type, tl.kind) })
}

// read has a tool read texts, all at once: it takes long to start. Of each it
// gives a reading of every diagram in it. Where the tool is not installed the
// test is skipped.
func (tl tool) read(t *testing.T, texts [][]byte) [][]reading {
	t.Helper()
	program, dir := tl.path(t), t.TempDir()
	var list bytes.Buffer
	at := map[string]int{}
	for i, text := range texts {
		name := filepath.Join(dir, strconv.Itoa(i)+tl.ending)
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		at[name] = i
		list.WriteString(name + "\n")
	}
	names := filepath.Join(dir, "list")
	if err := os.WriteFile(names, list.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--dump", "@"+names)
	cmd.Env = append(os.Environ(), tl.version)
	out, err := cmd.Output() // it fails if one of them is refused
	all := make([][]reading, len(texts))
	for line := range bytes.Lines(out) {
		var r reading
		decode(t, line, &r)
		file, _, _ := strings.Cut(r.File, "#")
		i, ok := at[file]
		if !ok {
			t.Fatalf("%s speaks of %s", tl.program, r.File)
		}
		r.File, r.Line = "", 0 // they change with the layout
		all[i] = append(all[i], r)
	}
	for i := range all {
		if len(all[i]) == 0 {
			t.Fatalf("%s says nothing about diagram %d of %d: %v", tl.program, i, len(texts), err)
		}
	}
	return all
}

func (tl tool) path(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("the real tools are slow")
	}
	dir := os.Getenv("HOCKET_ORACLES")
	if home, err := os.UserHomeDir(); dir == "" && err == nil {
		dir = filepath.Join(home, ".cache", "hocket-oracles")
	}
	path := filepath.Join(dir, tl.program)
	if _, err := os.Stat(path); err != nil {
		t.Skip("the real tools are not here")
	}
	return path
}

// foreign are whole files that other people wrote, valid or not.
func foreign(t *testing.T) (all []diagram) {
	t.Helper()
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
	if len(all) == 0 {
		t.Skip("there are no files of other people here")
	}
	return all
}
