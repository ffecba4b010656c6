package workflow

import "unicode/utf8"

// Expr is a reference or a condition, in canonical form. An empty text means that there is none.
type Expr struct {
	Text string
	Src  Source `json:",omitzero"`
}

// Template is text with references in it. In canonical form, a reference is `${expr}` and a
// literal `${` is `$${`; nothing else is special.
type Template struct {
	Text string
	Src  Source `json:",omitzero"`
}

// Source is a piece of text as its author wrote it, without the quoting of its notation. Only
// diagnostics use it. The zero Source means that a program wrote the text, so that it has no
// position.
type Source struct {
	Text string
	Pos  Pos `json:",omitzero"` // from its first character to after its last
	// Indent is the column in which every line after the first begins; zero means column 1.
	Indent int `json:",omitempty"`
}

// At returns the position of the bytes from up to to of the source's text. It is exact if the
// notation writes text as it is, and within the right line if the notation escapes characters.
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
