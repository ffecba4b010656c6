package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/hocket-dev/hocket/driver"
)

// Log keeps what one attempt prints, in a file of its own. The file is made with
// the first byte, so a silent attempt leaves none. An attempt that is repeated
// after a crash goes on in the same file. Log is safe for concurrent use.
type Log struct {
	path string
	max  int64

	mu   sync.Mutex
	file *os.File
	size int64
	done bool
	err  error // the first failure; nothing is written after it
}

// endings are how the names of an attempt's files end, by stream.
var endings = map[driver.Stream]string{
	driver.Output:     ".log",
	driver.Prompt:     ".prompt",
	driver.Transcript: ".transcript",
}

// Path is the file of a stream of an attempt, if it left anything there.
func (s *Store) Path(a driver.AttemptID, stream driver.Stream) string {
	return s.beside(a, endings[stream])
}

// Artifacts is the directory with the files that an attempt left, if it left any.
func (s *Store) Artifacts(a driver.AttemptID) string { return s.beside(a, ".files") }

func (s *Store) beside(a driver.AttemptID, ending string) string {
	return filepath.Join(s.runFiles(a.Run), fileNameOf(a.Address)+"."+strconv.Itoa(a.Attempt)+ending)
}

func (s *Store) runFiles(run string) string { return filepath.Join(s.dir, "logs", fileNameOf(run)) }

// writePrivate writes a file that only its owner may read, with its directory.
func writePrivate(path string, text []byte, how int) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return explain(path, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|how, 0o600)
	if err != nil {
		return explain(path, err)
	}
	_, err = f.Write(text)
	return explain(path, errors.Join(err, f.Close()))
}

// Keep replaces the prompt of an attempt, or appends to another of its streams.
func (s *Store) Keep(a driver.AttemptID, stream driver.Stream, text []byte) error {
	how := os.O_APPEND
	if stream == driver.Prompt {
		how = os.O_TRUNC
	}
	return writePrivate(s.Path(a, stream), text, how)
}

// Log opens the log of an attempt.
func (s *Store) Log(a driver.AttemptID) *Log {
	return &Log{path: s.Path(a, driver.Output), max: s.maxLog}
}

// Keep appends to the log. What exceeds the limit, or what a full disk refuses,
// is dropped, because a log must not stop a run. Close reports the failure.
func (l *Log) Keep(piece []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(piece) == 0 || l.err != nil || l.done {
		return
	}
	if l.file == nil {
		if l.err = l.open(); l.err != nil {
			return
		}
	}
	room := l.max - l.size
	if room <= 0 {
		return
	}
	l.size += int64(len(piece))
	if int64(len(piece)) > room {
		piece = fmt.Appendf(nil, "%s\n[cut after %d bytes]\n", piece[:room], l.max)
	}
	_, l.err = l.file.Write(piece)
}

func (l *Log) open() error {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	l.file, l.size = f, info.Size()
	return nil
}

// Close closes the file and says what could not be kept.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = true
	if l.file != nil {
		if err := l.file.Close(); l.err == nil {
			l.err = err
		}
		l.file = nil
	}
	return explain(l.path, l.err)
}
