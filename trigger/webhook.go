package trigger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/workflow"
)

// Why a request does not fire a webhook.
var (
	// ErrUnknown means that there is no such webhook, or that the request does not have its signature. Who cannot
	// sign must not learn which of them it is.
	ErrUnknown = errors.New("there is no such webhook, or the signature is missing or wrong")
	// ErrStopped means that the service has stopped.
	ErrStopped = errors.New("the server is stopping")
)

// Deliver fires the webhook with a name for a request, if that has a valid signature. If the same request, or one
// with the same id, was delivered before, it returns what happened then. After an [ErrTooFast], the request can be
// repeated.
func (s *Service) Deliver(ctx context.Context, name string, header http.Header, body []byte) (Firing, error) {
	s.mu.Lock()
	stopped := s.stopped
	s.mu.Unlock()
	if stopped {
		return Firing{}, ErrStopped
	}
	t, reason := s.verified(name, header.Get("X-Hub-Signature-256"), body)
	if t == nil {
		s.o.Log.Warn("webhook refused", "project", s.p.Root(), "trigger", name, "reason", reason)
		return Firing{}, ErrUnknown
	}
	sum := sha256.Sum256(body)
	content := hex.EncodeToString(sum[:])
	id := header.Get("X-GitHub-Delivery")
	if id == "" {
		id = header.Get("Webhook-Id")
	}
	if id == "" || len(id) > 200 {
		id = content
	}
	done, fast := Firing{}, false
	err := s.states.change(name, func(st *state) error {
		f := firing{key: deliveryKey + id, content: content, values: map[string]any{"body": parsed(body), "headers": headers(header), "delivery": id}}
		was, err := st.find(f.key, f.content)
		if fast = was == nil && s.tooFast(st); err == nil && fast {
			return s.pause(t, st, ErrTooFast)
		}
		if err == nil {
			done, err = s.fire(ctx, t, st, f)
		}
		return err
	})
	if err == nil && fast {
		err = ErrTooFast
	}
	return done, err
}

// verified returns the webhook with a name if the signature of a body is valid, otherwise why not, for the operator.
func (s *Service) verified(name, signature string, body []byte) (*hocket.Trigger, string) {
	all := s.p.Triggers()
	i := slices.IndexFunc(all, func(t *hocket.Trigger) bool { return t.Name == name })
	if i < 0 {
		return nil, "there is no such trigger"
	}
	t := all[i]
	hook, ok := t.On.(*hocket.Hook)
	switch {
	case !ok || t.Wrong.Errors():
		return nil, "it is not a valid webhook"
	case t.Disabled:
		return nil, "it is disabled"
	}
	// The signature comes first: a stranger must not make the server load workflows.
	if err := s.p.CheckSignature(hook.Secret, signature, body); err != nil {
		return nil, s.reason(err)
	}
	if _, err := s.p.LoadTrigger(t); err != nil {
		return nil, s.reason(err)
	}
	return t, ""
}

// parsed returns the value of a body: what its JSON says, otherwise its text.
func parsed(body []byte) any {
	if v, err := workflow.ParseJSON(body); err == nil {
		return v
	}
	return strings.ToValidUTF8(string(body), "�")
}

// headers returns the headers of a request by their names in lower case, without those that are secret.
func headers(h http.Header) map[string]any {
	all := map[string]any{}
	for name, values := range h {
		switch lower := strings.ToLower(name); lower {
		case "authorization", "cookie", "x-hub-signature", "x-hub-signature-256":
		default:
			all[lower] = strings.ToValidUTF8(strings.Join(values, ", "), "�")
		}
	}
	return all
}
