// Package notationtest is the suite that every notation passes: the same duties
// for its reader, its writer and its layout, on the fixtures of the
// notation and on random workflows.
//
// A notation's own test calls [Notation.Run], and has a fuzz target for each of
// [Notation.FuzzParse] and [Notation.FuzzFmt]. Its fixtures are in folders of
// its testdata:
//
//   - ok: valid files. Next to review.xml are review.format, the output of Format,
//     and the expected model: printed in review.print, or as the same workflow in
//     review.yml.
//   - bad: files with mistakes, each expected by a comment; see [Expect].
//   - fmt: untidy files. Next to messy.xml is messy.golden, the output of Fmt.
//
// The flag -update rewrites the expected files.
package notationtest

import (
	"testing"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// Notation describes a notation to the suite.
type Notation struct {
	Endings []string // file name extensions, the one that Format writes first
	Parse   func(file string, text []byte) (*workflow.Workflow, workflow.Diagnostics)
	Format  func(w *workflow.Workflow) ([]byte, error)
	Fmt     func(file string, text []byte) ([]byte, workflow.Diagnostics)
	// Like reports whether a text looks like the notation. It may be nil.
	Like func(text []byte) bool
	// Codes are all codes that its diagnostics may have.
	Codes []strictyaml.Code
	// Fixes is the minimum number of mistakes in the bad files that have a fix.
	Fixes int
	// Untidy draws a layout that a person might leave behind. If nil, the layout is tested only
	// with the fixtures.
	Untidy *Untidy
	// Seeds are texts for fuzzing, in addition to the fixtures.
	Seeds []string
	// NoComments says that files cannot contain comments with the expected mistakes, so that there
	// are no bad files.
	NoComments bool
}

// Run runs the whole suite except the fuzz targets.
func (n *Notation) Run(t *testing.T) {
	t.Run("good files", n.good)
	if !n.NoComments {
		t.Run("bad files", n.bad)
		t.Run("fixes", n.fixes)
	}
	t.Run("layout", n.layout)
	if n.Untidy != nil {
		t.Run("untidy files", n.untidy)
	}
	t.Run("examples", n.examples)
	t.Run("random models", n.models)
}

// file returns a name for texts that are not in a file.
func (n *Notation) file() string { return "f" + n.Endings[0] }
