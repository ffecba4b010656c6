package activity

import (
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/workflow"
)

// unknown parses a line that PlantUML refuses. It repairs the mistakes that people and models
// make, the most certain ones first.
func (r *reader) unknown(l *line) {
	if r.refuse(l) {
		return
	}
	if r.repairing < maxRepairs {
		for _, mistake := range []func(*line) bool{
			r.fence, r.dropped, r.endCommentError, r.wrongComment, r.bareLabel, r.alias, r.overLines, r.noteWords,
			r.thenBelow, r.brace, r.endColon, r.severalError, r.noEnd, r.bare, r.wideMarksError, r.wrongArrow,
		} {
			if mistake(l) {
				return
			}
		}
	}
	if r.otherNotation(l) {
		return
	}
	if strings.HasSuffix(l.text, ";") && r.repairing < maxRepairs {
		r.instead(workflow.Error, codeSyntax, l.whole(), "a step must begin with a colon", repairing(l).put(":").keep(0, len(l.text)))
		return
	}
	r.problem(workflow.Error, codeSyntax, l.whole(), "PlantUML does not recognise "+quoted(l.text),
		r.adviceFor(l.text))
	r.decor(Misplaced, l)
}

// adviceFor suggests what an unknown line could mean.
func (r *reader) adviceFor(s string) string {
	switch {
	case s[0] == '|':
		return "write a lane as |Name|, |#color|Name| or |Name| Title"
	case strings.HasPrefix(lower(s), "end"):
		return "blocks end with endif, endswitch, endwhile, end fork, end split, } or repeat while (condition)"
	}
	return "write :" + s + "; for a step, or ' " + s + " for a comment"
}

func (r *reader) severalError(l *line) bool    { return r.severalOnALine(l, workflow.Error) }
func (r *reader) endCommentError(l *line) bool { return r.endComment(l, workflow.Error) }
func (r *reader) wideMarksError(l *line) bool  { return r.wideMarks(l, workflow.Error) }

// endComment removes a comment from the end of a line, if the rest is a statement.
func (r *reader) endComment(l *line, severity workflow.Severity) bool {
	s := l.text
	for i, tries := 1, 0; i < len(s) && tries < 8; i++ {
		mark := 0
		switch {
		case s[i] == '\'', s[i] == '#' && byteAt(s, i+1, ' ') > 0:
			mark = 1
		case s[i] == '/' && byteAt(s, i+1, '/') > 0, s[i] == '%' && byteAt(s, i+1, '%') > 0:
			mark = 2
		}
		before := back(s, i)
		if mark == 0 || before == 0 || before == i && s[before-1] != ';' {
			continue
		}
		tries++
		if rest := s[:before]; complete(rest) || noteEndExact(rest) {
			m := repairing(l).put("' ").keep(blanks(s, i+mark), len(s)).end().keep(0, before).end()
			r.replace(severity, codeComment, l.span(i, len(s)), "PlantUML does not support comments at the end of a line",
				"write "+rest+", and the comment on its own line above it: ' "+s[blanks(s, i+mark):], m)
			return true
		}
	}
	return false
}

func noteEndExact(s string) bool { return endsNote(s) }

// wrongComment parses a line that would be a comment in another language.
func (r *reader) wrongComment(l *line) bool {
	s := l.text
	mark := 2
	switch {
	case strings.HasPrefix(s, "//"), strings.HasPrefix(s, "%%"), strings.HasPrefix(s, "--"):
	case s[0] == '#' && (len(s) == 1 || s[1] == ' ' || s[1] == '#'):
		mark = 1
	default:
		return false
	}
	m := repairing(l).put("' ").keep(blanks(s, mark), len(s)).end()
	r.replace(workflow.Error, codeComment, l.span(0, mark), quoted(s[:mark])+" does not begin a comment in PlantUML",
		"write "+m.lines[0].text, m)
	return true
}

