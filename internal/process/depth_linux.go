package process

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// The mark is the hard limit of file locks, which has had no other effect since Linux 2.4.25. A
// process inherits it, may lower it, and cannot raise it again. So its distance from a number that
// nobody chooses is a depth that can only grow. Within a depth, it is a number of the command.
const (
	limitOfLocks = 10
	unmarked     = uint64(1) << 62
	depthStep    = uint64(1) << 48
	leastMark    = unmarked - (Lowered+2)*depthStep // no command gets one that is less
)

// inherited returns the depth of this process, before it marked itself.
var inherited = sync.OnceValue(func() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(limitOfLocks, &l); err != nil {
		return 0
	}
	return depthOf(os.Getpid(), uint64(l.Max))
})

// depthOf returns the depth of a process by its limit.
func depthOf(pid int, limit uint64) int {
	if limit <= leastMark && isGiven(pid) {
		return 0
	}
	return depthBy(limit)
}

// isGiven reports whether a process has a limit below all marks from its surroundings, such as a container or the session of a login, so
// that marks do not exist there: the first process, or one above of another user, has such a limit, too. What a step starts has none of
// these above it that the step has lowered, whoever its parents are.
func isGiven(pid int) bool {
	user := userOf(pid)
	for above := pid; above > 0; above = parentOf(above) {
		if above != 1 && userOf(above) == user {
			continue
		}
		if limit, known := markOfProcess(above); known && limit <= leastMark {
			return true
		}
	}
	return false
}

// userOf returns the real user of a process, which stays the same in a program that becomes another user by its file; "" if it has ended.
func userOf(pid int) string {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := strings.Cut(string(status), "\nUid:")
	if fields := strings.Fields(after); len(fields) > 0 {
		return fields[0]
	}
	return ""
}

func depthBy(limit uint64) int {
	if limit >= unmarked {
		return 0
	}
	return int(min((unmarked-limit)/depthStep, Lowered))
}

// isMark reports whether a number can be the mark of a command, and not what a process has that no run has started.
func isMark(n uint64) bool {
	return n < unmarked-depthStep && n > leastMark
}

// DepthOf returns the depth of another process according to its mark. known is false if the process
// cannot be read.
func DepthOf(pid int) (depth int, known bool) {
	limit, known := markOfProcess(pid)
	return depthOf(pid, limit), known
}

// markOfProcess returns the hard limit of file locks of a process.
func markOfProcess(pid int) (limit uint64, known bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	_, after, found := strings.Cut(string(text), "\nMax file locks")
	fields := strings.Fields(after)
	if err != nil || !found || len(fields) < 2 {
		return 0, false
	}
	if limit, err = strconv.ParseUint(fields[1], 10, 64); err != nil {
		return math.MaxUint64, fields[1] == "unlimited"
	}
	return limit, true
}

// numbers counts the commands of this process, from a random number on, so that no two processes use the same ones.
var numbers struct {
	sync.Mutex
	next uint64
}

// marked starts a command with a mark of its own, which nothing else has, and which all its descendants keep. noted is called
// before. If it fails, or marks are not used, there is none.
func marked(noted func(mark uint64) error, start func() error) error {
	if !marking.Load() {
		return start()
	}
	numbers.Lock() // what is started meanwhile would inherit the mark
	defer numbers.Unlock()
	if numbers.next == 0 {
		numbers.next = 1 + rand.Uint64N(depthStep/2)
	}
	mark := pass()
	if err := noted(mark); err != nil {
		return err
	}
	err := start()
	pass() // programs that are not started here, such as git, inherit that
	return err
}

// pass makes everything that this process starts from now on inherit a new mark.
func pass() uint64 {
	mark := unmarked - uint64(inherited()+1)*depthStep - numbers.next
	numbers.next++
	_ = syscall.Setrlimit(limitOfLocks, &syscall.Rlimit{Cur: mark, Max: mark}) // without it, the environment still tells the depth
	return mark
}
