package cassette

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/internal/strictyaml"
)

// Listing is what files were, without their content, by path.
type Listing map[string]Listed

// Listed is what a file was.
type Listed struct {
	Digest     string // of its content
	Executable bool
}

// Listing returns what the files are.
func (f Files) Listing() Listing {
	l := Listing{}
	for name, file := range f {
		l[name] = Listed{contentDigest(file.Content), file.Executable}
	}
	return l
}

// Digest returns the digest of all files.
func (l Listing) Digest() string {
	h := sha256.New()
	for _, name := range sorted.Keys(l) {
		fmt.Fprintf(h, "%q %t %s\n", name, l[name].Executable, l[name].Digest)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Differences says which files are others now, in the order of their paths.
func (l Listing) Differences(now Listing) []string {
	both := maps.Clone(l)
	maps.Copy(both, now)
	var all []string
	for _, name := range sorted.Keys(both) {
		was, before := l[name]
		is, after := now[name]
		switch {
		case !after:
			all = append(all, name+" is missing")
		case !before:
			all = append(all, name+" is new")
		case was.Digest != is.Digest:
			all = append(all, name+" differs")
		case was.Executable && !is.Executable:
			all = append(all, name+" is not executable")
		case is.Executable && !was.Executable:
			all = append(all, name+" is executable")
		}
	}
	return all
}

// Bases are the files that attempts began with, by the digest in their requests.
type Bases map[string]Listing

// executable marks the digest of an executable file.
const executable = " executable"

// named returns the digests of those bases that requests name, the one with the fewest files first.
func (c *Cassette) named() []string {
	named := map[string]bool{}
	for _, i := range c.Interactions {
		if c.Bases[i.Request.Base] != nil {
			named[i.Request.Base] = true
		}
	}
	return slices.SortedFunc(maps.Keys(named), func(x, y string) int {
		return cmp.Or(cmp.Compare(len(c.Bases[x]), len(c.Bases[y])), strings.Compare(x, y))
	})
}

// baseFields returns the bases as they are stored: the first one, which is that of the case unless all steps began with more files,
// and what differs from it in each of the others. So a long list is there once.
func (c *Cassette) baseFields() (all []any) {
	first, b := Listing{}, c.Bases
	for n, digest := range c.named() {
		files := map[string]any{}
		for name, is := range b[digest] {
			if was, ok := first[name]; !ok || was != is {
				files[name] = is.text()
			}
		}
		for name := range first {
			if _, ok := b[digest][name]; !ok {
				files[name] = nil
			}
		}
		all = append(all, map[string]any{"digest": digest, "files": files})
		if n == 0 {
			first = b[digest]
		}
	}
	return all
}

func (l Listed) text() string {
	if l.Executable {
		return l.Digest + executable
	}
	return l.Digest
}

// readBases is the opposite of baseFields.
func readBases(list []strictyaml.Node) Bases {
	all := Bases{}
	var first Listing
	for _, n := range list {
		m := n.Map()
		digest, files := m.Name("digest"), maps.Clone(first)
		if files == nil {
			files = Listing{}
		}
		for _, e := range m.Map("files").Entries() {
			if e.Value.IsNull() {
				delete(files, e.Name)
				continue
			}
			text, marked := strings.CutSuffix(e.Value.Name(), executable)
			files[e.Name] = Listed{text, marked}
		}
		m.Done()
		if first == nil {
			first = files
		}
		all[digest] = files
	}
	return all
}
