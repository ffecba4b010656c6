package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff"
	"github.com/hocket-dev/hocket/server"
	"github.com/hocket-dev/hocket/web"
)

// files are those of the project in the tests.
var files = map[string]string{
	".hocket/agents/greeter.yml": "name: greeter\nagent: shell\nsettings: {command: \"cat >/dev/null; printf done\"}\n",
	".hocket/agents/echo.yml":    "name: echo\nagent: shell\nsettings: {command: cat}\n",
	".hocket/agents/slow.yml":    "name: slow\nagent: shell\nsettings: {command: \"cat >/dev/null; i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo line $i; sleep 0.05; done\"}\n",
	".hocket/agents/broken.yml":  "name: broken\nagent: shell\nsettings: {command: \"cat >/dev/null; echo it is broken >&2; exit 3\"}\n",
	".hocket/workflows/hello.yml": "name: hello\ndescription: Says hello twice\ninputs:\n  who: {type: string, default: world, description: Who is greeted}\n  times: {type: integer, default: 2}\n  loud: {type: boolean, default: false}\n" +
		"steps:\n  - {id: greet, title: Greet the guest, agent: echo, prompt: \"Hello ${inputs.who}\"}\n  - {id: repeat, agent: greeter, prompt: again}\n",
	".hocket/workflows/gated.yml": "name: gated\nsteps:\n  - {id: draft, title: Write the draft, agent: greeter, prompt: draft}\n" +
		"  - {id: approve, human: {question: \"Publish the draft?\", options: [publish, send back, drop]}}\n  - {id: publish, agent: greeter, prompt: publish}\n",
	".hocket/workflows/release.yml": "name: release\ndescription: Checks every package, and publishes what a person approves\nsteps:\n  - {id: plan, title: Plan the release, agent: greeter, prompt: plan}\n" +
		"  - id: check\n    title: Check a package\n    for_each: '[\"alpha\", \"beta\", \"gamma\", \"delta\"]'\n    as: package\n    agent: greeter\n    prompt: check ${package}\n" +
		"  - {id: greetings, workflow: hello}\n  - {id: approve, human: {question: \"Release it?\", options: [yes, no]}}\n  - {id: publish, title: Publish, agent: greeter, prompt: publish}\n",
	".hocket/workflows/long.yml":   "name: long\nsteps:\n  - {id: first, agent: greeter, prompt: a}\n  - {id: wait, title: Take a while, agent: slow, prompt: b}\n",
	".hocket/workflows/broken.yml": "name: broken\nsteps:\n  - {id: fine, agent: greeter, prompt: a}\n  - {id: bad, title: Break, agent: broken, prompt: b}\n  - {id: after, agent: greeter, prompt: c}\n",
	".hocket/workflows/wrong.yml":  "name: wrong\nsteps:\n  - {id: a, agent: nobody, promt: x}\n",
}

// paid is an agent that costs something.
func paid(_ context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
	task.NoteModel("large-1")
	return agent.Result{Output: "done", Usage: agent.Usage{CostUSD: 0.25, TokensIn: 1000, TokensOut: 200}}, nil
}

// fixture is a server with pages, and one project.
type fixture struct {
	t    testing.TB
	s    *server.Server
	p    *hocket.Project
	base string
	name string
	stop func() // the server

	access *server.Access
}

// newFixture returns a server with a trusted project: its inbox is empty.
func newFixture(t testing.TB, more map[string]string) *fixture {
	t.Helper()
	f := newClone(t, more)
	f.trust()
	return f
}

