package syntax

import (
	"bytes"
	"strings"

	"github.com/hocket-dev/hocket/syntax/xml"
	"github.com/hocket-dev/hocket/workflow"
)

// answered finds the workflow in the answer of a model: in a fence or, if it is XML, anywhere in
// the text. In the returned text, everything above the fence is replaced by blanks, so that
// positions stay correct.
func answered(file string, text []byte) (Notation, []byte, bool) {
	parts := fenced(text)
	if p, ok := unfenced(text); ok {
		parts = append(parts, p)
	}
	for _, p := range parts {
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
				found = append(found, part{open[0].from, at})
			}
			open = open[:len(open)-1]
		}
		at = end
	}
	if len(open) > 0 { // the fence is still being written
		found = append(found, part{open[0].from, len(text)})
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
	return part{start + len(first), len(text)}, true
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
type part struct{ from, to int }

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
