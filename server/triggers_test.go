package server

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
)

const hookSecret = "a-long-secret-for-webhooks"

func sign(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// trustAll approves what the project can do.
func (f *fixture) trustAll() {
	f.t.Helper()
	if err := f.p.Reload(); err != nil {
		f.t.Fatal(err)
	}
	powers, err := f.p.Powers()
	if err != nil {
		f.t.Fatal(err)
	}
	if err := f.p.Trust(powers); err != nil {
		f.t.Fatal(err)
	}
}

// triggered returns the runs that triggers started, newest first.
func (f *fixture) triggered() []hocket.Info {
	f.t.Helper()
	runs, err := f.p.Runs(f.t.Context(), hocket.Filter{Label: hocket.TriggerLabel})
	if err != nil {
		f.t.Fatal(err)
	}
	return runs
}

func newHook(t *testing.T) *fixture {
	t.Setenv("HOOK_SECRET", hookSecret)
	f := newFixture(t, map[string]string{
		".hocket/config.yml":        "secrets: {HOOK: {env: HOOK_SECRET}}\n",
		".hocket/triggers/push.yml": "workflow: hello\nwebhook: {secret: HOOK}\ninputs: {who: \"${body.who ?? 'nobody'} ${headers.x-github-event ?? ''}\"}\n",
		".hocket/triggers/late.yml": "workflow: hello\nafter: gated\n",
		".hocket/triggers/off.yml":  "workflow: hello\nwebhook: {secret: HOOK}\nenabled: false\n",
	})
	f.trustAll()
	return f
}

func (f *fixture) hook(name string) string { return "/hooks/" + f.name() + "/" + name }

func TestWebhook(t *testing.T) {
	f := newHook(t)
	body := `{"who": "ada"}`
	send := func(status int, body string, headers ...string) Firing {
		t.Helper()
		text := f.want(status, "POST", f.hook("push"), body, append([]string{"Authorization", "", "X-Hub-Signature-256", sign(hookSecret, body)}, headers...)...)
		return read[Firing](t, text)
	}
	first := send(http.StatusAccepted, body, "X-GitHub-Delivery", "1", "X-GitHub-Event", "push")
	run := f.until(first.Run, "success")
	if run.By != "trigger push" || run.Via != "trigger" || run.Labels["served"] == "" {
		t.Errorf("the run is recorded as %+v", run)
	}
	if in, err := f.s.Inputs(asAdmin(f), &InRun{InProject{f.name()}, first.Run}); err != nil || in["who"] != "ada push" {
		t.Errorf("the inputs are %v, %v", in, err)
	}
	// The same delivery, the same id with another body, and the same body with another id: a signature does not cover
	// the id, so who has seen a request could invent one.
	for _, again := range []Firing{
		send(http.StatusAccepted, body, "X-GitHub-Delivery", "1"),
		send(http.StatusAccepted, `{"who": "grace"}`, "X-GitHub-Delivery", "1"),
		send(http.StatusAccepted, body, "X-GitHub-Delivery", "2"),
		send(http.StatusAccepted, body, "Webhook-Id", "3"),
		send(http.StatusAccepted, body),
	} {
		if again.Run != first.Run {
			t.Errorf("a replay started %+v", again)
		}
	}
	if second := send(http.StatusAccepted, `not JSON`); second.Run == first.Run || second.Run == "" {
		t.Errorf("another body gave %+v", second)
	}
	if n := len(f.triggered()); n != 2 {
		t.Errorf("there are %d runs, want 2", n)
	}
	list := read[[]Trigger](t, f.want(http.StatusOK, "GET", f.path("/triggers"), nil))
	if len(list) != 3 || list[2].Name != "push" || list[2].Path != f.hook("push") || !list[2].Trusted || len(list[2].Firings) != 2 || list[1].Enabled {
		t.Errorf("the list is %+v", list)
	}
}

func TestWebhookAttacks(t *testing.T) {
	f := newHook(t)
	const body = `{"who": "eve"}`
	good := sign(hookSecret, body)
	for what, try := range map[string]struct {
		path, body string
		headers    []string
		status     int
	}{
		"no signature":          {f.hook("push"), body, nil, 401},
		"an empty one":          {f.hook("push"), body, []string{"X-Hub-Signature-256", "sha256="}, 401},
		"another secret":        {f.hook("push"), body, []string{"X-Hub-Signature-256", sign("guess", body)}, 401},
		"an empty secret":       {f.hook("push"), body, []string{"X-Hub-Signature-256", sign("", body)}, 401},
		"another body":          {f.hook("push"), body + " ", []string{"X-Hub-Signature-256", good}, 401},
		"an older algorithm":    {f.hook("push"), body, []string{"X-Hub-Signature", good}, 401},
		"without its name":      {f.hook("push"), body, []string{"X-Hub-Signature-256", strings.TrimPrefix(good, "sha256=")}, 401},
		"part of it":            {f.hook("push"), body, []string{"X-Hub-Signature-256", good[:len(good)-2]}, 401},
		"a token instead":       {f.hook("push"), body, []string{"Authorization", "Bearer " + f.admin}, 401},
		"another project":       {"/hooks/other/push", body, []string{"X-Hub-Signature-256", good}, 401},
		"another trigger":       {f.hook("pull"), body, []string{"X-Hub-Signature-256", good}, 401},
		"not a webhook":         {f.hook("late"), body, []string{"X-Hub-Signature-256", good}, 401},
		"a disabled one":        {f.hook("off"), body, []string{"X-Hub-Signature-256", good}, 401},
		"a path":                {"/hooks/" + f.name() + "/..%2f..%2fpush", body, []string{"X-Hub-Signature-256", good}, 401},
		"a page":                {f.hook("push"), body, []string{"X-Hub-Signature-256", good, "Origin", "https://evil.example"}, 403},
		"another host":          {f.hook("push"), body, []string{"X-Hub-Signature-256", good, "Host", "evil.example"}, 421},
		"a huge body":           {f.hook("push"), strings.Repeat("x", maxHook+1), []string{"X-Hub-Signature-256", good}, 413},
		"the API without token": {"/api/projects", body, []string{"X-Hub-Signature-256", good}, 401},
	} {
		headers := try.headers
		if len(headers) == 0 || headers[0] != "Authorization" {
			headers = append([]string{"Authorization", ""}, headers...)
		}
		if res := f.request("POST", try.path, try.body, headers...); res.StatusCode != try.status {
			t.Errorf("%s: status %d, want %d", what, res.StatusCode, try.status)
		}
	}
	if runs := f.triggered(); len(runs) != 0 {
		t.Errorf("an attack started %+v", runs)
	}
	// Nothing of it was recorded: that would push out what happened.
	for _, one := range read[[]Trigger](t, f.want(http.StatusOK, "GET", f.path("/triggers"), nil)) {
		if len(one.Firings) > 0 {
			t.Errorf("%s has the firings %+v", one.Name, one.Firings)
		}
	}
	f.want(http.StatusAccepted, "POST", f.hook("push"), body, "Authorization", "", "X-Hub-Signature-256", good)
	f.want(http.StatusNotFound, "GET", f.path("/triggers/push"), nil)
}

// Strangers who send slowly, or nothing after the head, do not keep out a request with a signature.
func TestSlowWebhooks(t *testing.T) {
	before := hookTimeout
	hookTimeout = time.Second
	t.Cleanup(func() { hookTimeout = before })
	f := newHook(t)
	host := strings.TrimPrefix(f.base, "http://")
	begin := func(path, signature string, size int) *bufio.Reader {
		t.Helper()
		c, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\n%sContent-Length: %d\r\n\r\n{", path, host, signature, size)
		return bufio.NewReader(c)
	}
	signed := "X-Hub-Signature-256: " + sign("guess", "") + "\r\n"
	var slow []*bufio.Reader
	for range 2 * maxHooks {
		slow = append(slow, begin(f.hook("push"), signed, 1000), begin(f.hook("push"), signed, maxHook))
	}
	const body = `{"who": "ada"}`
	f.want(http.StatusAccepted, "POST", f.hook("push"), body, "Authorization", "", "X-Hub-Signature-256", sign(hookSecret, body))
	long := `{"who": "` + strings.Repeat("x", maxHook-100) + `"}`
	f.want(http.StatusAccepted, "POST", f.hook("push"), long, "Authorization", "", "X-Hub-Signature-256", sign(hookSecret, long))
	for _, r := range slow {
		if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, " 408 ") {
			t.Errorf("a slow request got %q, %v", line, err)
		}
	}
	// What nobody can have signed is refused before it is read.
	for _, r := range []*bufio.Reader{begin("/hooks/other/push", signed, 1000), begin(f.hook("late"), signed, 1000), begin(f.hook("push"), "", 1000)} {
		if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, " 401 ") {
			t.Errorf("a request that cannot be signed got %q, %v", line, err)
		}
	}
}

