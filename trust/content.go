package trust

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/projectfile"
)

// What a power starts may be a program in the project itself. To approve its name would
// approve whatever a later commit puts there, so that the digest covers what it holds.
// What such a program reads in turn is not covered.

// Locate is the file that starts when a file of the project names a program: a path is
// seen from the project's root, and a name alone is looked for on a PATH, in which
// relative directories do not count. Whoever starts such a program starts this file, so
// that it is the one whose content was approved. Beside an error it is where the program
// should be.
func Locate(root, program, path string) (string, error) {
	if program = filepath.FromSlash(program); filepath.Base(program) != program {
		if !filepath.IsAbs(program) {
			program = filepath.Join(root, program)
		}
		found, err := exec.LookPath(program)
		if err != nil {
			return program, err
		}
		return found, nil
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return found, nil
		}
	}
	return program, &exec.Error{Name: program, Err: exec.ErrNotFound}
}

// Material is what the digest covers of a program that starts: its file, and the files
// that its arguments and variables name, seen from the directory that it works in. Files
// outside of the project are the user's, and count by their names alone.
func Material(root, file, dir string, words ...string) string {
	var found []string
	for _, word := range words {
		for _, name := range append(strings.FieldsFunc(word, separates), word) {
			// A program may follow links before it goes up, or not.
			for _, path := range []string{dir + string(filepath.Separator) + name, filepath.Join(dir, name), name} {
				if filepath.IsAbs(name) != (path == name) {
					continue
				}
				if sum := content(root, path); sum != "" {
					if inside, err := filepath.Rel(root, name); err == nil && filepath.IsAbs(name) {
						name = inside // the same on every machine
					}
					found = append(found, name+" "+sum)
				}
			}
		}
	}
	slices.Sort(found)
	return content(root, file) + "\n" + strings.Join(slices.Compact(found), "\n")
}

// separates says whether a file's name may end before a letter of an argument or of a
// variable: --config=a.js, a.js:b.js, sh -c "node a.js".
func separates(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`=:,;&|<>()@", r) }

// most is how many files of a CLI agent's settings are looked at, and large how many
// bytes of one file. What has more is not seen.
const (
	most  = 50_000
	large = 256 << 20
)

// unseen is the material of what cannot be looked at. It is never the same twice, so that
// nobody can approve it.
func unseen() string { return "unseen " + rand.Text() }

// Tree names a file or a folder, as seen from the project, by all that it holds, also
// behind links, as long as these do not leave a directory.
func Tree(root, within, path string) string {
	t := tree{root: root, within: within, seen: map[string]bool{}}
	t.add(path)
	if len(t.found) > most {
		return unseen()
	}
	slices.Sort(t.found)
	return hash([]byte(strings.Join(t.found, "\n")))
}

type tree struct {
	root, within string
	seen         map[string]bool // directories: links can lead in circles
	found        []string
}

func (t *tree) add(path string) {
	if len(t.found) > most {
		return
	}
	label, _ := filepath.Rel(t.root, path) // both are absolute
	target, _ := os.Readlink(path)         // "": it is no link
	t.found = append(t.found, filepath.ToSlash(label)+" "+target+" "+content(t.within, path))
	real, err := projectfile.Resolve(path, t.within)
	if err != nil || t.seen[real] {
		return // what is outside is the user's
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return
	}
	t.seen[real] = true
	entries, err := os.ReadDir(real)
	if err != nil {
		t.found = append(t.found, unseen())
	}
	for _, e := range entries {
		t.add(filepath.Join(path, e.Name()))
	}
}

// content is the hash of a file in the project; "" there is none.
func content(root, file string) string {
	path, err := projectfile.Resolve(file, root)
	if outside := (*projectfile.OutsideError)(nil); errors.As(err, &outside) {
		// It belongs to the user, as /bin/sh does. But where a link of the project leads
		// is for the project to say.
		rel, _ := filepath.Rel(root, file)
		if target, err := filepath.EvalSymlinks(file); err == nil && filepath.IsLocal(rel) {
			return "leads to " + target
		}
	}
	if err != nil {
		return "" // it is not there
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	if info.Size() > large {
		return unseen()
	}
	f, err := os.Open(path)
	if err != nil {
		return unseen()
	}
	defer f.Close()
	sum := sha256.New()
	// The file may have grown: what is past the limit would not count.
	if n, err := io.Copy(sum, io.LimitReader(f, large+1)); err != nil || n > large {
		return unseen()
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
