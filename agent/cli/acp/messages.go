package acp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/coder/acp-go-sdk"
)

// maxMessage is the longest line that is read as a message; the limit of the library is 10
// MiB.
const maxMessage = 9 << 20

// messages reads what a program prints and passes on only messages: agents also print
// warnings and other text. It passes on only as many as there is room for, since the
// library closes a connection whose queue is full.
type messages struct {
	from   *bufio.Reader
	stray  io.Writer
	room   chan<- struct{}
	opened chan struct{}
	rest   []byte
}

func newMessages(from io.Reader, stray io.Writer, room chan<- struct{}) *messages {
	return &messages{from: bufio.NewReaderSize(from, 64<<10), stray: stray, room: room, opened: make(chan struct{})}
}

// open lets the first message through.
func (m *messages) open() { close(m.opened) }

var errLongMessage = errors.New("acp: a message is too long")

func (m *messages) Read(b []byte) (int, error) {
	<-m.opened
	for len(m.rest) == 0 {
		line, err := m.line()
		if err != nil {
			return 0, err
		}
		if m.isMessage(line) {
			m.rest = line
		}
	}
	n := copy(b, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// line returns the next line, including its line break. Text after the last line break is
// not a line.
func (m *messages) line() ([]byte, error) {
	var line []byte
	for {
		piece, err := m.from.ReadSlice('\n')
		line = append(line, piece...)
		if len(line) > maxMessage {
			_, _ = m.stray.Write([]byte(errLongMessage.Error()))
			return nil, errLongMessage
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			_, _ = m.stray.Write(line)
			return nil, err
		}
		return line, nil
	}
}

func (m *messages) isMessage(line []byte) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return false
	}
	var head struct {
		ID     *json.RawMessage  `json:"id"`
		Method string            `json:"method"`
		Error  *acp.RequestError `json:"error"`
	}
	if line[0] != '{' || json.Unmarshal(line, &head) != nil || head.ID == nil && head.Method == "" {
		_, _ = m.stray.Write(append(line, '\n'))
		return false
	}
	if head.Method == acp.ClientMethodSessionUpdate && head.ID == nil {
		m.room <- struct{}{} // released when the message was processed
	}
	return true
}
