package strictyaml_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/internal/strictyaml"
)

func TestSyntaxErrorsAreFound(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"tab", "a:\n\tb: c\n", "2:1 tabs cannot be used for indentation"},
		{"tab before a dash", "a:\n  - b: 1\n\t  c: 2\n", "3:1 tabs cannot be used for indentation"},
		{"question mark", "a: 1\nb: {c: 'x?', d: ok?}\n", "2:19 inside { } and [ ] text with ? needs quotes"},
		{"url", "a: 1\nb: [http://x/?y=1, c]\n", "2:14 inside { } and [ ] text with ? needs quotes"},
		{"list at the end", "a: 1\nb: [\n", "2:4 the list in [ ] is not closed"},
		{"map at the end", "a: 1\nb: {\n", "2:4 the map in { } is not closed"},
		{"at sign", "a:\n  - x: 1\n    b: @here\n", "3:8 a value cannot begin with this character"},
		{"backtick", "a: 1\nb: `x`\n", "2:4 a value cannot begin with this character"},
		{"second colon", "a: 1\nb: c: d\ne: 1\n", `2:5 ": " is not allowed here`},
		{"list in line", "a: 1\nb: - c\n", "2:4 a list cannot begin here"},
		{"open quote", "a: 1\nb: \"c\nd: 1\ne: 2\n", "2:4 the quote that opens here is not closed"},
		{"open quote later", "a: 'x'\nb:\n  - y: 1\n    z: 'c\nd: 1\ne: 2\n", "4:8 the quote that opens here is not closed"},
		{"open bracket", "a: 1\nb: [c, d\ne: 2\n", "2:4 the list in [ ] is not closed, or a comma is missing"},
		{"braces", "a: 1\nb: {c: ${d}}\n", "2:4 the map in { } is not closed, or a comma is missing"},
		{"not a key", "a: 1\nfoo\nb: 2\n", "2:1 this is not a key with a value"},
		{"dedent", "a:\n    b: 1\n  c: 2\n", "3:3 this does not match the lines above"},
		{"list and key", "a:\n  - b\n  c: 2\n", "3:3 this does not match the list above"},
		{"after quote", "a: 1\nb: \"c\" d\n", "2:1 this does not match the lines above"},
		{"alias", "a: 1\nb: *c\n", "2:4 an alias without its anchor"},
		{"bold", "a: 1\nb: **c**\n", "2:4 a value cannot begin with this character"},
		{"escape", "a: 1\nb: \"\\d+\"\n", "2:5 an unknown escape sequence"},
		{"bang", "a: 1\nb: !<x\n", "2:4 a tag that cannot be read"},
		{"percent", "a: 1\nb: %x\n", "2:4 a value cannot begin with this character"},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc := strictyaml.Read("f", []byte(c.text))
			found := doc.Diagnostics()
			if len(found) != 1 || doc.Readable() {
				t.Fatalf("want one error, got %v", found)
			}
			if got := fmt.Sprintf("%d:%d %s", found[0].Line, found[0].Column, found[0].Summary); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if found[0].Detail == "" || len(found[0].Summary) > 60 {
				t.Errorf("%q needs a remedy and a summary under 60 characters", found[0])
			}
		})
	}
}

func TestEmptyFiles(t *testing.T) {
	for _, text := range []string{"", "\n\n", "# only a comment\n", "\uFEFF"} {
		doc := strictyaml.Read("f", []byte(text))
		if doc.Root().Exists() && !doc.Root().IsNull() || len(doc.Diagnostics()) > 0 {
			t.Errorf("%q: %v", text, doc.Diagnostics())
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("a: [1, {b: \"c\"}]\nd: |\n  x\n"))
	f.Add([]byte("&a [*a]"))
	f.Add([]byte("- >2\n\n   x\n  y\n-   'a\n  b'\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		doc := strictyaml.Read("f", text)
		doc.Root().Value()
		visit(t, doc.Root(), strings.Count(string(text), "\n")+1)
		for _, d := range doc.Diagnostics() {
			if d.Line < 0 || d.Code == "" || d.Summary == "" {
				t.Errorf("incomplete diagnostic %v", d)
			}
		}
	})
}

func visit(t *testing.T, n strictyaml.Node, lines int) {
	if !n.Exists() {
		return
	}
	p, s := n.Pos(), n.Source().Pos
	if p.Line < 1 || p.EndLine > lines || p.EndLine < p.Line || s.EndLine > lines || s.EndLine < s.Line {
		t.Fatalf("position %v–%d, source %v–%d of %d lines", p, p.EndLine, s, s.EndLine, lines)
	}
	for _, e := range n.OneOrMany() {
		if n.IsList() {
			visit(t, e, lines)
		}
	}
	if n.IsMap() {
		for _, e := range n.Map().Entries() {
			visit(t, e.Key, lines)
			visit(t, e.Value, lines)
		}
	}
}

// A value that needs quotes does not hide other errors.
func TestMistakesBehindASyntaxError(t *testing.T) {
	doc := strictyaml.ReadPiece("f", []byte("a: é: b\nc: @d\ne: {{f}}: g\nh: 1\n"), strictyaml.Piece{Line: 5, Column: 3, Indent: 2, Braces: true})
	m := doc.Root().Map()
	if a, c, e := m.String("a"), m.String("c"), m.String("e"); a != "é: b" || c != "@d" || e != "{{f}}: g" {
		t.Errorf("got %q, %q, %q", a, c, e)
	}
	m.Done()
	var places []string
	for _, d := range doc.Diagnostics() {
		places = append(places, fmt.Sprintf("%d:%d %s", d.Line, d.Column, d.Code))
	}
	if got, want := strings.Join(places, ", "), "5:7 yaml-syntax, 6:6 yaml-syntax, 8:3 yaml-unknown-key"; got != want {
		t.Errorf("found are %s, not %s", got, want)
	}
}

// A misspelled key can be fixed, unless the right key exists or the map belongs to
// another program.
func TestChangesOfKeys(t *testing.T) {
	for text, want := range map[string]int{
		"agnet: x\n":                       1,
		"agnet: x\nprompt: y\n":            1,
		"agnet: x\nagent: y\n":             0,
		"agnet: x\nAgent: y\n":             1,
		"Agent: x\nTicket: y\nTopics: z\n": 0,
		"title: x\ntopics: y\n":            0,
		"agnet: x\npropmt: y\ntopics: z\n": 0,
		"agnet: x\npropmt: y\n":            2,
	} {
		doc := strictyaml.Read("f", []byte(text))
		m := doc.Root().Map()
		for _, key := range []string{"id", "agent", "prompt"} {
			m.Get(key)
		}
		m.Done()
		changes := 0
		for _, d := range doc.Diagnostics() {
			if d.Change.Text != "" {
				changes++
			}
		}
		if changes != want {
			t.Errorf("%q: %d changes, not %d", text, changes, want)
		}
	}
}
