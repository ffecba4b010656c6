package shell

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
func killMarked(key string) {
	if key == "" {
		return
	}
	mark := []byte("\x00" + keyVariable + key + "\x00")
	// A process may start another while we look, so look until none is found.
	for range 10 {
		if !killWith(mark) {
			return
		}
		time.Sleep(firstPoll)
	}
}

// killWith says whether there was a process with the mark.
func killWith(mark []byte) bool {
	found := false
	paths, _ := filepath.Glob("/proc/[0-9]*/environ") // fails only for a bad pattern
	for _, path := range paths {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		// Take hold of the process before looking at it: then the one that is
		// killed is the one that was looked at.
		p, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		env, err := os.ReadFile(path) // another user's process cannot be read, and is not ours
		if err == nil && bytes.Contains(append([]byte{0}, env...), mark) {
			found = true
			_ = p.Kill()
		}
		_ = p.Release()
	}
	return found
}