// alias parses words for which PlantUML uses others.
func (r *reader) alias(l *line) bool {
	s := strings.TrimRight(l.text, ";: \t")
	instead := aliasOf(strings.Join(strings.Fields(lower(s)), " "), r.top().word)
	if instead == "" {
		instead = extra(s, r.top().word)
	}
	if instead == "" {
		return false
	}
	r.instead(workflow.Error, codeKeyword, l.whole(), "PlantUML has no "+quoted(s), repairing(l).put(instead))
	return true
}

func aliasOf(words, open string) string {
	switch words {
	case "end switch", "end case", "endcase", "esac", "switch end":
		return "endswitch"
	case "join", "end join", "endjoin", "fork join", "end parallel", "endparallel", "end par":
		return "end fork"
	case "parallel", "par":
		return "fork"
	case "parallel again":
		return "fork again"
	case "end partition", "endpartition", "end package", "end rectangle", "end card", "partition end":
		return "}"
	case "end for", "endfor", "end foreach", "endforeach":
		return "endwhile"
	case "end loop", "endloop", "end do":
		if open == "while" {
			return "endwhile"
		}
	case "default", "case default", "otherwise":
		return "case (default)"
	case "elif", "elsif", "else if":
		return ""
	case "fi":
		return "endif"
	}
	return ""
}

// extra returns the statement in a line without what follows it, such as labels of marks and ends
// that cannot have one.
func extra(s, open string) string {
	for _, mark := range []string{"start", "stop", "end", "fork", "split", "repeat"} {
		if at := word(s, 0, mark); at > 0 && byteAt(s, blanks(s, at), '(') > 0 && s[len(s)-1] == ')' {
			return mark
		}
	}
	if c := closer(open); c != "" && c != "}" {
		if at := words(s, 0, strings.Fields(c)...); at > 0 && at < len(s) && !isWord(s[at]) {
			return c
		}
		if at := words(s, 0, "end", open); at > 0 && at < len(s) && !isWord(s[at]) {
			return c
		}
	}
	return ""
}

// bareLabel parses `case x`, `case x:` and `case (x):`, and the same for else and endwhile.
func (r *reader) bareLabel(l *line) bool {
	s := l.text
	keyword, at := "case", word(s, 0, "case")
	if c := map[string]string{"if": "else", "while": "endwhile"}[r.top().word]; at < 0 && c != "" {
		keyword, at = c, word(s, 0, c)
	}
	if at < 0 || blanks(s, at) == at && byteAt(s, at, '(') < 0 {
		return false
	}
	from, end := blanks(s, at), len(strings.TrimRight(s, ":; \t"))
	if from >= end || keyword != "case" && (complete(s[from:]) || word(s, from, "if") > 0 || !isWord(s[from]) && s[from] != '(' && s[from] != '"') {
		return false
	}
	if s[from] == '(' {
		if behind := balanced(s[:end], from); behind > 0 {
			from, end = from+1, behind-1
		}
	} else if q := unquote(s[from:end]); len(q) < end-from {
		from += strings.Index(s[from:], q)
		end = from + len(q)
	}
	if from, end = paired(s, from, end); from >= end {
		return false
	}
	r.instead(workflow.Error, codeCondition, l.whole(), "the label of "+keyword+" must be in parentheses",
		repairing(l).put(keyword+" (").keep(from, end).put(")"))
	return true
}

// paired returns a range without an unmatched parenthesis at one of its ends.
func paired(s string, from, end int) (int, int) {
	switch strings.Count(s[from:end], "(") - strings.Count(s[from:end], ")") {
	case 1:
		if s[from] == '(' {
			from++
		}
	case -1:
		if s[end-1] == ')' {
			end--
		}
	}
	return from, end
}

