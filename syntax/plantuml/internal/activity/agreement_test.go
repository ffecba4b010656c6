package activity

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/syntax/internal/tooltest"
)

var update = flag.Bool("update", false, "record what PlantUML reads in our diagrams")

// shared is the directory with other people's files, which are not part of the project. Without it,
// these tests have nothing to read.
const shared = "../../../../../shared"

// A verdict is what the real PlantUML reported about someone else's diagram.
type verdict struct {
	Name, File string
	Src        string
	OK         any `json:"ok"` // true, or true for some versions
	tooltest.Reading
}

func (v *verdict) accepted() bool {
	ok := v.OK == true
	if by, versions := v.OK.(map[string]any); versions {
		ok = by[newest.Version] == true
	}
	return ok && v.Type == "ActivityDiagram3"
}

var newest = tooltest.PlantUML[0]

func verdicts(t *testing.T, path string) []verdict {
	t.Helper()
	file, err := os.Open(filepath.Join(shared, path))
	if err != nil {
		t.Skip("a collection of files is missing that is not part of the project")
	}
	defer file.Close()
	var all []verdict
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var v verdict
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// ourDiagrams returns the diagrams of the project, with the recorded verdicts.
const ourDiagrams = "../../../testdata/diagrams/plantuml/*.txtar"

// everything returns the texts of the project's own diagrams and, if available, other people's, by
// name.
func everything(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, d := range tooltest.Diagrams(t, ourDiagrams) {
		all[d.Name] = []byte(d.Text)
	}
	if _, err := os.Stat(shared); err != nil {
		return all
	}
	for _, v := range verdicts(t, "vectors/puml.jsonl") {
		all[v.Name] = []byte(v.Src)
	}
	for _, v := range verdicts(t, "corpus/puml.golden.jsonl") {
		all[v.File] = corpusFile(t, &v)
	}
	return all
}

func corpusFile(t *testing.T, v *verdict) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(shared, "corpus", v.File))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// drawn reads a diagram as PlantUML does, without repairing it.
func drawn(text []byte) *reader {
	src := source.New("x.puml", text)
	b := blocks(string(text))[0]
	r := newReader(src, string(text), b)
	r.strict = true
	r.read()
	return r
}

// differ lists the probes and files that are read differently, and why.
var differ = map[string]string{
	"define":                                "a line that is a macro is no statement without the preprocessor",
	"pdiff-8c271fa0572f.puml":               "a line that calls a procedure is no statement without the preprocessor",
	"block comment line then code trailing": "PlantUML draws its welcome where a comment leaves one line of a diagram",
	"percent builtin":                       "functions of the preprocessor are not carried out",
	"pdiff-821ccc4330a4.puml":               "PlantUML shows an image by its hash",
	"include missing":                       "what a file includes is not read",
	"multi-line with line = include":        "what a file includes is not read",
	"wild-83aaecf09af9.puml":                "what a file includes is not read",
	"pdiff-6171b364d316.puml":               "a backslash is an escape in <latex>, too: Escape has to be able to write every text",
}

func TestReadsTheProbesAsPlantUMLDoes(t *testing.T) {
	all := verdicts(t, "vectors/puml.jsonl")
	compare(t, all, func(v *verdict) []byte { return []byte(v.Src) })
}

func TestReadsTheCorpusAsPlantUMLDoes(t *testing.T) {
	all := verdicts(t, "corpus/puml.golden.jsonl")
	compare(t, all, func(v *verdict) []byte {
		v.Name = filepath.Base(v.File)
		return corpusFile(t, v)
	})
}

func compare(t *testing.T, all []verdict, text func(*verdict) []byte) {
	t.Helper()
	for i := range all {
		v := &all[i]
		src := text(v)
		problem := disagreement(src, v.accepted(), &v.Reading, v.File != "")
		switch reason, listed := differ[v.Name]; {
		case problem != "" && !listed:
			t.Errorf("%s: %s\n%s", v.Name, problem, clip(src))
		case problem == "" && listed:
			t.Errorf("%s is listed as different (%s), but is not", v.Name, reason)
		}
	}
}

