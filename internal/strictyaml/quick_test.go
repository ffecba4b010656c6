package strictyaml

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"
)

// compareWithLibrary checks that the quick reader either gives up or builds the same tree
// as the library. It reports whether the quick reader succeeded.
func compareWithLibrary(t *testing.T, text []byte) bool {
	t.Helper()
	doc := &Document{text: text, lines: splitLines(text, nil)}
	if !doc.checkCharacters() {
		return false
	}
	got := readQuickly(doc.text, doc.lines, nil)
	if got == nil {
		return false
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	want, err := decode(dec)
	if err != nil {
		t.Fatalf("the library refuses it: %v\n%s", err, text)
	}
	if _, err := decode(dec); !errors.Is(err, io.EOF) {
		t.Fatalf("the library finds more: %v\n%s", err, text)
	}
	compareNodes(t, convert(want.Content[0], map[*yaml.Node]*node{}), got, text)
	return true
}

func compareNodes(t *testing.T, want, got *node, text []byte) {
	t.Helper()
	if want.Kind != got.Kind || want.Style != got.Style || want.Tag != got.Tag || want.Value != got.Value || want.Anchor != got.Anchor ||
		want.Line != got.Line || want.Column != got.Column || len(want.Content) != len(got.Content) {
		t.Fatalf("line %d: want %+v\ngot %+v\n%q", want.Line, want, got, text)
	}
	for i := range want.Content {
		compareNodes(t, want.Content[i], got.Content[i], text)
	}
}

func TestQuickReadsWhatPeopleWrite(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !compareWithLibrary(t, text) {
			t.Logf("%s is read by the library", file)
		}
	}
}

// quickTexts lists texts that the quick reader must read or leave to the library.
var quickTexts = []struct {
	text string
	read bool
}{
	{"a: b\n", true},
	{"a:\n  b: 1\n  c: [x, \"y\", {d: e}]\nf: {g: 1, h: [ ]}\n", true},
	{"a:\n- b\n- c: d\n  e: f\ng: h\n", true},
	{"a:\n  - b: |\n      one\n\n        two\n    c: |-\n      x\n  - d\n", true},
	{"# c\n\na: b # c\n# c\nb: 'c d'   # x\nc:\nd: ~\n", true},
	{"a: é ü\nb: \"日本\"\n", true},
	{"\"k\": v\n'l': w\n", true},
	{"a: b#c\nb: c:d\nc: http://x/y?z\n", true},
	{"- a\n", false},
	{"a: b\n  c\n", false},
	{"a: &x b\n", false},
	{"a: b: c\n", false},
	{"a: |\n", false},
	{"a: |\n  x\n   \n", false},
	{"a: \"x\\n\"\n", false},
	{"a: 'x''y'\n", false},
	{"a: [b\n", false},
	{"a: [b, ]\n", false},
	{"a: {b: ${c}}\n", false},
	{"a:\tb\n", false},
	{"a: b\n- c\n", false},
	{"a:\n    b: 1\n  c: 2\n", false},
	{"a: - b\n", false},
	{"--- \na: b\n", false},
	{"a: b\n---\n", false},
	{"<<: {a: b}\n", false},
	{"a: \"b\" c\n", false},
	{"a: \"b\"# c\n", false},
	{"a: b", false},
}

func TestQuickGivesUpWhereItIsNotSure(t *testing.T) {
	for _, c := range quickTexts {
		if read := compareWithLibrary(t, []byte(c.text)); read != c.read {
			t.Errorf("%q: read %t, want %t", c.text, read, c.read)
		}
	}
}

func FuzzQuick(f *testing.F) {
	for _, c := range quickTexts {
		f.Add([]byte(c.text))
	}
	for _, pattern := range []string{"../../examples/*.yml", "../../syntax/yaml/testdata/*/*.yml"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil {
				f.Add(text)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) { compareWithLibrary(t, text) })
}
