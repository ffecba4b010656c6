package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// enterWith uses a link and returns the cookie.
func (f *fixture) enterWith(link string) (*http.Cookie, int) {
	f.t.Helper()
	res := f.request("GET", link, nil, "Authorization", "", "Sec-Fetch-Site", "none")
	for _, c := range res.Cookies() {
		return c, res.StatusCode
	}
	return nil, res.StatusCode
}

// session starts a browser session and returns the value of the header Cookie.
func (f *fixture) session() string {
	f.t.Helper()
	c, _ := f.enterWith(f.link(""))
	if c == nil {
		f.t.Fatal("the link gave no session")
	}
	return c.Name + "=" + c.Value
}

func TestNobodyEntersWithoutASecret(t *testing.T) {
	f := newFixture(t, nil)
	for _, path := range []string{"/", "/api/projects", "/api/openapi.json", "/metrics", f.path("/runs"), "/api/events", "/anything"} {
		for _, how := range []string{"", "Bearer", "Bearer ", "Bearer x", "Basic " + f.admin, "bearer" + f.admin} {
			f.want(http.StatusUnauthorized, "GET", path, nil, "Authorization", how)
		}
		f.want(http.StatusUnauthorized, "GET", path, nil, "Authorization", "", "Cookie", f.s.place.cookie+"="+f.admin)
	}
	f.want(http.StatusOK, "GET", "/healthz", nil, "Authorization", "")
}

func TestALinkCanBeUsedOnce(t *testing.T) {
	f := newFixture(t, nil)
	link := f.link("/runs/x")
	// Several at once: only one gets a session.
	var mu sync.Mutex
	sessions := 0
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			if c, _ := f.enterWith(link); c != nil {
				mu.Lock()
				defer mu.Unlock()
				sessions++
			}
		})
	}
	wait.Wait()
	if sessions != 1 {
		t.Errorf("the link gave %d sessions", sessions)
	}
	if c, status := f.enterWith(link); c != nil || status != http.StatusForbidden {
		t.Errorf("the link works again: %v, %d", c, status)
	}
	if c, status := f.enterWith("/enter?key="); c != nil || status != http.StatusForbidden {
		t.Errorf("an empty key works: %v, %d", c, status)
	}
}

func TestALinkLeadsOnlyToThisServer(t *testing.T) {
	f := newFixture(t, nil)
	for _, to := range []string{"//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/x\r\nSet-Cookie: a=b", "/\"><script>alert(1)</script>", "/x;url=//evil.example"} {
		res := f.request("GET", f.link(to), nil, "Authorization", "")
		body, _ := io.ReadAll(res.Body)
		if res.StatusCode != http.StatusOK || !strings.Contains(string(body), `content="0; url=/"`) || strings.Contains(string(body), "evil") || strings.Contains(string(body), "<script") {
			t.Errorf("%q: %d %s", to, res.StatusCode, body)
		}
	}
}

func TestTheCookieIsPrivate(t *testing.T) {
	f := newFixture(t, nil)
	c, _ := f.enterWith(f.link(""))
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(f.base, "http://"))
	if c == nil || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Name != "hocket-"+port || c.Domain != "" {
		t.Errorf("the cookie is %+v", c)
	}
	stored, err := os.ReadFile(f.access.file)
	if err != nil || strings.Contains(string(stored), c.Value) || strings.Contains(string(stored), f.admin) {
		t.Errorf("a secret is stored: %v", err)
	}
	if info, err := os.Stat(f.access.file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the tokens: %v, %v", info.Mode(), err)
	}
}

