package temporal

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/driver"
)

// attemptKeyIn returns a key of an attempt in the store.
func attemptKeyIn(id driver.AttemptID, parts ...string) string {
	return runKey(id.Run, append([]string{"attempts", id.Address, fmt.Sprint(id.Attempt)}, parts...)...)
}

// chunkName is the name of a chunk of a stream: the offset of its first byte, so that names sort.
func chunkName(offset int64) string { return fmt.Sprintf("%020d", offset) }

// attemptLog stores what an attempt prints and leaves, in chunks, see [flushes].
type attemptLog struct {
	store Store
	id    driver.AttemptID

	mu      sync.Mutex
	streams map[driver.Stream]*chunk
	noted   noted
	told    noted // what of that is stored
	wrong   error // of the last try to store something
	timer   *time.Timer
	files   string // a directory for the files that the attempt leaves
	dir     string // where that is until close stores them; "": they are in the store already
}

const chunkSize = 64 << 10

// flushes returns how old a chunk may become before it is stored, and how often those who follow it look for it.
func flushes(s Store) time.Duration {
	if near(s) {
		return 300 * time.Millisecond
	}
	return 2 * time.Second
}

// near reports whether a store answers at once. In a bucket, everything is a request that takes time and costs something.
func near(s Store) bool {
	if sealed, ok := s.(sealedStore); ok {
		s = sealed.Store
	}
	_, ok := s.(Folder)
	return ok
}

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

// newLog returns the log of an attempt. If it was made before and lost, what that one printed stays.
func newLog(s Store, id driver.AttemptID, again bool) (l *attemptLog, err error) {
	l = &attemptLog{store: s, id: id, streams: map[driver.Stream]*chunk{}}
	for _, stream := range []driver.Stream{driver.Output, driver.Transcript} {
		if !again {
			break
		}
		end, err := streamEnd(s, id, stream)
		if err != nil {
			return nil, err
		}
		l.streams[stream] = &chunk{at: end}
	}
	if f, ok := l.store.(Folder); ok {
		l.files, _, err = f.dir(attemptKeyIn(l.id, "files")) // an error: a link leads out of the store
		return l, err
	}
	l.dir, err = os.MkdirTemp("", "hocket-")
	l.files = filepath.Join(l.dir, "files")
	return l, err
}

// streamEnd returns where the stored part of a stream ends.
func streamEnd(s Store, id driver.AttemptID, stream driver.Stream) (int64, error) {
	keys, err := s.List(context.Background(), attemptKeyIn(id, string(stream)))
	if err != nil || len(keys) == 0 {
		return 0, err
	}
	last := keys[len(keys)-1]
	at, err := strconv.ParseInt(path.Base(last), 10, 64)
	if err != nil {
		return 0, err
	}
	text, err := s.Get(context.Background(), last)
	return at + int64(len(text)), err
}

func (l *attemptLog) say(text string) { l.write([]byte(text + "\n")) }

func (l *attemptLog) write(piece []byte) { l.keep(driver.Output, piece) }

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
	if len(c.text) >= chunkSize && l.wrong == nil {
		l.flush()
	} else if l.timer == nil {
		l.timer = time.AfterFunc(flushes(l.store), func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.flush()
		})
	}
}

// flush stores what is not stored yet.
func (l *attemptLog) flush() {
	l.timer, l.wrong = nil, nil
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
	if l.told == l.noted {
		return
	}
	if err := putJSON(context.Background(), l.store, attemptKeyIn(l.id, "note"), l.noted); err != nil {
		l.wrong = err
		return
	}
	l.told = l.noted
}

func (l *attemptLog) note(session, model string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noted.Session = cmp.Or(session, l.noted.Session)
	l.noted.Model = cmp.Or(model, l.noted.Model)
	l.flush()
}

// close stores the rest. An error means that something of the log is missing; it can be called again then.
func (l *attemptLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
	l.flush()
	if l.dir == "" {
		return l.wrong
	}
	return errors.Join(l.wrong, l.pack())
}

// forget removes what only the log of an attempt in progress needs.
func (l *attemptLog) forget() {
	if l.dir != "" {
		_ = os.RemoveAll(l.dir) // otherwise the system removes temporary files
	}
}

// pack stores the files that the attempt left.
func (l *attemptLog) pack() error {
	dir := os.DirFS(l.files)
	packed := new(bytes.Buffer)
	z, files := zip.NewWriter(packed), 0
	err := fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() { // a link may lead anywhere
			return err
		}
		files++
		text, err := fs.ReadFile(dir, name)
		if err != nil {
			return err
		}
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	})
	if files == 0 && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		return nil
	}
	if err := errors.Join(err, z.Close()); err != nil {
		return err
	}
	return l.store.Put(context.Background(), attemptKeyIn(l.id, "files.zip"), packed.Bytes())
}

// filesOf returns the files that an attempt left, and their directory if they are in one.
func filesOf(ctx context.Context, s Store, a driver.AttemptID) (fs.FS, string, error) {
	if f, ok := s.(Folder); ok {
		dir, files, err := f.dir(attemptKeyIn(a, "files"))
		if files == nil || err != nil {
			return nil, "", err
		}
		return files, dir, nil
	}
	packed, err := s.Get(ctx, attemptKeyIn(a, "files.zip"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	z, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	return z, "", err
}
