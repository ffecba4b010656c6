package markdown_test

import (
	"testing"

	"github.com/hocket-dev/hocket/syntax/internal/notationtest"
	"github.com/hocket-dev/hocket/syntax/markdown"
)

var notation = notationtest.Notation{
	Endings: []string{".md", ".mmd"},
	Parse:   markdown.Parse,
	Format:  markdown.Format,
	Fmt:     markdown.Fmt,
	Like:    markdown.Like,
	Codes:   markdown.Codes,
	Seeds: []string{
		"```mermaid\nflowchart TD\na\n```\n### a\n---\n---\n---\n",
		"> ~~~mermaid\n> graph\n> a-->b\n\n### a\n<!--\n### b\n-->",
		"1. ```mermaid\n   flowchart TD\n   a\n   ```\r\n### a\r\n\r\ntext\r\n",
		"flowchart TD\na@{\n agent: x\n}\na-->a",
	},
}

func TestNotation(t *testing.T) { notation.Run(t) }

func TestForeignFiles(t *testing.T) {
	notation.Foreign(t, 10, "../../../shared/corpus/md/*.md", "../../../shared/corpus/mermaid/*.mmd")
}

func FuzzParse(f *testing.F) { notation.FuzzParse(f) }

func FuzzFmt(f *testing.F) { notation.FuzzFmt(f) }
