package view

import (
	"strings"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/internal/visible"
)

// Reveal makes a text safe to show to a person who decides about it. Unlike [Text], it
// omits nothing, see [visible.Text].
func Reveal(s string) string { return visible.Text(s) }

// RevealLine is Reveal for a single line.
func RevealLine(s string) string { return strings.ReplaceAll(Reveal(s), "\n", `\n`) }

// turned reports whether a text contains right-to-left characters, so that a terminal may
// show its parts in a different order.
func turned(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return r >= 0x0590 && r <= 0x08ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfeff ||
			r >= 0x10800 && r <= 0x10fff || r >= 0x1e800 && r <= 0x1efff
	})
}

// Asked formats a question in lines that fit: its text, and after a bar what it is about,
// such as a command. The bar keeps that from looking like text of Hocket.
func (s Style) Asked(text, detail, indent string) []string {
	out := s.wrapped(strings.TrimSpace(text), indent, 0, nil)
	if detail = strings.Trim(detail, "\r\n"); detail != "" {
		var paint func(string) Paint
		if isDiff(detail) {
			paint = DiffPaint()
		}
		out = append(append(out, ""), s.wrapped(detail, indent+s.pick("│ ", "| "), hang, paint)...)
	}
	if turned(text + detail) {
		out = append(append(out, ""), s.wrapped("This contains right-to-left text, which the terminal may show in a different order.", indent, 0, nil)...)
	}
	return out
}

const diffStart = "diff --git " // of the part of a file

// isDiff reports whether a text is a diff, or has several of them below headings.
func isDiff(text string) bool {
	return strings.HasPrefix(text, diffStart) || strings.HasPrefix(text, "## ") && strings.Contains(text, "\n"+diffStart)
}

// DiffPaint returns a function that says how each line of a diff is coloured, in their order, as git does.
func DiffPaint() func(line string) Paint {
	inHunk := false
	return func(line string) Paint {
		switch {
		case strings.HasPrefix(line, diffStart), strings.HasPrefix(line, "## "):
			inHunk = false
			return Bold
		case strings.HasPrefix(line, "@@"):
			inHunk = true
			return Cyan
		case !inHunk:
			return Bold
		case strings.HasPrefix(line, "+"):
			return Green
		case strings.HasPrefix(line, "-"):
			return Red
		}
		return None
	}
}

// Revealed is Reveal in lines that fit, without a question.
func (s Style) Revealed(text string) string {
	return strings.Join(s.wrapped(text, "", hang, nil), "\n")
}

// hang is how much deeper a line continues than it begins, so that its rows do not look like lines
// of their own, such as headings.
const hang = 2

// wrapped breaks a text into rows that fit. paint returns how a line is coloured; nil: not at all.
func (s Style) wrapped(text, indent string, hang int, paint func(line string) Paint) []string {
	var out []string
	for line := range strings.SplitSeq(Reveal(text), "\n") {
		colour := None
		if paint != nil {
			colour = paint(line)
		}
		rows, deeper := s.Wrap(line, Width(indent)), 0
		if len(rows) > 1 && hang > 0 {
			deeper = len(line) - len(strings.TrimLeft(line, " ")) + hang
			deeper = max(min(deeper, s.Width-Width(indent)-2), 0)
			rows = s.Wrap(line, Width(indent)+deeper)
		}
		for i, row := range rows {
			if i > 0 {
				row = strings.Repeat(" ", deeper) + row
			}
			out = append(out, strings.TrimRight(indent+s.Paint(colour, strings.TrimRight(row, " ")), " "))
		}
	}
	return out
}

// Wrap breaks a line into rows that fit into the width minus the used columns: after a
// space if possible, otherwise anywhere.
func (s Style) Wrap(line string, used int) []string {
	room := max(s.Width-used, 2) // a character may take two columns
	if s.Width == 0 || Width(line) <= room {
		return []string{line}
	}
	var rows []string
	start, end, width, space, tail := 0, 0, 0, 0, 0 // tail is the width after space
	add := func(piece string, columns int) {
		for width+columns > room && end > start {
			if space == start {
				space, tail = end, 0
			}
			rows = append(rows, strings.TrimRight(line[start:space], " "))
			start, width, tail = space, tail, 0
			space = start
		}
		end, width, tail = end+len(piece), width+columns, tail+columns
		if piece == " " && strings.TrimLeft(line[start:end], " ") != "" {
			space, tail = end, 0
		}
	}
	for cluster, wide := range clusters(line) {
		if wide <= room {
			add(cluster, wide)
			continue
		}
		for cluster != "" {
			r, size := utf8.DecodeRuneInString(cluster)
			add(cluster[:size], columns(r))
			cluster = cluster[size:]
		}
	}
	return append(rows, line[start:])
}
