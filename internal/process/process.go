// Package process runs a command so that everything that it starts ends with it.
//
// A command has its own process group; it and all of its group end together: at the
// end of the command itself, when its context is done, and when a reader of its output
// returns an error. They get SIGTERM first, and SIGKILL after a grace period. On Linux a
// process that leaves the group is found by the key in its environment and killed at once,
// and a command is killed when this process dies. If a process survives and keeps a pipe
// open, its output is cut off after two seconds.
//
// [Command.Run] gives a command its input and waits for its end. [Command.Start] is for a
// conversation with a command. [KillAll] ends all commands before this process exits, and
// [EndLeft] ends what is left of those of a process that has died. [EndNoted] ends everything that commands have started,
// also what cleared its environment.
package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/internal/sandbox"
)

const (
	drainTime = 2 * time.Second        // for the output of an orphan that keeps a pipe open
	lateTime  = 10 * time.Second       // for a busy machine to read what is left after that
	firstPoll = time.Millisecond       // between the first checks of a group that is to end
	lastPoll  = 50 * time.Millisecond  // between later ones
	killTime  = 200 * time.Millisecond // for the system to carry out a kill

	defaultGrace = 5 * time.Second
)

// KeyVariable is the environment variable that marks every process of an attempt
// that keeps its environment.
const KeyVariable = "HOCKET_KEY"

var driverKeys = []string{"HOCKET_TEMPORAL_KEY", "TEMPORAL_API_KEY", "TEMPORAL_TLS_CLIENT_KEY_DATA", "TEMPORAL_CODEC_AUTH"}

// isDriverKey reports whether a variable gives access to the runs of a project, on a server that has them. No step
// needs it.
func isDriverKey(pair string) bool {
	name, _, _ := strings.Cut(pair, "=")
	return slices.Contains(driverKeys, name) || strings.HasPrefix(name, "TEMPORAL_GRPC_META_") // such as that of an authorization
}

// ownerVariable tells the processes of this process from those of another one with the same key.
const ownerVariable = "HOCKET_OWNER"

func ownedBy(pid int) string { return ownerVariable + "=" + strconv.Itoa(pid) }

// Command is one command. It is used once. It has its own session, so that it cannot
// access the user's terminal. If it is aborted, all of its descendants end on Linux, even
// those that have lost the key.
type Command struct {
	Cmd   *exec.Cmd     // path, arguments, directory, environment and extra files; nothing else is set
	Key   string        // marks what the command starts; "": no mark
	Grace time.Duration // from SIGTERM to SIGKILL; zero: 5 s
	// Limit is where the command and everything that it starts may write; nil: anywhere. With
	// a limit, Cmd has no extra files.
	Limit *sandbox.Limit
}

// Sink receives a piece of what a command prints. An error ends the command: Run and Wait
// return it.
type Sink func(piece []byte) error

// ErrCutOff means that a command was ended by us, because its context is done.
var ErrCutOff = errors.New("process: cut off")

// Run gives the command its input and waits until everything that it started has ended. It
// returns nil if the command exited with status 0 by itself, an [exec.ExitError] for
// another status, the error of a sink, ErrCutOff, or why it could not be started. A command
// without input reads from the null device.
func (c *Command) Run(ctx context.Context, stdin string, stdout, stderr Sink) error {
	p, err := c.connect(stdin != "")
	if err != nil {
		return err
	}
	return c.run(ctx, p, func() {
		if p.stdin != nil {
			go func() {
				_, _ = io.WriteString(p.stdin, stdin) // a command need not read its input
				_ = p.stdin.Close()
			}()
		}
		p.read(p.stdout, stdout)
		p.read(p.stderr, stderr)
	})
}

// run starts the command on its pipes, within its limit, and waits for its end.
func (c *Command) run(ctx context.Context, p *pipes, started func()) error {
	if c.Limit == nil {
		return c.runAlone(ctx, p, started)
	}
	path := c.Cmd.Path
	box, err := c.Limit.Apply(c.Cmd)
	if err != nil {
		p.close()
		p.closeTheirs()
		return err
	}
	defer box.Close()
	var failed error
	err = c.runAlone(ctx, p, func() {
		if failed = box.Failed(); failed == nil {
			started()
		}
	})
	c.Cmd.Path = path // for messages
	return cmp.Or(failed, err)
}

