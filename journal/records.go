package journal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hocket-dev/hocket/driver"
)

// The streams of all attempts of a run share the file logs/RUN/streams.1. It is a list of
// records, each with a header, the address of its step and a text, and it only grows. A
// process that finds an incomplete or damaged record leaves the file alone and begins
// streams.2.
//
// A record has the offset of its text in the stream. One at offset 0 restarts the stream,
// which is how a prompt is replaced. Text that is not in the record itself is in a file of
// the attempt (inPart) or is the value of an event (inValue).

// header is that of a record.
type header struct {
	kind byte
	at   int64 // where the text begins in its stream
	id   driver.AttemptID
}

// The kinds of records.
const (
	inOutput     = 'o'
	inPrompt     = 'p'
	inTranscript = 't'
	inPart       = 'f' // the output continues in a separate file
	inValue      = 'v' // the output is a value in the journal, by its hash and size, and then the text
	inOld        = 0   // not a record: a file of an older version holds the stream
)

var streams = []driver.Stream{driver.Output, driver.Prompt, driver.Transcript}

var kindOf = map[driver.Stream]byte{driver.Output: inOutput, driver.Prompt: inPrompt, driver.Transcript: inTranscript}

// streamOf returns the stream of a kind of record; "" if the kind is unknown.
func streamOf(kind byte) driver.Stream {
	switch kind {
	case inOutput, inPart, inValue:
		return driver.Output
	case inPrompt:
		return driver.Prompt
	case inTranscript:
		return driver.Transcript
	}
	return ""
}

const (
	recordMark = 0xb7
	headerSize = 32
	valueSize  = sha256.Size + 8
)

// castagnoli is made when it is first used: that takes 0.2 ms, and many commands read no journal.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// record returns the record with a text: mark, kind, folded length of the address, attempt,
// offset, length of the address, length of the text, checksum of the text, checksum of the
// header and the address. The length is stored twice, because nothing else distinguishes a
// damaged record from an incomplete one.
func (h header) record(text []byte) []byte {
	b := make([]byte, 0, 128) // enough for most
	b = append(b, recordMark, h.kind)
	b = binary.LittleEndian.AppendUint16(b, fold(int64(len(h.id.Address))))
	b = binary.LittleEndian.AppendUint32(b, uint32(h.id.Attempt))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.at))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(h.id.Address)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(text, castagnoli()))
	b = binary.LittleEndian.AppendUint32(b, headerSum(b, h.id.Address))
	return append(append(b, h.id.Address...), text...)
}

func fold(n int64) uint16 { return uint16(n) ^ uint16(n>>16) }

func headerSum(head []byte, address string) uint32 {
	return crc32.Update(crc32.Checksum(head, castagnoli()), castagnoli(), []byte(address))
}

// piece is a part of a stream.
type piece struct {
	kind   byte
	number int   // of the shared file
	at     int64 // in the stream
	size   int64 // of the text; unknown for a file
	pos    int64 // of the text in the shared file
	skip   int64 // bytes of the text in the shared file that do not belong to the stream
	sum    uint32
	hash   string // of a value
}

// index says where the streams of a run are, as far as the shared files were read.
type index struct {
	store *Store
	run   string

	mu      sync.Mutex
	streams map[streamKey][]piece
	number  int   // of the shared file that was read last
	scanned int64 // how much of it
	whole   bool  // it ended with a complete record
	damage  error // of a record; what follows it in its file cannot be read
	old     bool  // there are files of an older version
}

type streamKey struct {
	stream  driver.Stream
	address string
	attempt int
}

func newIndex(s *Store, run string) *index {
	return &index{store: s, run: run, streams: map[streamKey][]piece{}, number: 1, whole: true}
}

func (x *index) path(number int) string {
	return filepath.Join(x.store.runFiles(x.run), fmt.Sprintf("streams.%d", number))
}

// free returns the number of the file that can be appended to.
func (x *index) free() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.whole {
		return x.number
	}
	return x.number + 1
}

// scan reads what was added to the shared files since the last time.
func (x *index) scan() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.lookForOld()
	for {
		err := x.scanFile()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if _, missing := os.Stat(x.path(x.number + 1)); missing != nil {
			return nil
		}
		x.number, x.scanned, x.whole = x.number+1, 0, true
	}
}

// lookForOld checks, at the first scan, whether an older version stored streams here.
func (x *index) lookForOld() {
	if x.scanned > 0 || x.old {
		return
	}
	files, _ := os.ReadDir(x.store.runFiles(x.run)) // no directory: no files
	x.old = slices.ContainsFunc(files, func(f os.DirEntry) bool {
		end := filepath.Ext(f.Name())
		return end == ".log" || end == ".prompt" || end == ".transcript"
	})
}

