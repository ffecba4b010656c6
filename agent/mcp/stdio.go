package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/tool"
	"github.com/hocket-dev/hocket/internal/process"
)

// leaveTime is how long a server may take to end by itself once nobody talks to it.
const leaveTime = 2 * time.Second

// endTime is how long a program whose streams have ended may take to end itself.
const endTime = 500 * time.Millisecond

// program is a server that was started.
type program struct {
	talk *process.Conversation
	said tail
}

// start starts the program of a server.
func start(ctx context.Context, server agent.Server, o Options) (*program, error) {
	base := o.Env
	if base == nil {
		base = os.Environ()
	}
	cmd := exec.Command(server.Command[0], server.Command[1:]...)
	cmd.Dir, cmd.Env = o.Dir, tool.Harmless(base)
	for _, name := range slices.Sorted(maps.Keys(server.Env)) {
		cmd.Env = append(cmd.Env, name+"="+server.Env[name])
	}
	p := &program{}
	command := process.Command{Cmd: cmd, Key: "mcp/" + rand.Text(), Grace: leaveTime, Session: true}
	talk, err := command.Start(ctx, p.said.add)
	switch {
	case err == nil:
		p.talk = talk
		return p, nil
	case ctx.Err() != nil:
		return nil, agent.Interrupted(ctx)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return nil, agent.Permanentf("MCP server %q does not start: program %q is not there; is it installed, and on the PATH?", server.Name, server.Command[0])
	}
	return nil, agent.Permanentf("MCP server %q does not start: %v", server.Name, err)
}

func (p *program) transport() sdk.Transport {
	return &sdk.IOTransport{Reader: io.NopCloser(p.talk.Stdout), Writer: p.talk.Stdin, MaxLineLength: largest}
}

// close lets the program end by itself, which it should once its input is closed, and
// ends it otherwise.
func (p *program) close() {
	_ = p.talk.Stdin.Close() // it may be closed already
	select {
	case <-p.talk.Done():
	case <-time.After(leaveTime):
	}
	_ = p.talk.Stop() // how it ends is of no interest
}

// explain is how the program ended, if it did, and what it said last. Its streams end a
// moment before it does.
func (p *program) explain() string {
	ended := ""
	select {
	case <-p.talk.Done():
		if err := p.talk.Wait(); err != nil && !errors.Is(err, process.ErrCutOff) {
			ended = "; the program ended: " + err.Error()
		}
	case <-time.After(endTime):
	}
	return ended + p.said.String()
}

// tail keeps the end of what a program says about itself. It is safe for concurrent
// use.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const (
	maxTail      = 2 << 10
	maxLastLines = 10
)

func (t *tail) add(piece []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, piece...)
	if len(t.text) > 2*maxTail {
		t.text = append(t.text[:0], t.text[len(t.text)-maxTail:]...)
	}
	return nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.text[max(0, len(t.text)-maxTail):]), "\uFFFD"))
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	return "; it said: " + strings.Join(lines[max(0, len(lines)-maxLastLines):], "\n")
}
