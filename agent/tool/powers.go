package tool

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// Powers returns what needs trust for the tools of the project: those that are programs,
// and those that send secrets.
func (s *Set) Powers() trust.Powers {
	var list trust.Powers
	for _, m := range s.own {
		if m.Generated() && len(m.Permissions.Secrets) == 0 {
			continue // a person has approved its files
		}
		p := trust.Power{Kind: trust.Tool, Where: s.at(m)}
		switch w := m.Work.(type) {
		case *Command:
			words := w.Words()
			argv, dir := w.start(s.root, m.Dir)
			if len(argv) == 0 {
				continue // its file is invalid, so it cannot be called
			}
			shown := words
			if w.JSON { // all but what calls the function
				shown = slices.Delete(slices.Clone(words), 1, 3)
			}
			p.What = "the tool " + m.Name + " runs " + strings.Join(shown, " ") + w.line() + m.Permissions.String()
			p.Material = trust.Material(s.root, argv[0], dir, append(slices.Collect(maps.Values(w.Env)), argv[1:]...)...)
			p.Material += workflow.FormatJSON(map[string]any{"argv": words, "dir": w.Dir, "env": w.Env, "permissions": m.Permissions})
		case *Request:
			p = m.sends(p, w.URL)
		case *Search:
			p = m.sends(p, w.URL)
		case nil:
			continue // its file is invalid, so it cannot be called
		}
		if p.What != "" {
			list = append(list, p)
		}
	}
	return list
}

// Words returns the command line of a program, with the templates of its arguments.
func (w *Command) Words() []string {
	words := slices.Clone(w.Argv)
	for _, arg := range w.Args {
		words = append(words, workflow.FormatText(arg))
	}
	if w.File != "" {
		words = append(words, w.File)
	}
	return words
}

// line says where and with which variables a program starts, as the end of a sentence.
func (w *Command) line() string {
	var text string
	if w.Dir != "" {
		text = " in " + w.Dir
	}
	for _, name := range sorted.Keys(w.Env) {
		text += ", with " + name + "=" + w.Env[name]
	}
	return text
}

// sends returns the power of a tool that makes requests. Without secrets it has none.
func (m *Manifest) sends(p trust.Power, url string) trust.Power {
	if len(m.Permissions.Secrets) == 0 {
		return trust.Power{}
	}
	p.Kind = trust.Address
	p.What = fmt.Sprintf("the tool %s sends %s to %s%s", m.Name, strings.Join(m.Permissions.Secrets, ", "), url, m.Permissions.Network.line())
	return p
}

// String says what a program may do, as the end of a sentence.
func (p Permissions) String() string {
	text := p.Network.line()
	for _, of := range []struct {
		does string
		what []string
	}{{"reads", p.Read}, {"writes", p.Write}, {"knows the secrets", p.Secrets}} {
		if len(of.what) > 0 {
			text += ", " + of.does + " " + strings.Join(of.what, " ")
		}
	}
	return text
}

func (n Network) line() string {
	switch {
	case n.Any:
		return ", reaches every host"
	case len(n.Hosts) > 0:
		return ", reaches " + strings.Join(n.Hosts, " ")
	}
	return ""
}

// at returns the file of a tool, relative to the project.
func (s *Set) at(m *Manifest) string {
	file := m.Pos.File
	if rel, err := filepath.Rel(s.root, file); err == nil {
		file = filepath.ToSlash(rel)
	}
	return fmt.Sprintf("%s:%d", file, max(m.Pos.Line, 1))
}
