package process

import (
	"bytes"
	"cmp"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// dieWithParent has the system kill the command when Hocket dies, however it
// dies.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// runs says whether a process of a group still runs. One that has ended stays in
// its group until its parent has waited for it, and an orphan's new parent, the
// first process of a container, may never do that.
func runs(group int) bool {
	for _, pid := range processes(0) {
		fields := statOf(pid)
		if len(fields) > 2 && string(fields[2]) == strconv.Itoa(group) && string(fields[0]) != "Z" && string(fields[0]) != "X" {
			return true
		}
	}
	return false
}

// killMarked kills the processes that have the key of an attempt in their
// environment: those that left the command's group and kept what they were given.
// It looks at the processes that were started after one, or at all for zero.
func killMarked(key string, after int) {
	if key == "" {
		return
	}
	mark := markOf(key + "\x00")
	// A process may start another while we look, and takes a moment to die, so
	// look until none is found.
	gone(func() bool { return len(signalMarked(mark, after, syscall.SIGKILL)) > 0 }, killTime)
}

// EndLeft ends the processes whose key begins with a prefix, which the process that
// started them did not do: it has died. They are asked to end, and killed after a grace
// period; zero: 5 s. The error is a *[LeftError] if some are still there. The processes
// above this one are spared: somebody may type into a shell that an attempt left behind.
func EndLeft(prefix string, grace time.Duration) error {
	mark := markOf(prefix)
	if len(signalMarked(mark, 0, syscall.SIGTERM)) == 0 {
		return nil
	}
	gone(func() bool { return len(signalMarked(mark, 0, 0)) > 0 }, cmp.Or(grace, defaultGrace))
	var left []int
	gone(func() bool {
		left = signalMarked(mark, 0, syscall.SIGKILL)
		return len(left) > 0
	}, 2*time.Second)
	if len(left) > 0 {
		return &LeftError{left}
	}
	return nil
}

// markOf is how a key begins in the environment of a process.
func markOf(key string) []byte { return []byte("\x00" + KeyVariable + "=" + key) }

// signalMarked sends a signal to the processes with the mark, and returns them. Zero
// sends nothing.
func signalMarked(mark []byte, after int, signal syscall.Signal) (found []int) {
	above := ancestors()
	for _, pid := range processes(after) {
		if !hasMark(pid, mark) || slices.Contains(above, pid) {
			continue
		}
		// Take hold of the process and look again: then the one that gets the signal
		// is the one that was looked at.
		p, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if hasMark(pid, mark) {
			found = append(found, pid)
			_ = p.Signal(signal)
		}
		_ = p.Release()
	}
	return found
}

// hasMark looks into the environment of a process. That of another user cannot be
// read, and is not ours.
func hasMark(pid int, mark []byte) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(append([]byte{0}, env...), mark)
}

// descendants are the processes that one has started, and those that they have: also
// such as have left its group and lost the key. They are held, so that no other process
// can take their place.
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

// ancestors are the processes above this one.
func ancestors() (list []int) {
	for pid := os.Getppid(); pid > 1; pid = parentOf(pid) {
		list = append(list, pid)
	}
	return list
}

// Stopped says whether a process was stopped by a signal, and does nothing until it is
// told to go on.
func Stopped(pid int) bool {
	fields := statOf(pid)
	return len(fields) > 0 && string(fields[0]) == "T"
}

// statOf is what the system says of a process after its name: its state, its parent, its
// group, …; nil: it has ended.
func statOf(pid int) [][]byte {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the name may hold anything
}

// parentOf is the process that started one; zero: it has ended.
func parentOf(pid int) int {
	fields := statOf(pid)
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(fields[1])) // a number, or the system is another one
	return parent
}

// maxGuess is up to how many process ids are tried one by one, which is cheaper
// than a list of all processes.
const maxGuess = 256

// processes are the ids of all processes but this one, or at least of those that
// were started after one. Some may be gone, or never have been.
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
	names, _ := dir.Readdirnames(-1) // what could be read
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// newest is the process id that was given out last; zero: unknown.
func newest() int {
	load, _ := os.ReadFile("/proc/loadavg") // three averages, counts, and the id
	fields := bytes.Fields(load)
	if len(fields) < 5 {
		return 0
	}
	pid, _ := strconv.Atoi(string(fields[4]))
	return pid
}
