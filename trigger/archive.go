package trigger

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// archive is a directory with the keys of old firings, so that none is ever repeated. It has a line for each key with
// its digest, time and run, in one of 256 files: only one is read to find a key.
type archive struct{ dir string }

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
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
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
