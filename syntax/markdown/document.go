package markdown

import (
	"bytes"
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/source"
)

// document is a Markdown file split into the parts that a workflow needs: its front matter, its
// headings and its fenced blocks. Everything is a range of the file, so that what is not changed
// stays the same byte for byte.
type document struct {
	text     *source.Text
	front    matter
	headings []heading
	fences   []fence
}

// matter is YAML between two lines of three dashes.
type matter struct {
	yaml  source.Span // between the lines
	whole source.Span // including them; empty if there is none
	open  bool        // its second line is missing
}

func (m matter) exists() bool { return m.whole.To > m.whole.From }

// heading is a line that begins with # signs, outside quotations, lists, fenced blocks and
// comments. Underlined lines do not count as headings here, because people draw rules below a
// line of a prompt.
type heading struct {
	level int         // endMark if the line only ends a section
	title source.Span // without the signs around it
	line  source.Span // the whole line, with its end
	front matter      // right below it
}

// endMark is the level of the comment <!-- end -->, which ends the section above.
const endMark = 0

// fence is a fenced block.
type fence struct {
	open  source.Span   // the line that opens it, from its marks to its end
	mark  string        // ``` or ~~~, as long as it is written
	info  string        // the first word after the marks
	lines []source.Span // its lines, without the marks of quotations and lists
	shut  source.Span   // the marks that close it; empty: nothing does
	tail  string        // text after them, which should not be there
	head  int           // the heading above it, an index into headings; -1: none
	ended bool          // it is closed, if only by the end of its quotation
	glued source.Span   // marks at the end of the last line of a diagram, which should be on their own line
}

// scan splits a file into its parts.
func scan(text *source.Text) *document {
	s := &scanner{document: &document{text: text}, b: text.Bytes, comment: -1}
	s.frontMatter()
	for s.at < len(s.b) {
		s.line()
	}
	return s.document
}

// scanner goes through the lines of a file once.
type scanner struct {
	*document
	b       []byte
	at      int   // start of the line
	quote   int   // marks of quotations at the start of the last line
	lists   []int // columns at which the texts of the open list items begin
	comment int   // where the last --> of the file is, if it was searched for
}

// next returns the end of the line at an offset, without and with its line break.
func (s *scanner) next(at int) (end, behind int) {
	if i := bytes.IndexByte(s.b[at:], '\n'); i >= 0 {
		end, behind = at+i, at+i+1
	} else {
		end, behind = len(s.b), len(s.b)
	}
	if end > at && s.b[end-1] == '\r' {
		end--
	}
	return end, behind
}

var bom = []byte("\uFEFF")

// frontMatter reads what is between dashes at the start of the file.
func (s *scanner) frontMatter() {
	if bytes.HasPrefix(s.b, bom) {
		s.at = len(bom)
	}
	at := s.at
	for at < len(s.b) { // everything above a file that was cut out of another one is blank
		end, behind := s.next(at)
		if len(bytes.TrimSpace(s.b[at:end])) > 0 {
			break
		}
		at = behind
	}
	if at < len(s.b) {
		s.front = s.matter(at)
		s.at = max(s.at, s.front.whole.To)
	}
}

// matter returns the front matter whose first line begins at an offset. Dashes that are not
// followed by a key are a rule, not front matter.
func (s *scanner) matter(at int) matter {
	end, behind := s.next(at)
	if !isDashes(s.b[at:end]) || !s.startsYAML(behind) {
		return matter{}
	}
	for from := behind; from < len(s.b); {
		end, next := s.next(from)
		if isDashes(s.b[from:end]) {
			return matter{yaml: source.Span{From: behind, To: from}, whole: source.Span{From: at, To: next}}
		}
		if line := s.b[from:end]; bytes.HasPrefix(line, []byte("### ")) || bytes.HasPrefix(line, []byte("```")) {
			return matter{yaml: source.Span{From: behind, To: from}, whole: source.Span{From: at, To: from}, open: true}
		}
		from = next
	}
	return matter{yaml: source.Span{From: behind, To: len(s.b)}, whole: source.Span{From: at, To: len(s.b)}, open: true}
}

func isDashes(line []byte) bool { return string(bytes.TrimRight(line, " \t")) == "---" }

// startsYAML reports whether the first line with text at or below an offset is a key, a comment,
// or the end of the front matter.
func (s *scanner) startsYAML(at int) bool {
	for at < len(s.b) {
		end, behind := s.next(at)
		if line := bytes.TrimSpace(s.b[at:end]); len(line) > 0 {
			return isDashes(line) || line[0] == '#' || line[0] == '{' || isKey(line)
		}
		at = behind
	}
	return false
}

// isKey reports whether a line begins with a word and a colon.
func isKey(line []byte) bool {
	i := bytes.IndexByte(line, ':')
	if i <= 0 || i+1 < len(line) && line[i+1] != ' ' && line[i+1] != '\t' {
		return false
	}
	return !bytes.ContainsAny(bytes.Trim(line[:i], `"'`), " \t\"'`*")
}

