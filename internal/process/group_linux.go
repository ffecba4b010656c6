package process

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// dieWithParent makes the system kill the command when Hocket dies, however it dies.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// runs reports whether a process of a group still runs. A process that has ended stays in
// its group until its parent has waited for it, and an orphan's new parent, the first
// process of a container, may never do that.
func runs(group int) bool {
	for _, pid := range processes(0) {
		fields := statOf(pid)
		if len(fields) > 2 && string(fields[2]) == strconv.Itoa(group) && string(fields[0]) != "Z" && string(fields[0]) != "X" {
			return true
		}
	}
	return false
}

// killMarked kills the processes that have the key of an attempt in their environment: those that
// left the command's group and kept their environment. It checks the processes that were started
// after the given one; zero means all. Another process may make the same attempt, if it counted as
// lost here: its processes are spared.
func killMarked(key string, after int) {
	if key == "" {
		return
	}
	mark := markOf(key + "\x00")
	// A process may start another meanwhile, and takes a moment to die, so repeat until
	// none is found.
	gone(func() bool { return len(signalMarked(mark, after, os.Getpid(), syscall.SIGKILL)) > 0 }, killTime)
}

// EndLeft ends the processes whose key begins with a prefix, which were left by a process that
// died. They get SIGTERM, and SIGKILL after a grace period; zero means 5 s. The error is a
// *[LeftError] if some still exist. The ancestors of this process are spared, because this process
// may run in a shell that an attempt left behind.
func EndLeft(prefix string, grace time.Duration) error { return endMarked(markOf(prefix), 0, grace) }

// EndOwned does the same with everything that a process which died has started for attempts.
func EndOwned(pid int, grace time.Duration) error {
	return endMarked(markOf(""), pid, grace)
}

func endMarked(mark []byte, owner int, grace time.Duration) error {
	if len(signalMarked(mark, 0, owner, syscall.SIGTERM)) == 0 {
		return nil
	}
	gone(func() bool { return len(signalMarked(mark, 0, owner, 0)) > 0 }, cmp.Or(grace, defaultGrace))
	var left []int
	gone(func() bool {
		left = signalMarked(mark, 0, owner, syscall.SIGKILL)
		return len(left) > 0
	}, 2*time.Second)
	if len(left) > 0 {
		return &LeftError{left}
	}
	return nil
}

// markOf returns the beginning of a key in the environment of a process.
func markOf(key string) []byte { return []byte("\x00" + KeyVariable + "=" + key) }

// signalMarked sends a signal to the processes with the mark that a process has started, and returns
// them. Zero means any process, and sends nothing.
func signalMarked(mark []byte, after, owner int, signal syscall.Signal) []int {
	found, _ := signalAll(func(pid int) bool { return hasMark(pid, mark, owner) }, after, signal)
	return found
}

// signalAll sends a signal to the processes of which is reports true, except ancestors of this one, and returns them: those of other users,
// which get no signal of ours, as refused.
func signalAll(is func(pid int) bool, after int, signal syscall.Signal) (found, refused []int) {
	above := ancestors()
	for _, pid := range processes(after) {
		if !is(pid) || slices.Contains(above, pid) {
			continue
		}
		// Get a handle of the process and check again, so that the signal goes to the
		// process that was checked.
		p, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if is(pid) {
			if err := p.Signal(signal); errors.Is(err, os.ErrPermission) {
				refused = append(refused, pid)
			} else {
				found = append(found, pid)
			}
		}
		_ = p.Release()
	}
	return found, refused
}

// hasMark checks the environment of a process. That of another user cannot be read, and is
// not ours.
func hasMark(pid int, mark []byte, owner int) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	env = append([]byte{0}, env...)
	return err == nil && bytes.Contains(env, mark) && (owner == 0 || bytes.Contains(env, []byte("\x00"+ownedBy(owner)+"\x00")))
}

// descendants returns the processes that one has started, and those that they have,
// including those that have left its group and lost the key. They are held, so that no
// other process can take their id.
func descendants(pid int) []*os.Process {
	children := map[int][]int{}
	for _, id := range processes(0) {
		if parent := parentOf(id); parent > 0 {
			children[parent] = append(children[parent], id)
		}
	}
	var found []*os.Process
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		for _, id := range children[next[0]] {
			if p, err := os.FindProcess(id); err == nil && parentOf(id) == next[0] {
				found = append(found, p)
			}
			next = append(next, id)
		}
	}
	return found
}

// ancestors returns the ancestors of this process.
func ancestors() (list []int) {
	for pid := os.Getppid(); pid > 1; pid = parentOf(pid) {
		list = append(list, pid)
	}
	return list
}

// Stopped reports whether a process was stopped by a signal, and does nothing until it is
// continued.
func Stopped(pid int) bool {
	fields := statOf(pid)
	return len(fields) > 0 && string(fields[0]) == "T"
}

// statOf returns what the system reports about a process after its name: its state, its
// parent, its group, …; nil if it has ended.
func statOf(pid int) [][]byte {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the name may contain anything
}

// parentOf returns the parent of a process; zero if it has ended.
func parentOf(pid int) int {
	fields := statOf(pid)
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(fields[1])) // always a number on Linux
	return parent
}

// maxGuess is up to how many process ids are tried one by one, which is cheaper than a list
// of all processes.
const maxGuess = 256

// processes returns the ids of all processes but this one, or at least of those that were started
// after the given one. Some may no longer exist, or never have.
func processes(after int) []int {
	var pids []int
	if last := newest(); after > 0 && after <= last && last-after <= maxGuess {
		for pid := after + 1; pid <= last; pid++ {
			pids = append(pids, pid)
		}
		return pids
	}
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // as far as it could be read
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// newest returns the most recent process id; zero if unknown.
func newest() int {
	load, _ := os.ReadFile("/proc/loadavg") // three averages, counts, and the id
	fields := bytes.Fields(load)
	if len(fields) < 5 {
		return 0
	}
	pid, _ := strconv.Atoi(string(fields[4]))
	return pid
}
