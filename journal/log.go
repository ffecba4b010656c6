package journal

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/hocket-dev/hocket/driver"
)

// logLimits say how much of an attempt's output is stored, and where.
type logLimits struct {
	shared int64 // this much is in the file that all attempts of a run share
	head   int64 // the beginning that is kept
	tail   int64 // the minimum end that is kept
}

var defaultLimits = logLimits{shared: MaxInline, head: 10 << 20, tail: 90 << 20}

// part is the size of a file of the tail before the next one begins.
func (l logLimits) part() int64 { return max(1, l.tail/9) }

// Logs stores the output and files of the attempts of one run: most of it in one file, see
// records.go. It is safe for concurrent use.
type Logs struct {
	store *Store
	run   string

	mu     sync.Mutex
	file   *os.File
	found  *index                    // what existed when the file was opened, or an attempt was repeated
	begun  map[driver.AttemptID]bool // the attempts that this process has written about
	closed bool
}

func newLogs(s *Store, run string) *Logs {
	return &Logs{store: s, run: run, begun: map[driver.AttemptID]bool{}}
}

// Log stores the output and files of one attempt. A silent attempt leaves nothing. An
// attempt that is repeated, after a crash or a quota, continues its log. It is safe for
// concurrent use.
type Log struct {
	logs *Logs
	id   driver.AttemptID

	mu    sync.Mutex
	ends  map[driver.Stream]int64 // nil until the first byte
	parts []int64                 // where the files of the output begin
	file  *os.File                // the last of them; nil: none is open
	same  int64                   // how many bytes of the result the output began with
	done  bool
	err   error // the first failure to store the output; nothing is stored after it
}

// Log opens the log of an attempt.
func (w *Writer) Log(address string, attempt int) *Log {
	return &Log{logs: w.logs, id: driver.AttemptID{Run: w.run, Address: address, Attempt: attempt}}
}

// Artifacts returns the directory with the files that an attempt left, if any.
func (s *Store) Artifacts(a driver.AttemptID) string { return s.beside(a, ".files") }

func (s *Store) beside(a driver.AttemptID, ending string) string {
	return s.runFiles(a.Run) + sep + fileNameOf(a.Address) + "." + strconv.Itoa(a.Attempt) + ending
}

func (s *Store) runFiles(run string) string { return s.dir + sep + "logs" + sep + fileNameOf(run) }

// sep joins names without cleaning them as filepath.Join does: every attempt needs some, and they are clean.
const sep = string(filepath.Separator)

// partPath returns the file with an attempt's output after an offset.
func (s *Store) partPath(a driver.AttemptID, at int64) string {
	return s.beside(a, ".log."+strconv.FormatInt(at, 10))
}

// Write appends to the output of the attempt. If the disk is full, it is dropped, because a
// log must not stop a run. Close reports the failure.
func (l *Log) Write(piece []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(piece) == 0 || l.err != nil || l.done {
		return
	}
	if l.err = l.begin(); l.err == nil {
		l.err = l.print(piece)
	}
}