func (x *index) scanFile() error {
	f, err := os.Open(x.path(x.number))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	window := &window{file: f, size: info.Size()}
	for {
		next, err := x.readRecord(window)
		if next == 0 {
			x.whole = x.scanned == window.size
			return err
		}
		x.scanned = next
	}
}

// readRecord indexes the record at the end of what was scanned, and returns where the next
// one is; 0 if there is none, or it is incomplete or damaged.
func (x *index) readRecord(w *window) (next int64, err error) {
	head, err := w.at(x.scanned, headerSize)
	if err != nil || head == nil {
		return 0, err
	}
	number := func(at int) int64 { return int64(binary.LittleEndian.Uint32(head[at:])) }
	key := streamKey{stream: streamOf(head[1]), attempt: int(number(4))}
	p := piece{kind: head[1], number: x.number, at: int64(binary.LittleEndian.Uint64(head[8:])), size: number(20), sum: uint32(number(24))}
	check := uint32(number(28))
	p.pos = x.scanned + headerSize + number(16)
	next = p.pos + p.size
	again := binary.LittleEndian.Uint16(head[2:]) // zero: the first records did not have it
	if head[0] != recordMark || key.stream == "" || again != 0 && again != fold(number(16)) || p.kind == inValue && p.size < valueSize {
		x.noteDamage()
		return 0, nil
	}
	full, err := w.at(x.scanned, int(p.pos-x.scanned))
	if err != nil || full == nil {
		return 0, err
	}
	if headerSum(full[:headerSize-4], string(full[headerSize:])) != check {
		x.noteDamage()
		return 0, nil
	}
	if next > w.size {
		return 0, nil
	}
	key.address = string(full[headerSize:])
	if p.at == 0 {
		delete(x.streams, key)
	}
	if p.kind == inValue {
		head, err := w.at(p.pos, valueSize)
		if err != nil {
			return 0, err
		}
		value := piece{kind: inValue, hash: hex.EncodeToString(head[:sha256.Size]), size: int64(binary.LittleEndian.Uint64(head[sha256.Size:]))}
		x.streams[key] = append(x.streams[key], value)
		p.kind, p.at, p.size, p.skip = inOutput, value.size, p.size-valueSize, valueSize
	}
	x.streams[key] = append(x.streams[key], p)
	return next, nil
}

// noteDamage records that the record at the end of what was scanned is damaged.
func (x *index) noteDamage() {
	x.damage = &driver.DamagedLogError{File: x.path(x.number), At: x.scanned}
}

// damaged returns the damage that was noted.
func (x *index) damaged() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.damage
}

// window reads a file sequentially.
type window struct {
	file *os.File
	size int64
	from int64
	text []byte
}

// at returns n bytes; nil if the file is shorter.
func (w *window) at(offset int64, n int) ([]byte, error) {
	if offset+int64(n) > w.size {
		return nil, nil
	}
	if skip := offset - w.from; skip < 0 || skip+int64(n) > int64(len(w.text)) {
		w.text = make([]byte, min(int64(max(n, 64<<10)), w.size-offset))
		w.from = offset
		if _, err := w.file.ReadAt(w.text, offset); err != nil {
			return nil, err
		}
	}
	return w.text[offset-w.from:][:n], nil
}

// endings are the suffixes of the files of an attempt's streams, from when every stream had
// one.
var endings = map[driver.Stream]string{driver.Output: ".log", driver.Prompt: ".prompt", driver.Transcript: ".transcript"}

// pieces returns those of a stream, in order.
func (x *index) pieces(id driver.AttemptID, stream driver.Stream) []piece {
	x.mu.Lock()
	defer x.mu.Unlock()
	found := slices.Clone(x.streams[streamKey{stream, id.Address, id.Attempt}])
	if x.old && (len(found) == 0 || found[0].at > 0) {
		if f, err := os.Stat(x.store.beside(id, endings[stream])); err == nil {
			found = append([]piece{{kind: inOld, size: f.Size()}}, found...)
		}
	}
	return found
}

// end returns the offset after the last byte of a stream.
func (x *index) end(id driver.AttemptID, stream driver.Stream) int64 {
	pieces := x.pieces(id, stream)
	if len(pieces) == 0 {
		return 0
	}
	last := pieces[len(pieces)-1]
	if last.kind == inPart {
		if f, err := os.Stat(x.store.partPath(id, last.at)); err == nil {
			last.size = f.Size()
		}
	}
	return last.at + last.size
}

