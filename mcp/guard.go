package mcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/hocket-dev/hocket"
)

// A call is guarded while it waits for a run that it has started. The server writes +RUN to the
// process that guards it, and -RUN when the call returns. If the server is killed in between, nobody
// else could end the run and the programs that its steps have started.

// guarded tells the guard about a run. If there is no guard, the run is only less safe.
func (s *server) guarded(mark string, run *hocket.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.guard == nil && s.o.Guard != nil {
		s.guard, _ = s.o.Guard()
	}
	if s.guard != nil {
		_, _ = fmt.Fprintf(s.guard, "%s%s\n", mark, run.ID())
	}
}

// unguard ends the guard.
func (s *server) unguard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.guard != nil {
		_ = s.guard.Close()
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
	for _, id := range slices.Sorted(maps.Keys(open)) {
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
