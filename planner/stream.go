package planner

import (
	"bytes"
	"strings"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// Partial is an answer as far as it has been written.
type Partial struct {
	Run      string   // that asks the model
	Round    int      // 1 is the first answer
	Problems []string // why the previous answer was sent back
	// Workflow is what can be read so far, nil if that is nothing. A later one can still differ. It is
	// the receiver's own.
	Workflow *workflow.Workflow
	Size     int    // of the answer in bytes
	Tail     string // the last line of it
}

// unfinished reads a workflow while a model writes it. The zero unfinished has read nothing. It is not safe for
// concurrent use.
type unfinished struct {
	text []byte
}

// Write adds what has been written since.
func (s *unfinished) Write(piece []byte) { s.text = append(s.text, piece...) }

// Workflow returns what can be read so far, nil if that is nothing. It depends only on the text, not on
// the pieces in which it came.
func (s *unfinished) Workflow() *workflow.Workflow {
	var r reading
	w := syntax.Partial(r.setAside(s.text))
	if w == nil || len(w.Body.Nodes) == 0 {
		return nil
	}
	return w
}

// Tail returns the last line of the text that is not empty.
func (s *unfinished) Tail() string {
	text := bytes.TrimSpace(s.text[max(0, len(s.text)-longestTail):])
	if i := bytes.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	return strings.ToValidUTF8(string(text), "")
}

// longestTail is how far back the last line is looked for.
const longestTail = 400

// Reading and drawing a long plan again for every piece would take all the time of a fast model.
const (
	pause = 50 * time.Millisecond // between two partial answers, at least
	share = 10                    // and so many times as long as it took to read and show the last one
)

// listener reads what the model of one run prints. The driver calls Log, which never blocks, and a
// goroutine calls see. mu guards the stream.
type listener struct {
	most  int
	stop  func() // ends an answer that is too long
	see   func(Partial)
	news  chan struct{} // holds one token when there is more to read
	over  chan struct{}
	still chan struct{} // closed when see is not called any more

	mu      sync.Mutex
	stream  unfinished
	attempt int

	seen Partial // owned by the goroutine
}

func newListener(first Partial, most int, see func(Partial), stop func()) *listener {
	l := &listener{most: most, stop: stop, see: see, news: make(chan struct{}, 1), over: make(chan struct{}), still: make(chan struct{}), seen: first}
	if see == nil {
		close(l.still)
		return l
	}
	go l.watch()
	return l
}

// Fact makes it a [hocket.Observer].
func (l *listener) Fact(engine.Fact) {}

// Log adds a piece. A new attempt starts again.
func (l *listener) Log(_ string, attempt int, piece []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if attempt != l.attempt {
		l.attempt, l.stream = attempt, unfinished{}
	}
	if len(l.stream.text)+len(piece) > l.most {
		l.stop()
		return
	}
	l.stream.Write(piece)
	select {
	case l.news <- struct{}{}:
	default:
	}
}

func (l *listener) written() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.stream.text)
}

// close waits until the last part has been seen.
func (l *listener) close() {
	close(l.over)
	<-l.still
}

// watch calls see for new text, but not for every piece.
func (l *listener) watch() {
	defer close(l.still)
	l.see(l.seen)
	defer l.look()
	for {
		select {
		case <-l.news:
		case <-l.over:
			return
		}
		began := time.Now()
		l.look()
		select {
		case <-time.After(max(pause, share*time.Since(began))):
		case <-l.over:
			return
		}
	}
}

// look shows the newest text.
func (l *listener) look() {
	l.mu.Lock()
	s := unfinished{text: l.stream.text[:len(l.stream.text):len(l.stream.text)]}
	l.mu.Unlock()
	l.seen.Size, l.seen.Tail = len(s.text), s.Tail()
	if w := s.Workflow(); w != nil {
		l.seen.Workflow = w
	}
	l.see(l.seen)
}
