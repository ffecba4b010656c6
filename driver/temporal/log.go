package temporal

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/driver"
)

// attemptKeyIn returns a key of an attempt in the store.
func attemptKeyIn(id driver.AttemptID, parts ...string) string {
	return runKey(id.Run, append([]string{"attempts", url.PathEscape(id.Address), fmt.Sprint(id.Attempt)}, parts...)...)
}

// chunkName is the name of a chunk of a stream: the offset of its first byte, so that names sort.
func chunkName(offset int64) string { return fmt.Sprintf("%020d", offset) }

// attemptLog stores what an attempt prints and leaves, in chunks that are at most flushEvery old.
type attemptLog struct {
	store Store
	id    driver.AttemptID
	seen  func(address string, attempt int, piece []byte)

	mu      sync.Mutex
	streams map[driver.Stream]*chunk
	noted   noted
	wrong   error
	timer   *time.Timer
	dir     string
}

const (
	flushEvery = 300 * time.Millisecond
	chunkSize  = 64 << 10
)

// chunk is the end of a stream that is not stored yet.
type chunk struct {
	at   int64
	text []byte
}

// noted is what an attempt says about itself.
type noted struct {
	Session string `json:"session,omitempty"`
	Model   string `json:"model,omitempty"`
}

func newLog(s Store, id driver.AttemptID, seen func(string, int, []byte)) *attemptLog {
	return &attemptLog{store: s, id: id, seen: seen, streams: map[driver.Stream]*chunk{}}
}

func (l *attemptLog) say(text string) { l.write([]byte(text + "\n")) }

func (l *attemptLog) write(piece []byte) {
	l.keep(driver.Output, piece)
	if l.seen != nil {
		l.seen(l.id.Address, l.id.Attempt, piece)
	}
}

// keep appends to a stream. A prompt replaces the one before.
func (l *attemptLog) keep(s driver.Stream, text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.streams[s]
	if c == nil || s == driver.Prompt {
		c = &chunk{}
		l.streams[s] = c
	}
	c.text = append(c.text, text...)
	if len(c.text) >= chunkSize {
		l.flush()
	} else if l.timer == nil {
		l.timer = time.AfterFunc(flushEvery, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.flush()
		})
	}
}

// flush stores what is not stored yet.
func (l *attemptLog) flush() {
	l.timer = nil
	for s, c := range l.streams {
		if len(c.text) == 0 {
			continue
		}
		err := l.store.Put(context.Background(), attemptKeyIn(l.id, string(s), chunkName(c.at)), c.text)
		if err != nil {
			l.wrong = err
			continue
		}
		if s != driver.Prompt {
			c.at += int64(len(c.text))
		}
		c.text = nil
	}
}

func (l *attemptLog) note(session, model string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if session != "" {
		l.noted.Session = session
	}
	if model != "" {
		l.noted.Model = model
	}
	data, err := json.Marshal(l.noted)
	if err == nil {
		err = l.store.Put(context.Background(), attemptKeyIn(l.id, "note"), data)
	}
	if err != nil {
		l.wrong = err
	}
}

// artifacts returns a directory for the files that the attempt leaves.
func (l *attemptLog) artifacts() string {
	if f, ok := l.store.(Folder); ok {
		return f.path(attemptKeyIn(l.id, "files"))
	}
	l.dir = filepath.Join(os.TempDir(), "hocket-"+strings.ReplaceAll(attemptKeyIn(l.id), "/", "-"))
	return l.dir
}

// close stores the rest. An error means that something of the log is missing: the attempt counts as lost then,
// because an attempt whose log cannot be stored cannot have its output stored either.
func (l *attemptLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
	l.wrong = nil
	l.flush()
	return l.wrong
}
