package process

import (
	"bytes"
	"os"
	"path/filepath"
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
	paths, _ := filepath.Glob("/proc/[0-9]*/stat") // fails only for a bad pattern
	for _, path := range paths {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended since
		}
		// pid (name) state parent group …, where the name may hold anything.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
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
	mark := []byte("\x00" + KeyVariable + "=" + key + "\x00")
	// A process may start another while we look, and takes a moment to die, so
	// look until none is found.
	for deadline := time.Now().Add(killTime); killWith(mark, after) && time.Now().Before(deadline); {
		time.Sleep(firstPoll)
	}
}

// killWith says whether there was a process with the mark.
func killWith(mark []byte, after int) bool {
	found := false
	for _, pid := range processes(after) {
		if !hasMark(pid, mark) {
			continue
		}
		// Take hold of the process and look again: then the one that is killed is
		// the one that was looked at.
		p, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if hasMark(pid, mark) {
			found = true
			_ = p.Kill()
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

// parentOf is the process that started one; zero: it has ended.
func parentOf(pid int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
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
