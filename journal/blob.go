package journal

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// Long strings of an event are removed from its JSON: an empty string replaces them, the
// row's column blobs says where (place), and the table blobs holds the text by its hash. So
// the JSON needs no marker that a value of the user could look like.

// MaxInline is the longest string, in bytes of JSON, that stays in an event.
const MaxInline = 64 << 10

// row is an event as it is stored.
type row struct {
	data  string
	blobs []blob
	kept  string // the places of blobs that are already recorded
}

type rows []row

// blob is a string that was removed.
type blob struct {
	at   int // position of its opening quote in the row's data
	hash []byte
	text string
}

// place is how a row refers to a blob.
type place struct {
	At   int    `json:"at"`
	Hash string `json:"hash"`
}

// encode turns events into rows.
func encode(events []engine.Envelope) (rows, error) {
	out := make(rows, len(events))
	for i, e := range events {
		data, err := engine.Encode(e)
		if err == nil {
			out[i], err = takeOut(string(data))
		}
		if err != nil {
			return nil, fmt.Errorf("journal: %T: %w", e.Event, err)
		}
	}
	return out, nil
}

func (rs rows) simple() bool {
	for _, r := range rs {
		if r.blobs != nil {
			return false
		}
	}
	return true
}

func (rs rows) recordBlobs(tx *sql.Tx) error {
	for _, r := range rs {
		for _, b := range r.blobs {
			if _, err := tx.Exec("INSERT INTO blobs (hash, data) VALUES (?, ?) ON CONFLICT DO NOTHING", b.hash, b.text); err != nil {
				return err
			}
		}
	}
	return nil
}

// places returns the value of the column blobs; "" stands for NULL.
func (r row) places() string {
	if r.blobs == nil {
		return r.kept
	}
	ps := make([]place, len(r.blobs))
	for i, b := range r.blobs {
		ps[i] = place{b.at, hex.EncodeToString(b.hash)}
	}
	return workflow.FormatJSON(ps)
}

// checksum returns the checksum of an event as it is stored.
func checksum(run int64, seq int, data, places string) uint32 {
	var key [16]byte
	binary.LittleEndian.PutUint64(key[:], uint64(run))
	binary.LittleEndian.PutUint64(key[8:], uint64(seq))
	sum := crc32.Update(crc32.Checksum(key[:], castagnoli()), castagnoli(), []byte(data))
	return crc32.Update(sum, castagnoli(), []byte(places))
}

// takeOut removes the long strings from a JSON text. Keys stay.
func takeOut(data string) (row, error) {
	if len(data) <= MaxInline {
		return row{data: data}, nil
	}
	var r row
	var kept strings.Builder
	from := 0
	for i := 0; i < len(data); {
		if data[i] != '"' {
			i++
			continue
		}
		end := stringEnd(data, i)
		if end-i > MaxInline && !strings.HasPrefix(data[end:], ":") {
			var text string
			if err := json.Unmarshal([]byte(data[i:end]), &text); err != nil {
				return row{}, err
			}
			sum := sha256.Sum256([]byte(text))
			kept.WriteString(data[from:i])
			r.blobs = append(r.blobs, blob{kept.Len(), sum[:], text})
			kept.WriteString(`""`)
			from = end
		}
		i = end
	}
	kept.WriteString(data[from:])
	r.data = kept.String()
	return r, nil
}

// stringEnd returns the end of the JSON string that begins at from.
func stringEnd(data string, from int) int {
	for i := from + 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

// putBack returns the JSON text of a row with its long strings restored.
func (s *Store) putBack(ctx context.Context, data, places string) (string, error) {
	var ps []place
	if err := json.Unmarshal([]byte(places), &ps); err != nil {
		return "", err
	}
	var full strings.Builder
	from := 0
	for _, p := range ps {
		text, err := s.blob(ctx, p.Hash)
		if err != nil {
			return "", err
		}
		if p.At < from || p.At+2 > len(data) || data[p.At:p.At+2] != `""` {
			return "", fmt.Errorf("no string was removed at byte %d", p.At)
		}
		full.WriteString(data[from:p.At])
		full.WriteString(workflow.FormatJSON(text))
		from = p.At + 2
	}
	full.WriteString(data[from:])
	return full.String(), nil
}

func (s *Store) blob(ctx context.Context, hash string) (string, error) {
	key, err := hex.DecodeString(hash)
	if err != nil {
		return "", err
	}
	var text string
	if err := s.read.QueryRowContext(ctx, "SELECT data FROM blobs WHERE hash = ?", key).Scan(&text); err != nil {
		return "", fmt.Errorf("value %s: %w", hash, err)
	}
	if sum := sha256.Sum256([]byte(text)); string(sum[:]) != string(key) {
		return "", fmt.Errorf("value %s does not match its hash", hash)
	}
	return text, nil
}