// Each scope allows what it says and no more. Every operation of the API is tried.
func TestScopes(t *testing.T) {
	f := newFixture(t, nil)
	run := f.begin("gated")
	f.until(run, "waiting")
	tokens := map[Scope]string{}
	for _, s := range []Scope{Read, Answer, Start} {
		var err error
		if tokens[s], err = f.access.Create(string(s), []Scope{s}, 0); err != nil {
			t.Fatal(err)
		}
	}
	document := read[struct {
		Paths map[string]map[string]struct {
			OperationID string                `json:"operationId"`
			Security    []map[string][]string `json:"security"`
		} `json:"paths"`
	}](t, f.want(http.StatusOK, "GET", "/api/openapi.json", nil))
	wants := map[string]Scope{
		"answer-question": Answer, "start-run": Start, "cancel-run": Start, "raise-limits": Admin, "resume-run": Start, "retry-run": Start, "add-memory": Start, "send-handoff": Start, "check-handoff": Read,
		"save-workflow": Admin, "delete-run": Admin, "delete-memory": Admin, "approve-definition": Admin, "reject-definition": Admin, "trust-project": Admin,
	}
	fill := strings.NewReplacer("{project}", f.name(), "{run}", "none", "{name}", "none", "{address}", "none", "{attempt}", "1", "{stream}", "output", "{question}", "none", "{id}", "1")
	tried := 0
	for path, methods := range document.Paths {
		for method, o := range methods {
			needs, ok := wants[o.OperationID]
			if !ok && method != "get" && !strings.HasSuffix(o.OperationID, "-text") {
				t.Errorf("%s changes something, and this test does not know its scope", o.OperationID)
			}
			if !ok {
				needs = Read
			}
			for scope, token := range tokens {
				body := any(nil)
				if method != "get" && method != "delete" {
					body = `{"workflow":"none","value":"x","digest":"x","text":"x","revision":"x","file":"x.yml","state":"proposed"}`
				}
				if o.OperationID == "follow-all" { // it would not end
					continue
				}
				res := f.request(strings.ToUpper(method), apiPath+fill.Replace(path), body, "Authorization", "Bearer "+token)
				text, _ := io.ReadAll(res.Body)
				refused := strings.Contains(string(text), "urn:hocket:scope")
				if may := needs == Read || needs == scope; may == refused || refused && res.StatusCode != http.StatusForbidden {
					t.Errorf("%s with the scope %s: %d %.200s", o.OperationID, scope, res.StatusCode, text)
				}
				tried++
			}
		}
	}
	if tried < 80 {
		t.Errorf("only %d requests were tried", tried)
	}
	f.want(http.StatusForbidden, "POST", f.path("/runs/"+run+"/retry"), map[string]any{"from": "approve", "output": "yes"}, "Authorization", "Bearer "+tokens[Start])
	f.want(http.StatusForbidden, "POST", f.path("/runs/"+run+"/retry"), map[string]any{"from": "approve", "prompt": "yes"}, "Authorization", "Bearer "+tokens[Start])
	for _, c := range []struct {
		status int
		body   map[string]any
	}{
		{http.StatusForbidden, map[string]any{"replies": "approve: yes\n"}},
		{http.StatusForbidden, map[string]any{"limits": map[string]any{"steps": 1000}}},
		{http.StatusForbidden, map[string]any{"limits": map[string]any{"steps": 5, "seconds": 1e6}}},
		{http.StatusCreated, map[string]any{"replies": "approve: yes\n\"*\": done\n"}},
		{http.StatusCreated, map[string]any{"limits": map[string]any{"steps": 50, "cost_usd": 2}}},
	} {
		c.body["workflow"] = "gated"
		f.want(c.status, "POST", f.path("/runs"), c.body, "Authorization", "Bearer "+tokens[Start])
	}
}