// disagreement describes how Hocket and PlantUML read a diagram differently, or "".
func disagreement(text []byte, accepted bool, read *tooltest.Reading, all bool) string {
	r := drawn(text)
	if ours := !r.stopped && !r.foreign; ours != accepted {
		return fmt.Sprintf("accepted is %v, not %v; %s", ours, accepted, r.src.Pos(r.stop))
	}
	if !accepted || r.diagram.Preprocessed { // then the tree is not what PlantUML reads, and there is an error
		return ""
	}
	return cmp.Diff(realTree(read, all), ourTree(r.diagram, all))
}

// PlantUML reads the project's own diagrams as Hocket does.
func TestReadsOurDiagramsAsPlantUMLDoes(t *testing.T) {
	structure := func(r *tooltest.Reading) string { return realTree(r, true) }
	tooltest.Agree(t, ourDiagrams, tooltest.PlantUML, *update, structure, func(text string) (string, bool) {
		r := drawn([]byte(text))
		return ourTree(r.diagram, true), !r.stopped && !r.foreign && !blocks(text)[0].wrapped
	})
}

func clip(b []byte) []byte {
	if len(b) > 600 {
		return b[:600]
	}
	return b
}

// realTree prints what PlantUML reads: the body, or everything. For the probes, only the bodies are
// known.
func realTree(r *tooltest.Reading, all bool) string {
	var b strings.Builder
	if all {
		for _, l := range r.Swimlanes {
			fmt.Fprintf(&b, "lane %q %q\n", l["name"], l["label"])
		}
		fmt.Fprintf(&b, "title %q\n", r.Title)
	}
	realBody(&b, r.Body["body"], 0)
	return b.String()
}

func realBody(b *strings.Builder, body any, depth int) {
	list, _ := body.([]any)
	for _, e := range list {
		m, _ := e.(map[string]any)
		realElement(b, m, depth)
	}
}

func realElement(b *strings.Builder, m map[string]any, depth int) {
	kind, _ := m["k"].(string)
	if kind == "spot" {
		delete(m, "killed") // not known of the diagrams of others
	}
	fields(b, depth, kind, m, "text", "name", "lane", "arrow", "killed", "start", "test", "yes", "not", "title", "style", "label",
		"backward", "backIn", "backOut", "endArrow")
	if out, ok := m["out"].(string); ok {
		fmt.Fprintf(b, " out=%q", out)
	}
	b.WriteByte('\n')
	realNotes(b, m["notes"], depth)
	realNotes(b, m["backwardNotes"], depth)
	realBranches(b, m["then"], "then", depth)
	if e, ok := m["else"].(map[string]any); ok {
		realBranches(b, []any{e}, "else", depth)
	}
	realBranches(b, m["cases"], "case", depth)
	if branches, ok := m["branches"].([]any); ok {
		for _, body := range branches {
			fmt.Fprintf(b, "%*s- branch\n", depth*2+1, "")
			realBody(b, body, depth+1)
		}
	}
	realBody(b, m["body"], depth+1)
	if special, ok := m["specialOut"].(map[string]any); ok {
		realElement(b, special, depth)
	}
}

func realBranches(b *strings.Builder, branches any, word string, depth int) {
	list, _ := branches.([]any)
	for _, e := range list {
		m, _ := e.(map[string]any)
		if body, _ := m["body"].([]any); word == "else" && len(body) == 0 && m["when"] == nil {
			continue
		}
		delete(m, "lane")
		if word == "case" {
			delete(m, "test")
			delete(m, "in")
		}
		fields(b, depth, "- "+word, m, "test", "when", "in", "out")
		b.WriteByte('\n')
		realBody(b, m["body"], depth+1)
	}
}