// Runs of a trigger take turns, also across a restart.
func TestTriggeredRunsTakeTurns(t *testing.T) {
	t.Setenv("HOOK_SECRET", hookSecret)
	f := newFixture(t, map[string]string{
		".hocket/config.yml":         "secrets: {HOOK: {env: HOOK_SECRET}}\n",
		".hocket/workflows/slow.yml": "name: slow\nsteps:\n  - {id: a, agent: shell, config: {command: 'while ! test -e go; do sleep 0.02; done'}}\n",
		".hocket/triggers/push.yml":  "workflow: slow\nwebhook: {secret: HOOK}\n",
	})
	f.trustAll()
	var ids []string
	for _, body := range []string{"one", "two", "three"} {
		firing := read[Firing](t, f.want(http.StatusAccepted, "POST", f.hook("push"), body, "Authorization", "", "X-Hub-Signature-256", sign(hookSecret, body)))
		ids = append(ids, firing.Run)
	}
	f.until(ids[0], "running")
	time.Sleep(200 * time.Millisecond) // a run that must wait would have started by now
	f.until(ids[1], "pending")
	farewellFor(t, 50*time.Millisecond)
	f.stop()
	f.start()
	f.until(ids[0], "running")
	f.until(ids[2], "pending")
	if err := writeFile(f.dir + "/go"); err != nil {
		t.Fatal(err)
	}
	var last time.Time
	for _, id := range ids {
		run := f.until(id, "success")
		if run.Steps[0].Started.Before(last) {
			t.Errorf("run %s began before the one before it was over", id)
		}
		last = run.Changed
	}
}