func TestARevokedTokenIsInvalidAtOnce(t *testing.T) {
	f := newFixture(t, nil)
	other := OpenAccess(filepath.Dir(f.access.file)) // another process
	token, err := other.Create("ci", []Scope{Read}, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.want(http.StatusOK, "GET", "/api/projects", nil, "Authorization", "Bearer "+token)
	if err := other.Revoke("ci"); err != nil {
		t.Fatal(err)
	}
	f.want(http.StatusUnauthorized, "GET", "/api/projects", nil, "Authorization", "Bearer "+token)
	cookie := f.session()
	f.want(http.StatusOK, "GET", "/api/projects", nil, "Authorization", "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin")
	if err := other.RevokeSessions(); err != nil {
		t.Fatal(err)
	}
	f.want(http.StatusUnauthorized, "GET", "/api/projects", nil, "Authorization", "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin")
}

func TestTokensExpire(t *testing.T) {
	a := OpenAccess(t.TempDir())
	secret, err := a.Create("short", []Scope{Read}, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond) // times are stored in seconds
	if found, err := a.find(secret, false); found != nil || err != nil {
		t.Errorf("an expired token is valid: %v, %v", found, err)
	}
}

func TestPaths(t *testing.T) {
	f := newFixture(t, map[string]string{"secret.yml": "name: secret\nsteps: [{id: a, agent: greeter, prompt: x}]\n"})
	outside := filepath.Join(t.TempDir(), "outside.yml")
	if err := os.WriteFile(outside, []byte("name: outside\nsteps: [{id: a, agent: greeter, prompt: x}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	names := []string{"../secret", "..%2Fsecret", "%2E%2E%2Fsecret", "..%2F..%2Fsecret.yml", "secret.yml", url.PathEscape(outside), url.PathEscape("../../../" + outside), "hello%00", ".", "..", "%2e%2e", "%252e%252e%252fsecret"}
	for _, name := range names {
		for _, path := range []string{f.path("/workflows/" + name), f.path("/workflows/" + name + "/graph"), "/api/projects/" + name, "/api/projects/" + name + "/runs", f.path("/runs/" + name), f.path("/runs/" + name + "/source"), f.path("/definitions/" + name),
			f.path("/runs/none/steps/" + name + "/attempts/1/output")} {
			res := f.request("GET", path, nil)
			text, _ := io.ReadAll(res.Body)
			if res.StatusCode == http.StatusOK && !strings.HasSuffix(strings.TrimSuffix(res.Request.URL.Path, "/"), "/runs") && !strings.HasSuffix(strings.TrimSuffix(res.Request.URL.Path, "/"), "/workflows") && res.Request.URL.Path != "/api/projects" && res.Request.URL.Path != "/api/" && !strings.HasSuffix(strings.TrimSuffix(res.Request.URL.Path, "/"), "/definitions") && res.Request.URL.Path != f.path("") {
				t.Errorf("GET %s: %.200s", path, text)
			}
			if res.StatusCode >= 500 {
				t.Errorf("GET %s: %d %s", path, res.StatusCode, text)
			}
		}
		raw, err := url.PathUnescape(name)
		if err != nil {
			t.Fatal(err)
		}
		f.want(http.StatusNotFound, "POST", f.path("/runs"), map[string]any{"workflow": raw})
		for _, file := range []string{raw, raw + ".yml", "../" + raw, outside, "sub/x.yml", ".x.yml", "x"} {
			res := f.request("PUT", f.path("/workflows/x"), map[string]any{"text": "x", "revision": "", "file": file})
			if res.StatusCode < 400 {
				t.Errorf("saved as %q", file)
			}
		}
	}
	found, err := filepath.Glob(filepath.Join(f.dir, ".hocket", "workflows", "*"))
	if err != nil || len(found) != 2 {
		t.Errorf("the files are %v, %v", found, err)
	}
	// A link in the project that leads outside is not followed.
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(f.dir, ".hocket", "workflows", "link")); err == nil {
		f.want(http.StatusNotFound, "GET", f.path("/workflows/link%2Foutside"), nil)
	}
}

// What a run can fill is text in JSON, and never a header, a script or a page.
func TestNothingFromARunIsMarkup(t *testing.T) {
	const evil = `</script><script>alert(1)</script><img src=x onerror=alert(1)>`
	f := newFixture(t, map[string]string{
		".hocket/workflows/evil.yml": "name: evil\ndescription: " + fmt.Sprintf("%q", evil) + "\nsteps:\n  - {id: a, title: " + fmt.Sprintf("%q", evil) + ", agent: mean, prompt: " + fmt.Sprintf("%q", evil) + "}\n",
		".hocket/agents/mean.yml":    "name: mean\nagent: shell\nsettings: {command: \"cat >/dev/null; printf '%s\\\\r\\\\nSet-Cookie: x=y\\\\033]0;x\\\\007' '" + evil + "'\"}\n",
	})
	run := f.begin("evil")
	r := f.until(run, "success")
	for _, path := range []string{f.path("/runs/" + run), f.path("/runs/" + run + "/history"), f.path("/runs"), f.path("/workflows"), f.path("/workflows/evil"), f.path("/runs/" + run + "/steps/a/output"), f.path("/runs/" + run + "/steps/a/attempts/1/output"), f.path("/runs/" + run + "/steps/a/attempts/1/prompt"),
		f.path("/runs/" + run + "/source"), f.path("/runs/" + run + "/graph?as=svg"), f.path("/runs/" + run + "/graph?as=mermaid")} {
		res := f.request("GET", path, nil)
		body, _ := io.ReadAll(res.Body)
		kind := res.Header.Get("Content-Type")
		if res.StatusCode != http.StatusOK || strings.HasPrefix(kind, "text/html") || res.Header.Get("X-Content-Type-Options") != "nosniff" || res.Header.Get("Set-Cookie") != "" {
			t.Errorf("GET %s: %d %s %s", path, res.StatusCode, kind, body)
		}
		if (kind == "application/json" || kind == "image/svg+xml") && strings.Contains(string(body), "<script") {
			t.Errorf("GET %s has a script: %s", path, body)
		}
	}
	if text, _ := r.Steps[0].Output.(string); !strings.Contains(text, evil) {
		t.Errorf("the output is %q", text)
	}
}

func TestHeadersCannotBeInjected(t *testing.T) {
	f := newFixture(t, nil)
	host := strings.TrimPrefix(f.base, "http://")
	for _, path := range []string{"/api/projects/x%0d%0aSet-Cookie:%20a=b", "/%0d%0aSet-Cookie:%20a=b", "/enter?key=x%0d%0aSet-Cookie:%20a=b&to=%0d%0aX:y"} {
		c, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n", path, host, f.admin)
		text, err := io.ReadAll(c)
		c.Close()
		head, _, _ := strings.Cut(string(text), "\r\n\r\n")
		if err != nil || strings.Contains(head, "Set-Cookie") || strings.Contains(head, "\nX:") {
			t.Errorf("GET %s: %v\n%s", path, err, head)
		}
	}
}

func TestLargeRequests(t *testing.T) {
	f := newFixture(t, nil)
	host := strings.TrimPrefix(f.base, "http://")
	big := strings.Repeat("x", maxBody+1)
	f.want(http.StatusRequestEntityTooLarge, "POST", f.path("/check"), map[string]any{"file": "x.yml", "text": big})
	f.want(http.StatusRequestEntityTooLarge, "POST", f.path("/check"), map[string]any{"file": "x.yml", "text": big[:maxText+1]})
	nested := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	if res := f.request("POST", f.path("/runs"), `{"workflow":"hello","inputs":{"who":`+nested+`}}`); res.StatusCode < 400 || res.StatusCode >= 500 {
		t.Errorf("nested JSON: %d", res.StatusCode)
	}
	if res := f.request("POST", f.path("/runs"), `{"workflow":"hello"`+strings.Repeat(`,"a":1`, 10_000)+`}`); res.StatusCode < 400 || res.StatusCode >= 500 {
		t.Errorf("unknown keys: %d", res.StatusCode)
	}
	for _, text := range []string{"", "{", "null", "[]", "\xff", `{"workflow":1}`, `{"workflow":"hello","workflow":"gated"}x`} {
		if res := f.request("POST", f.path("/runs"), text); res.StatusCode < 400 || res.StatusCode >= 500 {
			t.Errorf("%q: %d", text, res.StatusCode)
		}
	}
	c, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\nX: %s\r\n\r\n", host, strings.Repeat("x", 200<<10))
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil || !strings.Contains(line, "431") {
		t.Errorf("a large header: %q, %v", line, err)
	}
}

// A client that opens too many connections is told so, and the others are still served.
func TestTooManyConnections(t *testing.T) {
	f := newFixture(t, nil)
	host := strings.TrimPrefix(f.base, "http://")
	var open []net.Conn
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	refused := 0
	for range maxConnections + 50 {
		c, err := net.Dial("tcp", host)
		if err != nil {
			t.Skipf("this system allows no more connections: %v", err)
		}
		open = append(open, c)
	}
	for _, c := range open[maxConnections:] {
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
		if line, err := bufio.NewReader(c).ReadString('\n'); err == nil && strings.Contains(line, "503") {
			refused++
		}
	}
	if refused != 50 {
		t.Errorf("%d of 50 were told", refused)
	}
	for _, c := range open {
		c.Close()
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		res, err := http.Get(f.base + "/healthz")
		if err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(end) {
			t.Fatalf("the server does not recover: %v", err)
		}
	}
}

// An agent that the server runs can use nothing that it finds to answer its own gate.
func TestAnAgentCannotOpenTheDoor(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes at the other end of a socket are known on Linux only")
	}
	dir := t.TempDir()
	f := newFixture(t, nil)
	if err := f.s.OpenDoor(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	door := func(env ...string) answered {
		t.Helper()
		doors, err := filepath.Glob(filepath.Join(dir, "*.sock"))
		if err != nil || len(doors) != 1 {
			t.Fatalf("the doors are %v, %v", doors, err)
		}
		cmd := exec.Command(os.Args[0], "-test.run", "TestKnock")
		cmd.Env = append(append(os.Environ(), "KNOCK="+doors[0]), env...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(string(out), "\n")
		return read[answered](t, text)
	}
	if got := door("HOCKET_RUN=x"); got.Link != "" || !strings.Contains(got.Why, "reserved for people") {
		t.Errorf("an agent got %+v", got)
	}
	if got := door("CLAUDECODE=1"); got.Link != "" {
		t.Errorf("claude got %+v", got)
	}
	// A process that has ended may have been anything, and another one speaks for it.
	if got := door("KNOCK_THROUGH=" + filepath.Join(t.TempDir(), "answer")); got.Link != "" {
		t.Errorf("a process that connected and ended got %+v", got)
	}
}

// The file that leads a browser to a link does not stay: the link is used, or is too old, or its server was
// killed.
func TestRedirectFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, "open-0123456789abcdef.html")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(left, time.Time{}, time.Now().Add(-2*linkLife)); err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, nil)
	if err := f.s.OpenDoor(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("the file of a server that was killed stays")
	}
	link := f.link("")
	file, err := RedirectFile(dir, f.s.place.public+link)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), html.EscapeString(f.s.place.public+link)) {
		t.Errorf("%s, %v", text, err)
	}
	f.want(http.StatusOK, "GET", link, nil, "Authorization", "")
	if _, err := os.Stat(file); err == nil {
		t.Error("the file stays after the link was used")
	}
	synctest.Test(t, func(t *testing.T) {
		s := &Server{doors: dir}
		link, err := s.Link("")
		if err != nil {
			t.Fatal(err)
		}
		file, err := RedirectFile(dir, link)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(linkLife - time.Second)
		if _, err := os.Stat(file); err != nil {
			t.Error("the file is removed before the link has expired")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if _, err := os.Stat(file); err == nil {
			t.Error("the file stays after the link has expired")
		}
	})
}

