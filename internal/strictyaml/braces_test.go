package strictyaml_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/internal/strictyaml"
)

// noteText is the body of a note as written in a file, indented by four columns.
const noteText = `input: {{code}}, {{language}}
list: [{{a}}, b, {{it's}}, 'c']
deep:
  - {{x.y ?? "a: b"}}
  - key: {{z}}
prompt: |
  code: {{code}}

  [{{b}}]
schema: {
  "a": [{"b": {{c}} }],
  "d": 1
}
wait: 90
`

func readNote(t *testing.T) *strictyaml.Map {
	t.Helper()
	doc := strictyaml.ReadPiece("f", []byte(noteText), strictyaml.Piece{Line: 10, Column: 5, Indent: 4, Braces: true, Unit: time.Second})
	if found := doc.Diagnostics(); len(found) > 0 {
		t.Fatal(found)
	}
	return doc.Root().Map()
}

func TestBracesNeedNoQuotes(t *testing.T) {
	m := readNote(t)
	if got := m.String("input"); got != "{{code}}, {{language}}" {
		t.Errorf("input %q", got)
	}
	if got := strings.Join(m.Strings("list"), "|"); got != "{{a}}|b|{{it's}}|c" {
		t.Errorf("list %q", got)
	}
	deep := m.List("deep")
	if got := deep[0].Text(); got != `{{x.y ?? "a: b"}}` {
		t.Errorf("deep %q", got)
	}
	if got := deep[1].Map().String("key"); got != "{{z}}" {
		t.Errorf("key %q", got)
	}
	if got := m.String("prompt"); got != "code: {{code}}\n\n[{{b}}]\n" {
		t.Errorf("prompt %q", got)
	}
	if got := m.Duration("wait"); got != 90*time.Second {
		t.Errorf("wait %s", got)
	}
}

// Every value has the position where its author wrote it.
func TestPiecesKnowTheirPlaces(t *testing.T) {
	m := readNote(t)
	lines := strings.Split(noteText, "\n")
	for _, n := range append(m.List("list"), m.Get("input"), m.List("deep")[0], m.List("deep")[1].Map().Get("key"), m.Get("wait").Key()) {
		p := n.Pos()
		line := strings.Repeat(" ", 4) + lines[p.Line-10]
		if got := strings.Trim(line[p.Column-1:p.EndColumn-1], "'"); got != n.Written() {
			t.Errorf("%q is said to stand at %q", n.Written(), got)
		}
	}
	if at := m.Get("prompt").Source().At(6, 14); at.Line != 16 || at.Column != 13 || at.EndColumn != 21 {
		t.Errorf("the reference in the block stands at %+v", at)
	}
}

func TestJoinedMapsRefuseASecondKey(t *testing.T) {
	first := strictyaml.ReadPiece("f", []byte("a: 1\n"), strictyaml.Piece{Line: 1, Column: 1})
	second := strictyaml.ReadPiece("f", []byte("b: 2\na: 3\n"), strictyaml.Piece{Line: 5, Column: 3, Indent: 2})
	m := first.Root().Map()
	m.Join(second.Root().Map())
	if m.Int("a", 0) != 1 || m.Int("b", 0) != 2 {
		t.Error("the keys of both maps are not there")
	}
	found := second.Diagnostics()
	if len(found) != 1 || found[0].Code != "yaml-duplicate-key" || found[0].Line != 6 || found[0].Column != 3 {
		t.Errorf("found %v", found)
	}
}
