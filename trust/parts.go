package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Part is one part of what a person approves as a whole: the text of a workflow, the definition
// of an agent that it uses, the files of a tool. Its name is unique.
type Part struct {
	Name string `json:"name"`
	Text string `json:"text,omitempty"`
	// Hash replaces a text that is too long to be stored with an approval.
	Hash string `json:"hash,omitempty"`
}

// longText is the length up to which the text of a part is stored, so that a later review can
// show what has changed in it.
const longText = 64 << 10

func (p Part) sum() string {
	if p.Hash != "" {
		return p.Hash
	}
	return hash([]byte(p.Text))
}

// Parts are everything that a definition would use.
type Parts []Part

// Digest returns a digest of all parts, regardless of their order.
func (ps Parts) Digest() string {
	var all []string
	for _, p := range ps.sorted() {
		all = append(all, p.Name, p.sum())
	}
	return digest(all)
}

// digest returns the digest of a list of texts.
func digest(texts []string) string {
	sum := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(sum, "%d %s\n", len(text), text)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// isOld reports whether an older version wrote a digest: those were half as long. What has one counts as
// not approved, so that a person is asked again.
func isOld(digest string) bool { return len(digest) == len("sha256:")+sha256.Size }

func (ps Parts) sorted() Parts {
	all := slices.Clone(ps)
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		return a.Name < b.Name || a.Name == b.Name && a.sum() < b.sum()
	})
	return all
}

// stored returns the parts with texts that are longer than some number of bytes replaced by their
// hashes.
func (ps Parts) stored(longest int) Parts {
	all := ps.sorted()
	for i, p := range all {
		if len(p.Text) > longest {
			all[i] = p.WithoutText()
		}
	}
	return all
}

// WithoutText returns the part with the hash of its text. The digest stays the same.
func (p Part) WithoutText() Part { return Part{Name: p.Name, Hash: p.sum()} }

// filePart is the beginning of the name of a part that is a file of the project.
const filePart = "file "

// File returns the name of the file in the project if the part is one that a command names.
func (p Part) File() (name string, ok bool) { return strings.CutPrefix(p.Name, filePart) }

// PartChange is a part that differs from what was approved. Lines are its differences, marked
// with + and -, if both texts are known.
type PartChange struct {
	Name  string   `json:"name"`
	Mark  string   `json:"mark"` // +: new, -: no longer used, ~: changed
	Lines []string `json:"lines,omitempty"`
}

// Diff compares parts with those that were approved before.
func (ps Parts) Diff(old Parts) []PartChange {
	var list []PartChange
	find := func(in Parts, name string) (Part, bool) {
		i := slices.IndexFunc(in, func(p Part) bool { return p.Name == name })
		if i < 0 {
			return Part{}, false
		}
		return in[i], true
	}
	for _, p := range ps.sorted() {
		before, had := find(old, p.Name)
		switch {
		case !had:
			list = append(list, PartChange{Name: p.Name, Mark: "+"})
		case before.sum() != p.sum():
			c := PartChange{Name: p.Name, Mark: "~"}
			if before.Hash == "" && p.Hash == "" {
				c.Lines = DiffLines(before.Text, p.Text)
			}
			list = append(list, c)
		}
	}
	for _, p := range old.sorted() {
		if _, has := find(ps, p.Name); !has {
			list = append(list, PartChange{Name: p.Name, Mark: "-"})
		}
	}
	return list
}

// DiffLines returns the lines that differ, in the order of the texts, marked with + and -. It compares
// what is left between the common beginning and end by a table of common lines, unless that is too
// large.
func DiffLines(before, after string) []string {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a)*len(b) > 1<<20 {
		return append(marked("-", a), marked("+", b)...)
	}
	common := make([][]int, len(a)+1) // [i][j]: the most lines that a[i:] and b[j:] have in common
	common[len(a)] = make([]int, len(b)+1)
	for i := len(a) - 1; i >= 0; i-- {
		common[i] = make([]int, len(b)+1)
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var lines []string
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			i, j = i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			lines = append(lines, "-"+a[i])
			i++
		default:
			lines = append(lines, "+"+b[j])
			j++
		}
	}
	return slices.Concat(lines, marked("-", a[i:]), marked("+", b[j:]))
}

func marked(mark string, lines []string) (all []string) {
	for _, line := range lines {
		all = append(all, mark+line)
	}
	return all
}
