package process

import (
	"io"
	"os"
	"sync"
	"time"
)

// pipes connect a command with us. They are real pipes, and read by goroutines of
// our own, so that a process that keeps one open cannot hold us.
type pipes struct {
	ours, theirs []*os.File
	stdin        *os.File
	stdout       *os.File
	stderr       *os.File
	readers      sync.WaitGroup
	refused      chan error // what a sink gave; the first counts
}

// connect makes the pipes and gives the command its ends.
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

// output makes a pipe from the command to us.
func (p *pipes) output() (r, w *os.File, err error) {
	if r, w, err = os.Pipe(); err == nil {
		p.ours, p.theirs = append(p.ours, r), append(p.theirs, w)
	}
	return r, w, err
}

// read hands what the command prints to a sink until one of them is done.
func (p *pipes) read(from *os.File, sink Sink) {
	p.readers.Go(func() {
		if _, err := io.Copy(writer(sink), onlyReader{from}); err != nil {
			select {
			case p.refused <- err:
			default:
			}
		}
	})
}

// drain waits for what the command has printed. What an orphan has yet to print
// is cut off.
func (p *pipes) drain() {
	done := make(chan struct{})
	go func() {
		p.readers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(drainTime):
	}
}

// close closes our ends, which also ends a read or write that is under way.
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

// onlyReader is a pipe whose end is its end, however it comes: closed by the command,
// or by us while a process that lives on keeps it open.
type onlyReader struct{ from *os.File }

func (r onlyReader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	if err != nil {
		err = io.EOF
	}
	return n, err
}
