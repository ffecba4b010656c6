package mermaid

import (
	"bufio"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/internal/source"
)

const shared = "../../../../../shared"

type golden struct {
	Name, File, Src string
	Ok              json.RawMessage
	Direction       string
	Title           string
	Type            string
	Error           string
	ErrLine         int
	Vertices        []struct{ ID, Text, Shape string }
	Edges           []struct {
		ID, From, To, Text, Type, Stroke string
		UserID                           bool
		Length                           int
	}
	Subgraphs []struct {
		ID, Title, Dir string
		Nodes          []string
	}
}

func (g *golden) ok() bool {
	var b bool
	if json.Unmarshal(g.Ok, &b) == nil {
		return b
	}
	var m map[string]bool
	_ = json.Unmarshal(g.Ok, &m)
	return m["12.3.0"]
}

func readGolden(t *testing.T, name string) (all []golden) {
	f, err := os.Open(filepath.Join(shared, name))
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<26)
	for sc.Scan() {
		var g golden
		if err := json.Unmarshal(sc.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		all = append(all, g)
	}
	return all
}

func loose(s string) string {
	s = html.UnescapeString(html.UnescapeString(s))
	if strings.ContainsAny(s, "<&>") {
		var b strings.Builder
		in := false
		for _, r := range s {
			if r == '<' {
				in = true
			}
			if !in && r != '&' && r != ';' {
				b.WriteRune(r)
			}
			if r == '>' {
				in = false
			}
		}
		s = b.String()
	}
	return strings.Join(strings.Fields(s), " ")
}

func difference(c *Chart, g *golden) string {
	dir := c.Direction
	if dir != g.Direction {
		return fmt.Sprintf("direction %q %q", dir, g.Direction)
	}
	if len(c.Nodes) != len(g.Vertices) {
		return fmt.Sprintf("%d nodes, not %d", len(c.Nodes), len(g.Vertices))
	}
	for i, v := range g.Vertices {
		n := c.Nodes[i]
		if n.ID != v.ID || string(n.Shape) != v.Shape || loose(n.Text) != loose(v.Text) {
			return fmt.Sprintf("node %+v %+v", n, v)
		}
	}
	if len(c.Edges) != len(g.Edges) {
		return fmt.Sprintf("%d edges, not %d", len(c.Edges), len(g.Edges))
	}
	for i, v := range g.Edges {
		e := c.Edges[i]
		if e.From != v.From || e.To != v.To || loose(e.Text) != loose(v.Text) || v.UserID != (e.ID != "") || v.UserID && e.ID != v.ID {
			return fmt.Sprintf("edge %+v %+v", e, v)
		}
		typ := [...]string{"arrow_open", "arrow_point", "arrow_circle", "arrow_cross"}[e.Head]
		if e.Tail != NoHead {
			typ = "double_" + typ
		}
		stroke := [...]string{"normal", "thick", "dotted", "invisible"}[e.Stroke]
		if v.Type != "INVALID" && (typ != v.Type || stroke != v.Stroke || e.Length != v.Length) {
			return fmt.Sprintf("edge style %+v %+v", e, v)
		}
	}
	if len(c.Subgraphs) != len(g.Subgraphs) {
		return fmt.Sprintf("%d subgraphs, not %d", len(c.Subgraphs), len(g.Subgraphs))
	}
	for _, v := range g.Subgraphs {
		found := false
		for _, s := range c.Subgraphs {
			if s.ID == v.ID {
				found = true
				if loose(s.Title) != loose(v.Title) || strings.Join(s.Nodes, ",") != strings.Join(v.Nodes, ",") || s.Direction != v.Dir {
					return fmt.Sprintf("subgraph %+v %+v", s, v)
				}
			}
		}
		if !found {
			return fmt.Sprintf("no subgraph %+v", v)
		}
	}
	return ""
}

func TestAgree(t *testing.T) {
	vec := readGolden(t, "vectors/mermaid.jsonl")
	cor := readGolden(t, "corpus/mermaid.golden.jsonl")
	for i := range cor {
		b, err := os.ReadFile(filepath.Join(shared, "corpus", cor[i].File))
		if err != nil {
			t.Fatal(err)
		}
		cor[i].Src = string(b)
		cor[i].Name = cor[i].File
	}
	for _, set := range [][]golden{vec, cor} {
		bad := 0
		for _, g := range set {
			c, found := Parse(source.New("", []byte(g.Src)))
			if found.Errors() == g.ok() {
				bad++
				t.Errorf("%s: ok %v: %v\n%.300s\n%s", g.Name, g.ok(), found, g.Src, g.Error)
				continue
			}
			if g.ok() {
				if d := difference(c, &g); d != "" {
					bad++
					t.Errorf("%s: %s\n%.300s", g.Name, d, g.Src)
				}
			}
		}
		t.Logf("%d of %d disagree", bad, len(set))
	}
}
