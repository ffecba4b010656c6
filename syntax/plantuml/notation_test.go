package plantuml_test

import (
	"testing"

	"github.com/hocket-dev/hocket/syntax/internal/notationtest"
	"github.com/hocket-dev/hocket/syntax/plantuml"
)

var notation = notationtest.Notation{
	Endings: []string{".puml"},
	Parse:   plantuml.Parse,
	Format:  plantuml.Format,
	Fmt:     plantuml.Fmt,
	Like:    plantuml.Like,
	Codes:   plantuml.Codes,
}

func TestNotation(t *testing.T) { notation.Run(t) }

func TestDiagramsOfOthers(t *testing.T) {
	notation.Foreign(t, 10, "../../../shared/corpus/puml/*.puml")
}

func FuzzParse(f *testing.F) { notation.FuzzParse(f) }

func FuzzFmt(f *testing.F) { notation.FuzzFmt(f) }
