package trust

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ancestors returns a process and its ancestors, nearest first, as far as they can be read.
func ancestors(pid int) []Process {
	var list []Process
	for pid > 0 { // the first of a container may be a Hocket
		dir := fmt.Sprintf("/proc/%d/", pid)
		args, _ := os.ReadFile(dir + "cmdline") // fails for processes of other users
		env, _ := os.ReadFile(dir + "environ")
		exe, _ := os.Readlink(dir + "exe")
		list = append(list, Process{PID: pid, args: words(args), env: words(env), exe: exe})
		status, err := os.ReadFile(dir + "status")
		if err != nil {
			break // it has ended in the meantime
		}
		_, after, _ := strings.Cut(string(status), "\nPPid:")
		line, _, _ := strings.Cut(after, "\n")
		above, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil || above == pid {
			break
		}
		pid = above
	}
	return list
}

func words(text []byte) []string {
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}
