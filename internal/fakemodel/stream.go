package fakemodel

import (
	"net/http"
	"time"
)

// stream sends an answer as server-sent events, or as the items of a JSON list. It ends
// with a panic that net/http handles when the client has gone or the script breaks the
// connection.
type stream struct {
	w     http.ResponseWriter
	r     *http.Request
	list  bool
	items int
}

// event sends one event; "" means no name.
func (s *stream) event(name string, data any) {
	if s.items == 0 {
		s.open()
	}
	var line []byte
	switch {
	case s.list && s.items == 0:
		line = append([]byte("["), encode(data)...)
	case s.list:
		line = append([]byte(",\r\n"), encode(data)...)
	case name != "":
		line = append([]byte("event: "+name+"\ndata: "), encode(data)...)
		line = append(line, "\n\n"...)
	default:
		line = append([]byte("data: "), encode(data)...)
		line = append(line, "\n\n"...)
	}
	s.items++
	s.write(line)
}

// raw sends a line that is not JSON.
func (s *stream) raw(data string) { s.write([]byte("data: " + data + "\n\n")) }

func (s *stream) open() {
	kind := "text/event-stream"
	if s.list {
		kind = "application/json"
	}
	s.w.Header().Set("Content-Type", kind)
	s.w.Header().Set("Cache-Control", "no-cache")
	s.w.WriteHeader(http.StatusOK)
}

func (s *stream) write(data []byte) {
	if _, err := s.w.Write(data); err != nil {
		panic(http.ErrAbortHandler)
	}
	if err := http.NewResponseController(s.w).Flush(); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// close ends a list.
func (s *stream) close() {
	if s.list && s.items > 0 {
		s.write([]byte("]"))
	}
}

// text sends the pieces of the text, and then does what the script wants in the middle of
// an answer. It returns false if a failure, which fail sends, ends it.
func (s *stream) text(a answer, piece func(text string), fail func()) bool {
	for _, text := range a.pieces() {
		wait(s.r, time.Duration(a.Delay)*time.Millisecond)
		piece(text)
	}
	if a.Hang {
		<-s.r.Context().Done()
	}
	if a.Hang || a.Drop {
		panic(http.ErrAbortHandler)
	}
	if a.Status >= 400 {
		fail()
		return false
	}
	return true
}