// line reads the line that begins at s.at, and moves to the next one.
func (s *scanner) line() {
	end, behind := s.next(s.at)
	at, indent := s.container(s.at, end)
	inside := s.quote > 0 || len(s.lists) > 0
	rest := s.b[at:end]
	switch {
	case indent > 3 || len(rest) == 0:
	case rest[0] == '`' || rest[0] == '~':
		if f, ok := s.opening(at, end, indent); ok {
			s.block(f, behind)
			return
		}
	case inside:
	case rest[0] == '#':
		if h, ok := atx(s.b, at, end); ok {
			h.line = source.Span{From: s.at, To: behind}
			if h.level == 3 {
				h.front = s.below(behind)
				behind = max(behind, h.front.whole.To)
			}
			s.headings = append(s.headings, h)
		}
	case string(bytes.TrimSpace(rest)) == "<!-- end -->":
		s.headings = append(s.headings, heading{level: endMark, line: source.Span{From: s.at, To: behind}})
	case bytes.HasPrefix(rest, []byte("<!--")):
		behind = s.commentEnd(at, behind)
	}
	s.at = behind
}

// below returns the front matter directly below a heading that ends at an offset.
func (d *document) below(at int) matter {
	return (&scanner{document: d, b: d.text.Bytes}).below(at)
}

func (s *scanner) below(at int) matter {
	for at < len(s.b) {
		end, behind := s.next(at)
		if len(bytes.TrimSpace(s.b[at:end])) > 0 {
			return s.matter(at)
		}
		at = behind
	}
	return matter{}
}

// commentEnd returns the offset after the line in which a comment ends. A comment that is never
// closed does not count.
func (s *scanner) commentEnd(at, behind int) int {
	if s.comment < 0 {
		s.comment = bytes.LastIndex(s.b, []byte("-->"))
	}
	if s.comment < at {
		return behind
	}
	_, behind = s.next(at + bytes.Index(s.b[at:], []byte("-->")))
	return behind
}

// atx reads a heading.
func atx(b []byte, at, end int) (heading, bool) {
	from := at
	for from < end && b[from] == '#' {
		from++
	}
	level := from - at
	if level > 6 || from < end && b[from] != ' ' && b[from] != '\t' {
		return heading{}, false
	}
	title := bytes.Trim(b[from:end], " \t")
	if bare := bytes.TrimRight(title, "#"); len(bare) == 0 || bare[len(bare)-1] == ' ' || bare[len(bare)-1] == '\t' {
		title = bytes.TrimRight(bare, " \t")
	}
	from += len(b[from:end]) - len(bytes.TrimLeft(b[from:end], " \t"))
	return heading{level: level, title: source.Span{From: from, To: from + len(title)}}, true
}

// container skips the marks of quotations and list items at the start of a line. The indent is
// the number of blanks left before the text.
func (s *scanner) container(at, end int) (from, indent int) {
	start := at
	marks := 0
	for {
		blanks := countBlanks(s.b[at:end])
		if blanks > 3 || at+blanks >= end || s.b[at+blanks] != '>' {
			break
		}
		marks++
		if at += blanks + 1; at < end && s.b[at] == ' ' {
			at++
		}
	}
	if marks != s.quote {
		s.quote, s.lists = marks, s.lists[:0]
	}
	for {
		indent = countBlanks(s.b[at:end])
		if at+indent >= end {
			return end, 0 // a blank line closes nothing
		}
		column := at + indent - start
		for len(s.lists) > 0 && column < s.lists[len(s.lists)-1] {
			s.lists = s.lists[:len(s.lists)-1]
		}
		if len(s.lists) > 0 {
			indent = column - s.lists[len(s.lists)-1]
		}
		from = start + column
		width := listMark(s.b[from:end])
		if indent > 3 || width == 0 || len(s.lists) > 50 {
			return from, indent
		}
		s.lists = append(s.lists, column+width)
		at = min(from+width, end)
	}
}

func countBlanks(b []byte) int {
	n := 0
	for n < len(b) && (b[n] == ' ' || b[n] == '\t') {
		n++
	}
	return n
}

// listMark returns the width of a bullet or a number with the blank after it, or 0 if the text
// begins with neither.
func listMark(b []byte) int {
	n := 0
	for n < len(b) && n < 9 && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	switch {
	case n > 0 && n < len(b) && (b[n] == '.' || b[n] == ')'):
		n++
	case n == 0 && len(b) > 0 && strings.IndexByte("-*+", b[0]) >= 0:
		n = 1
	default:
		return 0
	}
	if n < len(b) && b[n] == ' ' {
		return n + 1
	}
	return 0
}

// opening reads a line that opens a fenced block. If the text after backticks contains another
// backtick, it is inline code instead.
func (s *scanner) opening(at, end, indent int) (*opened, bool) {
	n := markLength(s.b[at:end])
	info := s.b[at+n : end]
	if n < 3 || s.b[at] == '`' && bytes.IndexByte(info, '`') >= 0 {
		return nil, false
	}
	f := &opened{indent: indent, quote: s.quote}
	if len(s.lists) > 0 {
		f.list = s.lists[len(s.lists)-1]
	}
	f.open, f.mark, f.head = source.Span{From: at, To: end}, string(s.b[at:at+n]), len(s.headings)-1
	if words := bytes.Fields(info); len(words) > 0 {
		f.info = strings.ToLower(string(words[0]))
	}
	return f, true
}

