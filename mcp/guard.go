package mcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/internal/sorted"
)

// A call is guarded while it waits for a run that it has started. The server writes +RUN to the
// process that guards it, and -RUN when the call returns. If the server is killed in between, nobody
// else could end the run and the programs that its steps have started.

// guard is the process that guards a server.
type guard struct {
	to   io.WriteCloser // nil: it is not needed yet; owned by whoever holds the last turn
	last chan struct{}  // closed when everything has been written so far
}

// guardWait is how long a call waits for the guard to read. If it hangs, the run is only less safe.
const guardWait = time.Second

// withGuard does something with the guard after everything that was to be done before, without a lock: a
// guard that hangs must stop nobody else. The channel is closed when it is done.
func (s *server) withGuard(do func(*guard)) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, done := s.guard.last, make(chan struct{})
	s.guard.last = done
	go func() {
		defer close(done)
		if before != nil {
			<-before
		}
		do(&s.guard)
	}()
	return done
}

// startGuard starts the guard if there is none yet. It comes before a run is recorded, so that hardly any time is
// left in which the server could be killed without the guard knowing the run.
func (s *server) startGuard() {
	await(s.withGuard(func(g *guard) {
		if g.to == nil && s.o.Guard != nil {
			g.to, _ = s.o.Guard()
		}
	}))
}

// guarded tells the guard about a run. If there is no guard, the run is only less safe.
func (s *server) guarded(mark string, run *hocket.Run) {
	await(s.withGuard(func(g *guard) {
		if g.to != nil {
			_, _ = fmt.Fprintf(g.to, "%s%s\n", mark, run.ID())
		}
	}))
}

// unguard ends the guard.
func (s *server) unguard() {
	await(s.withGuard(func(g *guard) {
		if g.to != nil {
			_ = g.to.Close()
		}
	}))
}

func await(done <-chan struct{}) {
	select {
	case <-done:
	case <-time.After(guardWait):
	}
}

// Guard reads which runs a server waits for until the server has gone, and then cancels those that are
// left, with everything that their steps have started.
func Guard(ctx context.Context, p *hocket.Project, from io.Reader) (err error) {
	open := map[string]bool{}
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		line := lines.Text()
		if len(line) < 2 {
			continue
		}
		open[line[1:]] = line[0] == '+'
	}
	for _, id := range sorted.Keys(open) {
		if !open[id] {
			continue
		}
		run, wrong := p.Run(ctx, id)
		if wrong == nil {
			_, wrong = run.Cancel(ctx, "the MCP server was killed while a client waited for the run")
		}
		err = errors.Join(err, wrong)
	}
	return err
}
