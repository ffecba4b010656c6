package mcp

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/mcp/login"
	"github.com/hocket-dev/hocket/agent/secret"
	"github.com/hocket-dev/hocket/internal/process"
	"github.com/hocket-dev/hocket/internal/sorted"
)

// leaveTime is how long a server may take to exit by itself after its input is closed.
const leaveTime = 2 * time.Second

// endTime is how long a program whose streams have ended may take to exit.
const endTime = 500 * time.Millisecond

// program is a server that was started.
type program struct {
	name   string
	talk   *process.Conversation
	words  process.Tail // its standard error
	strays process.Tail // and output that is not a message
}

// start starts the program of a server.
func start(ctx context.Context, server agent.Server, o Options) (*program, error) {
	key := ""
	if o.Task != nil {
		key = o.Task.Key
	}
	base := o.Env
	if base == nil {
		base = os.Environ()
	}
	cmd := exec.Command(server.Command[0], server.Command[1:]...)
	cmd.Dir, cmd.Env = o.Dir, secret.Harmless(base)
	for _, name := range sorted.Keys(server.Env) {
		cmd.Env = append(cmd.Env, name+"="+server.Env[name])
	}
	limit, err := o.Task.Limit()
	if err != nil {
		return nil, err
	}
	p := &program{name: server.Name}
	command := process.Command{Cmd: cmd, Key: path.Join(key, "mcp", rand.Text()), Grace: leaveTime, Limit: limit}
	talk, err := command.Start(ctx, p.words.Add)
	switch {
	case err == nil:
		p.talk = talk
		return p, nil
	case ctx.Err() != nil:
		return nil, agent.Interrupted(ctx)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return nil, agent.Permanentf("cannot start MCP server %q: program %q not found; %s", server.Name, server.Command[0], installing(server.Command[0]))
	}
	return nil, agent.Permanentf("cannot start MCP server %q: cannot run program %q: %v", server.Name, server.Command[0], login.Cause(err))
}

// installing says how to get a program.
func installing(program string) string {
	for pack, names := range map[string]string{"Node.js": "node npm npx", "uv (a Python package manager)": "uv uvx", "Docker": "docker"} {
		if slices.Contains(strings.Fields(names), program) {
			return "it comes with " + pack
		}
	}
	if filepath.Base(program) != program {
		return "check its path, which is relative to the project"
	}
	return "check that it is installed and on the PATH"
}

func (p *program) transport(way) sdk.Transport {
	return &sdk.IOTransport{Reader: io.NopCloser(&messages{from: bufio.NewReader(p.talk.Stdout), stray: p.strays.Add}), Writer: p.talk.Stdin, MaxLineLength: largest}
}

// close lets the program exit by itself, which it should do once its input is closed, and
// kills it otherwise.
func (p *program) close() {
	_ = p.talk.Stdin.Close() // it may be closed already
	select {
	case <-p.talk.Done():
	case <-time.After(leaveTime):
	}
	_ = p.talk.Stop() // its exit status does not matter
}

func (p *program) gone() bool {
	select {
	case <-p.talk.Done():
		return true
	default:
		return false
	}
}

// trouble finds out how the program ended, if it did. Its streams end a moment before it
// does.
func (p *program) trouble(err error, begun bool) *agent.Error {
	select {
	case <-p.talk.Done():
	case <-time.After(endTime):
		return agent.Errorf("MCP server %q sent an invalid message (%s)%s", p.name, shown(lastPart(err)), p.said())
	}
	how := "ended"
	if !begun {
		how = "exited before it responded"
	}
	if err := p.talk.Wait(); err != nil && !errors.Is(err, process.ErrCutOff) {
		how += ", with " + err.Error()
	}
	said := p.said()
	if said == "" && !begun {
		said = "; is it an MCP server that uses its standard streams?"
	}
	return agent.Errorf("MCP server %q %s%s", p.name, how, said)
}

// lastPart returns the last part of an error message, without its prefixes.
func lastPart(err error) string {
	parts := strings.Split(err.Error(), ": ")
	return parts[len(parts)-1]
}

// said returns what the program printed last.
func (p *program) said() string {
	text := ""
	if words := p.words.Last(); words != "" {
		text = "; it said: " + words
	}
	if strays := p.strays.Last(); strays != "" {
		text += fmt.Sprintf("; it printed: %s", strays)
	}
	return text
}

// messages returns the lines of a program that may be messages. Many servers print a
// greeting or logs to their output, which the protocol forbids: such lines go elsewhere.
type messages struct {
	from  *bufio.Reader
	stray func(piece []byte) error
	rest  []byte // of a message
}

func (m *messages) Read(b []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.line()
		if isMessage(line) {
			m.rest = line
		} else if len(bytes.TrimSpace(line)) > 0 {
			_ = m.stray(line) // it accepts everything
		}
		if err != nil && len(m.rest) == 0 {
			return 0, err
		}
	}
	n := copy(b, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// line reads a line, or what is left at the end.
func (m *messages) line() ([]byte, error) {
	var line []byte
	for {
		piece, err := m.from.ReadSlice('\n')
		line = append(line, piece...)
		if len(line) > largest {
			return nil, fmt.Errorf("a message larger than %d MiB", largest>>20)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// isMessage distinguishes messages from other output, such as logs in JSON.
func isMessage(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && (line[0] == '{' || line[0] == '[') && bytes.Contains(line, []byte(`"jsonrpc"`))
}
