package activity

import (
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/workflow"
)

func openerWord(k kind) string {
	switch k {
	case kIf:
		return "if"
	case kSwitch:
		return "switch"
	case kWhile:
		return "while"
	case kRepeat:
		return "repeat"
	case kFork:
		return "fork"
	case kSplit:
		return "split"
	}
	return "group"
}

// opens returns the keyword that opens the block that a line divides or closes.
func opens(k kind) string {
	switch k {
	case kElseIf, kElse, kEndIf:
		return "if"
	case kCase, kEndSwitch:
		return "switch"
	case kEndWhile:
		return "while"
	case kRepeatWhile:
		return "repeat"
	case kForkAgain, kEndFork:
		return "fork"
	case kSplitAgain, kEndSplit:
		return "split"
	}
	return "group"
}

// closer returns the line that closes a block, or "" if only its author knows it.
func closer(word string) string {
	switch word {
	case "if":
		return "endif"
	case "switch":
		return "endswitch"
	case "while":
		return "endwhile"
	case "fork":
		return "end fork"
	case "split":
		return "end split"
	case "group":
		return "}"
	}
	return ""
}

// reach makes the block that a line divides or closes the innermost one. If it is further out,
// the inner ones were not closed; if there is none, the line is out of place.
func (r *reader) reach(l *line, st *stmt) bool {
	want := opens(st.kind)
	if r.top().word == want {
		return true
	}
	if r.refuse(l) {
		return false
	}
	for i := len(r.stack) - 1; i > 0; i-- {
		if r.stack[i].word == want {
			r.unclosed(i+1, l)
			for len(r.stack) > i+1 {
				r.shut(source.Span{})
			}
			return true
		}
	}
	if r.sibling(l, st) {
		return false
	}
	if in := r.inText; want == in.word && want != "group" { // this line is right, and that one is not
		d := &r.found[in.at]
		d.Severity, d.Fix = workflow.Error, &workflow.Fix{Edits: []workflow.Edit{in.end}}
		r.decor(Misplaced, l)
		return false
	}
	detail := "remove it"
	if len(r.stack) > 1 {
		f := r.top()
		detail = "the innermost open block is the " + r.nameOf(f)
		if c := closer(f.word); c != "" {
			detail += ", which " + c + " closes"
		}
		detail += "; remove the line"
	}
	r.problem(workflow.Error, codeStray, l.whole(), quoted(l.text)+" has no open "+want, detail, r.remove(l)...)
	r.decor(Misplaced, l)
	return false
}

// sibling parses a line that belongs to a fork in a split, or the other way round.
func (r *reader) sibling(l *line, st *stmt) bool {
	f := r.top()
	if r.repairing >= maxRepairs || f.word != "fork" && f.word != "split" {
		return false
	}
	instead := closer(f.word)
	switch st.kind {
	case kForkAgain, kSplitAgain:
		instead = f.word + " again"
	case kEndFork, kEndSplit:
	default:
		return false
	}
	r.instead(workflow.Error, codeKeyword, l.whole(), quoted(l.text)+" cannot be used in the "+r.nameOf(f), repairing(l).put(instead))
	return true
}

func (r *reader) nameOf(f *frame) string { return f.word + " at line " + r.lineOf(f.opener.From) }

// unclosed reports a frame and the open blocks inside it. They end before a line, or at the end of
// the diagram.
func (r *reader) unclosed(from int, l *line) {
	at := `the end of the diagram`
	place := source.Span{From: r.scan.end, To: r.scan.end}
	indent := ""
	if l != nil {
		at = quoted(l.text) + " (line " + r.lineOf(l.from) + ")"
		place = source.Span{From: l.from, To: l.from}
		indent = l.raw[:min(l.lead, len(l.raw))]
	}
	var lines strings.Builder
	certain := l != nil && !l.made || l == nil && r.diagram.Closer != (source.Span{}) // otherwise @enduml has to be added first
	for i := len(r.stack) - 1; i >= from; i-- {
		c := closer(r.stack[i].word)
		certain = certain && c != ""
		lines.WriteString(indent + c + "\n")
	}
	var edits []workflow.Edit
	if certain {
		edits = append(edits, r.src.Edit(place, r.lineEndBefore(place.From)+lines.String()))
	}
	for i := from; i < len(r.stack); i++ {
		f := &r.stack[i]
		detail := "write repeat while (condition) where the loop ends"
		if c := closer(f.word); c != "" {
			detail = "write " + c + " before " + strings.Replace(at, "the end of the diagram", "@enduml", 1)
		}
		r.problem(workflow.Error, codeUnclosed, f.opener, r.nameOf(f)+" is not closed before "+at, detail, edits...)
	}
}

// lineEndBefore returns a newline if an offset does not begin a line.
func (r *reader) lineEndBefore(at int) string {
	if at == r.scan.end {
		return r.lineEnd(at)
	}
	return ""
}

func quoted(s string) string { return `"` + trimDetail(s) + `"` }

// remove returns the edit that removes a line from the file.
func (r *reader) remove(l *line) []workflow.Edit {
	if l.made {
		return nil
	}
	from := strings.LastIndexByte(r.scan.text[:l.from], '\n') + 1
	return []workflow.Edit{r.src.Edit(source.Span{From: from, To: l.next}, "")}
}
