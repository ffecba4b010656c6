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
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/secret"
	"github.com/hocket-dev/hocket/internal/process"
)

// leaveTime is how long a server may take to end by itself once nobody talks to it.
const leaveTime = 2 * time.Second

// endTime is how long a program whose streams have ended may take to end itself.
const endTime = 500 * time.Millisecond

// program is a server that was started.
type program struct {
	talk *process.Conversation
	said process.Tail
}

// start starts the program of a server.
func start(ctx context.Context, server agent.Server, o Options) (*program, error) {
	base := o.Env
	if base == nil {
		base = os.Environ()
	}
	cmd := exec.Command(server.Command[0], server.Command[1:]...)
	cmd.Dir, cmd.Env = o.Dir, secret.Harmless(base)
	for _, name := range slices.Sorted(maps.Keys(server.Env)) {
		cmd.Env = append(cmd.Env, name+"="+server.Env[name])
	}
	p := &program{}
	command := process.Command{Cmd: cmd, Key: "mcp/" + rand.Text(), Grace: leaveTime, Session: true}
	talk, err := command.Start(ctx, p.said.Add)
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
	if said := p.said.Last(); said != "" {
		return ended + "; it said: " + said
	}
	return ended
}
