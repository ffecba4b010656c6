package trust

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/projectfile"
)

// A power may start a program in the project itself. Approving only its name would approve
// whatever a later commit puts there, so the digest covers its content. It does not cover
// what such a program reads in turn.

// Locate returns the file of a program that a file of the project names: a path is relative
// to the project's root, and a bare name is searched on a PATH, ignoring its relative
// directories. To start the program, start this file: its content was approved. With an
// error, it returns where the program should be.
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

// Material returns what the digest covers of a program: its file, and the files that its
// arguments and variables name, relative to its working directory, or to a directory that they name
// (cd sub, make -C sub), or with a pattern (*.sh). Files outside of the project belong to the user, and
// only their names count.
func Material(root, file, dir string, words ...string) string {
	return material(root, file, dir, root, words)
}

// SameMaterial reports whether a program would use the same files in two working directories.
func SameMaterial(root, file, one, other string, words ...string) bool {
	return material(root, file, one, one, words) == material(root, file, other, other, words)
}

// material names the files relative to a base, so that it does not depend on the machine.
func material(root, file, dir, base string, words []string) string {
	names := namesIn(words)
	dirs := []string{dir}
	for _, name := range names {
		at := filepath.Join(dir, name)
		if real, err := projectfile.Resolve(at, root); err != nil || len(dirs) == mostDirs || slices.Contains(dirs, at) {
			continue
		} else if info, err := os.Stat(real); err == nil && info.IsDir() {
			dirs = append(dirs, at)
		}
	}
	var found []string
	for _, dir := range dirs {
		for _, name := range names {
			for _, path := range matches(dir, name) {
				if sum := content(root, path); sum != "" {
					if inside, err := filepath.Rel(base, filepath.Clean(path)); err == nil {
						path = inside
					}
					found = append(found, path+" "+sum)
				}
			}
		}
	}
	slices.Sort(found)
	return content(root, file) + "\n" + strings.Join(slices.Compact(found), "\n")
}

// Files returns the files of [Material] as parts with their texts, so that a person can read what the
// digest covers, and later what has changed. Of a long file it is the beginning.
func Files(root, material string) (all Parts) {
	for line := range strings.Lines(material) {
		i := max(strings.LastIndexByte(line, ' '), 0)
		name, sum := line[:i], strings.TrimSpace(line[i:])
		if _, err := hex.DecodeString(sum); err == nil && name != "" {
			all = append(all, Part{Name: filePart + name, Text: beginning(root, filepath.Join(root, name))})
		}
	}
	return all
}

// beginning returns the beginning of a text file in the project, or says why there is none.
func beginning(root, file string) string {
	path, err := projectfile.Resolve(file, root)
	if err != nil {
		return "(cannot be read)"
	}
	f, err := os.Open(path)
	if err != nil {
		return "(cannot be read)"
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, longText))
	info, wrong := f.Stat()
	if err != nil || wrong != nil {
		return "(cannot be read)"
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return fmt.Sprintf("(binary, %d bytes)", info.Size())
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// mostDirs is how many directories that words name are searched, and mostMatches how many files a
// pattern may mean.
const (
	mostDirs    = 20
	mostMatches = 1000
	longestName = 4096
)

// matches returns the files that a name may mean in a directory.
func matches(dir, name string) []string {
	if filepath.IsAbs(name) {
		return []string{name}
	}
	// A program may or may not resolve symbolic links before "..".
	all := []string{dir + string(filepath.Separator) + name, filepath.Join(dir, name)}
	if strings.ContainsAny(name, "*?[") {
		if found, err := filepath.Glob(filepath.Join(dir, name)); err == nil && len(found) <= mostMatches {
			return append(all, found...)
		}
	}
	return all
}

// namesIn returns everything in arguments and variables that may be the name of a file: --config=a.js,
// a.js:b.js, sh -c "node a.js", also with quotes or braces inside of a name, or spaces inside of quotes.
func namesIn(words []string) (names []string) {
	for _, word := range words {
		names = append(names, word)
		names = append(names, strings.FieldsFunc(word, separates)...)
		if plain := quotes.Replace(word); plain != word {
			names = append(names, strings.FieldsFunc(plain, separates)...)
		}
		for _, one := range shellWords(word) {
			names = append(names, alternatives(one, mostMatches)...)
			if _, value, ok := strings.Cut(one, "="); ok {
				names = append(names, alternatives(value, mostMatches)...)
			}
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" || len(name) > longestName })
}

var quotes = strings.NewReplacer("'", "", `"`, "", `\`, "")

// shellWords splits a command roughly as a shell does, and removes the quotes.
func shellWords(command string) (words []string) {
	var word strings.Builder
	quote, escaped := rune(0), false
	for _, r := range command {
		switch {
		case escaped:
			escaped = false
			word.WriteRune(r)
		case r == '\\' && quote != '\'':
			escaped = true
		case r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case quote == 0 && strings.ContainsRune(" \t\r\n`;&|<>()", r):
			words = append(words, word.String())
			word.Reset()
		default:
			word.WriteRune(r)
		}
	}
	return append(words, word.String())
}

// alternatives returns the names that a word with braces means: a{b,c} is ab and ac. A range, and
// whatever would be more than a number of names, becomes a pattern.
func alternatives(word string, most int) []string {
	end := strings.IndexByte(word, '}')
	start := strings.LastIndexByte(word[:max(end, 0)], '{')
	if start < 0 || len(word) > longestName {
		return []string{word}
	}
	before, inside, after := word[:start], word[start+1:end], word[end+1:]
	choices := strings.Split(inside, ",")
	if most /= len(choices); most == 0 || strings.Contains(inside, "..") {
		choices = []string{"*"}
	}
	var all []string
	for _, choice := range choices {
		all = append(all, alternatives(before+choice+after, max(most, 1))...)
	}
	return all
}

// separates reports whether a character may separate file names in an argument or variable.
func separates(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`=:,;&|<>()@", r) }

// most is how many files of a CLI agent's settings are read, and large how many bytes of one
// file. Anything larger cannot be approved.
const (
	most  = 50_000
	large = 256 << 20
)

// unseen returns the material of what cannot be read. It is different every time, so that it
// cannot be approved.
func unseen() string { return "unseen " + rand.Text() }

// Tree returns the material of a file or directory of the project: all its content, also
// through symbolic links that do not leave a directory.
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
	seen         map[string]bool // directories: symbolic links can form cycles
	found        []string
}

func (t *tree) add(path string) {
	if len(t.found) > most {
		return
	}
	label, _ := filepath.Rel(t.root, path) // both are absolute
	target, _ := os.Readlink(path)         // "": not a symbolic link
	t.found = append(t.found, filepath.ToSlash(label)+" "+target+" "+content(t.within, path))
	real, err := projectfile.Resolve(path, t.within)
	if err != nil || t.seen[real] {
		return // files outside belong to the user
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

// content returns the hash of a file in the project, "" if there is none.
func content(root, file string) string {
	path, err := projectfile.Resolve(file, root)
	if outside := (*projectfile.OutsideError)(nil); errors.As(err, &outside) {
		// It belongs to the user, like /bin/sh. But the project controls where its own
		// symbolic links lead.
		rel, _ := filepath.Rel(root, file)
		if target, err := filepath.EvalSymlinks(file); err == nil && filepath.IsLocal(rel) {
			return "leads to " + target
		}
	}
	if err != nil {
		return "" // it does not exist
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
	// The file may have grown past the limit, where the hash would not cover it.
	if n, err := io.Copy(sum, io.LimitReader(f, large+1)); err != nil || n > large {
		return unseen()
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
