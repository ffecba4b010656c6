package activity

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/workflow"
)

// Parse parses the first activity diagram of a file. The tree contains what could be read even if
// problems were found.
func Parse(src *source.Text) (*Diagram, workflow.Diagnostics) {
	text := string(src.Bytes)
	var first *reader
	for _, b := range blocks(text) {
		r := newReader(src, text, b)
		r.read()
		r.judge(b)
		if !r.foreign {
			return r.done()
		}
		if first == nil {
			first = r
		}
	}
	return first.done()
}

// maxDepth limits how deep blocks are nested.
const maxDepth = 200

// A reader parses one diagram. It goes through the lines once; only statements over several lines
// look ahead.
type reader struct {
	src     *source.Text
	scan    scanner
	at      int  // where the next line begins
	line    line // the current one
	diagram *Diagram
	found   workflow.Diagnostics
	said    map[workflow.Severity]int // how many, which may be more than there are in found
	later   workflow.Diagnostics      // about forms that older versions do not support
	forms   []string                  // that were already reported

	// strict makes the reader do what PlantUML does, for judge and the tests that compare the two:
	// it stops where PlantUML stops, and repairs nothing.
	strict  bool
	stopped bool
	stop    source.Span
	left    bool // a block or a comment is open at the end of the diagram

	stack []frame
	items []Element // of all open bodies, one after the other
	lines []line    // of the statement that is being read
	hide  []line    // of a note, that PlantUML removes
	none  [ends]int // the offset from which on a kind of end is known to be missing
	skins int       // blocks of parameters without an end

	lane      string
	laned     map[string]int // index in diagram.Lanes, by name
	steps     bool           // there is something before the first lane
	stepAt    int            // where the line of that begins
	pending   *Arrow         // leads to the next element
	foreign   bool           // it is not an activity diagram
	repairing int            // nesting depth of replaced lines

	late    bool               // a lane after a step was reported
	inText  opener             // the last opener of a block that is read as text of an activity
	noteOf  Text               // the name after the place of the next note
	wrapped bool               // there is no @startuml
	cut     bool               // it continues after @enduml, so that no fix is certain
	skip    string             // what ends a definition of the preprocessor
	texts   map[string]Element // activities by their texts, computed when a note needs it

	activities []Activity
	notes      []Note
	noted      []Line  // of notes
	attached   []*Note // of elements
}

// opener is a line that opens a block, in the text of an activity that may lack a semicolon.
type opener struct {
	word string
	at   int           // of the warning, in found
	end  workflow.Edit // adds the semicolon
}

// A container is an element that contains others: *If, *Switch, *While, *Repeat, *Fork, *Split or
// *Group.
type container interface {
	Element
	ends() *Block
}

func (b *Block) ends() *Block { return b }

// A frame is a block that is still open. The first one is the diagram.
type frame struct {
	block  container // nil: the diagram
	from   int       // where its body begins in reader.items
	last   Element   // of its body, without marks
	opener source.Span
	word   string // of the opener
	breaks bool   // it contains a break

	divided int // where the line ends that begins its last branch
}

func newReader(src *source.Text, text string, b block) *reader {
	r := &reader{src: src, diagram: &Diagram{}, wrapped: b.wrapped, said: map[workflow.Severity]int{}}
	r.scan = newScanner(text)
	r.scan.end, r.scan.header = b.to, b.header
	r.at = b.from
	r.items = make([]Element, 0, 16+strings.Count(text[b.from:b.to], "\n")/4)
	r.stack = append(r.stack, frame{})
	d := r.diagram
	d.Whole, d.Opener, d.Closer = b.whole, b.opener, b.closer
	d.Name, d.NameSpan = b.name, b.nameSpan
	r.cut = hasStatements(text[b.whole.To:])
	return r
}

// hasStatements reports whether there are statements between diagrams.
func hasStatements(text string) bool {
	for l := range strings.Lines(text) {
		if startsWith(l, "start") {
			return false
		}
		if complete(trimSpace(l)) {
			return true
		}
	}
	return false
}

func (r *reader) done() (*Diagram, workflow.Diagnostics) {
	r.unjudged()
	if !r.found.Errors() {
		r.found = append(r.found, r.later...)
	}
	return r.diagram, r.found.Sort()
}

// unjudged keeps only the diagnostic about the preprocessor, if it may be the reason for all
// others.
func (r *reader) unjudged() {
	at := slices.IndexFunc(r.found, func(d workflow.Diagnostic) bool {
		return d.Code == CodePreprocessor && (d.Severity == workflow.Error || !r.diagram.Preprocessed)
	})
	if at < 0 || r.foreign || !r.found.Errors() {
		return
	}
	r.diagram.Preprocessed = true
	r.found = r.found[at : at+1]
	r.found[0].Severity = workflow.Error
}

