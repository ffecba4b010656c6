package process

import (
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

// DepthVariable is the environment variable with the number of programs that mark their
// processes, see [Mark], above a process. StateVariable has the directory in which the nearest of
// them stores runs.
const (
	DepthVariable = "HOCKET_DEPTH"
	StateVariable = "HOCKET_STATE"
)

var (
	marking atomic.Bool
	state   atomic.Value // string
)

// Mark makes everything that this process starts from now on recognizable as the work of a run:
// [Depth] of these processes is higher. On Linux they cannot get rid of it, even if they clear
// their environment, leave their parents, or outlive this process.
func Mark() {
	inherited()
	marking.Store(true)
}

// SetState sets the directory in which this process stores runs, for [StateVariable].
func SetState(dir string) { state.Store(dir) }

// Depth returns how many programs that mark their processes are above this one.
func Depth() int {
	depth := inherited()
	if n, err := strconv.Atoi(os.Getenv(DepthVariable)); err == nil && n > depth {
		depth = n
	}
	return depth
}

// markOnce marks this process, and so everything that it starts.
var markOnce = sync.OnceFunc(func() { pass(inherited() + 1) })

// variables returns the environment of a command, with the marks.
func variables(env []string) []string {
	markOnce()
	env = append(env, DepthVariable+"="+strconv.Itoa(Depth()+1))
	if dir, ok := state.Load().(string); ok {
		env = append(env, StateVariable+"="+dir)
	}
	return env
}
