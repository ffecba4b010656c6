package plantuml_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/syntax/plantuml"
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

// A diagram means what the same workflow means in YAML.
func TestDiagramsMeanWhatYAMLSays(t *testing.T) {
	fixtures(t, "testdata/same/*.puml", func(t *testing.T, file string, text []byte) {
		w, found := plantuml.Parse(file, text)
		if len(found) > 0 {
			t.Fatal(found)
		}
		other := strings.TrimSuffix(file, ".puml") + ".yml"
		source, err := os.ReadFile(other)
		if err != nil {
			t.Fatal(err)
		}
		want, found := yaml.Parse(other, source)
		if found.Errors() {
			t.Fatal(found)
		}
		if diff := cmp.Diff(workflow.Print(want), workflow.Print(w)); diff != "" {
			t.Errorf("(-yaml +plantuml):\n%s", diff)
		}
	})
}

// How Format draws what a file means.
func TestFormat(t *testing.T) {
	fixtures(t, "testdata/same/*.puml", func(t *testing.T, file string, text []byte) {
		w, _ := plantuml.Parse(file, text)
		written, err := plantuml.Format(w)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, strings.TrimSuffix(file, ".puml")+".format", string(written))
		if laid, found := plantuml.Fmt(file, written); string(laid) != string(written) || found.Errors() {
			t.Errorf("Fmt changes what Format writes: %v\n%s", found, cmp.Diff(string(written), string(laid)))
		}
	})
}

func TestLayout(t *testing.T) {
	fixtures(t, "testdata/fmt/*.puml", func(t *testing.T, file string, text []byte) {
		once, found := plantuml.Fmt(file, text)
		if found.Errors() {
			t.Fatal(found)
		}
		golden(t, strings.TrimSuffix(file, ".puml")+".golden", string(once))
		if again, _ := plantuml.Fmt(file, once); string(again) != string(once) {
			t.Errorf("not settled:\n%s", cmp.Diff(string(once), string(again)))
		}
	})
}

var want = regexp.MustCompile(`^\s*' want(\+\d+)?: (\S+) (".*")$`)

// Every diagnostic stands where the fixture's comment above it expects it, and
// there is no other.
func TestBadFiles(t *testing.T) {
	listed := map[string]bool{}
	for _, c := range plantuml.Codes {
		listed[c.Name] = true
	}
	fixtures(t, "testdata/bad/*.puml", func(t *testing.T, file string, text []byte) {
		_, found := plantuml.Parse(file, text)
		for i, line := range strings.Split(string(text), "\n") {
			m := want.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			below, _ := strconv.Atoi(m[1])
			words, err := strconv.Unquote(m[3])
			if err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
			found = expect(t, found, i+1+max(below, 1), m[2], words)
		}
		lines := strings.Split(string(text), "\n")
		for _, d := range found {
			if inNote := d.Code == "plantuml-note-form" && want.MatchString(lines[d.Line-1]); !inNote {
				t.Errorf("unexpected: %s", d)
			}
		}
		for _, d := range found {
			if !listed[d.Code] {
				t.Errorf("%s is not in Codes", d.Code)
			}
		}
	})
}

// expect takes the diagnostic out of the list.
func expect(t *testing.T, found workflow.Diagnostics, line int, code, words string) workflow.Diagnostics {
	t.Helper()
	for i, d := range found {
		if d.Line == line && d.Code == code && strings.Contains(d.Summary+"; "+d.Detail, words) {
			return append(found[:i:i], found[i+1:]...)
		}
	}
	t.Errorf("line %d: want %s %q", line, code, words)
	return found
}
