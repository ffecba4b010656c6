package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// The mark is the hard limit of file locks, which has had no other effect since Linux 2.4.25. A
// process inherits it, may lower it, and cannot raise it again. So its distance from a number that
// nobody chooses is a depth that can only grow.
const (
	limitOfLocks = 10
	unmarked     = uint64(1) << 40
	deepest      = 1000
)

// inherited returns the depth of this process, before it marked itself.
var inherited = sync.OnceValue(func() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(limitOfLocks, &l); err != nil {
		return 0
	}
	return depthBy(uint64(l.Max))
})

func depthBy(limit uint64) int {
	if limit >= unmarked {
		return 0
	}
	return int(min(unmarked-limit, deepest))
}

// DepthOf returns the depth of another process according to its mark. known is false if the process
// cannot be read.
func DepthOf(pid int) (depth int, known bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	_, after, found := strings.Cut(string(text), "\nMax file locks")
	fields := strings.Fields(after)
	if err != nil || !found || len(fields) < 2 {
		return 0, false
	}
	hard, err := strconv.ParseUint(fields[1], 10, 64)
	if err != nil { // unlimited
		return 0, fields[1] == "unlimited"
	}
	return depthBy(hard), true
}

// pass makes everything that this process starts inherit a depth.
func pass(depth int) {
	mark := unmarked - uint64(depth)
	_ = syscall.Setrlimit(limitOfLocks, &syscall.Rlimit{Cur: mark, Max: mark}) // without it, the environment still says so
}
