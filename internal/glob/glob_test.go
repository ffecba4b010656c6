package glob_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hocket-dev/hocket/internal/glob"
)

func TestFind(t *testing.T) {
	files := fstest.MapFS{"a.md": {}, "a.go": {}, ".b.md": {}, "d/a.md": {}, "d/e/f/a.md": {}, ".h/a.md": {}, "d/.h/a.md": {}, "[x].md": {}}
	for pattern, want := range map[string]string{
		"*.md": "[x].md a.md", "**/*.md": "[x].md a.md d/a.md d/e/f/a.md", "d/**": "d/a.md d/e/f/a.md", "**/**/a.md": "a.md d/a.md d/e/f/a.md",
		"d/*/*/a.md": "d/e/f/a.md", ".*.md": ".b.md", ".h/*": ".h/a.md", "**/e/": "d/e", "?.g[a-o]": "a.go", `\[x].md`: "[x].md", "none/*": "",
	} {
		p, err := glob.Parse(pattern)
		if err != nil {
			t.Fatalf("%s: %v", pattern, err)
		}
		found, err := p.Find(files, ".", glob.Options{})
		if strings.Join(found, " ") != want || err != nil {
			t.Errorf("%s found %q, %v; want %q", pattern, found, err, want)
		}
		for name := range files {
			if got := p.Match(name); got != (slices.Contains(found, name) && !p.Dirs()) {
				t.Errorf("%s matches %s: %t", pattern, name, got)
			}
		}
	}
	for _, pattern := range []string{"", "/a", "../a", "a//b", "./a"} {
		if _, err := glob.Parse(pattern); !errors.Is(err, glob.ErrNotRelative) {
			t.Errorf("%q: %v", pattern, err)
		}
	}
	if _, err := glob.Parse("a/[b"); err == nil || errors.Is(err, glob.ErrNotRelative) {
		t.Errorf("an open bracket: %v", err)
	}
}

// Many ** do not visit a directory more often than there are parts.
func TestFindIsBounded(t *testing.T) {
	files := fstest.MapFS{strings.Repeat("d/", 20) + "x": {}}
	p, err := glob.Parse(strings.Repeat("**/d/", 10) + "none")
	if err != nil {
		t.Fatal(err)
	}
	entered := map[string]int{}
	if _, err := p.Find(files, ".", glob.Options{Enter: func(dir string) error { entered[dir]++; return nil }}); err != nil {
		t.Fatal(err)
	}
	for dir, n := range entered {
		if n > len(p.Parts()) {
			t.Errorf("%s is entered %d times", dir, n)
		}
	}
	stop := errors.New("stop")
	if _, err := p.Find(files, ".", glob.Options{Enter: func(string) error { return stop }}); !errors.Is(err, stop) {
		t.Errorf("the search does not stop: %v", err)
	}
	var unreadable []string
	_, err = p.Find(files, "none", glob.Options{Unreadable: func(dir string, err error) error {
		unreadable = append(unreadable, dir)
		return nil
	}})
	if err != nil || !slices.Equal(unreadable, []string{"none"}) {
		t.Errorf("unreadable: %v, %v", unreadable, err)
	}
	if _, err := p.Find(files, "none", glob.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that does not exist: %v", err)
	}
}