func fields(b *strings.Builder, depth int, kind string, m map[string]any, keys ...string) {
	fmt.Fprintf(b, "%*s%s", depth*2, "", kind)
	for _, key := range keys {
		if value, ok := m[key]; ok && value != "" && value != nil {
			fmt.Fprintf(b, " %s=%q", key, fmt.Sprint(value))
		}
	}
}

func realNotes(b *strings.Builder, notes any, depth int) {
	list, _ := notes.([]any)
	for _, e := range list {
		m, _ := e.(map[string]any)
		fmt.Fprintf(b, "%*s* note %v %v %q\n", depth*2, "", m["pos"], m["type"], m["text"])
	}
}

// ourTree prints a diagram in the same way.
func ourTree(d *Diagram, all bool) string {
	var b strings.Builder
	if all {
		for _, l := range d.Lanes {
			fmt.Fprintf(&b, "lane %q %q\n", l.Name, l.Label)
		}
		fmt.Fprintf(&b, "title %q\n", d.Title)
	}
	ourBody(&b, d.Body, 0, deaths{})
	return b.String()
}

func ourBody(b *strings.Builder, body []Element, depth int, killed deaths) {
	var final, done *Stop
	for _, e := range body {
		if s, ok := e.(*Stop); ok && s == done {
			continue
		}
		m := map[string]any{}
		base := e.Common()
		m["lane"] = base.Lane
		if base.Arrow != nil {
			m["arrow"] = base.Arrow.Label.String()
		}
		if base.Kill != nil {
			killed.add(e)
		}
		if killed[e] {
			m["killed"] = true
		}
		kind := ""
		var after func()
		switch e := e.(type) {
		case *Start:
			kind = "start"
		case *Stop:
			kind = "stop"
			if e.End {
				kind = "end"
			}
		case *Activity:
			kind, m["text"] = "simple", e.Text.String()
		case *Break:
			kind = "break"
		case *Goto:
			kind, m["name"] = "goto", e.Name.Raw
			delete(m, "arrow")
		case *Label:
			kind, m["name"] = "label", e.Name.Raw
			delete(m, "arrow")
		case *Connector:
			kind, m["text"] = "spot", e.Name.Raw
			delete(m, "killed")
		case *Group:
			kind, m["title"] = "group", e.Name.String()
			delete(m, "lane")
			after = func() { ourBody(b, e.Body, depth+1, killed) }
		case *While:
			kind, m["test"], m["yes"], m["out"] = "while", e.Test.String(), e.Yes.String(), e.Out.String()
			if e.Backward != nil {
				m["backward"] = e.Backward.Text.String()
			}
			final = e.Final
			after = func() { ourBody(b, e.Body, depth+1, killed) }
		case *Repeat:
			kind, m["test"], m["yes"], m["not"], m["start"] = "repeat", e.Test.String(), e.Yes.String(), e.Not.String(), e.Start.String()
			if e.Backward != nil {
				m["backward"], m["backIn"], m["backOut"] = e.Backward.Text.String(), e.Backward.In.String(), e.Backward.Out.String()
			}
			if e.Out != nil {
				m["backIn"] = e.Out.Label.String()
			}
			if e.Exit != nil {
				m["endArrow"] = e.Exit.Label.String()
			}
			after = func() { ourBody(b, e.Body, depth+1, killed) }
		case *Fork:
			kind, m["style"] = "fork", "FORK"
			if e.Merge {
				m["style"] = "MERGE"
			}
			if e.Join.Raw != "" {
				m["label"] = "{" + e.Join.Raw + "}"
			}
			after = func() { ourForks(b, e.Branches, depth, killed) }
		case *Split:
			kind = "split"
			after = func() { ourForks(b, e.Branches, depth, killed) }
		case *Switch:
			kind, m["test"] = "switch", e.Test.String()
			after = func() { ourBranches(b, e.Cases, "case", depth, false, killed) }
		case *If:
			kind = "if"
			after = func() {
				ourBranches(b, e.Branches, "then", depth, e.Closer.To > 0 || e.Else != nil, killed)
				if e.Else != nil && (e.Else.Label.Raw != "" || slices.ContainsFunc(e.Else.Body, draws)) {
					ourBranches(b, []Branch{*e.Else}, "else", depth, e.Closer.To > 0, killed)
				}
			}
		case *Arrow, *LaneMark, *Note, *Backward, *Kill:
			continue
		}
		if kind != "simple" && kind != "repeat" && kind != "while" {
			delete(m, "killed")
		}
		fields(b, depth, kind, m, "text", "name", "lane", "arrow", "killed", "start", "test", "yes", "not", "title", "style", "label",
			"backward", "backIn", "backOut", "endArrow")
		if out, ok := m["out"]; ok && out != "" {
			fmt.Fprintf(b, " out=%q", out)
		}
		b.WriteByte('\n')
		ourNotes(b, base.Notes, depth)
		if r, ok := e.(*Repeat); ok && r.Backward != nil {
			ourNotes(b, r.Backward.Notes, depth)
		}
		if after != nil {
			after()
		}
		if final != nil {
			ourBody(b, []Element{final}, depth, killed)
			final, done = nil, final
		}
	}
}

