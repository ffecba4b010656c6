package outbound

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
)

// conn is a connection whose peer has already sent everything.
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

func TestSOCKSTarget(t *testing.T) {
	const hello, connect = "\x05\x01\x00", "\x05\x01\x00"
	for said, want := range map[string]string{
		hello + connect + "\x03\x0bexample.com\x01\xbb":                                                            "example.com 443",
		hello + connect + "\x01\x7f\x00\x00\x02\x00\x50":                                                           "127.0.0.2 80",
		"\x05\x02\x00\x02" + connect + "\x01\x7f\x00\x00\x02\x00\x50":                                              "127.0.0.2 80",
		hello + connect + "\x04" + "\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01" + "\x00\x50": "2001:db8::1 80",
		"\x04\x01\x00" + connect + "\x03\x01a\x00\x50":                                                             "", // another version
		hello + "\x04\x01\x00" + "\x03\x01a\x00\x50":                                                               "",
		hello + "\x05\x02\x00" + "\x03\x01a\x00\x50":                                                               "", // BIND
		hello + "\x05\x03\x00" + "\x03\x01a\x00\x50":                                                               "", // UDP ASSOCIATE
		hello + connect + "\x02\x7f\x00\x00\x02\x00\x50":                                                           "", // an unknown kind of address
		hello + connect + "\x03\x00\x00\x50":                                                                       "",
		hello + connect + "\x03\x02a":                                                                              "",
		hello + connect + "\x03":                                                                                   "",
		hello + connect + "\x03\x01a\x00":                                                                          "",
		hello + connect:                                                                                            "",
		"\x05\x02\x00":                                                                                             "",
		"\x05":                                                                                                     "",
	} {
		c := &conn{Reader: bytes.NewReader([]byte(said))}
		host, port, err := readTarget(c)
		if want == "" && err == nil || want != "" && (err != nil || fmt.Sprint(host, " ", port) != want || c.Buffer.String() != "\x05\x00") {
			t.Errorf("%q: %q %d, %v, said %q; want %q", said, host, port, err, c.Buffer.String(), want)
		}
	}
}

// deaf is a connection whose peer no longer reads.
type deaf struct{ *conn }

func (deaf) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestSOCKSThatHearsNothing(t *testing.T) {
	said := []byte("\x05\x01\x00\x05\x01\x00\x03\x0bexample.com\x01\xbb")
	if host, _, err := readTarget(deaf{&conn{Reader: bytes.NewReader(said)}}); err == nil {
		t.Errorf("it wants %s", host)
	}
}