// newClone returns a server with a project that its user does not trust yet.
func newClone(t testing.TB, more map[string]string) *fixture {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shop")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for _, all := range []map[string]string{files, more} {
		for name, text := range all {
			file := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	p, err := hocket.Open(dir, hocket.Options{Via: "http", Agents: map[string]agent.Executor{"paid": agent.Func(paid), "coding": agent.New(agent.Traits{Prompted: true, Supports: func(*agent.Definition, string) bool { return true }}, coder), "delegating": agent.New(agent.Traits{Prompted: true, Supports: func(*agent.Definition, string) bool { return true }}, boss), "attacker": agent.New(agent.Traits{Prompted: true}, attacker)}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var driving sync.WaitGroup
	sessions := func(p *hocket.Project) *handoff.Sessions {
		all := handoff.Open(p, nil)
		all.Background = func() error {
			driving.Go(func() { _ = all.Drive(ctx) }) // its sessions say what went wrong
			return nil
		}
		return all
	}
	access := server.OpenAccess(t.TempDir())
	s, err := server.New(server.Options{
		Projects: []*hocket.Project{p}, Access: access, Listen: l.Addr(), Version: "test", Pages: web.Add, Sessions: sessions,
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	end := sync.OnceFunc(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
		driving.Wait()
	})
	t.Cleanup(func() {
		for _, i := range runsOf(t, p) { // or the server would wait for them
			if r, err := p.Run(context.Background(), i.ID); err == nil && !i.Status.Done() {
				_, _ = r.Cancel(context.Background(), "the test is over")
			}
		}
		end()
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	_, port, _ := net.SplitHostPort(l.Addr().String())
	base, err := access.Address(port)
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{t, s, p, base, "shop", end, access}
}

func runsOf(t testing.TB, p *hocket.Project) []hocket.Info {
	t.Helper()
	all, err := p.Runs(context.Background(), hocket.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// client returns a client with the cookie of a session, as a browser without JavaScript has.
func (f *fixture) client() *http.Client {
	f.t.Helper()
	link, err := f.s.Link("")
	if err != nil {
		f.t.Fatal(err)
	}
	res, err := http.Get(link)
	if err != nil {
		f.t.Fatal(err)
	}
	res.Body.Close()
	return &http.Client{Transport: withCookies{res.Cookies(), f.base}}
}

type withCookies struct {
	cookies []*http.Cookie
	origin  string
}

func (c withCookies) RoundTrip(r *http.Request) (*http.Response, error) {
	for _, one := range c.cookies {
		r.AddCookie(one)
	}
	if r.Method != http.MethodGet && r.Header.Get("Origin") == "" {
		r.Header.Set("Origin", c.origin)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// get returns a page.
func (f *fixture) get(c *http.Client, path string, status int) string {
	f.t.Helper()
	res, err := c.Get(f.base + path)
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	if res.StatusCode != status {
		f.t.Fatalf("GET %s: status %d, want %d: %s", path, res.StatusCode, status, text)
	}
	return string(text)
}

// begin starts a run through the server.
func (f *fixture) begin(name string) *hocket.Run {
	f.t.Helper()
	body, err := json.Marshal(map[string]any{"workflow": name})
	if err != nil {
		f.t.Fatal(err)
	}
	res, err := f.client().Post(f.base+"/api/projects/shop/runs", "application/json", bytes.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	var line server.RunLine
	answer, err := io.ReadAll(res.Body)
	if err == nil {
		err = json.Unmarshal(answer, &line)
	}
	if err != nil || res.StatusCode != http.StatusCreated {
		f.t.Fatalf("status %d: %v: %s", res.StatusCode, err, answer)
	}
	r, err := f.p.Run(f.t.Context(), line.ID)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// elsewhere starts a run that the server does not drive.
func (f *fixture) elsewhere(name string, inputs map[string]any) *hocket.Run {
	f.t.Helper()
	w, err := f.p.Load(name)
	if err != nil {
		f.t.Fatal(err)
	}
	r, err := f.p.Start(f.t.Context(), w, inputs)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// until waits until a run has a status.
func (f *fixture) until(r *hocket.Run, status ...string) {
	f.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		i, err := r.Info(f.t.Context())
		if err != nil {
			f.t.Fatal(err)
		}
		if slices.Contains(status, string(i.Status)) {
			return
		}
		if time.Now().After(end) {
			f.t.Fatalf("run %s is %s, want %s", r.ID(), i.Status, strings.Join(status, " or "))
		}
	}
}

// chromium is one browser for all tests.
var chromium = sync.OnceValues(func() (context.Context, string) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless-shell"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		root, stop := chromedp.NewExecAllocator(context.Background(), append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.NoSandbox)...)
		browser, end := chromedp.NewContext(root)
		closeChromium = append(closeChromium, stop, end)
		if err := chromedp.Do(browser); err != nil { // starts it: tabs of one that has not started would each start their own
			panic(err)
		}
		return browser, ""
	}
	return nil, "there is no Chromium; apt-get install chromium, or the equivalent for your system"
})

var closeChromium []context.CancelFunc

func TestMain(m *testing.M) {
	// Browsers know that names that end in localhost are this machine.
	http.DefaultTransport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, port, _ := net.SplitHostPort(address); strings.HasSuffix(host, ".localhost") {
			address = net.JoinHostPort("127.0.0.1", port)
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	code := m.Run()
	for _, stop := range slices.Backward(closeChromium) {
		stop()
	}
	os.Exit(code)
}

// tab is a tab of a real browser, with a session and cookies of its own.
type tab struct {
	*fixture
	ctx context.Context
}

func (f *fixture) tab() *tab {
	f.t.Helper()
	root, missing := chromium()
	if missing != "" {
		f.t.Skip(missing)
	}
	ctx, cancel := chromedp.NewContext(root, chromedp.WithNewBrowserContext())
	ctx, end := context.WithTimeout(ctx, 3*time.Minute) // the machine may be busy
	f.t.Cleanup(func() { end(); cancel() })
	b := &tab{f, ctx}
	link, err := f.s.Link("")
	if err != nil {
		f.t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(link), chromedp.WaitVisible("main"))
	go func() {
		for m, err := range chromedp.Console(ctx) {
			if err != nil {
				return
			}
			if m.Type == chromedp.ConsoleException || strings.Contains(m.Text, "Content Security Policy") || strings.Contains(m.Text, "Trusted") {
				f.t.Errorf("the page reports: %s", m.Text)
			}
		}
	}()
	return b
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.base+path), chromedp.WaitVisible("main"))
}

// eval returns the value of an expression in the page.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// click clicks on elements of a page that may be replaced at any moment: between two steps of chromedp, an element can
// disappear.
func (b *tab) click(selectors ...string) {
	b.t.Helper()
	for _, s := range selectors {
		eval[bool](b, fmt.Sprintf(`document.querySelector(%q).click(), true`, s))
	}
}

// wait waits until an expression in the page is true.
func (b *tab) wait(expression string) {
	b.t.Helper()
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if v, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("Boolean("+expression+")")); err == nil && v { // while a page loads, there is none
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("%s does not become true; the page says: %.1500s", expression, eval[string](b, "document.body.innerText"))
		}
	}
}

// theme sets the colours that the person prefers.
func (b *tab) theme(name string) {
	b.t.Helper()
	b.prefers("prefers-color-scheme", name)
}

// prefers sets what the person prefers.
func (b *tab) prefers(name, value string) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: name, Value: value}}}); err != nil {
		b.t.Fatal(err)
	}
}

// work returns how much CPU time the main thread of the page has used, by what it did, in milliseconds. The times of
// two calls differ by what happened between them, also on a busy machine.
func (b *tab) work() map[string]float64 {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks}); err != nil {
		b.t.Fatal(err)
	}
	all, err := chromedp.Call(b.ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		b.t.Fatal(err)
	}
	ms := map[string]float64{}
	for _, m := range all.Metrics {
		if name, ok := strings.CutSuffix(m.Name, "Duration"); ok {
			ms[name] = m.Value * 1000
		}
	}
	return ms
}

// since returns what work was done after an earlier call, as a text.
func (b *tab) since(before map[string]float64) string {
	b.t.Helper()
	now := b.work()
	var parts []string
	for _, name := range []string{"Task", "Script", "RecalcStyle", "Layout"} {
		parts = append(parts, fmt.Sprintf("%s %.0f", strings.ToLower(name), now[name]-before[name]))
	}
	return strings.Join(parts, ", ") + " ms of CPU time"
}
