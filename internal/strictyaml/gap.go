package strictyaml

import (
	"bytes"
	"strings"
)

// gapOptions describe what follows a gap.
type gapOptions struct {
	opening bool // the first line of a block: no blank line above it
	apart   bool // an entry that a blank line separates
}

// comment is one comment of a gap.
type comment struct {
	text   string
	column int  // from 0
	behind bool // it follows the last leaf, in the same line
	spaces int  // space before it, if it follows a leaf
	blank  bool // there is a blank line above it
}

// gap writes the comments and blank lines before a line of the block. It reports whether
// there were any comments.
func (l *layout) gap(to int, next indent, o gapOptions) bool {
	comments, blank := l.readGap(to)
	attached := len(comments) // from here on the comments belong to what follows
	for attached > 0 && !comments[attached-1].behind && comments[attached-1].column <= next.old {
		attached--
	}
	fresh := o.opening
	for i, c := range comments {
		if c.behind {
			l.out.WriteString(strings.Repeat(" ", max(c.spaces, 1)) + c.text)
			continue
		}
		if c.blank && !fresh || o.apart && i == attached {
			l.blankLine()
		}
		fresh = false
		column := next.new
		if i < attached {
			column = l.commentColumn(c, next)
		}
		l.newline(column)
		l.out.WriteString(c.text)
		l.exact = false
	}
	if blank && !fresh && !o.opening || o.apart && attached == len(comments) {
		l.blankLine()
	}
	l.comments += len(comments)
	l.at = to
	return len(comments) > 0
}

// blankLine writes a blank line, unless it would become part of the scalar above it.
func (l *layout) blankLine() {
	if !l.exact {
		l.out.WriteByte('\n')
	}
}

// commentColumn finds the block that a comment belongs to by its column: one of those
// around the leaf above it.
func (l *layout) commentColumn(c comment, next indent) int {
	column := next.new
	for _, b := range l.around {
		if b.old <= c.column {
			column = b.new
		}
	}
	return column
}

// blankBefore reports whether there is a blank line directly above a position.
func (l *layout) blankBefore(at int) bool {
	above := bytes.TrimRight(l.doc.text[:at], " ")
	return bytes.HasSuffix(bytes.ReplaceAll(above, []byte{'\r'}, nil), []byte("\n\n"))
}

// readGap splits the text between two leaves. Besides comments it may contain only dashes
// and colons.
func (l *layout) readGap(to int) (comments []comment, blank bool) {
	if to < l.at {
		l.failed = true
		return nil, false
	}
	lines := bytes.Split(l.doc.text[l.at:to], []byte{'\n'})
	for i, line := range lines {
		marks, text, isComment := bytes.Cut(line, []byte{'#'})
		if len(bytes.Trim(marks, " \t\r-:")) > 0 {
			l.failed = true
		}
		switch {
		case isComment:
			c := comment{text: "#" + strings.TrimRight(string(text), " \t\r"), column: len(marks), behind: i == 0 && l.inLine(), blank: blank}
			c.spaces = len(marks) - len(bytes.TrimRight(marks, " \t"))
			if dash := bytes.IndexByte(marks, '-'); dash >= 0 {
				c.column = dash
			}
			comments, blank = append(comments, c), false
		case len(bytes.TrimSpace(line)) == 0 && i > 0 && i < len(lines)-1:
			blank = true
		}
	}
	return comments, blank
}

// inLine reports whether something has been written in the current line.
func (l *layout) inLine() bool { return l.at > 0 && l.doc.text[l.at-1] != '\n' }
