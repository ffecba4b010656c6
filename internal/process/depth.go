package process

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
)

// DepthVariable is the environment variable with the number of programs that mark their
// processes, see [Mark], above a process. StateVariable has the directory in which the nearest of
// them stores the run that a process works for.
const (
	DepthVariable = "HOCKET_DEPTH"
	StateVariable = "HOCKET_STATE"
)

// Lowered is the [Depth] of a process that a step may have started, which has lowered its mark so far that it tells nothing else.
const Lowered = 1000

var marking atomic.Bool

// Mark makes everything that this process starts from now on recognizable as the work of a run:
// [Depth] of these processes is higher. On Linux they cannot get rid of it, even if they clear
// their environment, leave their parents, or outlive this process.
func Mark() {
	inherited()
	marking.Store(true)
}

type stateKey struct{}

// WithState returns a context for commands that work for a run, with the directory in which that is stored, for
// [StateVariable]. A process may drive runs of several projects.
func WithState(ctx context.Context, dir string) context.Context {
	return context.WithValue(ctx, stateKey{}, dir)
}

// stateOf returns the directory of WithState; "": it is not known.
func stateOf(ctx context.Context) string {
	dir, _ := ctx.Value(stateKey{}).(string)
	return dir
}

// RunVariable is the environment variable with the run that a program works for.
const RunVariable = "HOCKET_RUN"

// note writes down which run a command works for, for [RunOf]. Its environment says so, too, but it can
// start itself again with another one.
func (c *Command) note(dir string) (forget func()) {
	run := ""
	for _, pair := range c.Cmd.Env {
		if v, found := strings.CutPrefix(pair, RunVariable+"="); found {
			run = v
		}
	}
	if !marking.Load() || dir == "" || run == "" {
		return func() {}
	}
	file := noteOf(dir, c.Cmd.Process.Pid)
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = os.WriteFile(file, []byte(run), 0o600)
	}
	if err != nil {
		return func() {} // then runs inside of this one may be refused
	}
	return func() { _ = os.Remove(file) }
}

func noteOf(dir string, pid int) string { return filepath.Join(dir, "programs", strconv.Itoa(pid)) }

// RunOf returns the run that a program works for which another process has started. dir is where that
// process stores runs. "" means that it is not known.
func RunOf(dir string, pid int) string {
	text, _ := os.ReadFile(noteOf(dir, pid))
	return string(text)
}

// Depth returns how many programs that mark their processes are above this one.
func Depth() int {
	depth := inherited()
	if n, err := strconv.Atoi(os.Getenv(DepthVariable)); err == nil && n > depth {
		depth = n
	}
	return depth
}

// variables returns the environment of a command, with the marks.
func variables(env []string, dir string) []string {
	env = append(env, DepthVariable+"="+strconv.Itoa(Depth()+1))
	if dir != "" {
		env = append(env, StateVariable+"="+dir)
	}
	return env
}
