package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket/agent"
)

// Tests network errors that cannot be provoked on every system.
func TestTroubleOnTheWay(t *testing.T) {
	s, err := dial(agent.Server{Name: "x", URL: "https://no.example/mcp"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{&net.DNSError{Err: "no such host", Name: "no.example", IsNotFound: true}, `cannot reach MCP server "x": unknown host no.example; check its url`},
		{&net.DNSError{Err: "server misbehaving", Name: "no.example"}, `cannot reach MCP server "x" at https://no.example/mcp: lookup no.example: server misbehaving`},
		{syscall.ECONNRESET, `cannot reach MCP server "x" at https://no.example/mcp: ` + syscall.ECONNRESET.Error()},
	} {
		got := s.trouble(fmt.Errorf("sending: %w", &url.Error{Op: "Post", URL: "https://no.example/mcp", Err: &net.OpError{Op: "dial", Err: c.err}}), false)
		if got == nil || got.Message != c.want || got.Permanent {
			t.Errorf("got  %v\nwant %s", got, c.want)
		}
	}
}

// For any output of a program, exactly its messages arrive, one per line.
func FuzzMessages(f *testing.F) {
	f.Add([]byte("hello\n{\"jsonrpc\":\"2.0\"}\n[info] x\n\n{}\n"), true)
	f.Add([]byte("[{\"jsonrpc\":1}]"), false)
	f.Fuzz(func(t *testing.T, printed []byte, slow bool) {
		var from io.Reader = bytes.NewReader(printed)
		if slow {
			from = iotest.OneByteReader(from)
		}
		var strays bytes.Buffer
		m := &messages{from: bufio.NewReaderSize(from, 16), stray: func(b []byte) error { strays.Write(b); return nil }}
		got, err := io.ReadAll(m)
		if err != nil {
			t.Fatal(err)
		}
		var want, rest []byte
		for line := range bytes.Lines(printed) {
			if isMessage(line) {
				want = append(want, line...)
			} else if len(bytes.TrimSpace(line)) > 0 {
				rest = append(rest, line...)
			}
		}
		if !bytes.Equal(got, want) || !bytes.Equal(strays.Bytes(), rest) {
			t.Errorf("%q gives %q and %q", printed, got, strays.Bytes())
		}
	})
}

// For any form that a server sends, a person is offered a few answers or is not asked.
func FuzzForm(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"boolean"},"b":{"enum":["x","y"]}},"required":["a"]}`)
	f.Add(`{"properties":{"a":{"type":["string"]}},"required":["a"]}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, schema string) {
		if !json.Valid([]byte(schema)) {
			return
		}
		fields, ok := fieldsOf(&sdk.ElicitParams{RequestedSchema: json.RawMessage(schema)})
		for _, field := range fields {
			if !ok || len(field.options) == 0 || len(field.options) > maxOptions || slices.Contains(field.options, decline) || strings.ContainsAny(field.about, "\n\r") {
				t.Errorf("%q: %+v", schema, field)
			}
		}
	})
}
