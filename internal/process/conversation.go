package process

import (
	"context"
	"io"
	"sync"
)

// Conversation is a running command that is talked to. Its output must be read, or it
// blocks.
type Conversation struct {
	Stdin  io.WriteCloser
	Stdout io.Reader // ends with the command, even if an orphan keeps its pipe open

	stop context.CancelFunc
	done chan struct{}
	err  error
}

// Start starts the command for a conversation. It ends when ctx is done, by Stop, or by
// itself. The caller must call Stop or Wait.
func (c *Command) Start(ctx context.Context, stderr Sink) (*Conversation, error) {
	p, err := c.connect(true)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	conv := &Conversation{stop: stop, done: make(chan struct{})}
	started := make(chan struct{})
	go func() {
		defer close(conv.done)
		defer stop()
		conv.err = c.run(ctx, p, func() {
			conv.Stdin, conv.Stdout = p.stdin, p.conversation(ctx)
			p.read(p.stderr, stderr)
			close(started)
		})
	}()
	select {
	case <-started:
		return conv, nil
	case <-conv.done:
		select {
		case <-started: // it has started, and has already ended
			return conv, nil
		default:
			return nil, conv.err
		}
	}
}

// Wait waits for the end of the command and everything that it started, and returns how it
// ended, like Run.
func (c *Conversation) Wait() error {
	<-c.done
	return c.err
}

// Done is closed when the command and everything that it started have ended.
func (c *Conversation) Done() <-chan struct{} { return c.done }

// Stop ends the command, if it has not ended by itself, and waits for that.
func (c *Conversation) Stop() error {
	c.stop()
	return c.Wait()
}

// conversation is standard output for a reader of the caller. The pipe stays open until
// that reader has reached its end, the conversation is stopped, or the time for draining is
// over.
func (p *pipes) conversation(ctx context.Context) io.Reader {
	p.readers.Add(1)
	ended := sync.OnceFunc(p.readers.Done)
	context.AfterFunc(ctx, ended)
	return &lastReader{from: &onlyReader{from: p.stdout}, ended: ended}
}

type lastReader struct {
	from  *onlyReader
	ended func()
}

func (r *lastReader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	if err != nil {
		r.ended()
	}
	return n, err
}
