package tool

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// Powers are what needs trust for the tools of the project: those that are programs, and
// those that send secrets somewhere.
func (s *Set) Powers() trust.Powers {
	var list trust.Powers
	for _, m := range s.own {
		p := trust.Power{Kind: trust.Tool, Where: s.at(m)}
		switch w := m.Work.(type) {
		case *Command:
			words := w.Argv
			dir := filepath.Join(s.root, filepath.FromSlash(w.Dir))
			p.Material = trust.Contents(s.root, dir, words...)
			if w.File != "" {
				words = append(words[:len(words):len(words)], w.File)
				p.Material += trust.Contents(s.root, m.Dir, w.File)
			}
			p.What = "the tool " + m.Name + " runs " + strings.Join(words, " ") + m.Permissions.line()
			p.Material += workflow.FormatJSON(map[string]any{"argv": words, "dir": w.Dir, "env": w.Env, "permissions": m.Permissions})
		case *Request:
			p = m.sends(p, w.URL)
		case *Search:
			p = m.sends(p, w.URL)
		case nil:
			continue // its file is wrong, and it cannot be called
		}
		if p.What != "" {
			list = append(list, p)
		}
	}
	return list
}

// sends is the power of a tool that makes requests. Without secrets it has none.
func (m *Manifest) sends(p trust.Power, url string) trust.Power {
	if len(m.Permissions.Secrets) == 0 {
		return trust.Power{}
	}
	p.Kind = trust.Address
	p.What = fmt.Sprintf("the tool %s sends %s to %s%s", m.Name, strings.Join(m.Permissions.Secrets, ", "), url, m.Permissions.Network.line())
	return p
}

// line tells what a program may do, to continue a sentence.
func (p Permissions) line() string {
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

// at names the file of a tool, seen from the project.
func (s *Set) at(m *Manifest) string {
	file := m.Pos.File
	if rel, err := filepath.Rel(s.root, file); err == nil {
		file = filepath.ToSlash(rel)
	}
	return fmt.Sprintf("%s:%d", file, max(m.Pos.Line, 1))
}
