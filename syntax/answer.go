package syntax

import (
	"bytes"
	"strings"

	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/syntax/xml"
	"github.com/hocket-dev/hocket/workflow"
)

// Answer is a workflow in the answer of a model.
type Answer struct {
	Notation Notation
	// Text is the answer up to the end of the workflow. Everything before the workflow is
	// replaced by blanks, so that positions stay correct.
	Text []byte
	// Open means that the answer ends before the end of the workflow is marked: it may be cut off.
	Open bool
}

// Answers returns all workflows in the answer of a model: the text itself is one, or some of its
// fences are, or it contains XML.
func Answers(text []byte) []Answer {
	if n, ok := Of("", text); ok {
		return answersIn(n, text, part{0, len(text), true})
	}
	var all []Answer
	for _, p := range parts(text) {
		if n, ok := Of("", bytes.TrimSpace(text[p.from:p.to])); ok {
			all = append(all, answersIn(n, text, p)...)
		}
	}
	if len(all) > 0 {
		return all
	}
	n, _ := Named("xml")
	return answersIn(n, text, part{rootAt(text), len(text), false})
}

// answersIn returns the workflows in a part of an answer. There can be several only in XML.
func answersIn(n Notation, text []byte, p part) []Answer {
	if n.Recover == nil {
		return []Answer{{n, p.alone(text), !p.closed}}
	}
	spans := xml.Spans(text[p.from:p.to])
	all := make([]Answer, len(spans))
	for i, s := range spans {
		own := part{from: p.from + s.From, to: p.from + s.To}
		all[i] = Answer{n, own.alone(text), !s.Closed && !(p.closed && p.to < len(text))}
	}
	return all
}

// Partial returns the workflow in the answer of a model as far as it has been written, nil if
// there is none so far.
func Partial(text []byte) *workflow.Workflow {
	n, inner := firstPart(text)
	if n.Recover != nil {
		w, _ := xml.Recover("", inner)
		return w
	}
	if end := bytes.LastIndexByte(inner, '\n') + 1; end < len(inner) { // the last line may say something else when it is complete
		inner = inner[:end]
	}
	w, _ := n.Parse("", inner)
	return w
}

// firstPart returns the first part of an answer that is a workflow, otherwise all of it as XML.
func firstPart(text []byte) (Notation, []byte) {
	if n, ok := Of("", text); ok {
		return n, text
	}
	for _, p := range parts(text) {
		if n, ok := Of("", bytes.TrimSpace(text[p.from:p.to])); ok {
			return n, p.alone(text)
		}
	}
	n, _ := Named("xml")
	return n, part{from: rootAt(text), to: len(text)}.alone(text)
}

// rootAt returns where XML begins in the text around it. A root in the middle of a line may be only a
// mention, if there is another one.
func rootAt(text []byte) int {
	if m := rootLine().FindIndex(text); m != nil {
		return m[0]
	}
	return 0
}

var rootLine = lazy.Regexp(`(?m)^[ \t]*<(workflow|root)[\s>]`)

// answered finds the workflow in the answer of a model: in a fence or, if it is XML, anywhere in
// the text. In the returned text, everything above the fence is replaced by blanks, so that
// positions stay correct.
func answered(file string, text []byte) (Notation, []byte, bool) {
	for _, p := range parts(text) {
		if n, ok := Of("", bytes.TrimSpace(text[p.from:p.to])); ok {
			return n.forAnswers(), p.alone(text), true
		}
	}
	if w, _ := xml.Recover(file, text); len(w.Body.Nodes) > 0 {
		n, ok := Named("xml")
		return n.forAnswers(), text, ok
	}
	return Notation{}, nil, false
}

// parts returns the parts of an answer that may be workflows in any notation.
func parts(text []byte) []part {
	parts := fenced(text)
	if p, ok := unfenced(text); ok {
		parts = append(parts, p)
	}
	return parts
}

// forAnswers returns the notation in the form that models write.
func (n Notation) forAnswers() Notation {
	if n.Recover != nil {
		n.Parse = n.Recover
	}
	return n
}

// recoverXML repairs only what is not well-formed. Everything else is read as in a file.
func recoverXML(file string, text []byte) (*workflow.Workflow, workflow.Diagnostics) {
	w, found := xml.Parse(file, text)
	if w != nil {
		return w, found
	}
	repaired, repairs := xml.Recover(file, text)
	if repaired.Pos.Line == 0 { // it has no root element
		return nil, found
	}
	return repaired, repairs
}

// fenced returns the contents of the fences in an answer.
func fenced(text []byte) []part {
	var found []part
	var open []opened
	for at := 0; at < len(text); {
		end := len(text)
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		mark, info := fence(text[at:end])
		switch {
		case mark == nil:
		case len(open) == 0 || len(info) > 0 && open[len(open)-1].markdown:
			open = append(open, opened{mark, end, isMarkdown(info)})
		case len(info) == 0 && bytes.HasPrefix(mark, open[len(open)-1].mark):
			if len(open) == 1 {
				found = append(found, part{open[0].from, at, true})
			}
			open = open[:len(open)-1]
		}
		at = end
	}
	if len(open) > 0 { // the fence is still being written
		found = append(found, part{open[0].from, len(text), false})
	}
	return found
}

// unfenced returns a text that was copied out of a fence together with the language name after
// the opening mark, without that name.
func unfenced(text []byte) (part, bool) {
	start := len(text) - len(bytes.TrimLeft(text, " \t\r\n"))
	first, _, _ := bytes.Cut(text[start:], []byte{'\n'})
	word := strings.ToLower(string(bytes.TrimSpace(first)))
	if _, known := Named(word); !known {
		return part{}, false
	}
	return part{start + len(first), len(text), true}, true
}

// opened is a fence that is not closed yet. Models write fences inside the fence of a Markdown
// file without making the outer one longer, so a fence that begins inside another one also ends
// there.
type opened struct {
	mark     []byte
	from     int
	markdown bool
}

func isMarkdown(info []byte) bool {
	word, _, _ := strings.Cut(strings.ToLower(string(info)), " ")
	return word == "markdown" || word == "md"
}

// fence returns the mark of a line that opens or closes a fence, and the text after it.
func fence(line []byte) (mark, info []byte) {
	line = bytes.TrimSpace(line)
	for _, b := range []byte("`~") {
		n := 0
		for n < len(line) && line[n] == b {
			n++
		}
		if n >= 3 {
			return line[:n], bytes.TrimSpace(line[n:])
		}
	}
	return nil, nil
}

// part is a range of a text.
type part struct {
	from, to int
	closed   bool // its end is marked, or it ends with the text because it has no marks
}

// alone returns a part of a text with everything above it replaced by blanks, so that positions
// stay correct.
func (p part) alone(text []byte) []byte {
	out := bytes.Clone(text[:p.to])
	for i := range p.from {
		if out[i] != '\n' {
			out[i] = ' '
		}
	}
	return out
}
