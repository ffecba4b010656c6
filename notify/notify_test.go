package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
)

// mailbox receives requests.
type mailbox struct {
	*httptest.Server
	mu       sync.Mutex
	got      []string // bodies
	headers  []http.Header
	refusals []int // the statuses of the next responses, before those with 200
}

func newMailbox(t *testing.T) *mailbox {
	m := &mailbox{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m.mu.Lock()
		defer m.mu.Unlock()
		if len(m.refusals) > 0 {
			w.WriteHeader(m.refusals[0])
			m.refusals = m.refusals[1:]
			return
		}
		m.got, m.headers = append(m.got, string(body)), append(m.headers, r.Header)
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *mailbox) all() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.got...)
}

// until waits for a number of messages.
func (m *mailbox) until(t *testing.T, count int) []string {
	t.Helper()
	wait(t, fmt.Sprintf("%d messages", count), func() bool { return len(m.all()) >= count })
	return m.all()
}

func wait(t *testing.T, what string, ready func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ready(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s", what)
		}
	}
}

// office is a project with notifications.
type office struct {
	t   *testing.T
	dir string
	p   *hocket.Project
	log bytes.Buffer
	mu  sync.Mutex

	held chan struct{} // until it is closed, the agent held works
}

func (o *office) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.log.Write(b)
}

func (o *office) logged() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.log.String()
}

const (
	dearFlow  = "name: dear\nsteps:\n  - {id: a, agent: paid, prompt: x}\n  - {id: b, agent: held, prompt: x}\n"
	helloFlow = "name: hello\nsteps:\n  - {id: a, agent: paid, prompt: x}\n"
	gateFlow  = "name: gate\nsteps:\n  - {id: a, human: {question: \"Publish <!channel> *now*?\\r\\nBcc: eve@example.org\", options: [yes, no]}}\n"
	failFlow  = "name: fail\nsteps:\n  - {id: a, agent: shell, config: {command: 'echo it broke >&2; exit 3'}}\n"
)

func newOffice(t *testing.T, config string) *office {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	short(t)
	o := &office{t: t, dir: t.TempDir(), held: make(chan struct{})}
	for name, text := range map[string]string{"config.yml": config, "workflows/hello.yml": helloFlow, "workflows/dear.yml": dearFlow, "workflows/gate.yml": gateFlow, "workflows/fail.yml": failFlow} {
		file := filepath.Join(o.dir, ".hocket", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o.open()
	return o
}

func (o *office) open() {
	o.t.Helper()
	p, err := hocket.Open(o.dir, hocket.Options{Agents: map[string]agent.Executor{"paid": agent.Func(func(context.Context, *agent.Task, agent.Log) (agent.Result, error) {
		return agent.Result{Output: "done", Usage: agent.Usage{CostUSD: 3}}, nil
	}), "held": agent.Func(func(ctx context.Context, _ *agent.Task, _ agent.Log) (agent.Result, error) {
		select {
		case <-o.held:
		case <-ctx.Done():
		}
		return agent.Result{Output: "done"}, nil
	})}})
	if err != nil {
		o.t.Fatal(err)
	}
	if found := p.Diagnostics(); len(found) > 0 {
		o.t.Fatal(found)
	}
	o.p = p
	o.t.Cleanup(func() { _ = p.Close() })
}

func (o *office) trust() *office {
	o.t.Helper()
	powers, err := o.p.Powers()
	if err == nil {
		err = o.p.Trust(powers)
	}
	if err != nil {
		o.t.Fatal(err)
	}
	return o
}

// serve notifies until the returned function is called.
func (o *office) serve() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		Serve(ctx, Options{Project: o.p, Name: "shop", Link: func(run string) string { return "https://hocket.example/runs/" + run }, Log: slog.New(slog.NewTextHandler(o, nil))})
	}()
	stop = sync.OnceFunc(func() { cancel(); <-over })
	o.t.Cleanup(stop)
	wait(o.t, "memory", func() bool { _, err := os.Stat(filepath.Join(o.p.State(), "notified.json")); return err == nil })
	return stop
}

