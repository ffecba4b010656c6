package shell

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

const (
	drainTime = 2 * time.Second        // for the output of an orphan that keeps a pipe open
	firstPoll = time.Millisecond       // between the first looks at a group that is to end
	lastPoll  = 50 * time.Millisecond  // between later ones
	killTime  = 200 * time.Millisecond // for the system to carry out a kill
)

// process is one command from its start to the end of all that it started.
type process struct {
	cmd   *exec.Cmd
	key   string // marks processes that have left the group
	again bool   // processes with this key may be left from a lost try
	grace time.Duration
	stdin string
	out   *capture
}

// run gives nil if the command exited with status 0 by itself.
func (p *process) run(ctx context.Context) error {
	// The system ties "kill the child when its parent dies" to the thread that
	// started the child. This goroutine keeps its thread until the child is gone,
	// so that the thread cannot end before.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.again {
		killMarked(p.key, 0)
	}
	pipes, err := p.connect()
	if err != nil {
		return err
	}
	defer pipes.close()
	g, err := startGroup(p.cmd)
	pipes.closeTheirs()
	if err != nil {
		return err
	}
	defer g.release()
	pipes.copy(p.stdin, p.out)
	err = p.await(ctx, g)
	pipes.drain()
	select {
	case <-p.out.over: // perhaps only now: the command may end before its output is read
		return errTooMuch
	default:
		return err
	}
}

// await waits for the command and then ends what is left of its group. The
// command is not waited for by cmd.Wait alone: that would go on as long as an
// orphan holds a pipe.
func (p *process) await(ctx context.Context, g *group) error {
	exited, started := make(chan error, 1), time.Now()
	go func() { exited <- p.cmd.Wait() }()
	select {
	case err := <-exited:
		p.end(g)
		killMarked(p.key, p.oldest(started))
		return err
	case <-p.out.over:
	case <-ctx.Done():
	}
	p.end(g)
	killMarked(p.key, 0)
	select {
	case <-exited:
	case <-time.After(killTime): // it hangs in the system, and dies when that lets go
	}
	return errCutOff
}

// oldest is the process after which to look for what left the group; zero: look
// at all. Process ids go up, and start anew after the last one, but not while a
// short command runs. For a long one the whole look costs nothing beside it.
func (p *process) oldest(started time.Time) int {
	if time.Since(started) > time.Second {
		return 0
	}
	return p.cmd.Process.Pid
}

// errCutOff says that the command did not end by itself.
var errCutOff = errors.New("shell: cut off")

// end asks the group to end, waits for the grace period, and kills what is left.
func (p *process) end(g *group) {
	if !g.alive() {
		return
	}
	g.ask()
	gone(g, p.grace)
	g.kill()
	_ = p.cmd.Process.Kill() // should it have left its own group
	gone(g, killTime)
}

// gone waits until nothing of the group is left, at most for a while.
func gone(g *group, patience time.Duration) {
	deadline := time.Now().Add(patience)
	for pause := firstPoll; g.alive() && time.Now().Before(deadline); pause = min(2*pause, lastPoll) {
		time.Sleep(min(pause, time.Until(deadline)))
	}
}

// pipes connect a command with us. They are real pipes, and read by goroutines of
// our own, so that a process that keeps one open cannot hold us.
type pipes struct {
	ours, theirs []*os.File
	stdin        *os.File
	stdout       *os.File
	stderr       *os.File
	readers      sync.WaitGroup
}

// connect makes the pipes and gives the command its ends. A command without input
// reads from the null device.
func (p *process) connect() (_ *pipes, err error) {
	c := &pipes{}
	defer func() {
		if err != nil {
			c.close()
			c.closeTheirs()
		}
	}()
	if c.stdout, p.cmd.Stdout, err = c.output(); err != nil {
		return nil, err
	}
	if c.stderr, p.cmd.Stderr, err = c.output(); err != nil || p.stdin == "" {
		return c, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c.ours, c.theirs = append(c.ours, w), append(c.theirs, r)
	c.stdin, p.cmd.Stdin = w, r
	return c, nil
}

// output makes a pipe from the command to us.
func (c *pipes) output() (r, w *os.File, err error) {
	if r, w, err = os.Pipe(); err == nil {
		c.ours, c.theirs = append(c.ours, r), append(c.theirs, w)
	}
	return r, w, err
}

// copy moves bytes until both sides are done.
func (c *pipes) copy(stdin string, out *capture) {
	if c.stdin != nil {
		go func() {
			_, _ = io.WriteString(c.stdin, stdin) // a command need not read its input
			_ = c.stdin.Close()
		}()
	}
	c.readers.Go(func() { _, _ = io.Copy(writer(out.stdout), c.stdout) })
	c.readers.Go(func() { _, _ = io.Copy(writer(out.stderr), c.stderr) })
}

// drain waits for what the command has printed. What an orphan has yet to print
// is cut off.
func (c *pipes) drain() {
	done := make(chan struct{})
	go func() {
		c.readers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(drainTime):
	}
}

// close closes our ends, which also ends a read or write that is under way.
func (c *pipes) close() { closeAll(c.ours) }

// closeTheirs closes the command's ends on our side: it has its own copies.
func (c *pipes) closeTheirs() { closeAll(c.theirs) }

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) {
	w(b)
	return len(b), nil
}
