package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Whatever a program prints, its messages arrive, each in a line, and nothing else does.
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

// Whatever form a server asks for, a person is given a few answers, or not asked.
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