// A link can lead to the page of a run.
func TestALinkToARun(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes at the other end of a socket are known on Linux only")
	}
	dir := t.TempDir()
	f := newFixture(t, nil)
	if err := f.s.OpenDoor(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	link, err := RequestLink(t.Context(), dir, f.p.Root(), "demo-1")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(link)
	if want := "/projects/" + f.name() + "/runs/demo-1"; err != nil || u.Query().Get("to") != want {
		t.Errorf("the link is %s, %v, want %s", link, err, want)
	}
}

// TestKnock is the process of TestAnAgentCannotOpenTheDoor.
func TestKnock(t *testing.T) {
	door := os.Getenv("KNOCK")
	if door == "" {
		t.Skip("it is started by another test")
	}
	c, err := net.Dial("unix", door)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if file := os.Getenv("KNOCK_THROUGH"); file != "" {
		knockThrough(t, c, file)
	}
	if err := json.NewEncoder(c).Encode(linkRequest{}); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	fmt.Print(line)
	os.Exit(0)
}

// knockThrough has a process connect that ends before the request is sent, and prints the answer.
func knockThrough(t *testing.T, c net.Conn, file string) {
	switch os.Getenv("KNOCK_AS") {
	case "": // start the one that connects, and wait for the answer
		cmd := exec.Command(os.Args[0], "-test.run", "TestKnock")
		cmd.Env = append(os.Environ(), "KNOCK_AS=connector")
		_ = cmd.Run()
		for range 500 {
			if text, err := os.ReadFile(file); err == nil && strings.HasSuffix(string(text), "\n") {
				fmt.Print(string(text))
				os.Exit(0)
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatal("there is no answer")
	case "connector":
		f, err := c.(*net.UnixConn).File()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "-test.run", "TestKnock")
		cmd.Env, cmd.ExtraFiles = append(os.Environ(), "KNOCK_AS=speaker"), []*os.File{f}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		os.Exit(0)
	case "speaker":
		time.Sleep(200 * time.Millisecond) // the connector has ended
		f := os.NewFile(3, "door")
		_ = json.NewEncoder(f).Encode(linkRequest{})
		line, _ := bufio.NewReader(f).ReadString('\n')
		_ = os.WriteFile(file, []byte(line), 0o600)
		os.Exit(0)
	}
}
