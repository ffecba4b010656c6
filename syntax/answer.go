package syntax

import (
	"bytes"
	"strings"

	"github.com/hocket-dev/hocket/syntax/xml"
	"github.com/hocket-dev/hocket/workflow"
)

// answered finds the workflow in the answer of a model: in a fence, or, if it is
// XML, in the prose. The text comes back with what is above the fence blanked out,
// so that positions stay.
func answered(file string, text []byte) (Notation, []byte, bool) {
	for _, inner := range fenced(text) {
		if n, ok := Of("", bytes.TrimSpace(inner)); ok {
			return n.forAnswers(), inner, true
		}
	}
	if inner, ok := unfenced(text); ok {
		if n, ok := Of("", bytes.TrimSpace(inner)); ok {
			return n.forAnswers(), inner, true
		}
	}
	if w, _ := xml.Recover(file, text); len(w.Body.Nodes) > 0 {
		n, ok := Named("xml")
		return n.forAnswers(), text, ok
	}
	return Notation{}, nil, false
}

// forAnswers is the notation as models write it.
func (n Notation) forAnswers() Notation {
	if n.Recover != nil {
		n.Parse = n.Recover
	}
	return n
}

// recoverXML repairs only what is not well-formed: the rest is read as a file is.
func recoverXML(file string, text []byte) (*workflow.Workflow, workflow.Diagnostics) {
	w, found := xml.Parse(file, text)
	if w != nil {
		return w, found
	}
	repaired, repairs := xml.Recover(file, text)
	if repaired.Pos.Line == 0 { // there is no root to begin with
		return nil, found
	}
	return repaired, repairs
}

// fenced are the texts in the fences of an answer. What stands above a fence is
// blanked out, so that every position is that of the answer.
func fenced(text []byte) [][]byte {
	var found [][]byte
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
				found = append(found, alone(text, open[0].from, at))
			}
			open = open[:len(open)-1]
		}
		at = end
	}
	if len(open) > 0 { // still being written
		found = append(found, alone(text, open[0].from, len(text)))
	}
	return found
}

// unfenced is a text that was copied out of a fence with the word that stood behind
// the mark of the fence, which is blanked out.
func unfenced(text []byte) (inner []byte, ok bool) {
	start := len(text) - len(bytes.TrimLeft(text, " \t\r\n"))
	first, _, _ := bytes.Cut(text[start:], []byte{'\n'})
	word := strings.ToLower(string(bytes.TrimSpace(first)))
	if _, known := Named(word); !known {
		return nil, false
	}
	return alone(text, start+len(first), len(text)), true
}

// opened is a fence that is not closed yet. Models write fences into the fence of
// a Markdown file without making that longer, so what begins in it also ends in it.
type opened struct {
	mark     []byte
	from     int
	markdown bool
}

func isMarkdown(info []byte) bool {
	word, _, _ := strings.Cut(strings.ToLower(string(info)), " ")
	return word == "markdown" || word == "md"
}

// fence is the mark of a line that opens or closes a fence, and what follows it.
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

// alone is a part of a text with blanks in front of it.
func alone(text []byte, from, to int) []byte {
	out := bytes.Clone(text[:to])
	for i := range from {
		if out[i] != '\n' {
			out[i] = ' '
		}
	}
	return out
}
