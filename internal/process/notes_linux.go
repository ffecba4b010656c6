package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// addNote notes a mark. The file must not be a link.
func addNote(file string, mark uint64) error {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, mark)
	return errors.Join(err, f.Close())
}

// EndNoted kills what is left of the commands whose marks are noted in a file: also what has left their process groups and
// cleared its environment. The error is a *[LeftError] if some still exist. Without a file, there is nothing to end.
func EndNoted(file string) error {
	marks, err := notesIn(file)
	if err != nil || len(marks) == 0 {
		return err
	}
	const patience = 5 * time.Second // a process may start another meanwhile, and takes a moment to die
	var left []int
	gone(func() bool {
		left = signalAll(func(pid int) bool { return hasNumber(pid, marks) }, 0, syscall.SIGKILL)
		return len(left) > 0
	}, patience)
	if len(left) > 0 {
		return &LeftError{left}
	}
	return nil
}

// notesIn reads marks. What is not one, somebody else wrote.
func notesIn(file string) (marks []uint64, err error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const most = 1 << 20
	text, err := io.ReadAll(io.LimitReader(f, most))
	for line := range strings.Lines(string(text)) {
		if mark, err := strconv.ParseUint(strings.TrimSpace(line), 10, 64); err == nil {
			marks = append(marks, mark)
		}
	}
	return marks, err
}

// hasNumber reports whether a process still runs and has one of the marks. What is in the session of this process is one of its
// own programs, which it started at the same moment.
func hasNumber(pid int, marks []uint64) bool {
	limit, known := markOfProcess(pid)
	if !known || !slices.Contains(marks, limit) {
		return false
	}
	const state, session = 0, 3
	fields, ours := statOf(pid), statOf(os.Getpid())
	if len(fields) <= session || string(fields[state]) == "Z" || string(fields[state]) == "X" {
		return false
	}
	return len(ours) <= session || string(fields[session]) != string(ours[session])
}
