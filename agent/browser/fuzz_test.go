package browser

import (
	"bytes"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

func FuzzSettings(f *testing.F) {
	f.Add(`{"url": "https://a/", "extract": {"a": "h1", "b": {"selector": "p", "all": true}}}`)
	f.Add(`{"steps": [{"open": "http://a"}, {"click": {"text": "x"}}, {"type": {"selector": "a", "text": 3}}, "links", {"screenshot": "a.png"}, {"wait": {"time": "1s"}}, "back"]}`)
	f.Add(`{"steps": [{"text": {"as": "a"}}, {"text": "\"}"}], "private_network": ["a"], "timeout": "0s", "max_output_kb": 1}`)
	b := New(Options{})
	f.Fuzz(func(t *testing.T, text string) {
		v, err := workflow.ParseJSON([]byte(text))
		written, ok := v.(map[string]any)
		if err != nil || !ok {
			return
		}
		plan, err := b.plan(&agent.Task{Settings: written})
		if err != nil {
			return
		}
		for _, s := range plan.steps {
			if _, known := shortForm[s.Action]; !known || s.patience <= 0 {
				t.Errorf("%s became the step %+v", text, s)
			}
		}
	})
}

// conn is a connection whose other side has said all that it says.
type conn struct {
	*bytes.Reader
	bytes.Buffer
}

func (c *conn) Read(b []byte) (int, error)  { return c.Reader.Read(b) }
func (c *conn) Write(b []byte) (int, error) { return c.Buffer.Write(b) }

func FuzzProxy(f *testing.F) {
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