// deaths are the elements that PlantUML treats as ended.
type deaths map[Element]bool

// add ends an element, including the last ones in it.
func (d deaths) add(e Element) {
	switch b := e.(type) {
	case *Activity, *While, *Repeat:
		d[e] = true
	case *If:
		d.add(b.Branches[0].last)
		if b.Else != nil {
			d.add(b.Else.last)
		}
	case *Switch:
		d.add(b.Cases[len(b.Cases)-1].last)
	case *Fork:
		d.add(b.Branches[len(b.Branches)-1].last)
	case *Split:
		d.add(b.Branches[len(b.Branches)-1].last)
	case *Group:
		d.add(b.last)
	case *Start, *Stop, *Break, *Goto, *Label, *Connector, *Arrow, *LaneMark, *Note, *Backward, *Kill:
	}
}

func draws(e Element) bool {
	switch e.(type) {
	case *Arrow, *LaneMark, *Note, *Backward, *Kill:
		return false
	case *Start, *Stop, *Activity, *If, *Switch, *While, *Repeat, *Fork, *Split, *Group, *Break, *Goto, *Label, *Connector:
	}
	return true
}

func ourForks(b *strings.Builder, branches []Branch, depth int, killed deaths) {
	for i := range branches {
		fmt.Fprintf(b, "%*s- branch\n", depth*2+1, "")
		ourBody(b, branches[i].Body, depth+1, killed)
	}
}

// ourBranches prints branches. PlantUML keeps the arrow at the end of a branch only for those
// before else and endif.
func ourBranches(b *strings.Builder, branches []Branch, word string, depth int, out bool, killed deaths) {
	for i := range branches {
		br := &branches[i]
		m := map[string]any{"test": br.Test.String(), "when": br.Label.String(), "in": br.In.String()}
		if br.Exit != nil && out && i == len(branches)-1 {
			m["out"] = br.Exit.Label.String()
		}
		fields(b, depth, "- "+word, m, "test", "when", "in", "out")
		b.WriteByte('\n')
		ourBody(b, br.Body, depth+1, killed)
	}
}

func ourNotes(b *strings.Builder, notes []*Note, depth int) {
	for _, n := range notes {
		side, kind := "LEFT", "NOTE"
		if n.Side == Right {
			side = "RIGHT"
		}
		if n.Floating {
			kind = "FLOATING_NOTE"
		}
		lines := make([]string, len(n.Lines))
		for i, l := range n.Lines {
			lines[i] = l.Text
		}
		fmt.Fprintf(b, "%*s* note %v %v %q\n", depth*2, "", side, kind, strings.Join(lines, "\n"))
	}
}
