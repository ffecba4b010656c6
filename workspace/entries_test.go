package workspace

import (
	"crypto/sha1"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseIndex(t *testing.T) {
	f := newFixture(t)
	for _, format := range []string{"sha1", "sha256"} {
		repo := filepath.Join(t.TempDir(), format)
		f.git(".", "init", "-q", "--object-format="+format, repo)
		run := func(stdin string, args ...string) string {
			t.Helper()
			out, err := git{dir: repo, users: true}.input(t.Context(), stdin, args...)
			f.no(err)
			return out
		}
		for i := range 9 { // all lengths of what follows a name
			f.write(filepath.Join(repo, strings.Repeat("n", i+1)), "")
		}
		f.write(filepath.Join(repo, "odd\t\xff \"name\"\n.txt"), "odd")
		f.write(filepath.Join(repo, "run.sh"), "run")
		f.no(os.Chmod(filepath.Join(repo, "run.sh"), 0o755))
		f.no(os.Symlink("run.sh", filepath.Join(repo, "link")))
		run("", "add", "-A")
		f.write(filepath.Join(repo, "later"), "later")
		run("", "add", "--intent-to-add", "later") // version 3
		id := run("", "hash-object", "run.sh")
		var lines strings.Builder
		for stage := range 3 {
			fmt.Fprintf(&lines, "100644 %s %d\tunmerged\n", id, stage+1)
		}
		long := strings.Repeat(strings.Repeat("d", 200)+"/", 25) + "f" // longer than an index can say
		fmt.Fprintf(&lines, "160000 %s 0\tsub\n100644 %s 0\t%s\n", id, id, long)
		run(lines.String(), "update-index", "--index-info")

		data := f.read(repo, ".git", "index")
		index, ok := parseIndex([]byte(data))
		var got strings.Builder
		for _, e := range index.entries {
			fmt.Fprintf(&got, "%06o %d\t%s\x00", e.mode, e.stage, e.name)
		}
		if want := run("", "ls-files", "-z", "--format=%(objectmode) %(stage)%x09%(path)"); !ok || got.String() != want {
			t.Errorf("%s: %v, files %q, want %q", format, ok, got.String(), want)
		}
		if string(index.bytes()) != data {
			t.Errorf("%s: an index without changes has changed", format)
		}
	}
}

func TestParseOtherIndexes(t *testing.T) {
	f := newFixture(t)
	data := f.read(f.repo, ".git", "index")
	data = data[:len(data)-sha1.Size]
	signed := func(text string) []byte {
		sum := sha1.Sum([]byte(text))
		return append([]byte(text), sum[:]...)
	}
	whole, ok := parseIndex(signed(data))
	if !ok || len(whole.entries) != 4 {
		t.Fatalf("%v, %d files", ok, len(whole.entries))
	}
	end := strings.Index(data, "TREE")
	for size := range len(data) {
		if _, ok := parseIndex(signed(data[:size])); ok != (size == end) {
			t.Errorf("%d of %d bytes: %v", size, len(data), ok)
		}
	}
	for name, text := range map[string]string{
		"another signature":    "dirc" + data[4:],
		"version 4":            data[:7] + "\x04" + data[8:],
		"more files":           data[:8] + "\xff\xff\xff\xff" + data[12:],
		"another extension":    data + "link\x00\x00\x00\x00",
		"an optional one":      data + "FSMN\x00\x00\x00\x00",
		"an incomplete one":    data + "TREE\x00\x00\x00",
		"one that is too long": data + "TREE\xff\xff\xff\xff",
	} {
		if _, ok := parseIndex(signed(text)); ok {
			t.Errorf("%s is understood", name)
		}
	}
	if _, ok := parseIndex([]byte(data + strings.Repeat("\x00", sha1.Size))); ok {
		t.Error("an index without a checksum is understood")
	}
}
