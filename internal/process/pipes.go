package process

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// pipes connect a command with us. They are real pipes, read by our own goroutines, so that
// a process that keeps one open cannot block us.
type pipes struct {
	ours, theirs []*os.File
	stdin        *os.File
	stdout       *os.File
	stderr       *os.File
	readers      sync.WaitGroup
	refused      chan error // the first error of a sink
}

// pipeSize is the maximum that Linux allows for all users.
const pipeSize = 1 << 20

// connect creates the pipes and gives the command its ends.
func (c *Command) connect(withInput bool) (_ *pipes, err error) {
	p := &pipes{refused: make(chan error, 1)}
	defer func() {
		if err != nil {
			p.close()
			p.closeTheirs()
		}
	}()
	if p.stdout, c.Cmd.Stdout, err = p.output(); err != nil {
		return nil, err
	}
	widen(p.stdout)
	if p.stderr, c.Cmd.Stderr, err = p.output(); err != nil || !withInput {
		return p, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.ours, p.theirs = append(p.ours, w), append(p.theirs, r)
	p.stdin, c.Cmd.Stdin = w, r
	return p, nil
}

// output creates a pipe from the command to us.
func (p *pipes) output() (r, w *os.File, err error) {
	if r, w, err = os.Pipe(); err == nil {
		p.ours, p.theirs = append(p.ours, r), append(p.theirs, w)
	}
	return r, w, err
}

// read passes what the command prints to a sink until one of them is done.
func (p *pipes) read(from *os.File, sink Sink) {
	p.readers.Go(func() {
		if _, err := io.Copy(writer(sink), &onlyReader{from: from}); err != nil {
			select {
			case p.refused <- err:
			default:
			}
		}
	})
}

// drain waits for what the command has printed. Later output of an orphan is cut off. If the time
// is over because the machine is too busy to read, the content of the pipes still counts.
func (p *pipes) drain() {
	done := make(chan struct{})
	go func() {
		p.readers.Wait()
		close(done)
	}()
	select {
	case <-done:
		return
	case <-time.After(drainTime):
	}
	for _, f := range p.ours {
		_ = f.SetReadDeadline(time.Unix(1, 0))
	}
	select {
	case <-done:
	case <-time.After(lateTime):
	}
}

// close closes our ends, which also ends a pending read or write.
func (p *pipes) close() { closeAll(p.ours) }

// closeTheirs closes the command's ends on our side: it has its own copies.
func (p *pipes) closeTheirs() { closeAll(p.theirs) }

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

type writer func([]byte) error

func (w writer) Write(b []byte) (int, error) {
	if err := w(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// onlyReader is a pipe that reports any kind of end as its end: closed by the command, or
// by us while a surviving process keeps it open. After its deadline it only reads what is
// there.
type onlyReader struct {
	from *os.File
	late int // bytes read after the deadline
}

func (r *onlyReader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) && r.late < pipeSize {
		if n = unread(r.from, b); n > 0 {
			r.late += n
			return n, nil
		}
	}
	if err != nil {
		err = io.EOF
	}
	return n, err
}