// bare parses conditions without parentheses, and keywords for loops that PlantUML does not have.
func (r *reader) bare(l *line) bool {
	s := l.text
	for _, b := range bareWords {
		at := words(s, 0, b.words...)
		if at < 0 || at < len(s) && blanks(s, at) == at && s[at] != '(' && s[at] != '"' {
			continue
		}
		test, label, ok := bareTest(s, at, b.label)
		test.from, test.to = paired(s, test.from, test.to)
		label.from, label.to = paired(s, label.from, label.to)
		if !ok || strings.Count(test.of(s), "(") != strings.Count(test.of(s), ")") {
			return false
		}
		m := repairing(l).put(b.instead+" (").keep(test.from, test.to).put(")")
		switch {
		case b.until:
			m.put(" is (no) not (yes)")
		case label.written():
			m.put(" "+b.label+" (").keep(label.from, label.to).put(")")
		case b.label == "then":
			m.put(" then")
		}
		m.end()
		if !complete(m.lines[0].text) {
			return false
		}
		code, summary := codeCondition, "the condition must be in parentheses"
		if b.alias {
			code, summary = codeKeyword, "PlantUML has no "+quoted(strings.Join(b.words, " "))
		}
		r.instead(workflow.Error, code, l.whole(), summary, m)
		return true
	}
	return false
}

type bareWord struct {
	words   []string
	instead string
	label   string // the word before the label
	alias   bool
	until   bool
}

var bareWords = []bareWord{
	{words: []string{"repeat", "until"}, instead: "repeat while", alias: true, until: true},
	{words: []string{"until"}, instead: "repeat while", alias: true, until: true},
	{words: []string{"repeat", "while"}, instead: "repeat while", label: "is"},
	{words: []string{"else", "if"}, instead: "elseif", label: "then"},
	{words: []string{"elif"}, instead: "elseif", label: "then", alias: true},
	{words: []string{"elsif"}, instead: "elseif", label: "then", alias: true},
	{words: []string{"if"}, instead: "if", label: "then"},
	{words: []string{"while"}, instead: "while", label: "is"},
	{words: []string{"switch"}, instead: "switch"},
	{words: []string{"foreach"}, instead: "while", label: "is", alias: true},
	{words: []string{"for"}, instead: "while", label: "is", alias: true},
}

// bareTest returns the condition after a keyword, with or without parentheses, and
// the label after it.
func bareTest(s string, at int, labelWord string) (test, label part, ok bool) {
	from, end := blanks(s, at), len(strings.TrimRight(s, ":; \t"))
	if end <= from {
		return part{}, part{}, false
	}
	if labelWord != "" {
		if w := lastWord(s[:end], from, labelWord); w >= 0 {
			rest := blanks(s, w+len(labelWord))
			if rest < end && s[rest] == '(' && s[end-1] == ')' {
				label = part{rest + 1, end - 1}
			} else if rest < end {
				label = part{rest, end}
			}
			end = back(s, w)
		}
	}
	if end <= from {
		return part{}, part{}, false
	}
	if s[from] == '(' && balanced(s[:end], from) == end {
		from, end = from+1, end-1
	}
	if label.to <= label.from {
		label = part{}
	}
	return part{from, end}, label, end > from
}

// lastWord returns the last position of a word in a text, or -1.
func lastWord(s string, from int, want string) int {
	for i := len(s) - len(want); i > from; i-- {
		end := i + len(want)
		if word(s, i, want) > 0 && !isWord(s[i-1]) && (end == len(s) || !isWord(s[end])) {
			return i
		}
	}
	return -1
}

// endColon parses statements that end with a colon or a brace, as in other languages.
func (r *reader) endColon(l *line) bool {
	s := l.text
	end := back(s, len(s)-1)
	if last := s[len(s)-1]; last != ':' && last != ',' && last != '.' || end == 0 || !complete(s[:end]) {
		return false
	}
	r.instead(workflow.Error, codeSyntax, l.span(len(s)-1, len(s)), quoted(s[len(s)-1:])+" cannot end a statement in PlantUML",
		repairing(l).keep(0, end))
	return true
}