// markLength counts the backticks or tildes at the start of a line.
func markLength(b []byte) int {
	n := 0
	for n < len(b) && b[n] == b[0] {
		n++
	}
	return n
}

// opened is a fenced block that is being read.
type opened struct {
	fence
	quote  int // marks of quotations in front of its lines
	list   int // column of the list item that it is in; 0: none
	indent int // blanks in front of the line that opens it
}

// block reads the lines of a fenced block, the first of which begins at from. A diagram has no
// headings: if there is one, the closing marks are missing. A single # may be meant as a comment,
// and marks at the end of a line as part of a name, unless nothing below closes the block.
func (s *scanner) block(f *opened, from int) {
	var title, glued struct{ at, lines int }
	for from < len(s.b) {
		end, behind := s.next(from)
		at, ok := f.inside(s.b, from, end)
		if !ok {
			f.ended = true
			break
		}
		if level := f.heading(s.b, at, end); level > 1 {
			break
		} else if level == 1 && title.at == 0 {
			title.at, title.lines = from, len(f.lines)
		}
		if marks, tail := f.marks(s.b, at, end); marks.To > 0 {
			if len(tail) == 0 || !s.marksAlone(behind) {
				f.shut, f.tail, f.ended = marks, string(tail), true
				from = behind
			}
			break
		}
		text := min(at+min(countBlanks(s.b[at:end]), f.indent), end)
		f.lines = append(f.lines, source.Span{From: text, To: behind})
		from = behind
		if glued.at == 0 && title.at == 0 && isDiagram(f.info) && bytes.HasSuffix(bytes.TrimSpace(s.b[text:end]), []byte(f.mark)) {
			glued.at, glued.lines = from, len(f.lines)
		}
	}
	switch {
	case f.ended:
	case glued.at > 0:
		from, f.lines = glued.at, f.lines[:glued.lines]
		last := &f.lines[glued.lines-1]
		at := last.From + bytes.LastIndex(s.b[last.From:last.To], []byte(f.mark))
		last.To, f.glued = at, source.Span{From: at, To: at + len(f.mark)}
	case title.at > 0:
		from, f.lines = title.at, f.lines[:title.lines]
	}
	s.fences = append(s.fences, f.fence)
	s.at = from
}

// heading returns the level of the heading that a line of a diagram seems to be, or 0 if it is
// none.
func (f *opened) heading(b []byte, at, end int) int {
	blanks := countBlanks(b[at:end])
	if !isDiagram(f.info) || blanks > 3 || at+blanks == end || b[at+blanks] != '#' {
		return 0
	}
	if h, ok := atx(b, at+blanks, end); ok && h.title.To > h.title.From {
		return h.level
	}
	return 0
}

// inside skips the marks of the quotation and the list item around a block. ok is false if the line
// does not belong to them.
func (f *opened) inside(b []byte, at, end int) (int, bool) {
	start := at
	for range f.quote {
		at += countBlanks(b[at:end])
		if at >= end || b[at] != '>' {
			return at, false
		}
		if at++; at < end && b[at] == ' ' {
			at++
		}
	}
	if f.list > 0 {
		blanks := countBlanks(b[at:end])
		if at+blanks >= end {
			return end, true
		}
		if at+blanks-start < f.list {
			return at, false
		}
		at = max(at, start+f.list)
	}
	return at, true
}

// marks returns the marks at the start of a line that may close the block, and the text after them
// on the line. Outside diagrams there must be none; in a diagram, marks followed by a word are a
// mistake, but still end it.
func (f *opened) marks(b []byte, at, end int) (source.Span, []byte) {
	blanks := countBlanks(b[at:end])
	at += blanks
	if blanks > 3 || at >= end || b[at] != f.mark[0] {
		return source.Span{}, nil
	}
	n := markLength(b[at:end])
	tail := bytes.TrimSpace(b[at+n : end])
	if n < len(f.mark) || len(tail) > 0 && (!isDiagram(f.info) || bytes.IndexByte(tail, '`') >= 0) {
		return source.Span{}, nil
	}
	return source.Span{From: at, To: end}, tail
}

// marksAlone reports whether the next marks at or below an offset have no word after them. If so,
// the marks above them opened a block rather than closing one.
func (s *scanner) marksAlone(at int) bool {
	for at < len(s.b) {
		end, behind := s.next(at)
		line := bytes.TrimSpace(s.b[at:end])
		if bytes.HasPrefix(line, []byte("```")) || bytes.HasPrefix(line, []byte("~~~")) {
			return markLength(line) == len(line)
		}
		at = behind
	}
	return false
}

// isDiagram reports whether a block with this word is a Mermaid diagram.
func isDiagram(info string) bool { return info == "mermaid" || info == "mmd" }