// Keep replaces the prompt of the attempt, or appends to another of its streams.
func (l *Log) Keep(stream driver.Stream, text []byte) error {
	if stream == driver.Output {
		l.Write(text)
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.begin()
	if err == nil {
		at := l.ends[stream]
		if stream == driver.Prompt {
			at = 0
		}
		if err = l.logs.append(header{kind: kindOf[stream], at: at, id: l.id}, text); err == nil {
			l.ends[stream] = at + int64(len(text))
		}
	}
	return explain(l.logs.store.runFiles(l.id.Run), err)
}

// begin finds out how far an earlier execution of the attempt had come.
func (l *Log) begin() error {
	if l.ends != nil {
		return nil
	}
	before, err := l.logs.open(l.id)
	if err != nil {
		return err
	}
	l.ends = map[driver.Stream]int64{}
	for _, stream := range streams {
		if end := before.end(l.id, stream); end > 0 {
			l.ends[stream] = end
		}
	}
	for _, p := range before.pieces(l.id, driver.Output) {
		if p.kind == inPart {
			l.parts = append(l.parts, p.at)
		}
	}
	return nil
}

// print writes a piece of the output: its beginning to the shared file, the rest to files of its
// own; the oldest are removed.
func (l *Log) print(piece []byte) error {
	limits := l.logs.store.limits
	for len(piece) > 0 {
		at := l.ends[driver.Output]
		room := limits.shared - at
		if room <= 0 {
			var err error
			if room, err = l.part(at); err != nil {
				return err
			}
		}
		n := min(room, int64(len(piece)))
		var err error
		if at < limits.shared {
			err = l.logs.append(header{kind: kindOf[driver.Output], at: at, id: l.id}, piece[:n])
		} else {
			_, err = l.file.Write(piece[:n])
		}
		if err != nil {
			return err
		}
		l.ends[driver.Output] += n
		piece = piece[n:]
	}
	return nil
}

// part returns how much more fits in the open file. It opens the next one when that is
// full.
func (l *Log) part(at int64) (room int64, err error) {
	limits, s := l.logs.store.limits, l.logs.store
	if l.file != nil {
		last := l.parts[len(l.parts)-1]
		end := last + limits.part()
		if last < limits.head {
			end = limits.head
		}
		if at < end {
			return end - at, nil
		}
		err = l.file.Close()
	}
	// First the record, so that no file is forgotten, then the file.
	if err == nil {
		err = l.logs.append(header{kind: inPart, at: at, id: l.id}, nil)
	}
	if err == nil {
		l.file, err = os.OpenFile(s.partPath(l.id, at), os.O_CREATE|os.O_TRUNC|os.O_APPEND|os.O_WRONLY, 0o600)
	}
	if err != nil {
		return 0, err
	}
	l.parts = append(l.parts, at)
	for i := 0; i < len(l.parts)-1; {
		if l.parts[i] < limits.head || at-l.parts[i+1] < limits.tail {
			i++
			continue
		}
		os.Remove(s.partPath(l.id, l.parts[i])) // a file that cannot be removed does no harm
		l.parts = slices.Delete(l.parts, i, i+1)
	}
	return l.part(at)
}

// Close ends the log of an attempt that returned a result, and reports what could not be
// stored.
func (l *Log) Close(result string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = true
	if l.file != nil {
		if err := l.file.Close(); l.err == nil {
			l.err = err
		}
		l.file = nil
	}
	if l.err == nil {
		if l.repeats(result) {
			l.same = int64(len(result))
		}
		return nil
	}
	return explain(l.logs.store.runFiles(l.id.Run), l.err)
}

// repeats reports whether the output began with the result, and had little else.
func (l *Log) repeats(result string) bool {
	if len(result) <= MaxInline || l.ends[driver.Output] > int64(len(result))+l.logs.store.limits.shared {
		return false
	}
	rest := result
	for p, err := range l.logs.store.Stream(context.Background(), l.id, driver.Output, 0) {
		n := min(len(p.Text), len(rest))
		if err != nil || string(p.Text[:n]) != rest[:n] {
			return false
		}
		rest = rest[n:]
	}
	return rest == ""
}

// Recorded is called when the result of the attempt is in the journal. Output that repeats
// a long result is read from there, and its files are removed.
func (l *Log) Recorded(result string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.same == 0 {
		return nil
	}
	var rest []byte
	for p, err := range l.logs.store.Stream(context.Background(), l.id, driver.Output, l.same) {
		if err != nil {
			return err
		}
		rest = append(rest, p.Text...)
	}
	sum := sha256.Sum256([]byte(result))
	value := binary.LittleEndian.AppendUint64(sum[:], uint64(len(result)))
	err := l.logs.append(header{kind: inValue, at: 0, id: l.id}, append(value, rest...))
	if err != nil {
		return err
	}
	for _, at := range l.parts {
		err = errors.Join(err, os.Remove(l.logs.store.partPath(l.id, at)))
	}
	l.parts, l.same = nil, 0
	return err
}

// open opens the shared file for an attempt, and returns what existed before.
func (ls *Logs) open(id driver.AttemptID) (*index, error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	err := ls.ready()
	if err == nil && ls.begun[id] {
		err = ls.found.scan()
	}
	ls.begun[id] = true
	return ls.found, err
}

// ready opens the file at the first call. It continues a file that ends with a complete
// record, and otherwise, after a crash or damage, begins another.
func (ls *Logs) ready() error {
	if ls.closed {
		return os.ErrClosed
	}
	if ls.file != nil {
		return nil
	}
	dir := ls.store.runFiles(ls.run)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	found := newIndex(ls.store, ls.run)
	if err := found.scan(); err != nil {
		return err
	}
	ls.found = found
	var err error
	ls.file, err = os.OpenFile(found.path(found.free()), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return err
}

// append writes one record with one call: another process sees all of it or, for a moment,
// a part that it recognizes as such.
func (ls *Logs) append(h header, text []byte) error {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if err := ls.ready(); err != nil {
		return err
	}
	_, err := ls.file.Write(h.record(text))
	if err != nil { // a full disk: nothing may follow half a record
		err = errors.Join(err, ls.file.Close())
		ls.file = nil
	}
	return err
}

// close closes the file. Attempts that did not end in time can write nothing more.
func (ls *Logs) close() error {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.closed = true
	if ls.file == nil {
		return nil
	}
	return ls.file.Close()
}
