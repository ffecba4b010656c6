package syntax_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// A file with one small error keeps its words when it is fixed. If the fix makes it valid, it has
// its original meaning, except for the damaged lines.
func FuzzFixOfDamage(f *testing.F) {
	files := validFiles(f)
	for seed := range uint64(400) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		file := files[r.IntN(len(files))]
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		damaged, about := damage(r, string(text))
		fixed, _ := fixAll(file, damaged)
		if fixed == damaged {
			return
		}
		if got := lostWithoutRename(damaged, fixed); len(got) > 0 {
			t.Errorf("%s: lost are %q\n%s", file, got, cmp.Diff(damaged, fixed))
		}
		was, _ := syntax.Parse(file, text)
		is, found := syntax.Parse(file, []byte(fixed))
		if found.Errors() || opensTwice(about) {
			return
		}
		other := slices.DeleteFunc(missing(facts(file, was), facts(file, is)), func(fact string) bool {
			return slices.ContainsFunc(wordsOf(fact), func(w string) bool { return slices.Contains(wordsOf(about), w) })
		})
		if len(other) > 0 {
			t.Errorf("%s: the damage is in %q, but gone are\n%s\n%s", file, about, strings.Join(other, "\n"), cmp.Diff(damaged, fixed))
		}
	})
}

// opensTwice reports whether a line that opens a block was doubled: nobody can tell where the second
// block should end.
func opensTwice(about string) bool {
	lines := slices.Compact(strings.SplitAfter(strings.TrimSuffix(about, "\n"), "\n"))
	return len(lines) <= 2 && strings.HasPrefix(strings.TrimSpace(lines[0]), "if (") && strings.Count(about, "\n") > 2
}

// validFiles returns files in all notations.
func validFiles(f *testing.F) []string {
	var files []string
	for _, pattern := range []string{"../examples/notations/*", "*/testdata/ok/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range found {
			text, err := os.ReadFile(file)
			if err != nil || !syntax.IsWorkflow(file) || len(text) > 5000 {
				continue
			}
			if w, found := syntax.Parse(file, text); w != nil && !found.Errors() {
				files = append(files, file)
			}
		}
	}
	return files
}

// damage deletes, inserts or swaps a character or a line. about contains the affected lines, before
// and after.
func damage(r *rand.Rand, text string) (damaged, about string) {
	lines := strings.SplitAfter(text, "\n")
	i := r.IntN(len(lines))
	was, j := lines[i], r.IntN(max(1, len(lines[i])))
	switch r.IntN(6) {
	case 0:
		lines[i] = ""
	case 1:
		lines[i] = was + was
	case 2:
		k := r.IntN(len(lines))
		about = lines[k]
		lines[i], lines[k] = lines[k], lines[i]
	case 3:
		marks := "\"'()[]{}<>|;:&#-`@/% \n"
		m := r.IntN(len(marks))
		lines[i] = was[:min(j, len(was))] + marks[m:m+1] + was[min(j, len(was)):]
	case 4:
		if j+1 < len(was) {
			lines[i] = was[:j] + was[j+1:j+2] + was[j:j+1] + was[j+2:]
		}
	default:
		if j < len(was) {
			lines[i] = was[:j] + was[j+1:]
		}
	}
	return strings.Join(lines, ""), about + was + lines[i]
}

func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func missing(list, in []string) []string {
	count := map[string]int{}
	for _, x := range in {
		count[x]++
	}
	return slices.DeleteFunc(slices.Clone(list), func(x string) bool { count[x]--; return count[x] >= 0 })
}

// lostWithoutRename returns the words that are neither in the fixed text nor replaced by a similar
// word.
func lostWithoutRename(text, fixed string) []string {
	was, is := wordsOf(text), wordsOf(fixed)
	if strings.Join(was, "") == strings.Join(is, "") {
		return nil
	}
	added := missing(is, was)
	return slices.DeleteFunc(missing(was, is), func(w string) bool {
		closes := strings.HasPrefix(w, "end") || strings.Contains(text, "</"+w+">")
		return closes || slices.ContainsFunc(added, func(a string) bool {
			return workflow.Meant(w, []string{a}) != "" || within(w, a) || within(a, w)
		})
	})
}

// within reports whether a word has the letters of another, in the same order.
func within(letters, word string) bool {
	for _, r := range word {
		letters = strings.TrimPrefix(letters, string(r))
	}
	return letters == ""
}

// facts returns the lines of the canonical form, each with what it is a part of. Loops of a
// flowchart are left out: they follow from the targets of its arrows, and a damaged target is
// another step.
func facts(file string, w *workflow.Workflow) []string {
	flowchart := slices.Contains([]string{".md", ".mmd"}, filepath.Ext(file))
	var all, path []string
	for line := range strings.Lines(workflow.Print(w)) {
		text := strings.TrimLeft(line, " ")
		depth := (len(line) - len(text)) / 2
		path = append(path[:min(depth, len(path))], strings.TrimSpace(text))
		isLoop := func(part string) bool {
			return flowchart && strings.HasPrefix(part, "node ") && strings.HasSuffix(part, " loop")
		}
		if !isLoop(path[len(path)-1]) {
			all = append(all, strings.Join(slices.DeleteFunc(slices.Clone(path), isLoop), " / "))
		}
	}
	return all
}
