package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEnglish rejects the phrases in english.txt.
func TestEnglish(t *testing.T) {
	list, err := os.ReadFile("english.txt")
	if err != nil {
		t.Fatal(err)
	}
	instead := map[string]string{}
	for line := range strings.Lines(string(list)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		phrase, better, ok := strings.Cut(line, ": ")
		if !ok {
			t.Errorf("english.txt: %q does not say what to write instead", line)
		}
		instead[phrase] = better
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git") {
			return fs.SkipDir
		}
		if ext := filepath.Ext(path); d.IsDir() || ext != ".go" && ext != ".md" || d.Name() == "CHANGELOG.md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		// A phrase may continue in the next line of a comment.
		words := strings.Join(strings.Fields(strings.ReplaceAll(strings.ToLower(string(text)), "//", " ")), " ")
		for phrase, better := range instead {
			if !strings.Contains(words, phrase) {
				continue
			}
			spread := strings.ReplaceAll(regexp.QuoteMeta(phrase), " ", `(?:\s|//)+`)
			for _, at := range regexp.MustCompile(`(?i)\b`+spread+`\b`).FindAllIndex(text, -1) {
				t.Errorf("%s:%d: %q: write %q", filepath.ToSlash(path), 1+strings.Count(string(text[:at[0]]), "\n"), phrase, better)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
