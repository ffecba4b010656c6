package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
)

// maxBody bounds what one answer may hold on the wire, so that a server that never
// ends does not fill the memory.
const maxBody = 256 << 20

// maxRefusal is how much of a refusal is read.
const maxRefusal = 64 << 10

// errSilent ends a request over which nothing comes any more.
var errSilent = errors.New("llm: nothing comes")

// longestAnswer bounds an answer of which a little comes again and again.
const longestAnswer = 2 * time.Hour

// errEndless ends a request whose answer does not end.
var errEndless = errors.New("llm: no end comes")

// newTransport is used by all attempts of an executor, so that connections are.
func newTransport() *http.Transport {
	t := &http.Transport{}
	if std, ok := http.DefaultTransport.(*http.Transport); ok {
		t = std.Clone()
	}
	t.MaxIdleConnsPerHost = 32 // agents that work side by side talk to the same host
	t.IdleConnTimeout = 30 * time.Second
	return t
}

// listen makes a client for one request. The context ends with errSilent where
// nothing was heard for as long as patience; done must be called at the end.
func listen(ctx context.Context, base http.RoundTripper, patience time.Duration) (within context.Context, client *http.Client, done func()) {
	within, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(patience, func() { cancel(errSilent) })
	ear := &ear{base: base, heard: func() { timer.Reset(patience) }}
	done = func() {
		timer.Stop()
		cancel(context.Canceled)
	}
	return within, &http.Client{Transport: ear, CheckRedirect: stay}, done
}

// stay follows no redirect: it would take the key to whatever address it names.
func stay(next *http.Request, _ []*http.Request) error {
	return &misled{fmt.Sprintf("redirects to %s://%s; if that is right, set it as the base_url of the provider", next.URL.Scheme, next.URL.Host)}
}

// misled is the failure of a request that did not come to the API of a model. Another
// try would come to the same place.
type misled struct{ why string }

func (m *misled) Error() string { return m.why }

// notStreaming says what an answer is that is no stream, where it says so itself: a
// page of a proxy or of a server that has nothing to do with models, or an error of one
// that calls all of its answers good.
func notStreaming(resp *http.Response) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // what cannot be read is none of these
	if kind != "text/html" && (kind != "application/json" || resp.Request.Method == http.MethodGet) {
		return nil
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // as much as came
	var said struct{ Error any }
	if json.Unmarshal(body, &said) == nil && said.Error != nil {
		return readRefusal(resp.StatusCode, resp.Header, body)
	}
	return &misled{fmt.Sprintf("answers %s and no stream of a model: %s; is base_url the address of its API, and no proxy in between?", kind, shorten(plainText(body)))}
}

// ear tells of everything that comes over a connection, whatever the client makes
// of it: a provider that thinks for minutes sends signs of life.
type ear struct {
	base  http.RoundTripper
	heard func()
}

// RoundTrip is that of the transport below, with an ear on the body. An answer that
// refuses the request is an error here already: the clients of the providers keep
// different parts of it, and none of them all.
func (e *ear) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := e.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	e.heard()
	if resp.StatusCode >= http.StatusBadRequest {
		defer resp.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // as much as came
		return nil, readRefusal(resp.StatusCode, resp.Header, body)
	}
	if err := notStreaming(resp); err != nil {
		return nil, err
	}
	resp.Body = &heardBody{ReadCloser: resp.Body, heard: e.heard}
	return resp, nil
}

type heardBody struct {
	io.ReadCloser
	heard func()
	read  int64
}

func (b *heardBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.heard()
	}
	if b.read += int64(n); b.read > maxBody {
		return 0, fmt.Errorf("more than %d MiB came as one answer", maxBody>>20)
	}
	return n, err
}
