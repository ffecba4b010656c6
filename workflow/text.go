package workflow

import "unicode/utf8"

// Expr is a reference or a condition, in canonical form. Empty: none.
type Expr struct {
	Text string
	Src  Source `json:",omitzero"`
}

// Template is text with references in it. In canonical form a reference is
// `${expr}` and a literal `${` is `$${`; nothing else is special.
type Template struct {
	Text string
	Src  Source `json:",omitzero"`
}

// Source is a piece of text as its author wrote it, with the quoting of its
// notation taken off. Only diagnostics look at it; the zero Source means that
// the text was made by a program and stands nowhere.
type Source struct {
	Text string
	Pos  Pos `json:",omitzero"` // from its first to behind its last character
	// Indent is the column in which every line after the first begins; zero:
	// column 1.
	Indent int `json:",omitempty"`
}

// At is the position of the bytes from up to to of the source's text. It is
// exact where the notation writes text as it is, and within the line where the
// notation escapes characters.
func (s Source) At(from, to int) Pos {
	if s.Pos.Line == 0 || s.Pos.Part != "" {
		return s.Pos
	}
	line, col := s.place(from)
	endLine, endCol := s.place(to)
	return Pos{File: s.Pos.File, Line: line, Column: col, EndLine: endLine, EndColumn: endCol}
}

func (s Source) place(offset int) (line, col int) {
	line, col = s.Pos.Line, s.Pos.Column
	for i := 0; i < min(offset, len(s.Text)); {
		r, size := utf8.DecodeRuneInString(s.Text[i:])
		i += size
		if r == '\n' {
			line++
			col = max(s.Indent, 1)
		} else {
			col++
		}
	}
	return line, col
}