// begin starts a workflow.
func (o *office) begin(workflow string) *hocket.Run {
	o.t.Helper()
	w, err := o.p.Load(workflow)
	if err != nil {
		o.t.Fatal(err)
	}
	r, err := o.p.Start(context.Background(), w, nil)
	if err != nil {
		o.t.Fatal(err)
	}
	return r
}

// run runs a workflow until it ends or waits.
func (o *office) run(workflow string) string {
	o.t.Helper()
	r := o.begin(workflow)
	if _, err := r.Wait(context.Background()); err != nil {
		o.t.Fatal(err)
	}
	return r.ID()
}

// short makes tries and pauses short.
func short(t *testing.T) {
	before, patience := pauses, tryTime
	pauses, tryTime = []time.Duration{10 * time.Millisecond, 10 * time.Millisecond}, 5*time.Second
	t.Cleanup(func() { pauses, tryTime = before, patience })
}

func hook(url, more string) string {
	return "webhook: {url: \"" + url + "\", private_network: true" + more + "}"
}

// TestCostOfRunInProgress tells about a cost while the run goes on, also of one that began before anybody was to be told.
func TestCostOfRunInProgress(t *testing.T) {
	box := newMailbox(t)
	o := newOffice(t, "notify:\n  - {on: [{cost: 2}], "+hook(box.URL, "")+"}\n").trust()
	runs := []*hocket.Run{o.begin("dear")}
	wait(t, "first step", func() bool { s, err := runs[0].State(t.Context()); return err == nil && s.Result.Usage.CostUSD == 3 })
	stop := o.serve()
	runs = append(runs, o.begin("dear"))
	told := map[string]bool{runs[0].ID(): true, runs[1].ID(): true}
	for _, text := range box.until(t, 2) {
		var n Notice
		if err := json.Unmarshal([]byte(text), &n); err != nil || n.Reason != Cost || n.Status != "running" || n.CostUSD != 3 || !told[n.Run] {
			t.Errorf("%+v, %v", n, err)
		}
		delete(told, n.Run)
	}
	stop()
	stop = o.serve()
	close(o.held)
	for _, r := range runs {
		if _, err := r.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(100 * time.Millisecond)
	stop()
	if all := box.all(); len(all) != 2 {
		t.Errorf("told again: %v", all)
	}
}

func TestReasons(t *testing.T) {
	box := newMailbox(t)
	o := newOffice(t, "notify:\n  - {on: [waiting, failed, done, {cost: 2}, {cost: 5}], "+hook(box.URL, "")+"}\n").trust()
	old := o.run("hello") // before anybody was to be told
	stop := o.serve()
	runs := map[string]string{o.run("gate"): "waiting gate waits for you", o.run("fail"): "failed fail failed"}
	hello := o.run("hello")
	for _, text := range box.until(t, 4) {
		var n Notice
		if err := json.Unmarshal([]byte(text), &n); err != nil {
			t.Fatal(err)
		}
		got := string(n.Reason) + " " + n.Title
		switch {
		case n.Run == hello && n.Reason == Cost:
			if got != "cost hello has cost more than $2" || n.LimitUSD != 2 || n.CostUSD != 3 {
				t.Errorf("%+v", n)
			}
		case n.Run == hello:
			if got != "done hello is done" {
				t.Errorf("%+v", n)
			}
		case runs[n.Run] != got:
			t.Errorf("%+v", n)
		}
		if n.Link != "https://hocket.example/runs/"+n.Run || n.Project != "shop" || n.Run == old {
			t.Errorf("%+v", n)
		}
		switch n.Reason {
		case Waiting:
			if len(n.Questions) != 1 || n.Questions[0].ID != "a" || strings.Join(n.Questions[0].Options, " ") != "yes no" || n.Text != "Publish <!channel> *now*?\nBcc: eve@example.org\n(yes, no)" {
				t.Errorf("%+v", n)
			}
		case Failed:
			if !strings.Contains(n.Text, "it broke") {
				t.Errorf("%+v", n)
			}
		case Done, Cost:
		}
	}
	// Nothing is told again, neither now nor after a restart. What happened in between is told.
	stop()
	again := o.run("hello")
	stop = o.serve()
	box.until(t, 6)
	time.Sleep(100 * time.Millisecond)
	stop()
	counts := map[string]int{}
	for _, text := range box.all() {
		var n Notice
		_ = json.Unmarshal([]byte(text), &n)
		counts[n.Run+string(n.Reason)]++
	}
	for what, count := range counts {
		if count != 1 {
			t.Errorf("%s was told %d times", what, count)
		}
	}
	if len(counts) != 6 || counts[again+"done"] != 1 {
		t.Errorf("%v", counts)
	}
}

// An untrusted project notifies nobody, and what happened in the meantime is not told later.
func TestUntrusted(t *testing.T) {
	box := newMailbox(t)
	marker := filepath.Join(t.TempDir(), "ran")
	o := newOffice(t, "notify:\n  - {on: done, "+hook(box.URL, "")+"}\n  - {on: done, command: [touch, "+marker+"]}\n")
	o.serve()
	before := o.run("hello")
	wait(t, "entry", func() bool {
		data, _ := os.ReadFile(filepath.Join(o.p.State(), "notified.json"))
		return bytes.Contains(data, []byte(before))
	})
	o.trust()
	later := o.run("hello")
	if got := box.until(t, 1); len(got) != 1 || !strings.Contains(got[0], later) {
		t.Errorf("told: %v", got)
	}
	if strings.Count(o.logged(), "not trusted") != 1 {
		t.Error(o.logged())
	}
}

// A failed delivery is repeated, also by the next process, and given up in the end.
func TestRetries(t *testing.T) {
	box := newMailbox(t)
	box.refusals = []int{500, 429}
	o := newOffice(t, "notify:\n  - {on: done, "+hook(box.URL, "")+"}\n").trust()
	stop := o.serve()
	o.run("hello")
	box.until(t, 1)
	box.mu.Lock()
	box.refusals = []int{500, 500, 500}
	box.mu.Unlock()
	o.run("hello")
	wait(t, "giving up", func() bool { return strings.Contains(o.logged(), "notification not delivered\"") })
	box.mu.Lock()
	box.refusals = []int{404}
	box.mu.Unlock()
	o.run("hello")
	wait(t, "permanent failure", func() bool { return strings.Count(o.logged(), "notification not delivered\"") == 2 })
	if len(box.all()) != 1 {
		t.Errorf("%v", box.all())
	}
	// A delivery that waits to be repeated is made by the next process.
	pauses = []time.Duration{time.Hour}
	box.mu.Lock()
	box.refusals = []int{503}
	box.mu.Unlock()
	last := o.run("hello")
	wait(t, "pause", func() bool { return strings.Contains(o.logged(), "again=1h") })
	stop()
	stop = o.serve()
	if got := box.until(t, 2); !strings.Contains(got[1], last) {
		t.Errorf("%v", got)
	}
	wait(t, "note", func() bool {
		data, _ := os.ReadFile(filepath.Join(o.p.State(), "notified.json"))
		return !bytes.Contains(data, []byte("pending"))
	})
	stop()
	info, err := os.Stat(filepath.Join(o.p.State(), "notified.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

// Of two servers, one notifies; the other takes over only when it has stopped.
func TestTwoServers(t *testing.T) {
	box := newMailbox(t)
	o := newOffice(t, "notify:\n  - {on: done, "+hook(box.URL, "")+"}\n").trust()
	o.serve()
	o.serve()
	o.run("hello")
	o.run("hello")
	box.until(t, 2)
	time.Sleep(200 * time.Millisecond)
	if got := box.all(); len(got) != 2 {
		t.Errorf("%d messages", len(got))
	}
}

// An address in a private network is refused, unless that is allowed, and a redirect is not followed.
func TestAddresses(t *testing.T) {
	box := newMailbox(t)
	elsewhere := httptest.NewServer(http.RedirectHandler(box.URL, http.StatusTemporaryRedirect))
	defer elsewhere.Close()
	o := newOffice(t, "notify:\n  - {on: done, webhook: {url: \""+box.URL+"\"}}\n  - {on: done, "+hook(elsewhere.URL, "")+"}\n  - {on: done, email: {to: a@b.example, from: a@b.example, server: \"127.0.0.1:25\"}}\n").trust()
	o.serve()
	o.run("hello")
	wait(t, "refusals", func() bool { return strings.Count(o.logged(), "notification not delivered\"") == 3 })
	if got := o.logged(); len(box.all()) > 0 || strings.Count(got, "not a public address") != 2 || !strings.Contains(got, "307") {
		t.Errorf("%v %s", box.all(), got)
	}
}

// A secret address is used and never logged.
func TestSecretAddress(t *testing.T) {
	box := newMailbox(t)
	box.refusals = []int{400}
	t.Setenv("MY_HOOK", box.URL+"/services/T0SECRET")
	t.Setenv("MY_TOKEN", "token-1234567")
	o := newOffice(t, "secrets: {HOOK: {env: MY_HOOK}, TOKEN: {env: MY_TOKEN}, GONE: {env: MY_MISSING}}\nnotify:\n"+
		"  - {on: done, webhook: {url: {secret: HOOK}, format: slack, private_network: true, headers: {Authorization: {secret: TOKEN, prefix: \"Bearer \"}}}}\n"+
		"  - {on: done, webhook: {url: {secret: GONE}}}\n").trust()
	o.serve()
	o.run("hello")
	wait(t, "failures", func() bool { return strings.Count(o.logged(), "notification not delivered\"") == 2 })
	o.run("hello")
	box.until(t, 1)
	if box.headers[0].Get("Authorization") != "Bearer token-1234567" {
		t.Errorf("%v", box.headers)
	}
	if strings.Contains(o.logged(), "T0SECRET") || strings.Contains(o.logged(), "token-1234567") || !strings.Contains(o.logged(), "secret GONE") {
		t.Error(o.logged())
	}
}

func TestCommand(t *testing.T) {
	t.Setenv("SOME_API_KEY", "key-1234567")
	dir := t.TempDir()
	script := filepath.Join(dir, "tell")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ncat >\""+dir+"/stdin\"\nenv | sort >\""+dir+"/env\"\npwd >\""+dir+"/pwd\"\nprintf '%s\\n' \"$@\" >\""+dir+"/args\"\ntouch \""+dir+"/done\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	o := newOffice(t, "notify:\n  - {on: waiting, command: ["+script+", \"a; b $(c)\"], env: {TEAM: blue}}\n  - {on: waiting, command: [no-such-program-here]}\n").trust()
	o.serve()
	run := o.run("gate")
	read := func(name string) string {
		data, _ := os.ReadFile(filepath.Join(dir, name))
		return string(data)
	}
	wait(t, "command", func() bool { _, err := os.Stat(filepath.Join(dir, "done")); return err == nil })
	var n Notice
	if err := json.Unmarshal([]byte(read("stdin")), &n); err != nil || n.Run != run {
		t.Errorf("%v: %s", err, read("stdin"))
	}
	env := "\n" + read("env")
	for _, want := range []string{"\nHOCKET_NOTIFY_REASON=waiting\n", "\nHOCKET_NOTIFY_RUN=" + run + "\n", "\nHOCKET_NOTIFY_LINK=https://hocket.example/runs/" + run + "\n", "\nTEAM=blue\n"} {
		if !strings.Contains(env, want) {
			t.Errorf("no %q in %s", want, env)
		}
	}
	if strings.Contains(env, "SOME_API_KEY") || strings.Contains(env, "\nHOCKET_RUN=") {
		t.Error(env)
	}
	if read("args") != "a; b $(c)\n" {
		t.Errorf("%q", read("args"))
	}
	if root, _ := filepath.EvalSymlinks(o.dir); strings.TrimSpace(read("pwd")) != root {
		t.Errorf("%q", read("pwd"))
	}
	wait(t, "failure", func() bool { return strings.Contains(o.logged(), "no-such-program-here") })
}

// A command that hangs is ended, and nothing waits for it.
func TestHangingCommand(t *testing.T) {
	box := newMailbox(t)
	o := newOffice(t, "notify:\n  - {on: done, command: [sleep, \"600\"]}\n  - {on: done, "+hook(box.URL, "")+"}\n").trust()
	tryTime, pauses = 200*time.Millisecond, nil
	o.serve()
	o.run("hello")
	box.until(t, 1)
	wait(t, "end", func() bool { return strings.Contains(o.logged(), "did not end within") })
}

func TestFormats(t *testing.T) {
	n := Notice{Reason: Waiting, Title: "gäte waits", Text: "a <!channel> & *b*\n@everyone `c`", Link: "https://h.example/r", Run: "r"}
	text := func(name string, v any) http.Header {
		t.Helper()
		h := http.Header{}
		body, err := format(name, n, h)
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := v.(*string); ok {
			*s = string(body)
		} else if err := json.Unmarshal(body, v); err != nil {
			t.Fatal(err)
		}
		return h
	}
	var s struct{ Text string }
	text("slack", &s)
	if want := "gäte waits\n> a &lt;!channel&gt; &amp; *b*\n> @everyone `c`\n<https://h.example/r|Open in Hocket>"; s.Text != want {
		t.Errorf("%q", s.Text)
	}
	var d struct {
		Content  string
		Mentions struct{ Parse []string } `json:"allowed_mentions"`
	}
	text("discord", &d)
	if want := "**gäte waits**\n> a \\<!channel\\> & \\*b\\*\n> @everyone \\`c\\`\n<https://h.example/r>"; d.Content != want || d.Mentions.Parse == nil {
		t.Errorf("%q %v", d.Content, d.Mentions)
	}
	var plain string
	h := text("ntfy", &plain)
	title, err := new(mime.WordDecoder).DecodeHeader(h.Get("Title"))
	if err != nil || title != n.Title || h.Get("Click") != n.Link || h.Get("Priority") != "high" || plain != n.Text {
		t.Errorf("%v %q", h, plain)
	}
	n.Title, n.Text = strings.Repeat("*", maxTitle), strings.Repeat("*\n", maxText/2)
	n.Link = strings.Repeat("x", 190)
	if text("discord", &d); len([]rune(d.Content)) > 2000 {
		t.Errorf("Discord refuses %d characters", len([]rune(d.Content)))
	}
}

func TestLines(t *testing.T) {
	for text, want := range map[string]string{
		"a\r\nb\x00\x1b[31mc\u202ed\xff": "a\nb[31mcd�",
		"  a\tb  ":                       "a b",
		strings.Repeat("ä", 30):          strings.Repeat("ä", 20) + "…",
	} {
		if got := lines(text, 20); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := line("a\r\nBcc: b\n c", 20); got != "a Bcc: b c" {
		t.Errorf("%q", got)
	}
}

// The memory is bounded, and what fell out of it is not told again.
func TestMemory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notified.json")
	start := time.Now()
	m, err := recall(file, start)
	if err != nil {
		t.Fatal(err)
	}
	at := func(i int) happening {
		return happening{run: fmt.Sprint("r", i), reason: Done, at: start.Add(time.Duration(i) * time.Second)}
	}
	if !m.has(at(0)) || m.has(at(1)) {
		t.Error("what happened before the first start is old")
	}
	for i := 1; i <= 3*maxRemembered; i++ {
		m.add([]happening{at(i)}, Notice{}, nil)
	}
	if len(m.Entries) != maxRemembered || len(m.keys) != maxRemembered {
		t.Errorf("%d entries, %d keys", len(m.Entries), len(m.keys))
	}
	if err := m.write(); err != nil {
		t.Fatal(err)
	}
	if m, err = recall(file, time.Now()); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 3*maxRemembered; i++ {
		if !m.has(at(i)) {
			t.Fatalf("%d is told again", i)
		}
	}
	if m.has(at(3*maxRemembered + 1)) {
		t.Error("something new is not told")
	}
	m.forget(time.Now())
	if _, err := os.Stat(file); err == nil {
		t.Error("the file is left")
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err := recall(file, start); err == nil || m == nil || !m.has(at(0)) {
		t.Errorf("a damaged file: %v", err)
	}
}
