package hocket

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/internal/wholefile"
)

// The runs of a project can be in several places, such as the journal and a server, and all of them share its state. Only the driver of a place can
// tell whether a run of it exists, so what is noted about runs is noted for each place.

// worked returns the runs in the place of a driver for which a worker has worked here: others may delete them.
func (p *Project) worked(d driver.Driver) runList {
	return runList(filepath.Join(p.State(), "places", p.placeOf(d), "worked"))
}

// deletions returns the runs in the place of a driver that are to be deleted. A run is noted before the driver deletes it, and until nothing is left of
// it: see [Project.erase].
func (p *Project) deletions(d driver.Driver) runList {
	return runList(filepath.Join(p.State(), "places", p.placeOf(d), "deletions"))
}

// placeOf names where the runs of a driver are. One without workers has one place for each state of a project.
func (p *Project) placeOf(d driver.Driver) string {
	if w, ok := d.(driver.Workers); ok {
		return nameOf(w.Place())
	}
	return nameOf(p.Driver())
}

func nameOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// runList is a set of runs: a directory with a file for each one, which has its id. Several processes can change it at once.
type runList string

func (l runList) file(run string) string { return filepath.Join(string(l), nameOf(run)) }

func (l runList) add(run string) error {
	if _, err := os.Lstat(l.file(run)); err == nil {
		return nil
	}
	if err := os.MkdirAll(string(l), 0o700); err != nil {
		return err
	}
	return wholefile.Write(l.file(run), []byte(run), 0o600)
}

func (l runList) remove(run string) error {
	if err := os.Remove(l.file(run)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (l runList) all() (runs []string, err error) {
	entries, err := os.ReadDir(string(l))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue // another process is writing it, or was killed
		}
		run, wrong := os.ReadFile(filepath.Join(string(l), e.Name()))
		if wrong == nil {
			runs = append(runs, string(run))
		} else if !errors.Is(wrong, fs.ErrNotExist) { // another process has removed it
			err = errors.Join(err, wrong)
		}
	}
	return runs, err
}
