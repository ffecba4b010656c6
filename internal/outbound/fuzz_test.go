package outbound

import (
	"bytes"
	"testing"
)

// conn is a connection whose other side has said all that it says.
type conn struct {
	*bytes.Reader
	bytes.Buffer
}

func (c *conn) Read(b []byte) (int, error)  { return c.Reader.Read(b) }
func (c *conn) Write(b []byte) (int, error) { return c.Buffer.Write(b) }

func FuzzSOCKS(f *testing.F) {
	f.Add([]byte("\x05\x01\x00\x05\x01\x00\x03\x0bexample.com\x01\xbb"))
	f.Add([]byte("\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50"))
	f.Add([]byte("\x04\x01"))
	f.Fuzz(func(t *testing.T, said []byte) {
		host, _, err := readTarget(&conn{Reader: bytes.NewReader(said)})
		if err == nil && host == "" {
			t.Error("no host, and no error")
		}
	})
}
