package browser_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/browser"
	"github.com/hocket-dev/hocket/internal/outbound"
	"github.com/hocket-dev/hocket/workflow"
)

// site is a small website, some of whose pages are hostile.
type site struct {
	*httptest.Server
	host string

	mu   sync.Mutex
	seen []string
}

func (s *site) asked(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.seen, path)
}

func newSite(t *testing.T) *site {
	t.Helper()
	if reason := browser.New(browser.Options{}).Traits().Missing(); reason != "" {
		t.Skip(reason)
	}
	s := &site{}
	mux := http.NewServeMux()
	page := func(path, body string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, strings.ReplaceAll(body, "HOST", s.URL))
		})
	}
	redirect := func(path, to string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, strings.ReplaceAll(to, "HOST", s.URL), http.StatusFound)
		})
	}
	page("/{$}", `<!doctype html><title>Home</title><h1>Wares</h1><script>var hidden = 1</script><style>p{color:red}</style>
<ul><li class=ware data-price=3>Apple</li><li class=ware data-price=5>Pear</li></ul>
<p style="display:none">not to be seen</p><a href=/two>Second page</a> <a href=/two target=_blank>New window</a>
<a href="mailto:a@b.c">Mail</a> <button onclick="setTimeout(() => { document.body.insertAdjacentHTML('beforeend', '<p id=late>came late</p>') }, 100)">Load more</button>
<form action=/found><input name=q value=old><select name=s><option>one</option><option value=2>two</option></select><input type=submit value=Search></form>
<div style="height:3000px"></div><a href=/two id=far>Far below</a>`)
	page("/two", `<title>Two</title><h1>Second</h1><p>é ü 漢 🎵</p>`)
	mux.HandleFunc("GET /found", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "<h1>%s/%s</h1>", r.URL.Query().Get("q"), r.URL.Query().Get("s"))
	})
	mux.HandleFunc("GET /missing", http.NotFound)
	mux.HandleFunc("GET /download", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", "attachment; filename=evil.bin")
		fmt.Fprint(w, strings.Repeat("x", 1000))
	})
	mux.HandleFunc("GET /endless", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "<h1>begun</h1>"+strings.Repeat(" ", 2000))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("GET /silent", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	page("/straggler", `<h1>here</h1><img src=/silent>`)
	page("/huge", "<p>"+strings.Repeat("lorem ipsum ", 200_000))
	redirect("/loop", "HOST/loop")
	redirect("/to-file", "file:///etc/passwd")
	redirect("/to-data", "data:text/html,hello")
	redirect("/to-private", "http://127.0.0.2:8000/secret")
	redirect("/to-metadata", "http://169.254.169.254/latest/meta-data/")
	page("/links", `<h1>links</h1><a href="file:///etc/passwd">file</a> <a href="data:text/html,<h1>data</h1>">data</a> <a href="chrome://version">chrome</a>
<a href="javascript:void(document.title='ran')">script</a> <a href="http://127.0.0.2:8000/">private</a> <a href=/download>download</a> <a href=/to-file>redirect</a>
<button onclick="location = window.URL.createObjectURL(new Blob(['<h1>blob</h1>'], {type: 'text/html'}))">blob</button>`)
	page("/frames", `<h1>frames</h1><iframe src="file:///etc/passwd"></iframe><iframe src="data:text/html,<h1>data</h1>"></iframe><iframe src="http://127.0.0.2:8000/"></iframe><iframe src="/two"></iframe>`)
	page("/dialogs", `<h1>dialogs</h1><script>alert('hello'); document.title = confirm('sure?') + '/' + prompt('name?'); addEventListener('beforeunload', e => { e.preventDefault(); e.returnValue = 'stay' })</script><button>press</button>`)
	page("/popups", `<h1>popups</h1><script>for (let i = 0; i < 20; i++) window.open('/two?' + i)</script><a href="#" onclick="for (let i = 0; i < 5; i++) window.open('/two?click' + i)">many</a>`)
	page("/busy", `<h1>busy</h1><button onclick="for (;;);">spin</button>`)
	page("/liar", `<h1>truth</h1><script>Document.prototype.querySelectorAll = () => { throw 1 }; Array.prototype.filter = () => []; JSON.stringify = () => 'lie'</script>`)
	page("/beacon", `<h1>beacon</h1><script>fetch('http://127.0.0.2:8000/x').catch(e => document.title = 'failed'); try { new WebSocket('ws://127.0.0.2:8000/') } catch (e) {}</script>`)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen = append(s.seen, r.URL.String())
		s.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	s.host = strings.TrimPrefix(s.URL, "http://")
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

func (s *site) task(t *testing.T, settings string) *agent.Task {
	t.Helper()
	v, err := workflow.ParseJSON([]byte(strings.ReplaceAll(settings, "HOST", s.URL)))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	artifacts := filepath.Join(dir, ".hocket", "artifacts") // created by whichever step leaves a file there
	return &agent.Task{Key: "run/" + t.Name() + rand.Text(), Agent: &agent.Definition{Name: "browser", Builtin: true}, Settings: v.(map[string]any), Dir: dir, Artifacts: artifacts}
}

// run runs settings in a browser that treats this site as public and all others as
// private.
func (s *site) run(t *testing.T, settings string) (string, string, error) {
	t.Helper()
	return s.attempt(t.Context(), s.task(t, settings))
}

// shared returns a browser in which many settings are tried one after the other, since
// starting a browser takes longer than most steps.
func (s *site) shared(t *testing.T) func(settings string) (output, log string, err error) {
	t.Helper()
	var mu sync.Mutex
	var lines strings.Builder
	b := browser.New(browser.Options{Network: outbound.Policy{Allowed: []string{s.host}}})
	run, err := browser.Shared(t, b, func(piece []byte) {
		mu.Lock()
		defer mu.Unlock()
		lines.Write(piece)
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(settings string) (string, string, error) {
		output, err := run(s.task(t, settings))
		mu.Lock()
		defer mu.Unlock()
		defer lines.Reset()
		return output, lines.String(), err
	}
}

func (s *site) attempt(ctx context.Context, task *agent.Task) (output, log string, err error) {
	var mu sync.Mutex
	var lines strings.Builder
	b := browser.New(browser.Options{Network: outbound.Policy{Allowed: []string{s.host}}})
	result, err := b.Run(ctx, task, func(piece []byte) {
		mu.Lock()
		defer mu.Unlock()
		lines.Write(piece)
	})
	mu.Lock()
	defer mu.Unlock()
	return result.Output, lines.String(), err
}

func TestSteps(t *testing.T) {
	s := newSite(t)
	run := s.shared(t)
	for _, c := range []struct{ settings, want string }{
		{`{"url": "HOST/two"}`, "Second\n\né ü 漢 🎵"},
		{`{"url": "HOST/", "extract": "h1"}`, "Wares"},
		{`{"url": "HOST/", "extract": {"title": "h1", "wares": {"selector": ".ware", "all": true}, "price": {"selector": ".ware", "attribute": "data-price"}, "none": {"selector": "blink", "all": true}}}`,
			`{"none":[],"price":"3","title":"Wares","wares":["Apple","Pear"]}`},
		{`{"steps": [{"open": "HOST/"}, {"click": {"text": "Second page"}}, {"extract": "h1"}]}`, "Second"},
		{`{"steps": [{"open": "HOST/"}, {"click": {"text": "new WINDOW"}}, {"extract": "h1"}]}`, "Second"},
		{`{"steps": [{"open": "HOST/"}, {"click": "#far"}, {"extract": "h1"}, "back", {"extract": {"selector": "h1", "as": "before"}}]}`, `{"before":"Wares","extract":"Second"}`},
		{`{"steps": [{"open": "HOST/"}, {"click": {"text": "Load more"}}, {"wait": "#late"}, {"text": "#late"}]}`, "came late"},
		{`{"steps": [{"open": "HOST/"}, {"type": {"selector": "input[name=q]", "text": "naïve & <b>", "submit": true}}, {"extract": "h1"}]}`, "naïve & /one"},
		{`{"steps": [{"open": "HOST/"}, {"type": {"selector": "input[name=q]", "text": ""}}, {"type": {"selector": "select", "text": "two"}}, {"click": {"text": "Search"}}, {"extract": "h1"}]}`, "/2"},
		{`{"steps": [{"open": "HOST/"}, "links"]}`, `[{"text":"Second page","url":"HOST/two"},{"text":"New window","url":"HOST/two"},{"text":"Far below","url":"HOST/two"}]`},
		{`{"steps": [{"open": "HOST/"}, {"extract": {"selector": "a", "attribute": "href", "all": true}}]}`, `["HOST/two","HOST/two","mailto:a@b.c","HOST/two"]`},
		{`{"steps": [{"open": "HOST/two"}, {"wait": {"time": "10ms"}}]}`, ""},
		{`{"steps": [{"open": "HOST/liar"}, {"extract": {"selector": "h1", "all": true}}]}`, `["truth"]`},
	} {
		got, log, err := run(c.settings)
		if want := strings.ReplaceAll(c.want, "HOST", s.URL); err != nil || got != want {
			t.Errorf("%s\ngot  %q, %v\nwant %q\n%s", c.settings, got, err, want, log)
		}
	}
}

func TestHomePageIsReadAsText(t *testing.T) {
	got, _, err := newSite(t).run(t, `{"steps": [{"open": "HOST/"}, "text"]}`)
	for _, unwanted := range []string{"hidden", "color", "not to be seen", "<"} {
		if strings.Contains(got, unwanted) {
			t.Errorf("the text has %q: %s", unwanted, got)
		}
	}
	if err != nil || !strings.HasPrefix(got, "Wares\n") || !strings.Contains(got, "Apple\nPear") {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestNoPageBefore(t *testing.T) {
	_, _, err := newSite(t).run(t, `{"steps": [{"open": "HOST/"}, "back"]}`)
	if err == nil || err.Error() != "step 2 (back): there is no previous page" {
		t.Errorf("got %v", err)
	}
}

func TestScreenshot(t *testing.T) {
	s := newSite(t)
	task := s.task(t, `{"steps": [{"open": "HOST/"}, {"screenshot": "view"}, {"screenshot": {"name": "all.png", "full": true, "as": "all"}}]}`)
	got, _, err := s.attempt(t.Context(), task)
	if want := `{"all":".hocket/artifacts/all.png","screenshot":".hocket/artifacts/view.png"}`; err != nil || got != want {
		t.Fatalf("got %s, %v", got, err)
	}
	view, _ := os.ReadFile(filepath.Join(task.Artifacts, "view.png"))
	all, _ := os.ReadFile(filepath.Join(task.Artifacts, "all.png"))
	if !strings.HasPrefix(string(view), "\x89PNG") || height(all) < 3000 || height(view) > 1000 {
		t.Errorf("%d bytes, %d and %d high", len(view), height(view), height(all))
	}
	task.Artifacts = ""
	if _, _, err := s.attempt(t.Context(), task); err == nil || !strings.Contains(err.Error(), "no directory for artifacts") {
		t.Errorf("got %v", err)
	}
}

// height returns the height of a PNG image.
func height(png []byte) int {
	if len(png) < 24 {
		return 0
	}
	return int(png[20])<<24 | int(png[21])<<16 | int(png[22])<<8 | int(png[23])
}

func TestRefusals(t *testing.T) {
	s := newSite(t)
	run := s.shared(t)
	for _, c := range []struct{ settings, want string }{
		{`{"url": "HOST/missing"}`, "step 1 (open): HOST/missing returned status 404"},
		{`{"url": "HOST/download"}`, "step 1 (open): HOST/download is a download, which the browser does not support; use an http or shell step"},
		{`{"url": "HOST/loop"}`, "step 1 (open): HOST/loop redirects endlessly"},
		{`{"url": "HOST/to-file"}`, "step 1 (open): HOST/to-file redirects to an address that may not be opened: only http and https addresses may be opened"},
		{`{"url": "HOST/to-data"}`, "step 1 (open): HOST/to-data redirects to an address that may not be opened: only http and https addresses may be opened"},
		{`{"url": "HOST/to-private"}`, "step 1 (open): 127.0.0.2 is not a public address; the setting private_network allows such pages"},
		{`{"url": "HOST/to-metadata"}`, "step 1 (open): 169.254.169.254 is not a public address; the setting private_network allows such pages"},
		{`{"url": "http://127.0.0.2:8000/"}`, "step 1 (open): 127.0.0.2 is not a public address; the setting private_network allows such pages"},
		{`{"url": "http://[::1]:8000/"}`, "step 1 (open): ::1 is not a public address; the setting private_network allows such pages"},
		{`{"url": "http://0x7f.1:8000/"}`, "step 1 (open): 127.0.0.1 is not a public address; the setting private_network allows such pages"},
		{`{"url": "file:///etc/passwd"}`, `settings: setting "url" cannot be "file:///etc/passwd"; it is: http or https address of a page`},
		{`{"steps": [{"open": "HOST/"}, {"click": {"text": "nowhere", "timeout": "1s"}}]}`, `step 2 (click): nothing on the page matches the text "nowhere", after 1s`},
		{`{"steps": [{"open": "HOST/"}, {"extract": {"selector": "h7", "timeout": "1s"}}]}`, `step 2 (extract): nothing on the page matches the selector "h7", after 1s`},
		{`{"steps": [{"open": "HOST/"}, {"extract": "h1["}]}`, `step 2 (extract): invalid selector; write a CSS selector such as h1, #name or .price a`},
		{`{"steps": [{"open": "HOST/"}, {"extract": {"selector": "h1", "attribute": "class"}}]}`, `step 2 (extract): the element has no attribute "class"`},
		{`{"steps": [{"open": "HOST/"}, {"type": {"selector": "h1", "text": "x"}}]}`, `step 2 (type): the selector "h1": this element does not accept text`},
		{`{"steps": [{"open": "HOST/"}, {"type": {"selector": "select", "text": "x"}}]}`, `step 2 (type): the selector "select": there is no option "x"; the options are: one, two`},
		{`{"steps": [{"open": "HOST/"}, {"click": "p"}]}`, `step 2 (click): the selector "p": the element is not visible`},
		{`{"steps": [{"open": "HOST/"}, "text", "text"]}`, `two steps return "text"; give them different names with as, such as text: {as: first, …}`},
		{`{"url": "HOST/huge", "max_output_kb": 100}`, "step 2 (text): the output of the page exceeds 100 KiB; select less with a selector, or raise max_output_kb"},
		{`{"url": "HOST/huge", "extract": "p", "max_output_kb": 100}`, "step 2 (extract): the output of the page exceeds 100 KiB; select less with a selector, or raise max_output_kb"},
		{`{"url": "HOST/silent", "timeout": "1s"}`, "step 1 (open): the page did not answer within 1s; raise timeout if it needs longer"},
		{`{"url": "HOST/endless", "timeout": "2s"}`, "step 1 (open): the page did not answer within 2s; raise timeout if it needs longer"},
		{`{"steps": [{"open": "HOST/busy"}, {"click": {"text": "spin", "timeout": "2s"}}]}`, "step 2 (click): the page did not answer within 2s; raise timeout if it needs longer"},
	} {
		_, log, err := run(c.settings)
		if want := strings.ReplaceAll(c.want, "HOST", s.URL); err == nil || err.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s\n%s", c.settings, err, want, log)
		}
	}
}

// TestHostilePages clicks on hostile links, and checks that the page is still on the web
// afterwards.
func TestHostilePages(t *testing.T) {
	s := newSite(t)
	run := s.shared(t)
	for _, c := range []struct{ settings, want, failure string }{
		{`{"steps": [{"open": "HOST/links"}, {"click": {"text": "file"}}, {"extract": "h1"}]}`, "links", ""},
		{`{"steps": [{"open": "HOST/links"}, {"click": {"text": "data"}}, {"extract": "h1"}]}`, "links", ""},
		{`{"steps": [{"open": "HOST/links"}, {"click": {"text": "chrome"}}, {"extract": "h1"}]}`, "links", ""},
		{`{"steps": [{"open": "HOST/links"}, {"click": {"text": "script"}}, {"extract": "h1"}]}`, "links", ""},
		{`{"steps": [{"open": "HOST/links"}, {"click": {"text": "download"}}, {"extract": "h1"}]}`, "links", ""},
		{`{"steps": [{"open": "HOST/links"}, {"click": {"text": "private"}}, {"extract": "h1"}]}`, "", "127.0.0.2 is not a public address"},
		{`{"steps": [{"open": "HOST/links"}, {"click": {"text": "redirect"}}, {"extract": "h1"}]}`, "", "could not open"},
		{`{"steps": [{"open": "HOST/links"}, {"click": {"text": "blob"}}, {"extract": {"selector": "h1", "all": true}}]}`, "", "only http and https addresses may be opened"},
		{`{"steps": [{"open": "HOST/frames"}, {"extract": "h1"}]}`, "frames", ""},
		{`{"steps": [{"open": "HOST/dialogs"}, {"extract": "title"}, {"click": {"text": "press"}}, {"open": "HOST/two"}, {"extract": {"selector": "h1", "as": "then"}}]}`, `{"extract":"false/null","then":"Second"}`, ""},
		{`{"steps": [{"open": "HOST/popups"}, {"extract": "h1"}]}`, "popups", ""},
		{`{"steps": [{"open": "HOST/popups"}, {"click": {"text": "many"}}, {"extract": "h1"}]}`, "Second", ""},
		{`{"steps": [{"open": "HOST/straggler"}, {"extract": "h1"}]}`, "here", ""},
		{`{"steps": [{"open": "HOST/beacon"}, {"wait": "title"}, {"extract": "title"}]}`, "failed", ""},
	} {
		got, log, err := run(c.settings)
		if c.failure == "" && (err != nil || got != c.want) || c.failure != "" && (err == nil || !strings.Contains(err.Error(), c.failure)) {
			t.Errorf("%s\ngot  %q, %v\nwant %q %s\n%s", c.settings, got, err, c.want, c.failure, log)
		}
	}
}

func TestPrivateNetworkIsAllowedByTheSetting(t *testing.T) {
	s := newSite(t)
	for _, allowed := range []string{`true`, `["` + s.host + `"]`, `["127.0.0.1"]`} {
		task := s.task(t, `{"url": "HOST/two", "extract": "h1", "private_network": `+allowed+`}`)
		result, err := browser.New(browser.Options{}).Run(t.Context(), task, func([]byte) {})
		if err != nil || result.Output != "Second" {
			t.Errorf("%s: got %q, %v", allowed, result.Output, err)
		}
	}
	for _, not := range []string{`false`, `["127.0.0.1:1"]`, `[]`} {
		task := s.task(t, `{"url": "HOST/two", "extract": "h1", "private_network": `+not+`}`)
		if _, err := browser.New(browser.Options{}).Run(t.Context(), task, func([]byte) {}); err == nil || !strings.Contains(err.Error(), "not a public address") {
			t.Errorf("%s: got %v", not, err)
		}
	}
}

func TestCancelLeavesNothingBehind(t *testing.T) {
	s := newSite(t)
	before := runtime.NumGoroutine()
	temp, err := os.MkdirTemp("", "t") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	task := s.task(t, `{"url": "HOST/silent"}`)
	t.Setenv("TMPDIR", temp)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() {
		_, _, err := s.attempt(ctx, task)
		done <- err
	}()
	for !s.asked("/silent") {
		runtime.Gosched()
		time.Sleep(time.Millisecond)
	}
	if runtime.GOOS == "linux" && len(processes(t, task.Key)) == 0 {
		t.Error("the test sees no process of the browser")
	}
	cancel(errors.New("by hand"))
	if err := <-done; err == nil || err.Error() != "agent: cancelled: by hand" {
		t.Errorf("got %v", err)
	}
	left, _ := os.ReadDir(temp)
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if runtime.GOOS == "linux" && len(processes(t, task.Key)) > 0 {
		t.Error("processes are left behind")
	}
	for range 1000 {
		if runtime.NumGoroutine() <= before+2 { // two belong to the site
			return
		}
		time.Sleep(time.Millisecond)
	}
	buf := make([]byte, 1<<20)
	t.Errorf("goroutines are left behind: %s", buf[:runtime.Stack(buf, true)])
}

// processes returns those that have the key of an attempt in their environment.
func processes(t *testing.T, key string) []int {
	t.Helper()
	var found []int
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		if env, err := os.ReadFile(path); err == nil && strings.Contains(string(env), "HOCKET_KEY="+key+"\x00") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			found = append(found, pid)
		}
	}
	return found
}

func TestTheBrowserIsKilled(t *testing.T) {
	s := newSite(t)
	if runtime.GOOS != "linux" {
		t.Skip("finds the browser in /proc")
	}
	task := s.task(t, `{"steps": [{"open": "HOST/two"}, {"wait": {"time": "30s"}}]}`)
	done := make(chan error, 1)
	go func() {
		_, _, err := s.attempt(t.Context(), task)
		done <- err
	}()
	for !s.asked("/two") {
		time.Sleep(time.Millisecond)
	}
	for _, pid := range processes(t, task.Key) {
		// The browser's main process has no type; the processes that it started have one.
		if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); strings.Contains(string(line), "hocket-browser") && !strings.Contains(string(line), "--type=") {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "the browser exited unexpectedly") {
		t.Errorf("got %v", err)
	}
}

// A browser has a socket in its directory, and the path of a socket must be short.
func TestALongTemporaryDirectory(t *testing.T) {
	s := newSite(t)
	task := s.task(t, `{"url": "HOST/two", "extract": "h1"}`)
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 20))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	if got, log, err := s.attempt(t.Context(), task); err != nil || got != "Second" {
		t.Errorf("got %q, %v\n%s", got, err, log)
	}
}

func TestMissing(t *testing.T) {
	if got := browser.New(browser.Options{Path: "/none/such"}).Traits().Missing(); !strings.Contains(got, `"/none/such"`) {
		t.Errorf("got %q", got)
	}
	t.Setenv("PATH", "")
	b := browser.New(browser.Options{Path: "chromium-that-is-not-here"})
	_, err := b.Run(t.Context(), &agent.Task{Settings: map[string]any{"url": "https://example.com/"}}, func([]byte) {})
	var failed *agent.Error
	if !errors.As(err, &failed) || !failed.Permanent || !strings.Contains(failed.Message, "not found; name one") {
		t.Errorf("got %v", err)
	}
}