// noEnd reads a repeat or backward whose activity has no semicolon.
func (r *reader) noEnd(l *line) bool {
	s := l.text
	if word(s, 0, "repeat") < 0 && word(s, 0, "backward") < 0 || !complete(s+";") {
		return false
	}
	r.instead(workflow.Error, codeSemicolon, l.whole(), `the activity has no ";"`, repairing(l).keep(0, len(s)).put(";"))
	return true
}

// overLines parses conditions that must not extend over several lines.
func (r *reader) overLines(l *line) bool {
	s := l.text
	if l.made || word(s, 0, "while") < 0 && word(s, 0, "switch") < 0 && word(s, 0, "case") < 0 {
		return false
	}
	m := repairing(l).keep(0, len(s))
	open := strings.Count(s, "(") - strings.Count(s, ")")
	at, end := l.next, l.whole().To
	for n := 0; open > 0 && n < 10; n++ {
		next := r.scan.line(at)
		if next.kind != plain || complete(next.text) {
			return false
		}
		at, end = next.next, next.whole().To
		m.put(`\n`)
		m.place = append(m.place, piece{len(m.buf), next.whole().From})
		m.buf = append(m.buf, next.text...)
		open += strings.Count(next.text, "(") - strings.Count(next.text, ")")
	}
	m.end()
	if at == l.next || !complete(m.lines[0].text) {
		return false
	}
	r.at = at
	whole := source.Span{From: l.whole().From, To: end}
	r.problem(workflow.Error, codeCondition, whole, "this condition must be on one line",
		"write "+m.lines[0].text, r.src.Edit(whole, m.lines[0].text))
	r.repairing++
	r.statement(&m.lines[0])
	r.repairing--
	return true
}

// thenBelow parses a then on its own line.
func (r *reader) thenBelow(l *line) bool {
	e, ok := r.top().block.(*If)
	at := word(l.text, 0, "then")
	if !ok || at < 0 || e.Else != nil || len(r.items) > r.top().from {
		return false
	}
	b := &e.Branches[len(e.Branches)-1]
	from, end := blanks(l.text, at), len(l.text)
	if from < end && l.text[from] == '(' && l.text[end-1] == ')' {
		b.Label = r.text(l, part{from + 1, end - 1})
	} else if from < end {
		return false
	}
	head := r.scan.text[b.Opener.From:b.Opener.To]
	r.problem(workflow.Error, codeCondition, l.span(0, at), `"then" must be on the line of its condition`,
		"write "+head+" "+l.text, r.src.Edit(source.Span{From: b.Opener.To, To: l.whole().From}, " "))
	return true
}

// brace parses a brace below the frame that it opens.
func (r *reader) brace(l *line) bool {
	g, ok := r.top().block.(*Group)
	if !ok || l.text != "{" || len(r.items) > r.top().from || l.made {
		return false
	}
	head := r.scan.text[g.Opener.From:g.Opener.To]
	r.problem(workflow.Error, codeSyntax, l.whole(), `"{" must be on the line of the block that it opens`, "write "+head+" {",
		r.src.Edit(source.Span{From: g.Opener.To, To: l.whole().From}, " "))
	return true
}

// dropped parses statements of other diagrams that do not affect the flow.
func (r *reader) dropped(l *line) bool {
	switch strings.Join(strings.Fields(lower(strings.TrimRight(l.text, ";"))), " ") {
	case "allowmixing", "allow_mixing", "left to right direction", "top to bottom direction", "newpage",
		"autonumber", "hide stereotype", "end title":
	default:
		return false
	}
	r.problem(workflow.Error, codeSyntax, l.whole(), quoted(l.text)+" is not supported in an activity diagram", "remove the line", r.remove(l)...)
	r.decor(Misplaced, l)
	return true
}

