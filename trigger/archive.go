package trigger

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/wholefile"
)

// archive is a directory with the keys of old firings, so that none is repeated. It has a line for each key with
// its digest, time and run, in one of 256 files: only one is read to find a key.
type archive struct{ dir string }

// A key is forgotten when it is older than youth, and its file has more than crowd newer ones: when a trigger has fired
// about 100,000 times since then. So an archive has at most 10 MB, or what fired in the last 30 days.
const (
	youth = 30 * 24 * time.Hour
	crowd = 400
	// keySize is about the length of a line.
	keySize = 100
)

// place returns the file and the digest of a key.
func (a archive) place(key string) (file, digest string) {
	sum := sha256.Sum256([]byte(key))
	digest = hex.EncodeToString(sum[:])
	return filepath.Join(a.dir, digest[:2]), digest
}

// add records a key. A crash may leave a part of a line, or the state unchanged; then the key is added again.
func (a archive) add(key string, was Firing) error {
	file, digest := a.place(key)
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return fmt.Errorf("trigger: %w", err)
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("trigger: %w", err)
	}
	_, err = f.WriteString("\n" + digest + " " + stamp(was.At) + " " + was.Run + "\n")
	size, sizeErr := f.Seek(0, io.SeekEnd)
	if err = errors.Join(err, sizeErr, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("trigger: %w", err)
	}
	if size > 2*crowd*keySize {
		return forget(file, was.At.Add(-youth))
	}
	return nil
}

// forget removes the keys from a file that are older than a time, and of which there are more than enough.
func forget(file string, before time.Time) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("trigger: %w", err)
	}
	lines := slices.DeleteFunc(slices.Collect(strings.Lines(string(text))), func(l string) bool { return l == "\n" })
	old := 0
	for _, line := range lines[:max(0, len(lines)-crowd)] {
		if fields := strings.Fields(line); len(fields) > 1 && fields[1] >= stamp(before) { // they are in the order of time
			break
		}
		old++
	}
	if old == 0 {
		return nil
	}
	if err := wholefile.Write(file, []byte(strings.Join(lines[old:], "")), 0o600); err != nil {
		return fmt.Errorf("trigger: %w", err)
	}
	return nil
}

// find returns the firing with a key, nil if there is none.
func (a archive) find(key string) (*Firing, error) {
	file, digest := a.place(key)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("trigger: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(line, digest+" ")
		if !ok || !strings.HasSuffix(rest, "\n") {
			continue
		}
		at, run, _ := strings.Cut(strings.TrimSuffix(rest, "\n"), " ")
		f := &Firing{Key: key, Run: run}
		if f.At, err = time.Parse(time.RFC3339, at); err != nil {
			return nil, fmt.Errorf("trigger: %s: %w", file, err)
		}
		if run == "" {
			f.Why = "it has fired before, and started no run"
		}
		return f, nil
	}
	return nil, nil
}
