package workflow

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Pos is a range in a source file. Lines and columns count from 1, columns in characters; the end
// is after the last character. The zero Pos means that there is no position.
type Pos struct {
	File      string
	Line      int
	Column    int
	EndLine   int
	EndColumn int
	// Part names a part of a workflow that a program built, such as "step 3 of the builder". Then
	// there is no file, and lines and columns only define an order: the line is the number of the
	// step.
	Part string
}

// String returns file:line:column, as compilers print it, or the part.
func (p Pos) String() string {
	if p.Part != "" {
		return p.Part
	}
	if p.Line == 0 {
		return p.File
	}
	if p.File == "" {
		return fmt.Sprintf("%d:%d", p.Line, p.Column)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Severity is how bad a diagnostic is.
type Severity string

// The severities. An Error prevents a workflow from running. A Note reports a choice that was
// made for the author, which is not a mistake.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Note    Severity = "note"
)

// Diagnostic is a mistake of the author: data, not a Go error. Its code is stable and has a page
// in docs/rules.
type Diagnostic struct {
	Pos
	Severity Severity
	Code     string
	Summary  string // what is wrong, under 60 characters where names allow it
	Detail   string // how to fix it
	Fix      *Fix   // the edits that fix it; nil if a person has to decide
	Change   Change // the change from which Place makes a Fix
}

// diagnosticJSON is the JSON form of a diagnostic. All fields are always present, except for the
// fix and the part, which replaces the file.
type diagnosticJSON struct {
	File      *string  `json:"file,omitempty"`
	Line      int      `json:"line"`
	Column    int      `json:"column"`
	EndLine   int      `json:"end_line"`
	EndColumn int      `json:"end_column"`
	Part      string   `json:"part,omitempty"`
	Severity  Severity `json:"severity"`
	Code      string   `json:"code"`
	Summary   string   `json:"summary"`
	Detail    string   `json:"detail"`
	Fix       *Fix     `json:"fix,omitempty"`
}

// MarshalJSON writes a diagnostic for other programs.
func (d Diagnostic) MarshalJSON() ([]byte, error) {
	p, file := d.Pos, &d.File
	if p.Part != "" {
		file = nil
	}
	return []byte(FormatJSON(diagnosticJSON{file, p.Line, p.Column, p.EndLine, p.EndColumn, p.Part, d.Severity, d.Code, d.Summary, d.Detail, d.Fix})), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (d *Diagnostic) UnmarshalJSON(data []byte) error {
	var j diagnosticJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*d = Diagnostic{Pos: Pos{Line: j.Line, Column: j.Column, EndLine: j.EndLine, EndColumn: j.EndColumn, Part: j.Part}, Severity: j.Severity, Code: j.Code, Summary: j.Summary, Detail: j.Detail, Fix: j.Fix}
	if j.File != nil {
		d.File = *j.File
	}
	return nil
}

func (d Diagnostic) String() string {
	s := fmt.Sprintf("%s[%s]: %s", d.Severity, d.Code, d.Summary)
	if place := d.Pos.String(); place != "" {
		s = place + ": " + s
	}
	if d.Detail != "" {
		s += "; " + d.Detail
	}
	return s
}

// Diagnostics are all the diagnostics that were found.
type Diagnostics []Diagnostic

// Errors reports whether one of them prevents the workflow from running.
//
//go:noinline
func (ds Diagnostics) Errors() bool {
	return slices.ContainsFunc(ds, func(d Diagnostic) bool { return d.Severity == Error })
}

// Mistakes returns the diagnostics that are not notes.
func (ds Diagnostics) Mistakes() Diagnostics {
	return slices.DeleteFunc(slices.Clone(ds), func(d Diagnostic) bool { return d.Severity == Note })
}

// Sort orders the diagnostics by position, and removes duplicates.
func (ds Diagnostics) Sort() Diagnostics {
	sort.SliceStable(ds, func(i, j int) bool {
		a, b := &ds[i], &ds[j]
		if a.File != b.File {
			return a.File < b.File
		}
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		if a.Column != b.Column {
			return a.Column < b.Column
		}
		return a.Code+a.Summary < b.Code+b.Summary
	})
	return slices.Compact(ds)
}

func (ds Diagnostics) String() string {
	lines := make([]string, len(ds))
	for i, d := range ds {
		lines[i] = d.String()
	}
	return strings.Join(lines, "\n")
}

// Errorf returns a diagnostic that prevents the workflow from running.
//
//go:noinline
func Errorf(pos Pos, code, detail, summary string, args ...any) Diagnostic {
	return Diagnostic{Pos: pos, Severity: Error, Code: code, Summary: fmt.Sprintf(summary, args...), Detail: detail}
}

// Notef returns a diagnostic that is not a mistake.
func Notef(pos Pos, code, detail, summary string, args ...any) Diagnostic {
	return Diagnostic{Pos: pos, Severity: Note, Code: code, Summary: fmt.Sprintf(summary, args...), Detail: detail}
}

// Warningf returns a diagnostic that does not prevent the workflow from running.
func Warningf(pos Pos, code, detail, summary string, args ...any) Diagnostic {
	return Diagnostic{Pos: pos, Severity: Warning, Code: code, Summary: fmt.Sprintf(summary, args...), Detail: detail}
}
