package trigger

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
)

const hook = "workflow: report\nwebhook: {secret: HOOK}\ninputs: {topic: \"${body.topic}\"}\n"

// newHook returns a project with a webhook, and what its service logs.
func newHook(t *testing.T) (*fixture, *bytes.Buffer) {
	t.Helper()
	t.Setenv("HOOK_SECRET", "a-long-secret")
	f := newFixture(t, map[string]string{".hocket/config.yml": "secrets: {HOOK: {env: HOOK_SECRET}}\n", ".hocket/triggers/push.yml": hook})
	f.s.tick(t.Context())
	var log bytes.Buffer
	f.s.o.Log = slog.New(slog.NewTextHandler(&log, nil))
	return f, &log
}

// post delivers a body, signed with a secret.
func (f *fixture) post(secret, body string, headers ...string) (Firing, error) {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	h := http.Header{"X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))}}
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return f.s.Deliver(f.Context(), "push", h, []byte(body))
}

// A stranger cannot make the server load a workflow: the signature is checked before.
func TestSignatureFirst(t *testing.T) {
	f, log := newHook(t)
	f.write(".hocket/workflows/report.yml", "stepps: []\n")
	if err := f.p.Reload(); err != nil {
		t.Fatal(err)
	}
	for secret, want := range map[string]string{"guess": "missing or invalid signature", "a-long-secret": "trigger-invalid"} {
		log.Reset()
		if _, err := f.post(secret, `{"topic": "x"}`); !errors.Is(err, ErrUnknown) || !strings.Contains(log.String(), want) {
			t.Errorf("%s: %v, and the log says %s", secret, err, log)
		}
	}
	// A project that nobody has approved does not decide which secrets are read.
	f.write(".hocket/config.yml", "secrets: {HOOK: {env: OTHER_SECRET}}\n")
	t.Setenv("OTHER_SECRET", "another-secret")
	if err := f.p.Reload(); err != nil {
		t.Fatal(err)
	}
	log.Reset()
	if _, err := f.post("another-secret", `{"topic": "x"}`); !errors.Is(err, ErrUnknown) || !strings.Contains(log.String(), "you have not approved") {
		t.Errorf("%v, and the log says %s", err, log)
	}
}

// A request that was delivered is not new, however many came after it, and also with another id.
func TestOldDeliveries(t *testing.T) {
	f, _ := newHook(t)
	first, err := f.post("a-long-secret", `{"topic": "x"}`, "X-GitHub-Delivery", "1")
	if err != nil || first.Run == "" {
		t.Fatalf("%+v, %v", first, err)
	}
	f.drive(first.Run)
	r, err := f.p.Run(t.Context(), first.Run)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = f.s.states.change("push", func(st *state) error {
		for i := range remembered {
			if err := st.note(Firing{Key: fmt.Sprint(deliveryKey, "n", i), At: f.now}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, headers := range [][]string{{"X-GitHub-Delivery", "1"}, {"X-GitHub-Delivery", "2"}, nil} {
		again, err := f.post("a-long-secret", `{"topic": "x"}`, headers...)
		if err != nil || again.Run != first.Run || again.At.Sub(first.At).Abs() > time.Second {
			t.Errorf("%v started %+v, %v", headers, again, err)
		}
	}
	if again, err := f.post("a-long-secret", `{"topic": "y"}`, "X-GitHub-Delivery", "1"); err != nil || again.Run != first.Run {
		t.Errorf("the old id with another body started %+v, %v", again, err)
	}
	f.want()
}

// A request that did not fit the trigger can be delivered again after the mistake was fixed, and then starts one run.
func TestRedelivery(t *testing.T) {
	f, _ := newHook(t)
	for range 2 {
		done, err := f.post("a-long-secret", `{"title": "x"}`, "X-GitHub-Delivery", "1")
		if want := `input "topic": expected type string, found null`; err != nil || done.Run != "" || done.Why != want {
			t.Fatalf("%+v, %v", done, err)
		}
	}
	f.write(".hocket/triggers/push.yml", strings.Replace(hook, "body.topic", "body.title", 1))
	f.trust()
	for range 2 {
		if done, err := f.post("a-long-secret", `{"title": "x"}`, "X-GitHub-Delivery", "1"); err != nil || done.Run == "" {
			t.Fatalf("%+v, %v", done, err)
		}
	}
	f.want("x")
}