// fence reads the fences of Markdown.
func (r *reader) fence(l *line) bool {
	if !strings.HasPrefix(l.text, "```") && !strings.HasPrefix(l.text, "~~~") {
		return false
	}
	r.problem(workflow.Error, CodeMarker, l.whole(), "the diagram contains a Markdown fence", "remove the line", r.remove(l)...)
	r.decor(Misplaced, l)
	return true
}

// wideMarks reads lines with the punctuation of Chinese and Japanese keyboards.
func (r *reader) wideMarks(l *line, severity workflow.Severity) bool {
	s := l.text
	if !strings.ContainsAny(s, "：；（）") {
		return false
	}
	m := repairing(l)
	from := 0
	for i, c := range s {
		if narrow := narrowMark(c); narrow != "" {
			m.keep(from, i).put(narrow)
			from = i + 3
		}
	}
	m.keep(from, len(s)).end()
	if !complete(m.lines[0].text) {
		return false
	}
	r.instead(severity, codeSyntax, l.whole(), "PlantUML does not know full-width punctuation", m)
	return true
}

func narrowMark(c rune) string {
	switch c {
	case '：':
		return ":"
	case '；':
		return ";"
	case '（':
		return "("
	case '）':
		return ")"
	}
	return ""
}

// wrongArrow parses arrows of other notations.
func (r *reader) wrongArrow(l *line) bool {
	s := l.text
	for _, a := range []string{"==>", "=>", "→", "~>", ".>", "..>", "<-", "<--"} {
		rest, ok := strings.CutPrefix(s, a)
		if !ok {
			continue
		}
		from := blanks(s, len(a))
		m := repairing(l).put("->")
		switch {
		case strings.HasPrefix(rest, "-"):
			continue
		case from < len(s) && s[from] == ':' && s[len(s)-1] == ';':
			m = repairing(l).keep(from, len(s))
		case from < len(s) && s[len(s)-1] == ';':
			m.put(" ").keep(from, len(s))
		case from < len(s):
			m.put(" ").keep(from, len(s)).put(";")
		}
		r.instead(workflow.Error, codeArrow, l.span(0, len(a)), quoted(a)+" is not an arrow of an activity diagram", m)
		return true
	}
	return false
}

// lateLane reports a first lane after a step. A lane without a name leaves the steps above it
// without a lane; if there are none yet, the lane itself can be moved up.
func (r *reader) lateLane(l *line, st *stmt) {
	if r.late {
		return
	}
	r.late = true
	mark := "| |"
	if _, asks := r.top().block.(*If); r.diagram.Size <= 1 && len(r.activities) == 0 && !asks {
		mark = "|" + st.test.of(l.text) + "|"
	}
	at := source.Span{From: r.stepAt, To: r.stepAt}
	indent := r.scan.text[r.stepAt : r.stepAt+leading(r.scan.text[r.stepAt:])]
	var edits []workflow.Edit
	if !l.made && !strings.ContainsAny(indent, "\r\n") {
		edits = append(edits, r.src.Edit(at, indent+mark+"\n"))
	}
	r.problem(workflow.Error, CodeLateLane, l.whole(), "the first lane comes after the first step (line "+r.lineOf(r.stepAt)+")",
		"write "+mark+" before the first step, at line "+r.lineOf(r.stepAt), edits...)
}

// uselessKill parses a kill with nothing before it to end. At the beginning of a branch it ends
// the branch.
func (r *reader) uselessKill(l *line, last Element) {
	_, stop := last.(*Stop)
	_, jump := last.(*Goto)
	_, leave := last.(*Break)
	if stop || jump || leave {
		r.problem(workflow.Error, codeKill, l.whole(), quoted(l.text)+" comes after a path that has already ended", "remove the line", r.remove(l)...)
		r.decor(Misplaced, l)
		return
	}
	r.instead(workflow.Error, codeKill, l.whole(), "there is no step before "+quoted(l.text), repairing(l).put("stop"))
}
