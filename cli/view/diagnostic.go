package view

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

const (
	tabWidth  = 4
	fileWidth = 120 // of source lines, if the output is not a terminal
	far       = 999 // characters around a mistake that can be visible
)

// Diagnostics draws diagnostics as compilers do: summary, position, the source line with
// the mistake underlined, and how to fix it. source returns the text of a file, nil if
// there is none.
func Diagnostics(ds workflow.Diagnostics, source func(file string) []byte, style Style) string {
	d := drawing{style: style, source: source, files: map[string][]string{}}
	for i := range ds {
		d.diagnostic(&ds[i])
	}
	return d.String()
}

// Tally counts diagnostics: "2 errors, 1 warning".
func Tally(ds workflow.Diagnostics) string {
	counts := map[workflow.Severity]int{}
	for _, d := range ds {
		counts[d.Severity]++
	}
	var parts []string
	for _, s := range []workflow.Severity{workflow.Error, workflow.Warning, workflow.Note} {
		if n := counts[s]; n > 0 {
			parts = append(parts, Count(n, string(s)))
		}
	}
	return strings.Join(parts, ", ")
}

type drawing struct {
	strings.Builder
	style  Style
	source func(file string) []byte
	files  map[string][]string
}

func (d *drawing) diagnostic(diag *workflow.Diagnostic) {
	paint := severityPaint(diag.Severity)
	head := string(diag.Severity)
	if diag.Code != "" {
		head += "[" + Line(diag.Code) + "]"
	}
	d.WriteString(d.style.Paint(paint, head) + d.style.Paint(Bold, ": "+Line(diag.Summary)) + "\n")
	margin := len(strconv.Itoa(max(diag.Line, 1)))
	if place := diag.Pos.String(); place != "" {
		d.WriteString(strings.Repeat(" ", margin) + d.blue("--> ") + Line(place) + "\n")
	}
	d.excerpt(diag, margin, paint)
	d.help(diag.Detail, margin)
	d.WriteString("\n")
}

func severityPaint(s workflow.Severity) Paint {
	switch s {
	case workflow.Error:
		return BoldRed
	case workflow.Warning:
		return BoldYellow
	case workflow.Note:
		return BoldBlue
	}
	return Bold
}

func (d *drawing) blue(s string) string { return d.style.Paint(BoldBlue, s) }

func (d *drawing) excerpt(diag *workflow.Diagnostic, margin int, paint Paint) {
	if diag.Part != "" || diag.Line < 1 { // there is no source line
		return
	}
	lines := d.lines(diag.File)
	if diag.Line > len(lines) {
		return
	}
	bar := strings.Repeat(" ", margin) + " " + d.blue("|")
	text, from, width := underline(lines[diag.Line-1], diag.Pos)
	columns := d.style.Width
	if columns == 0 {
		columns = fileWidth
	}
	text, from, width = d.window(text, from, width, columns-margin-3)
	d.WriteString(bar + "\n")
	d.WriteString(d.blue(fmt.Sprintf("%*d |", margin, diag.Line)) + strings.TrimRight(" "+text, " ") + "\n")
	d.WriteString(bar + " " + strings.Repeat(" ", from) + d.style.Paint(paint, strings.Repeat("^", width)) + "\n")
}

func (d *drawing) help(detail string, margin int) {
	if detail == "" {
		return
	}
	pad := strings.Repeat(" ", margin)
	for i, line := range strings.Split(strings.TrimSpace(Text(detail)), "\n") {
		if i == 0 {
			d.WriteString(pad + " " + d.blue("=") + " " + d.style.Paint(Bold, "help") + ": " + line + "\n")
		} else {
			d.WriteString(pad + "         " + line + "\n")
		}
	}
}

func (d *drawing) lines(file string) []string {
	if lines, ok := d.files[file]; ok {
		return lines
	}
	var lines []string
	if text := d.source(file); text != nil {
		lines = strings.Split(string(text), "\n")
	}
	d.files[file] = lines
	return lines
}

// underline prepares a source line for the terminal, and returns the column at which the
// mistake begins and its width. A mistake that spans several lines is underlined to the
// end of the first.
func underline(line string, pos workflow.Pos) (text string, from, width int) {
	line = strings.TrimSuffix(line, "\r")
	runes := []rune(line)
	end := pos.EndColumn
	if pos.EndLine > pos.Line {
		end = len(runes) + 1
	}
	begin := min(max(pos.Column-1, 0), len(runes))
	end = min(max(end-1, begin), len(runes), begin+far)
	before := shown(runes[max(begin-far, 0):begin], 0)
	from = Width(before)
	marked := shown(runes[begin:end], from)
	width = Width(marked)
	return before + marked + shown(runes[end:min(end+far, len(runes))], from+width), from, max(width, 1)
}

// shown prepares source text for the terminal: tabs become spaces, and control characters
// dots.
func shown(runes []rune, column int) string {
	var b strings.Builder
	at := 0 // the length of b at that column
	for _, r := range runes {
		switch {
		case r == '\t':
			column += Width(b.String()[at:])
			n := tabWidth - column%tabWidth
			b.WriteString(strings.Repeat(" ", n))
			column, at = column+n, b.Len()
		case r < ' ' || !isVisible(r):
			b.WriteRune('\u00b7')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// window cuts a long line to the part around the mistake.
func (d *drawing) window(text string, from, width, columns int) (string, int, int) {
	if columns <= 8 || Width(text) <= columns {
		return text, from, width
	}
	skip := 0
	if from+min(width, columns/2) > columns {
		skip = from - columns/3
	}
	if skip > 0 {
		text = d.style.pick("…", "~") + dropColumns(text, skip+1)
		from -= skip
	}
	return d.style.Cut(text, columns), from, min(width, max(columns-from, 1))
}

// dropColumns removes columns from the start of a text.
func dropColumns(s string, columns int) string {
	for i, r := range s {
		if columns <= 0 {
			return s[i:]
		}
		columns -= Width(string(r))
	}
	return ""
}