func writeFile(name string) error { return os.WriteFile(name, nil, 0o600) }

// asAdmin returns the context of a caller who may do everything.
func asAdmin(f *fixture) context.Context {
	token, err := f.access.find(f.admin, false)
	if err != nil || token == nil {
		f.t.Fatalf("no token: %v", err)
	}
	return context.WithValue(f.t.Context(), callerKey{}, &caller{token.Name, "http", token})
}

// A project that would tell or start something that nobody has approved is not trusted, on every page.
func TestTrustIncludesNotificationsAndTriggers(t *testing.T) {
	f := newFixture(t, nil)
	f.trustAll()
	for _, file := range [][2]string{
		{"config.yml", "notify: [{on: done, command: [\"true\"]}]\n"},
		{"triggers/late.yml", "workflow: hello\nafter: gated\n"},
	} {
		if one := read[Project](t, f.want(http.StatusOK, "GET", f.path(""), nil)); !one.Trusted {
			t.Fatalf("before %s, the project is not trusted", file[0])
		}
		path := filepath.Join(f.dir, ".hocket", file[0])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(file[1]), 0o644); err != nil {
			t.Fatal(err)
		}
		if one := read[Project](t, f.want(http.StatusOK, "GET", f.path(""), nil)); one.Trusted {
			t.Errorf("with %s, the project is trusted", file[0])
		}
		f.trustAll()
	}
}
