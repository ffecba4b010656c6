package process

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
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
// cleared its environment. What has lowered its mark counts if it works in the directory of the file. The error is a *[LeftError] if
// some still exist. Without a file, there is nothing to end.
//
// A command may have started what runs as another user, such as a service with sudo. Only that user can end it, so it goes on. EndNoted
// returns the programs, for a message.
func EndNoted(file string) (others []string, err error) {
	marks, err := notesIn(file)
	if err != nil || len(marks) == 0 {
		return nil, err
	}
	const patience = 5 * time.Second // a process may start another meanwhile, and takes a moment to die
	dir := filepath.Dir(file)
	var left, refused []int
	gone(func() bool {
		left, refused = signalAll(func(pid int) bool { return isNoted(pid, marks, dir) }, 0, syscall.SIGKILL)
		return len(left) > 0
	}, patience)
	for _, pid := range refused {
		others = append(others, programOf(pid))
	}
	if len(left) > 0 {
		return others, &LeftError{left}
	}
	return others, nil
}

// programOf returns a process for a message, such as `postgres (123)`. A program chooses its name, which may have any characters.
func programOf(pid int) string {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	name := strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.TrimSuffix(string(text), "\n"))
	return fmt.Sprintf("%s (%d)", cmp.Or(name, "process"), pid)
}

// notesIn reads marks. What is not one that commands get, somebody else wrote: it may be what every process of the user has.
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
		if mark, err := strconv.ParseUint(strings.TrimSpace(line), 10, 64); err == nil && isMark(mark) {
			marks = append(marks, mark)
		}
	}
	return marks, err
}

// isNoted reports whether a process still runs and has one of the marks, or has lowered its own below all that there are and works in a
// directory. Other processes of Hocket may look at that, too, but their marks are not so low. What is in the session of this process is one
// of its own programs, which it started at the same moment.
func isNoted(pid int, marks []uint64, dir string) bool {
	limit, known := markOfProcess(pid)
	if !known || !slices.Contains(marks, limit) && !(limit <= leastMark && mayHaveLowered(pid) && worksIn(pid, dir) && lacksKey(pid)) {
		return false
	}
	const state, session = 0, 3
	fields, ours := statOf(pid), statOf(os.Getpid())
	if len(fields) <= session || string(fields[state]) == "Z" || string(fields[state]) == "X" {
		return false
	}
	return len(ours) <= session || string(fields[session]) != string(ours[session])
}

// mayHaveLowered reports whether a process whose limit is below all marks can be of a step that has lowered it, and of nobody else. A step can
// choose any limit, so what a person or the system has started is told by the rest: its limit is from its surroundings, as that of this process
// may be; it has a terminal; or it is in another control group, such as that of a service, which a step cannot enter without a service of its
// own.
func mayHaveLowered(pid int) bool {
	own, known := markOfProcess(os.Getpid())
	if !known || own <= leastMark || isGiven(pid) {
		return false
	}
	const terminal = 4
	if fields := statOf(pid); len(fields) <= terminal || string(fields[terminal]) != "0" {
		return false
	}
	theirs, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	ours, wrong := os.ReadFile("/proc/self/cgroup")
	return err == nil && wrong == nil && bytes.Equal(theirs, ours)
}

// worksIn reports whether a process of this user is in a directory, has something open there, or names it in its arguments or environment.
func worksIn(pid int, dir string) bool {
	proc := "/proc/" + strconv.Itoa(pid)
	env, err := os.ReadFile(proc + "/environ")
	if err != nil {
		return false
	}
	args, _ := os.ReadFile(proc + "/cmdline") // if it has ended, it does not count anyway
	if names(string(env), dir) || names(string(args), dir) {
		return true
	}
	open, _ := filepath.Glob(proc + "/fd/*")
	return slices.ContainsFunc(append(open, proc+"/cwd", proc+"/root", proc+"/exe"), func(link string) bool {
		to, err := os.Readlink(link)
		return err == nil && (to == dir || strings.HasPrefix(to, dir+"/"))
	})
}

// lacksKey reports whether a process has no key of an attempt in its environment. One that does may be of another step, which can look at the
// directory, too. While a process becomes another program, its environment seems to be empty, and bash changes it for a moment when it reads it. So
// the key has to be missing for longer than that takes.
func lacksKey(pid int) bool {
	const looks, pause = 20, 5 * time.Millisecond
	for range looks {
		if hasMark(pid, markOf(""), 0) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

// names reports whether a text has the path of a directory or of something in it.
func names(text, dir string) bool {
	for {
		_, after, found := strings.Cut(text, dir)
		if !found {
			return false
		}
		if after == "" || !strings.ContainsRune("-_.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", rune(after[0])) {
			return true
		}
		text = after
	}
}
