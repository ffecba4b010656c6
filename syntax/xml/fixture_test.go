package xml_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/syntax/xml"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file, or writes it.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func fixtures(t *testing.T, pattern string, test func(t *testing.T, file string, text []byte)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures in %s: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			test(t, filepath.ToSlash(file), text)
		})
	}
}

// What a file means, and how Format writes what it means.
func TestGoodFiles(t *testing.T) {
	fixtures(t, "testdata/ok/*.xml", func(t *testing.T, file string, text []byte) {
		w, found := xml.Parse(file, text)
		if len(found) > 0 {
			t.Fatal(found)
		}
		golden(t, strings.TrimSuffix(file, ".xml")+".print", workflow.Print(w))
		written, err := xml.Format(w)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, strings.TrimSuffix(file, ".xml")+".format", string(written))
		laidOut, _ := xml.Fmt(file, text)
		if again, _ := xml.Parse(file, laidOut); workflow.Digest(again) != workflow.Digest(w) {
			t.Error("Fmt changed the digest")
		}
		if like := xml.Like(text); !like {
			t.Error("it does not look like XML")
		}
	})
}

// The file of the seed means what its author means, and is written as it was.
func TestTheSeed(t *testing.T) {
	text, err := os.ReadFile("testdata/ok/seed.xml")
	if err != nil {
		t.Fatal(err)
	}
	w, _ := xml.Parse("seed.xml", text)
	inYAML, _ := yaml.Parse("seed.yml", []byte(`
name: Search Task
steps:
  - {id: 1, agent: browser, prompt: Navigate to example.org and search for AI news}
  - {id: 2, agent: llm, prompt: Summarize the search results, inputs: {input: "{{agent_1_result}}"}}
`))
	if workflow.Digest(w) != workflow.Digest(inYAML) {
		t.Errorf("not the same:\n%s\n%s", workflow.Print(w), workflow.Print(inYAML))
	}
	laidOut, _ := xml.Fmt("seed.xml", text)
	if diff := cmp.Diff(string(text), string(laidOut)); diff != "" {
		t.Errorf("Fmt changes it:\n%s", diff)
	}
}

func TestLayout(t *testing.T) {
	fixtures(t, "testdata/fmt/*.xml", func(t *testing.T, file string, text []byte) {
		once, found := xml.Fmt(file, text)
		if len(found) > 0 {
			t.Fatal(found)
		}
		golden(t, strings.TrimSuffix(file, ".xml")+".golden", string(once))
		if again, _ := xml.Fmt(file, once); string(again) != string(once) {
			t.Errorf("not settled:\n%s", cmp.Diff(string(once), string(again)))
		}
		crlf, _ := xml.Fmt(file, []byte("\uFEFF"+strings.ReplaceAll(string(text), "\n", "\r\n")))
		if string(crlf) != string(once) {
			t.Errorf("other line breaks give another layout:\n%s", cmp.Diff(string(once), string(crlf)))
		}
	})
}

var want = regexp.MustCompile(`<!-- want(\+\d+)?: (\S+) ("(?:[^"\\]|\\.)*") -->`)

// Every diagnostic stands where the fixture's comment expects it, and there is
// no other.
func TestBadFiles(t *testing.T) {
	fixtures(t, "testdata/bad/*.xml", func(t *testing.T, file string, text []byte) {
		_, found := xml.Parse(file, text)
		for i, line := range strings.Split(string(text), "\n") {
			for _, m := range want.FindAllStringSubmatch(line, -1) {
				below, _ := strconv.Atoi(m[1])
				words, err := strconv.Unquote(m[3])
				if err != nil {
					t.Fatalf("line %d: %v", i+1, err)
				}
				if found, err = expect(found, i+1+below, m[2], words); err != nil {
					t.Error(err)
				}
			}
		}
		for _, d := range found {
			t.Errorf("unexpected: %s", d)
		}
	})
}

// expect takes the diagnostic out of the list.
func expect(found workflow.Diagnostics, line int, code, words string) (workflow.Diagnostics, error) {
	for i, d := range found {
		if d.Line == line && d.Code == code && strings.Contains(d.Summary+"; "+d.Detail, words) {
			return append(found[:i:i], found[i+1:]...), nil
		}
	}
	return found, fmt.Errorf("line %d: want %s %q", line, code, words)
}

// A fix does away with what it is for.
func TestFixes(t *testing.T) {
	fixed := 0
	fixtures(t, "testdata/bad/*.xml", func(t *testing.T, file string, text []byte) {
		_, found := xml.Parse(file, text)
		for _, d := range found {
			if d.Fix == nil {
				continue
			}
			fixed++
			_, left := xml.Parse(file, workflow.Apply(text, d.Fix.Edits))
			if slices.ContainsFunc(left, func(l workflow.Diagnostic) bool {
				return l.Code == d.Code && l.Summary == d.Summary && l.Line == d.Line && l.Column == d.Column
			}) {
				t.Errorf("the fix leaves %s", d)
			}
		}
	})
	if fixed < 8 {
		t.Errorf("only %d mistakes can be mended", fixed)
	}
}

// Every code that is reported is in a table.
func TestCodesAreListed(t *testing.T) {
	listed := map[string]bool{}
	for _, c := range slices.Concat(yaml.Codes, xml.Codes) {
		if c.Meaning == "" {
			t.Errorf("%s has no meaning", c.Name)
		}
		listed[c.Name] = true
	}
	listed["graph-cycle"] = true // of package check
	fixtures(t, "testdata/bad/*.xml", func(t *testing.T, file string, text []byte) {
		_, found := xml.Parse(file, text)
		for _, d := range found {
			if !listed[d.Code] {
				t.Errorf("%s is not in Codes", d.Code)
			}
			if len([]rune(d.Summary)) > 80 {
				t.Errorf("a long summary: %s", d.Summary)
			}
		}
	})
}
