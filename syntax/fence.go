package syntax

import "bytes"

// fenced are the texts in the fences of an answer. What stands above a fence is
// blanked out, so that every position is that of the answer.
func fenced(text []byte) [][]byte {
	var found [][]byte
	open, from := []byte(nil), 0
	for at := 0; at < len(text); {
		end := len(text)
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		mark, info := fence(text[at:end])
		switch {
		case open == nil && mark != nil:
			open, from = mark, end
		case open != nil && bytes.HasPrefix(mark, open) && len(info) == 0:
			found = append(found, alone(text, from, at))
			open = nil
		}
		at = end
	}
	if open != nil { // still being written
		found = append(found, alone(text, from, len(text)))
	}
	return found
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