// runAlone is run for a command whose limit is taken care of.
func (c *Command) runAlone(ctx context.Context, p *pipes, started func()) error {
	// The system ties "kill the child when its parent dies" to the thread that started the
	// child. This goroutine keeps its thread until the child is gone, so that the thread
	// cannot end earlier.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer p.close()
	if err := ctx.Err(); err != nil {
		p.closeTheirs()
		return err
	}
	if c.Key != "" {
		c.Cmd.Env = append(slices.DeleteFunc(c.Cmd.Environ(), isDriverKey), KeyVariable+"="+c.Key, ownedBy(os.Getpid()))
	}
	c.Cmd.Env = ported(c.Cmd.Environ(), ctx)
	c.Cmd.Env = traced(c.Cmd.Environ(), ctx)
	if marking.Load() {
		c.Cmd.Env = variables(c.Cmd.Environ(), stateOf(ctx))
	}
	var g *group
	err := marked(
		func(mark uint64) error { return addNote(notesOf(ctx), mark) },
		func() (err error) { g, err = startGroup(c.Cmd); return err },
	)
	p.closeTheirs()
	if err != nil {
		return err
	}
	defer g.release()
	defer c.note(stateOf(ctx))()
	live.Store(c, g)
	defer live.Delete(c)
	started()
	err = c.await(ctx, g, p)
	p.drain()
	select {
	case refused := <-p.refused: // only now: the command may end before its output is read
		return refused
	default:
		return err
	}
}

// live has the running commands of this process, with their groups.
var live sync.Map

// KillAll kills every running command, and what it started, without SIGTERM. It is for a
// process that is about to exit and cannot wait.
func KillAll() {
	kin := descendants(os.Getpid())
	live.Range(func(c, g any) bool {
		g.(*group).kill()
		killMarked(c.(*Command).Key, 0)
		return true
	})
	killEach(kin)
}

// await waits for the command and then ends what is left of its group. cmd.Wait alone would
// wait as long as an orphan holds a pipe.
func (c *Command) await(ctx context.Context, g *group, p *pipes) error {
	exited, started := make(chan error, 1), time.Now()
	go func() { exited <- c.Cmd.Wait() }()
	cut := ErrCutOff
	select {
	case err := <-exited:
		c.end(g)
		killMarked(c.Key, c.oldest(started))
		return err
	case cut = <-p.refused:
	case <-ctx.Done():
	}
	kin := descendants(c.Cmd.Process.Pid)
	c.end(g)
	killMarked(c.Key, 0)
	killEach(kin)
	select {
	case <-exited:
	case <-time.After(killTime): // it hangs in the kernel, and dies when that returns
	}
	return cut
}

func killEach(list []*os.Process) {
	for _, p := range list {
		_ = p.Kill() // most have ended
		_ = p.Release()
	}
}

// oldest returns the process after which to look for processes that left the group; zero
// means all. Process ids increase and wrap around, but not while a short command runs. For
// a long one the cost of a full scan does not matter.
func (c *Command) oldest(started time.Time) int {
	if time.Since(started) > time.Second {
		return 0
	}
	return c.Cmd.Process.Pid
}

// end sends SIGTERM to the group, waits for the grace period, and kills what is left.
func (c *Command) end(g *group) {
	if !g.alive() {
		return
	}
	g.ask()
	gone(g.alive, cmp.Or(c.Grace, defaultGrace))
	g.kill()
	_ = c.Cmd.Process.Kill() // in case it has left its own group
	gone(g.alive, killTime)
}

// gone waits until nothing is left, for a limited time.
func gone(left func() bool, patience time.Duration) {
	deadline := time.Now().Add(patience)
	for pause := firstPoll; left() && time.Now().Before(deadline); pause = min(2*pause, lastPoll) {
		time.Sleep(min(pause, time.Until(deadline)))
	}
}

// ErrUnseen means that this system does not show which processes have a key.
var ErrUnseen = errors.New("process: this system does not show the environment of processes")

// LeftError reports that processes could not be ended.
type LeftError struct{ PIDs []int }

func (e *LeftError) Error() string {
	return "could not end the processes " + strings.Trim(fmt.Sprint(e.PIDs), "[]")
}
