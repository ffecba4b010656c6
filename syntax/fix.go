package syntax

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Fix makes the changes that the diagnostics of a text propose, as far as it can prove that they
// keep what the author wrote: every word is still there, and everything that was read before is
// read again. All other changes are left out and counted in left.
func Fix(file string, text []byte, found workflow.Diagnostics) (fixed []byte, made, left int) {
	proposed := slices.DeleteFunc(slices.Clone(found), func(d workflow.Diagnostic) bool { return d.Fix == nil })
	f := fixer{file: file, text: text, has: contentsOf(file, text)}
	kept := slices.DeleteFunc(slices.Clone(proposed), func(d workflow.Diagnostic) bool { return losesWords(text, d.Fix) })
	if one := f.closedOnce(kept); len(one) < len(kept) && f.keeps(one) {
		kept = one
	} else {
		kept = f.kept(kept)
	}
	fixed, made = kept.Fixed(text)
	return fixed, made, len(proposed) - len(kept)
}

type fixer struct {
	file string
	text []byte
	has  contents // of the text
}

// closedOnce keeps only the first of the fixes that change a closing mark: one missing mark can
// cause all the other reports.
func (f *fixer) closedOnce(ds workflow.Diagnostics) workflow.Diagnostics {
	closed := 0
	return slices.DeleteFunc(slices.Clone(ds), func(d workflow.Diagnostic) bool {
		if closes(f.text, d.Fix) {
			closed++
			return closed > 1
		}
		return false
	})
}

// kept returns the diagnostics whose fixes can be made together. Usually these are all of them,
// which one comparison shows.
func (f *fixer) kept(ds workflow.Diagnostics) workflow.Diagnostics {
	switch {
	case len(ds) == 0 || f.keeps(ds):
		return ds
	case len(ds) == 1:
		return nil
	}
	first, second := f.kept(ds[:len(ds)/2]), f.kept(ds[len(ds)/2:])
	if both := slices.Concat(first, second); len(second) == 0 || f.keeps(both) {
		return both
	}
	return first
}

// keeps reports whether the fixes lose nothing that was read, and leave no changed line with a
// mistake that cannot be fixed.
//
// As long as other mistakes remain, it is a guess where something ends: a mark that seems to
// close nothing may belong to a line with a typing mistake, and something that is not closed may
// end before the next step. So a closing mark is added or removed only if no mistake remains, and
// no step that nothing leads to.
func (f *fixer) keeps(ds workflow.Diagnostics) bool {
	fixed, _ := ds.Fixed(f.text)
	if !contentsOf(f.file, fixed).hold(f.has) || f.breaks(fixed) {
		return false
	}
	if !slices.ContainsFunc(ds, func(d workflow.Diagnostic) bool { return closes(f.text, d.Fix) }) {
		return true
	}
	_, found := Parse(f.file, fixed)
	return !slices.ContainsFunc(found, func(d workflow.Diagnostic) bool {
		return d.Severity == workflow.Error || d.Code == "unreachable-node"
	})
}

// breaks reports whether a changed line has a mistake that no fix removes.
func (f *fixer) breaks(fixed []byte) bool {
	found, isDiagram := Diagram(f.file, fixed)
	if !isDiagram || !found.Errors() {
		return false
	}
	old := map[string]bool{}
	for line := range strings.Lines(string(f.text)) {
		old[line] = true
	}
	at := slices.Collect(strings.Lines(string(fixed)))
	return slices.ContainsFunc(found, func(d workflow.Diagnostic) bool {
		return d.Severity == workflow.Error && d.Fix == nil && d.Line > 0 && d.Line <= len(at) && !old[at[d.Line-1]]
	})
}

// contents counts how often each thing occurs in a text.
type contents map[string]int

// hold reports whether everything in other is here at least as often.
func (c contents) hold(other contents) bool {
	for thing, n := range other {
		if c[thing] < n {
			return false
		}
	}
	return true
}

func contentsOf(file string, text []byte) contents {
	c := contents{}
	n, inner, ok := find(file, text)
	if !ok {
		return c
	}
	if n.Marks != nil {
		for _, mark := range n.Marks(inner) {
			c["mark "+mark]++
		}
	}
	if w, _ := n.Parse(file, inner); w != nil {
		c.add("", reflect.ValueOf(w), n.Diagram != nil)
	}
	return c
}

// add adds what a value of the model says, below the name of what it belongs to. The elements of
// a list are unordered, and a node is identified by its id. Edges count only if they are drawn;
// otherwise they follow from the words that a fix may change.
func (c contents) add(name string, v reflect.Value, drawn bool) {
	if v.IsZero() {
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		c.add(name, v.Elem(), drawn)
	case reflect.Slice:
		for i := range v.Len() {
			c.add(name, v.Index(i), drawn)
		}
	case reflect.Map:
		for k, e := range v.Seq2() {
			c.add(name+"."+k.String(), e, drawn)
		}
	case reflect.Struct:
		c.addStruct(name, v, drawn)
	case reflect.String: // a fix may change its punctuation
		c[name+"="+strings.Join(words(v.String()), " ")]++
	default:
		c[fmt.Sprint(name, "=", v)]++
	}
}

func (c contents) addStruct(name string, v reflect.Value, drawn bool) {
	switch s := v.Interface().(type) {
	case workflow.Pos, workflow.Source, workflow.OutputPos, workflow.Diagnostic:
		return // only says where and how something is written
	case workflow.Edge:
		if drawn {
			c["edge "+strings.Join(append(written(s.When), s.From, s.To, string(s.On), s.Label), " ")]++
		}
		return
	case workflow.Expr:
		c[name+"="+strings.Join(written(s), " ")]++
		return
	case workflow.Template:
		c[name+"="+strings.Join(written(workflow.Expr(s)), " ")]++
		return
	case workflow.Workflow:
		s.Name = "" // a step without a name gets one, which may change
		v = reflect.ValueOf(s)
	case workflow.Node:
		name += "/" + s.ID
		c[name+" "+s.Kind()]++
	}
	for i := range v.NumField() {
		c.add(name+"."+v.Type().Field(i).Name, v.Field(i), drawn)
	}
}

// written returns the words of a text before its references are resolved, because a fix may
// change what they mean.
func written(e workflow.Expr) []string { return words(cmp.Or(e.Src.Text, e.Text)) }
