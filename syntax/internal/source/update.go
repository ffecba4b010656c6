package source

import (
	"fmt"
	"iter"
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// Updater changes files of a notation that says everything in words. What differs
// is found by writing both workflows, the one in the file and the new one, in the
// canonical way: a piece that comes out the same in both is not touched.
type Updater struct {
	Notation string
	Parse    func(file string, text []byte) (*workflow.Workflow, workflow.Diagnostics)
	Format   func(w *workflow.Workflow) ([]byte, error)
	// Merge gives the text of a file with what differs between two that Format
	// wrote, the version that keeps most first; nil: nothing is kept.
	Merge func(text, before, after []byte) iter.Seq[[]byte]
}

// Update is the text that means w and keeps most: itself, if it means w already;
// a version of it; or, where so little is alike that none means w, what Format
// writes.
func (u *Updater) Update(file string, text []byte, w *workflow.Workflow) ([]byte, error) {
	was, found := u.Parse(file, text)
	if i := slices.IndexFunc(found, func(d workflow.Diagnostic) bool { return d.Severity == workflow.Error }); i >= 0 {
		return nil, fmt.Errorf("%s: %s cannot be changed, it has mistakes: %s", u.Notation, file, found[i].Summary)
	}
	digest := workflow.Digest(w)
	if workflow.Digest(was) == digest {
		return text, nil
	}
	after, err := u.Format(w)
	if err != nil || u.Merge == nil {
		return after, err
	}
	before, err := u.Format(was)
	if err != nil {
		return nil, err
	}
	for changed := range u.Merge(text, before, after) {
		if again, found := u.Parse(file, changed); !found.Errors() && workflow.Digest(again) == digest {
			return changed, nil
		}
	}
	return after, nil
}
