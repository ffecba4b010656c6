package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/filelock"
	"github.com/hocket-dev/hocket/internal/wholefile"
)

// ClaimExport lets one caller export the events of a run after a number up to another one, see driver.Driver. How far
// they are exported is in a file beside the logs, because no run depends on it.
func (s *Store) ClaimExport(run string, after, through int) (claimed int, mine bool, err error) {
	dir := s.runFiles(run)
	file := filepath.Join(dir, "exported")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, false, explain(dir, err)
	}
	lock, err := filelock.Wait(file+".lock", time.Second)
	if err != nil {
		return 0, false, explain(file, err)
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, false, explain(file, err)
	}
	damaged := false
	if err == nil {
		claimed, err = strconv.Atoi(strings.TrimSpace(string(text)))
		damaged = err != nil
	}
	if claimed > after || through <= after {
		return claimed, false, nil
	}
	err = wholefile.Write(file, []byte(strconv.Itoa(through)), 0o600)
	return through, err == nil && !damaged, explain(file, err) // what is claimed in a damaged file may have been exported: nothing is twice
}
