package llm

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
)

// maxEvent limits one event of a stream.
const maxEvent = 32 << 20

// events reads the data of server-sent events. An event that is cut off by the end of the
// stream is dropped.
func events(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxEvent)
		lines.Split(scanLine)
		var data []byte
		for lines.Scan() {
			line := lines.Bytes()
			if len(line) == 0 {
				if data != nil && !yield(bytes.TrimSuffix(data, []byte("\n")), nil) {
					return
				}
				data = nil
				continue
			}
			name, value, _ := bytes.Cut(line, []byte(":"))
			if string(name) != "data" { // a comment, or a field that does not matter here
				continue
			}
			if len(data)+len(value) > maxEvent {
				yield(nil, bufio.ErrTooLong)
				return
			}
			data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
			data = append(data, '\n')
		}
		if err := lines.Err(); err != nil {
			if errors.Is(err, bufio.ErrTooLong) {
				err = errors.New("an event of the stream exceeds 32 MiB")
			}
			yield(nil, err)
		}
	}
}

// scanLine accepts lines that end in LF, CRLF or CR, as the standard requires.
func scanLine(data []byte, atEOF bool) (advance int, token []byte, err error) {
	at := bytes.IndexAny(data, "\r\n")
	switch {
	case at < 0 && atEOF && len(data) > 0:
		return len(data), data, nil
	case at < 0:
		return 0, nil, nil
	case data[at] == '\n':
		return at + 1, data[:at], nil
	case at+1 < len(data) && data[at+1] == '\n':
		return at + 2, data[:at], nil
	case at+1 < len(data) || atEOF:
		return at + 1, data[:at], nil
	}
	return 0, nil, nil // a CR that may be followed by LF
}
