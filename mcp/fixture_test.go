package mcp_test

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/mcp"
)

// patience is the time limit of what a test waits for. It stops what hangs; nothing else depends on it.
const patience = 30 * time.Second

// prompted is an executor that works from a prompt, as models do.
type prompted struct{ agent.Func }

func (prompted) Traits() agent.Traits {
	return agent.Traits{About: "Answers", Prompted: true, Supports: func(*agent.Definition, string) bool { return true }}
}

// fixture is a project with a server and a client.
type fixture struct {
	t       *testing.T
	dir     string
	p       *hocket.Project
	sdk     *sdk.Client
	client  *sdk.ClientSession
	options mcp.Options
	name    string // of the client
	version string // of the protocol; "": the newest
	served  chan error
	stop    context.CancelFunc
	hangUp  func()
	release chan struct{} // lets the agent slow end

	mu         sync.Mutex
	progress   []string
	detached   []string
	background sync.WaitGroup
}

var files = map[string]string{
	".hocket/workflows/hello.yml": `name: hello
description: Says hello.
inputs:
  name: {type: string, description: whom to greet}
  times: {type: integer, default: 1}
steps:
  - id: greet
    agent: echo
    prompt: Hello ${inputs.name}
`,
	".hocket/workflows/gated.yml": `name: gated
steps:
  - id: draft
    agent: echo
    prompt: the draft
  - id: ship
    human: Ship it?
  - id: done
    agent: echo
    prompt: shipped
`,
	".hocket/workflows/strict.yml": `name: strict
steps:
  - id: ship
    human: {question: "Ship it?", required: true}
`,
	".hocket/workflows/slow.yml": `name: slow
steps:
  - id: wait
    agent: slow
    prompt: take your time
`,
	".hocket/prompts/review.md": `---
description: Reviews a file
inputs: {file: {description: the file}, tone: kind}
---
Review ${file} and be ${tone}.
`,
	".hocket/config.yml": "agent: echo\nmcp_server: {workflows: [hello, missing]}\n",
}

// newFixture returns a fixture whose client has options.
func newFixture(t *testing.T, o mcp.Options, client *sdk.ClientOptions) *fixture {
	t.Helper()
	return newFixtureIn(t, "", o, client)
}

// newFixtureIn is newFixture with a version of the protocol.
func newFixtureIn(t *testing.T, version string, o mcp.Options, client *sdk.ClientOptions) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: t.TempDir(), version: version, options: o, release: make(chan struct{})}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(f.dir, "user"))
	for name, text := range files {
		f.write(name, text)
	}
	f.open()
	for _, name := range []string{"hello", "gated", "strict", "slow"} {
		f.approve(name)
	}
	f.connect(client)
	return f
}

func (f *fixture) write(name, text string) {
	f.t.Helper()
	name = filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) open() {
	f.t.Helper()
	echo := func(_ context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
		log([]byte("echoes\n"))
		return agent.Result{Output: task.Prompt, Conversation: &agent.Conversation{Native: "n"}}, nil
	}
	slow := func(ctx context.Context, _ *agent.Task, _ agent.Log) (agent.Result, error) {
		select {
		case <-f.release:
			return agent.Result{Output: "at last"}, nil
		case <-ctx.Done():
			return agent.Result{}, ctx.Err()
		}
	}
	p, err := hocket.Open(f.dir, hocket.Options{State: filepath.Join(f.dir, ".state"), Via: "mcp", Agents: map[string]agent.Executor{"echo": prompted{echo}, "slow": prompted{slow}}})
	if err != nil {
		f.t.Fatal(err)
	}
	f.p = p
	f.t.Cleanup(func() {
		f.disconnect()
		f.background.Wait()
		if err := p.Close(); err != nil {
			f.t.Error(err)
		}
	})
}

// connect serves a client. The version of its protocol is the newest of the SDK unless old.
func (f *fixture) connect(o *sdk.ClientOptions) {
	f.t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	f.hangUp = func() {
		_ = toServer.Close()
		_ = fromServer.Close()
	}
	ctx, stop := context.WithCancel(context.Background())
	f.stop, f.served = stop, make(chan error, 1)
	if f.options.Detach == nil {
		f.options.Detach = f.detach
	}
	served := f.served
	go func() { served <- mcp.Serve(ctx, f.p, mcp.Lines{In: in, Out: out}, f.options) }()
	if o == nil {
		o = &sdk.ClientOptions{}
	}
	o.ProgressNotificationHandler = func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.progress = append(f.progress, r.Params.Message)
	}
	f.sdk = sdk.NewClient(&sdk.Implementation{Name: cmp.Or(f.name, "tester"), Version: "1"}, o)
	client, err := f.sdk.Connect(f.t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, &sdk.ClientSessionOptions{ProtocolVersion: f.version})
	if err != nil {
		f.t.Fatal(err)
	}
	f.client = client
}

