package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
)

// fixture is a server on loopback with one project.
type fixture struct {
	t      *testing.T
	s      *Server
	p      *hocket.Project
	dir    string
	base   string // http://127.0.0.1:PORT
	access *Access
	admin  string // a token
	stop   func()
	reads  atomic.Int64 // of the events of a run, if the project's driver is counted
}

// counted is a driver that counts how often the events of runs are read.
type counted struct {
	driver.Driver
	reads *atomic.Int64
}

func (c *counted) Events(ctx context.Context, run string, after int, follow bool) iter.Seq2[engine.Envelope, error] {
	c.reads.Add(1)
	return c.Driver.Events(ctx, run, after, follow)
}

const hello = "name: hello\ninputs:\n  who: {type: string, default: world}\nsteps:\n  - {id: greet, agent: greeter, prompt: \"Hello ${inputs.who}\"}\n  - {id: repeat, agent: greeter, prompt: again}\n"

const gated = "name: gated\nsteps:\n  - {id: draft, agent: greeter, prompt: draft}\n  - {id: approve, human: {question: \"Publish?\", options: [yes, no]}}\n  - {id: publish, agent: greeter, prompt: publish}\n"

const greeter = "name: greeter\nagent: shell\nsettings: {command: \"cat >/dev/null; printf done\"}\n"

func newFixture(t *testing.T, files map[string]string) *fixture {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	all := map[string]string{".hocket/workflows/hello.yml": hello, ".hocket/workflows/gated.yml": gated, ".hocket/agents/greeter.yml": greeter}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f := &fixture{t: t, dir: dir, access: OpenAccess(t.TempDir())}
	f.start()
	var err error
	if f.admin, err = f.access.Create("ada", []Scope{Admin}, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.stop() })
	return f
}

// start starts a server on a new port.
func (f *fixture) start() {
	f.t.Helper()
	p, err := hocket.Open(f.dir, hocket.Options{Via: "http", Drivers: map[string]hocket.OpenDriver{
		"temporal": func(s hocket.DriverSetup) (driver.Driver, error) { return local.Open(s.State, local.Options{}) },
		"counted": func(s hocket.DriverSetup) (driver.Driver, error) {
			d, err := local.Open(s.State, local.Options{})
			return &counted{d, &f.reads}, err
		},
	}})
	if err != nil {
		f.t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(f.t.Output(), nil))
	s, err := New(Options{Projects: []*hocket.Project{p}, Access: f.access, Listen: l.Addr(), Version: "test", Log: log})
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	f.s, f.p, f.base = s, p, "http://"+l.Addr().String()
	f.stop = func() {
		stop()
		if err := <-done; err != nil {
			f.t.Errorf("serve: %v", err)
		}
		if err := p.Close(); err != nil {
			f.t.Errorf("close: %v", err)
		}
		f.stop = func() {}
	}
}

func (f *fixture) name() string { return f.s.projects[0].name }

// link returns the path of a link that starts a session.
func (f *fixture) link(to string) string {
	f.t.Helper()
	link, err := f.s.Link(to)
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.TrimPrefix(link, f.s.place.public)
}

// path returns a path below the project.
func (f *fixture) path(rest string) string { return "/api/projects/" + f.name() + rest }

// request sends a request as the admin, unless the headers say otherwise. Headers are pairs.
func (f *fixture) request(method, path string, body any, headers ...string) *http.Response {
	f.t.Helper()
	var data io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		data = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			f.t.Fatal(err)
		}
		data = bytes.NewReader(text)
	}
	r, err := http.NewRequest(method, f.base+path, data)
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+f.admin)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if strings.HasPrefix(path, enterPath) || slices.Contains(headers, "Cookie") { // as a browser does
		r.Host = f.s.place.page[0]
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		} else if headers[i+1] == "" {
			r.Header.Del(headers[i])
		} else {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), 20*time.Second) // streams do not end by themselves
	f.t.Cleanup(cancel)
	res, err := http.DefaultClient.Do(r.WithContext(ctx))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { res.Body.Close() })
	return res
}

// want sends a request and checks the status.
func (f *fixture) want(status int, method, path string, body any, headers ...string) string {
	f.t.Helper()
	res := f.request(method, path, body, headers...)
	text, err := io.ReadAll(res.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	if res.StatusCode != status {
		f.t.Fatalf("%s %s: status %d, want %d: %s", method, path, res.StatusCode, status, text)
	}
	return string(text)
}

// read decodes JSON.
func read[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// begin starts a run and returns its id.
func (f *fixture) begin(workflow string, headers ...string) string {
	f.t.Helper()
	return read[RunLine](f.t, f.want(http.StatusCreated, "POST", f.path("/runs"), map[string]any{"workflow": workflow}, headers...)).ID
}

// until waits until a run has a status.
func (f *fixture) until(run, status string) Run {
	f.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		r := read[Run](f.t, f.want(http.StatusOK, "GET", f.path("/runs/"+run), nil))
		if r.Status == status {
			return r
		}
		if time.Now().After(end) {
			f.t.Fatalf("run %s is %s, want %s: %v", run, r.Status, status, r.Error)
		}
	}
}

// farewellFor sets how long open attempts may take when a server stops.
func farewellFor(t *testing.T, d time.Duration) {
	before := farewell
	farewell = d
	t.Cleanup(func() { farewell = before })
}