// read yields the content of a stream after an offset, in order, each piece with its offset:
// omitted or damaged parts are missing between them. An error about damage comes last.
func (x *index) read(ctx context.Context, id driver.AttemptID, stream driver.Stream, offset int64) iter.Seq2[driver.Piece, error] {
	return func(yield func(driver.Piece, error) bool) {
		pieces := x.pieces(id, stream)
		var damage error
		for i := 0; i < len(pieces); i++ {
			p := pieces[i]
			past := p.kind != inPart && p.at+p.size <= offset || i+1 < len(pieces) && pieces[i+1].at <= offset
			if past {
				continue
			}
			if p.kind == inPart && gone(x.store.partPath(id, p.at)) && x.scan() == nil {
				// It was omitted, or the output is a value by now.
				if now := x.pieces(id, stream); now[0] != pieces[0] {
					pieces, i = now, -1
				}
				continue
			}
			offset = max(offset, p.at)
			for text, err := range x.texts(ctx, id, stream, p, offset-p.at) {
				if errors.As(err, new(*driver.DamagedLogError)) {
					damage = err
					break
				}
				if !yield(driver.Piece{At: offset, Text: text}, err) || err != nil {
					return
				}
				offset += int64(len(text))
			}
		}
		if damage = cmp.Or(damage, x.damaged()); damage != nil {
			yield(driver.Piece{At: offset}, damage)
		}
	}
}

func gone(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// texts yields the text of a piece from an offset in it on.
func (x *index) texts(ctx context.Context, id driver.AttemptID, stream driver.Stream, p piece, from int64) iter.Seq2[[]byte, error] {
	switch p.kind {
	case inOld:
		return fileTexts(x.store.beside(id, endings[stream]), from)
	case inPart:
		return fileTexts(x.store.partPath(id, p.at), from)
	case inValue:
		return one(x.value(ctx, p, from))
	}
	return one(x.text(p, from))
}

func one(text []byte, err error) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) { yield(text, err) }
}

func (x *index) value(ctx context.Context, p piece, from int64) ([]byte, error) {
	text, err := x.store.blob(ctx, p.hash)
	if err != nil {
		return nil, x.store.damaged("", err)
	}
	return []byte(text[min(from, int64(len(text))):]), nil
}

// text reads what a record holds.
func (x *index) text(p piece, from int64) ([]byte, error) {
	f, err := os.Open(x.path(p.number))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := make([]byte, p.skip+p.size)
	if _, err := f.ReadAt(text, p.pos); err != nil {
		return nil, err
	}
	if crc32.Checksum(text, castagnoli()) != p.sum {
		return nil, &driver.DamagedLogError{File: f.Name(), At: p.pos}
	}
	return text[p.skip+from:], nil
}

// fileTexts yields the content of a file after an offset. A missing file was omitted.
func fileTexts(path string, from int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		defer f.Close()
		for err == nil {
			text := make([]byte, 32<<10)
			var n int
			n, err = f.ReadAt(text, from)
			from += int64(n)
			if n > 0 && !yield(text[:n], nil) {
				return
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(nil, err)
		}
	}
}

// maxIndexes is how many indexes of runs a store keeps.
const maxIndexes = 32

// indexOf returns the current index of a run.
func (s *Store) indexOf(run string) (*index, error) {
	s.mu.Lock()
	x := s.indexes[run]
	if x == nil {
		if len(s.indexes) >= maxIndexes || s.indexes == nil {
			s.indexes = map[string]*index{}
		}
		x = newIndex(s, run)
		s.indexes[run] = x
	}
	s.mu.Unlock()
	return x, explain(s.runFiles(run), x.scan())
}

// forget drops the index of a run.
func (s *Store) forget(run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.indexes, run)
}

// Stream yields what an attempt has written to a stream so far, after an offset.
func (s *Store) Stream(ctx context.Context, a driver.AttemptID, stream driver.Stream, offset int64) iter.Seq2[driver.Piece, error] {
	return func(yield func(driver.Piece, error) bool) {
		x, err := s.indexOf(a.Run)
		if err != nil {
			yield(driver.Piece{}, err)
			return
		}
		x.read(ctx, a, stream, offset)(yield)
	}
}

// Sizes returns the sizes of the streams of an attempt, including omitted parts.
func (s *Store) Sizes(a driver.AttemptID) (map[driver.Stream]int64, error) {
	x, err := s.indexOf(a.Run)
	sizes := map[driver.Stream]int64{}
	for _, stream := range streams {
		if end := x.end(a, stream); end > 0 {
			sizes[stream] = end
		}
	}
	return sizes, err
}