// approve approves a definition, as a person does.
func (f *fixture) approve(id string) {
	f.t.Helper()
	review, err := f.p.Review(id)
	if err == nil {
		err = f.p.As("ada", "cli").Approve(f.t.Context(), id, review.Digest)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// detach drives a run as another process would.
func (f *fixture) detach(run string) error {
	f.mu.Lock()
	f.detached = append(f.detached, run)
	f.mu.Unlock()
	r, err := f.p.Run(context.Background(), run)
	if err != nil {
		return err
	}
	f.background.Go(func() { _, _ = r.Drive(context.Background(), hocket.Front{Elsewhere: true}) })
	return nil
}

// disconnect ends the connection and waits for the server.
func (f *fixture) disconnect() {
	f.t.Helper()
	if f.client == nil {
		return
	}
	f.hangUp()
	f.client = nil
	select {
	case <-f.served:
	case <-time.After(patience):
		f.t.Error("the server does not end")
	}
	f.stop()
}

// call calls a tool, and returns the text of its result.
func (f *fixture) call(name string, args map[string]any) (string, bool) {
	f.t.Helper()
	ctx, stop := context.WithTimeout(f.t.Context(), patience)
	defer stop()
	return callOn(ctx, f.client, name, args)
}

// start calls a tool in the background, with the client that is connected now.
func (f *fixture) start(ctx context.Context, name string, args map[string]any) <-chan result {
	client, done := f.client, make(chan result, 1)
	go func() {
		text, failed := callOn(ctx, client, name, args)
		done <- result{text, failed}
	}()
	return done
}

type result struct {
	text   string
	failed bool
}

func callOn(ctx context.Context, client *sdk.ClientSession, name string, args map[string]any) (string, bool) {
	params := &sdk.CallToolParams{Name: name, Arguments: args}
	params.SetProgressToken("p")
	res, err := client.CallTool(ctx, params)
	if err != nil {
		return err.Error(), true
	}
	var texts []string
	for _, c := range res.Content {
		texts = append(texts, c.(*sdk.TextContent).Text)
	}
	return strings.Join(texts, "\n"), res.IsError
}

// must calls a tool that succeeds.
func (f *fixture) must(name string, args map[string]any) string {
	f.t.Helper()
	text, failed := f.call(name, args)
	if failed {
		f.t.Fatalf("%s: %s", name, text)
	}
	return text
}

// says reports whether some progress was notified that contains words.
func (f *fixture) says(words string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.progress, func(s string) bool { return strings.Contains(s, words) })
}

// refused calls a tool that fails with some words.
func (f *fixture) refused(name string, args map[string]any, words string) {
	f.t.Helper()
	if text, failed := f.call(name, args); !failed || !strings.Contains(text, words) {
		f.t.Errorf("%s %v: %v, %s; want %q", name, args, failed, text, words)
	}
}

// outcome is the JSON at the end of a result.
type outcome struct {
	Run, Status, Next, Session string
	Questions                  []struct {
		ID, Refused string
		Answer      []string `json:"answer_with"`
	}
}

func parse(t *testing.T, text string) (o outcome) {
	t.Helper()
	if err := json.Unmarshal([]byte(text[strings.LastIndex(text, "\n")+1:]), &o); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return o
}

// status waits until a run has a status.
func (f *fixture) status(run, want string) {
	f.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	for change, err := range f.p.Watch(ctx) {
		if err != nil {
			f.t.Fatal(err)
		}
		if change.Run == run && string(change.Info.Status) == want && !change.Info.Driven {
			return
		}
	}
	f.t.Errorf("run %s does not become %s", run, want)
}

// newest returns the id of the newest run, once there is one.
func (f *fixture) newest() string {
	f.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	for change, err := range f.p.Watch(ctx) {
		if err != nil {
			f.t.Fatal(err)
		}
		return change.Run
	}
	f.t.Fatal("no run")
	return ""
}

func decode(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}
