package notify

import (
	netmail "net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/project"
)

// TestUnknownTargets: what happens while it cannot be read whom to tell is told afterwards.
func TestUnknownTargets(t *testing.T) {
	box := newMailbox(t)
	o := newOffice(t, "notify:\n  - {on: done, "+hook(box.URL, "")+"}\n").trust()
	stop := o.serve()
	run := o.begin("dear")
	trust := filepath.Join(os.Getenv("XDG_STATE_HOME"), "hocket", "trust")
	if err := os.Rename(trust, trust+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(trust, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	close(o.held)
	if _, err := run.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait(t, "warning", func() bool { return strings.Contains(o.logged(), "until it is known whom to tell") })
	stop() // the next server has to find out, too
	go func() {
		time.Sleep(100 * time.Millisecond)
		_ = os.Remove(trust)
		_ = os.Rename(trust+".away", trust)
	}()
	o.serve()
	box.until(t, 1)
}

// TestSecretIsBack: a target whose secret was missing for a moment is told.
func TestSecretIsBack(t *testing.T) {
	box := newMailbox(t)
	file := filepath.Join(t.TempDir(), "address")
	o := newOffice(t, "secrets: {HOOK: {file: "+file+"}}\nnotify:\n  - {on: done, webhook: {url: {secret: HOOK}, private_network: true}}\n").trust()
	pauses[0] = 300 * time.Millisecond
	o.serve()
	o.run("hello")
	wait(t, "first try", func() bool { return strings.Contains(o.logged(), "not delivered yet") })
	if err := os.WriteFile(file, []byte(box.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	box.until(t, 1)
}

// TestLockFails: a lock that cannot be taken for another reason than a second server is tried again.
func TestLockFails(t *testing.T) {
	lockEvery = 10 * time.Millisecond
	t.Cleanup(func() { lockEvery = 5 * time.Second })
	box := newMailbox(t)
	o := newOffice(t, "notify:\n  - {on: done, "+hook(box.URL, "")+"}\n").trust()
	lock := filepath.Join(o.p.State(), "notify.lock")
	if err := os.MkdirAll(lock, 0o700); err != nil { // no file
		t.Fatal(err)
	}
	go func() {
		for !strings.Contains(o.logged(), "notifications cannot be sent") {
			time.Sleep(time.Millisecond)
		}
		_ = os.Remove(lock)
	}()
	o.serve()
	o.run("hello")
	box.until(t, 1)
}

// TestMessageID: two notices of the same instant are two messages, and the same one is not.
func TestMessageID(t *testing.T) {
	id := func(n Notice) string {
		m, err := netmail.ReadMessage(strings.NewReader(string(message(&project.Email{From: "a@example.org", To: []string{"b@example.org"}}, n, time.Now()))))
		if err != nil {
			t.Fatal(err)
		}
		return m.Header.Get("Message-ID")
	}
	n := Notice{Reason: Waiting, Title: "gate waits for you", At: time.Unix(1e9, 0), Questions: []Question{{ID: "a"}}}
	first := id(n)
	if id(n) != first {
		t.Error("a repeated message has another id")
	}
	if n.Questions = []Question{{ID: "b"}}; id(n) == first {
		t.Error("two questions have one id")
	}
}
