package doctest

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// block is a fenced block of a page.
type block struct {
	page string
	line int      // number of its first line of text
	info []string // the words after the fence
	text string
}

// kind returns the first two words after the fence, without the name of a file.
func (b *block) kind() string {
	switch {
	case len(b.info) == 0:
		return "text"
	case len(b.info) == 1 || strings.Contains(b.info[1], "."):
		return b.info[0]
	}
	return b.info[0] + " " + b.info[1]
}

var fileName = regexp.MustCompile(`^(?:# |<!-- )([\w./-]+\.\w+)(?: -->)?\n`)

// file returns the file that a block is written to, or "" if none. It is named after the
// fence, or in a comment at the top.
func (b *block) file() string {
	if len(b.info) > 1 && strings.Contains(b.info[1], ".") {
		return b.info[1]
	}
	if m := fileName.FindStringSubmatch(b.text); m != nil {
		return m[1]
	}
	return ""
}

// pages returns the documents whose blocks are tested. The pages about rules have their
// own test next to the rules.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, name)
		if d.IsDir() && (rel == filepath.Join("docs", "rules") || rel != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if strings.HasSuffix(name, ".md") && !withPlaceholders(filepath.ToSlash(rel)) {
			all = append(all, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// withPlaceholders reports whether a page is only complete once it is filled in. Its package
// tests it.
func withPlaceholders(page string) bool {
	return path.Dir(page) == "handoff/templates" || page == "handoff/protocol/response.md"
}

// blocks reads the fenced blocks of a page.
func blocks(t *testing.T, page string) []*block {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	var all []*block
	var open *block
	fence := ""
	scanner := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; scanner.Scan(); n++ {
		line := scanner.Text()
		info := strings.TrimLeft(line, "`")
		marks := line[:len(line)-len(info)]
		switch {
		case len(marks) >= 3 && open == nil:
			open, fence = &block{page: page, line: n + 1, info: strings.Fields(info)}, marks
		case open != nil && strings.HasPrefix(marks, fence) && info == "":
			all = append(all, open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	if open != nil {
		t.Fatalf("%s:%d: the block is not closed", page, open.line)
	}
	return all
}

var link = regexp.MustCompile(`\]\(([^)#]*)(#[^)]*)?\)`)

// Links inside the repository, and their anchors, lead somewhere.
func TestLinks(t *testing.T) {
	for _, page := range pages(t) {
		data, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(data), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target := page
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(page), m[1])
			}
			text, err := os.ReadFile(filepath.Join(root, target))
			if info, statErr := os.Stat(filepath.Join(root, target)); statErr == nil && info.IsDir() {
				continue
			}
			if err != nil {
				t.Errorf("%s: the link %s leads nowhere", page, m[0])
				continue
			}
			if anchor := strings.TrimPrefix(m[2], "#"); anchor != "" && !hasAnchor(string(text), anchor) {
				t.Errorf("%s: %s has no heading for #%s", page, target, anchor)
			}
		}
	}
}

var notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// hasAnchor reports whether a page has a heading for the anchor, as GitHub generates them.
func hasAnchor(page, anchor string) bool {
	for line := range strings.SplitSeq(page, "\n") {
		title := strings.TrimLeft(line, "#")
		if title == line {
			continue
		}
		made := notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
		if strings.ReplaceAll(made, " ", "-") == anchor {
			return true
		}
	}
	return false
}