func (r *reader) read() {
	r.markers()
	for l := &r.line; !r.stopped; {
		*l = r.scan.line(r.at)
		if l.kind == fileEnd {
			break
		}
		r.at = l.next
		switch l.kind {
		case comment:
			r.comment(l)
		case directive:
			r.directive(l)
		default:
			r.statement(l)
		}
	}
	r.finish()
}

// statement parses a line, and more if it continues.
func (r *reader) statement(l *line) {
	if r.skip != "" && !l.made {
		r.decor(Directive, l)
		return
	}
	st := classify(l.text)
	if st.kind == kBlank {
		return
	}
	if !r.strict && r.misread(l, &st) || r.colours(l, &st) {
		return
	}
	r.apply(l, &st)
}

func (r *reader) apply(l *line, st *stmt) {
	r.newer(l, st)
	switch st.kind {
	case kUnknown:
		r.unknown(l)
	case kBlank:
	case kHeading, kHeadingOpen, kSetting, kStyleOpen, kSkinOpen, kSpriteOpen:
		r.decoration(l, st)
	case kLane:
		r.laneMark(l, st)
	case kArrow, kLink:
		r.arrow(l, st)
	case kArrowOpen:
		r.arrowOpen(l, st)
	case kActivity, kListItem:
		r.activity(l, st)
	case kActivityOpen:
		r.activityOpen(l, st)
	case kStart, kStop, kEnd, kBreak, kConnector, kLabel, kGoto:
		r.mark(l, st)
	case kKill:
		r.kill(l, st)
	case kNote:
		r.noteLine(l, st)
	case kNoteOpen:
		r.noteOpen(l, st)
	case kIfOpen, kElseOpen, kElseIfOpen:
		r.joined(l, st)
	case kRepeatWhileOpen:
		r.repeatWhileOpen(l, st)
	case kBackward:
		r.backward(l, st)
	case kBackwardOpen:
		r.backwardOpen(l, st)
	case kGroup, kIf, kSwitch, kWhile, kRepeat, kFork, kSplit:
		r.open(l, st)
	case kElseIf, kElse, kCase, kForkAgain, kSplitAgain:
		r.branch(l, st)
	case kGroupEnd, kEndIf, kEndSwitch, kEndWhile, kRepeatWhile, kEndFork, kEndSplit:
		r.close(l, st)
	}
}

// refuse is called where PlantUML refuses a line. It reports whether parsing stops there.
func (r *reader) refuse(l *line) bool {
	if r.strict {
		r.stopped, r.stop = true, l.whole()
	}
	return r.strict
}

// problem reports a diagnostic, up to a maximum number.
func (r *reader) problem(severity workflow.Severity, code string, at source.Span, summary, detail string, edits ...workflow.Edit) {
	const most = 1000
	if r.said[severity]++; r.strict || r.said[severity] > most {
		return
	}
	d := workflow.Diagnostic{Pos: r.src.Pos(at), Severity: severity, Code: code, Summary: summary, Detail: detail}
	if len(edits) > 0 && !r.cut {
		d.Fix = &workflow.Fix{Edits: edits}
	}
	r.found = append(r.found, d)
}

func (r *reader) text(l *line, p part) Text {
	if !p.written() {
		return Text{}
	}
	return Text{Raw: p.of(l.text), Span: l.span(p.from, p.to)}
}

func (r *reader) decor(kind DecorKind, l *line) {
	r.diagram.Decor = append(r.diagram.Decor, Decor{kind, source.Span{From: l.from, To: l.to}})
}

func (r *reader) comment(l *line) {
	r.decor(Comment, l)
	if strings.HasPrefix(l.text, "/'") && !strings.HasSuffix(trimSpace(r.scan.text[l.from:l.to]), "'/") {
		r.left = true
		r.problem(workflow.Error, codeComment, l.span(0, 2),
			"the comment is not closed, so it includes the rest of the diagram", `write '/ at the end of its last line`)
	}
}

// look returns the appearance of an element, or nil.
func (r *reader) look(l *line, st *stmt) *Look {
	if st.color.to == 0 && st.group.to == 0 && st.url.to == 0 {
		return nil
	}
	look := &Look{Color: strings.TrimPrefix(st.color.of(l.text), "#")}
	if st.url.to > 0 {
		look.URL = strings.TrimSuffix(strings.TrimPrefix(st.url.of(l.text), "[["), "]]")
	}
	for rest := st.group.of(l.text); rest != ""; {
		open := strings.Index(rest, "<<")
		if open < 0 {
			break
		}
		end := strings.Index(rest[open:], ">>")
		if end < 0 {
			break
		}
		look.Stereotypes = append(look.Stereotypes, trimSpace(rest[open+2:open+end]))
		rest = rest[open+end+2:]
	}
	return look
}
