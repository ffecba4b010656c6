package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits on what a client may send. Beyond them it gets an error, and the connection goes on.
const (
	maxMessage  = 4 << 20 // bytes
	maxInFlight = 64      // requests that have no response yet
)

// Lines is a transport with one JSON message per line, such as standard input and output. Unlike
// that of the SDK, it answers invalid messages with an error instead of closing the connection,
// and a client that sends more requests than it reads responses has to wait.
type Lines struct {
	In  io.Reader
	Out io.Writer
}

// Connect returns the connection. There can be only one.
func (l Lines) Connect(context.Context) (sdk.Connection, error) {
	c := &lines{in: bufio.NewReaderSize(l.In, 64<<10), out: l.Out, incoming: make(chan jsonrpc.Message), closed: make(chan struct{}), open: map[jsonrpc.ID]bool{}}
	go c.read()
	return c, nil
}

type lines struct {
	in       *bufio.Reader
	incoming chan jsonrpc.Message // closed by read at the end of the input
	closed   chan struct{}
	closing  sync.Once

	writing sync.Mutex
	out     io.Writer

	mu    sync.Mutex
	open  map[jsonrpc.ID]bool // requests without a response
	older bool                // the client began as in versions before [stateless]
}

// read reads messages until the input ends. After Close, it ends with the next line: a read from
// standard input cannot be interrupted.
func (c *lines) read() {
	defer close(c.incoming)
	for {
		line, err := c.line()
		if len(bytes.TrimSpace(line)) > 0 {
			msg, wrong := c.decode(line)
			if wrong != nil {
				if c.write(wrong) != nil {
					return
				}
			} else {
				select {
				case c.incoming <- msg:
				case <-c.closed:
					return
				}
			}
		}
		if err != nil {
			return
		}
	}
}

// line returns the next line. Of one that is too long, it returns more than maxMessage bytes, and
// skips the rest.
func (c *lines) line() ([]byte, error) {
	var line []byte
	for {
		piece, err := c.in.ReadSlice('\n')
		if len(line) <= maxMessage {
			line = append(line, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// decode returns a message, or the error that the client gets for it.
func (c *lines) decode(line []byte) (jsonrpc.Message, *refusal) {
	switch {
	case len(line) > maxMessage:
		return nil, refuse(nil, jsonrpc.CodeInvalidRequest, "the message is longer than 4 MB")
	case !json.Valid(line):
		return nil, refuse(nil, jsonrpc.CodeParseError, "the message is not JSON")
	}
	msg, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return nil, refuse(idOf(line), jsonrpc.CodeInvalidRequest, "the message is not JSON-RPC 2.0: "+err.Error())
	}
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return msg, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.open[req.ID]:
		return nil, refuse(req.ID.Raw(), jsonrpc.CodeInvalidRequest, "the id belongs to a request that has no response yet")
	case len(c.open) >= maxInFlight:
		return nil, refuse(req.ID.Raw(), jsonrpc.CodeInternalError, "too many requests at the same time; wait for responses")
	}
	c.open[req.ID] = true
	c.older = c.older || req.Method == "initialize"
	return msg, nil
}

// refusal is the response to a message that is not handled.
type refusal struct {
	Version string        `json:"jsonrpc"`
	ID      any           `json:"id"`
	Error   jsonrpc.Error `json:"error"`
}

// idOf returns the id of an invalid message, nil if it has none.
func idOf(line []byte) any {
	var head struct {
		ID any `json:"id"`
	}
	if json.Unmarshal(line, &head) != nil {
		return nil
	}
	switch head.ID.(type) {
	case string, float64:
		return head.ID
	}
	return nil
}

func refuse(id any, code int64, message string) *refusal {
	return &refusal{"2.0", id, jsonrpc.Error{Code: code, Message: message}}
}

// Read returns the next message.
func (c *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg, ok := <-c.incoming:
		if !ok {
			return nil, io.EOF
		}
		return msg, nil
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write writes a message.
func (c *lines) Write(_ context.Context, msg jsonrpc.Message) error {
	if res, ok := msg.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.open, res.ID)
		older := c.older
		c.mu.Unlock()
		if older {
			res.Result = withoutCaching(res.Result)
		}
	}
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	return c.put(data)
}

// withoutCaching removes how long a result may be kept, which older clients do not know.
func withoutCaching(result json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if !bytes.Contains(result, []byte(`"cacheScope"`)) || json.Unmarshal(result, &fields) != nil || fields["cacheScope"] == nil {
		return result
	}
	delete(fields, "cacheScope")
	delete(fields, "ttlMs")
	data, err := json.Marshal(fields)
	if err != nil {
		return result
	}
	return data
}

func (c *lines) write(r *refusal) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return c.put(data)
}

// put writes a line. It blocks while the client does not read, and with it the reader.
func (c *lines) put(data []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(append(data, '\n'))
	return err
}

// Close ends Read.
func (c *lines) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return nil
}

// SessionID returns "": there is one session for each connection.
func (*lines) SessionID() string { return "" }
