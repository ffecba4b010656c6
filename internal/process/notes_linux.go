package process

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
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
		l := lookFor(marks, dir)
		left, refused = signalAll(l.has, 0, syscall.SIGKILL)
		for pid := range l.lowered {
			if !slices.Contains(left, pid) && !slices.Contains(refused, pid) {
				left = append(left, pid) // it has ended meanwhile, perhaps after it started another one
			}
		}
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
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() { // who reads a pipe waits for those who write
		return nil, errors.Join(fmt.Errorf("%s is not a regular file", file), err)
	}
	const most = 1 << 20
	text, err := io.ReadAll(io.LimitReader(f, most))
	for line := range strings.Lines(string(text)) {
		if mark, err := strconv.ParseUint(strings.TrimSpace(line), 10, 64); err == nil && isMark(mark) {
			marks = append(marks, mark)
		}
	}
	return marks, err
}

// leavings are the processes that a step has left: those with one of its marks, and those that have lowered their mark.
type leavings struct {
	marks   []uint64
	lowered map[int]string // with when each has started
}

// lookFor finds what has lowered its mark below all that there are and works in a directory. Other processes of Hocket may look at that,
// too, but their marks are not so low.
func lookFor(marks []uint64, dir string) leavings {
	lowered := map[int]string{}
	for _, pid := range processes(0) {
		limit, known := markOfProcess(pid)
		if known && limit <= leastMark && isAlien(pid) && mayHaveLowered(pid) && worksIn(pid, dir) {
			lowered[pid] = beginOf(pid)
		}
	}
	return leavings{marks, withoutKey(lowered)}
}

func (l leavings) has(pid int) bool {
	limit, known := markOfProcess(pid)
	if !known || !isAlien(pid) {
		return false
	}
	began, lowered := l.lowered[pid]
	return lowered && began == beginOf(pid) || slices.Contains(l.marks, limit)
}

// isAlien reports whether a process still runs, and is not in the session of this one: that has only its own programs, which it started at the
// same moment.
func isAlien(pid int) bool {
	const state, session = 0, 3
	fields, ours := statOf(pid), statOf(os.Getpid())
	if len(fields) <= session || string(fields[state]) == "Z" || string(fields[state]) == "X" {
		return false
	}
	return len(ours) <= session || string(fields[session]) != string(ours[session])
}

// beginOf returns when a process has started. Its id may become that of another one.
func beginOf(pid int) string {
	const start = 19
	if fields := statOf(pid); len(fields) > start {
		return string(fields[start])
	}
	return ""
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

// withoutKey removes the processes that have a key of an attempt in their environment: they may be of another step, which can look at the
// directory, too. While a process becomes another program, its environment seems to be empty, and bash changes it for a moment when it reads
// it. So the key has to be missing for longer than that takes.
func withoutKey(all map[int]string) map[int]string {
	const looks, pause = 20, 5 * time.Millisecond
	for range looks {
		maps.DeleteFunc(all, func(pid int, _ string) bool { return hasMark(pid, markOf(""), 0) })
		if len(all) == 0 {
			break
		}
		time.Sleep(pause)
	}
	return all
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
