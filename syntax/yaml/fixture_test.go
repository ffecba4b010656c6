package yaml_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	fixtures(t, "testdata/ok/*.yml", func(t *testing.T, file string, text []byte) {
		w, found := yaml.Parse(file, text)
		if len(found) > 0 {
			t.Fatal(found)
		}
		golden(t, strings.TrimSuffix(file, ".yml")+".print", workflow.Print(w))
		written, err := yaml.Format(w)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, strings.TrimSuffix(file, ".yml")+".format", string(written))
		laidOut, _ := yaml.Fmt(file, text)
		if again, _ := yaml.Parse(file, laidOut); workflow.Digest(again) != workflow.Digest(w) {
			t.Error("Fmt changed the digest")
		}
	})
}

func TestLayout(t *testing.T) {
	fixtures(t, "testdata/fmt/*.yml", func(t *testing.T, file string, text []byte) {
		once, found := yaml.Fmt(file, text)
		if len(found) > 0 {
			t.Fatal(found)
		}
		golden(t, strings.TrimSuffix(file, ".yml")+".golden", string(once))
		if again, _ := yaml.Fmt(file, once); string(again) != string(once) {
			t.Errorf("not settled:\n%s", cmp.Diff(string(once), string(again)))
		}
	})
}

var want = regexp.MustCompile(`# want(\+\d+)?: (\S+) (".*")`)

// Every diagnostic stands where the fixture's comment expects it, and there is
// no other.
func TestBadFiles(t *testing.T) {
	fixtures(t, "testdata/bad/*.yml", func(t *testing.T, file string, text []byte) {
		_, found := yaml.Parse(file, text)
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

// Every code that a fixture expects, and every code that is reported, is in the
// table.
func TestCodesAreListed(t *testing.T) {
	listed := map[string]bool{}
	for _, c := range yaml.Codes {
		if listed[c.Name] || c.Meaning == "" {
			t.Errorf("%s: twice, or without meaning", c.Name)
		}
		listed[c.Name] = true
	}
	fixtures(t, "testdata/bad/*.yml", func(t *testing.T, file string, text []byte) {
		_, found := yaml.Parse(file, text)
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
