package markdown_test

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

	"github.com/hocket-dev/hocket/syntax/markdown"
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

func fixtures(t *testing.T, dir string, test func(t *testing.T, file string, text []byte)) {
	var files []string
	for _, ending := range []string{"*.md", "*.mmd"} {
		found, err := filepath.Glob(filepath.Join("testdata", dir, ending))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Fatalf("no fixtures in %s", dir)
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

func base(file string) string { return strings.TrimSuffix(file, filepath.Ext(file)) }

// What a file means, and how Format writes what it means.
func TestGoodFiles(t *testing.T) {
	fixtures(t, "ok", func(t *testing.T, file string, text []byte) {
		w, found := markdown.Parse(file, text)
		for _, d := range found {
			if d.Code != "mermaid-version" {
				t.Error(d)
			}
		}
		golden(t, base(file)+".print", workflow.Print(w))
		written, err := markdown.Format(w)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, base(file)+".format", string(written))
		again, found := markdown.Parse("again.md", written)
		if len(found) > 0 || workflow.Digest(again) != workflow.Digest(w) {
			t.Errorf("what Format writes is not the same: %v", found)
		}
		if laidOut, _ := markdown.Fmt("again.md", written); string(laidOut) != string(written) {
			t.Errorf("Fmt changes what Format writes:\n%s", cmp.Diff(string(written), string(laidOut)))
		}
		laidOut, _ := markdown.Fmt(file, text)
		if again, _ := markdown.Parse(file, laidOut); workflow.Digest(again) != workflow.Digest(w) {
			t.Error("Fmt changed the digest")
		}
	})
}

func TestLayout(t *testing.T) {
	fixtures(t, "fmt", func(t *testing.T, file string, text []byte) {
		once, found := markdown.Fmt(file, text)
		if found.Errors() {
			t.Fatal(found)
		}
		golden(t, base(file)+".golden", string(once))
		if again, _ := markdown.Fmt(file, once); string(again) != string(once) {
			t.Errorf("not settled:\n%s", cmp.Diff(string(once), string(again)))
		}
	})
}

var want = regexp.MustCompile(`want(\+\d+)?: (\S+) (".*?[^\\]")`)

// Every diagnostic stands where the fixture's comment expects it, and there is
// no other.
func TestBadFiles(t *testing.T) {
	fixtures(t, "bad", func(t *testing.T, file string, text []byte) {
		_, found := markdown.Parse(file, text)
		for _, d := range found {
			if len([]rune(d.Summary)) > 80 {
				t.Errorf("a long summary: %s", d.Summary)
			}
			if !listed(d.Code) {
				t.Errorf("%s is not in Codes", d.Code)
			}
		}
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

func listed(code string) bool {
	for _, c := range markdown.Codes {
		if c.Name == code {
			return true
		}
	}
	return false
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
