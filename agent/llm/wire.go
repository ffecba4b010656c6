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

// maxBody limits the size of a response, so that a server that never stops does not exhaust
// memory.
const maxBody = 256 << 20

// maxRefusal limits how much of a refusal is read.
const maxRefusal = 64 << 10

// errSilent ends a request that no longer receives data.
var errSilent = errors.New("llm: no data received")

// longestAnswer limits the duration of an answer that arrives very slowly.
const longestAnswer = 2 * time.Hour

// errEndless ends a request whose answer takes too long.
var errEndless = errors.New("llm: the answer takes too long")

// newTransport returns the transport that all attempts of an executor share, so that they
// reuse connections.
func newTransport() *http.Transport {
	t := &http.Transport{}
	if std, ok := http.DefaultTransport.(*http.Transport); ok {
		t = std.Clone()
	}
	t.MaxIdleConnsPerHost = 32 // parallel agents talk to the same host
	t.IdleConnTimeout = 30 * time.Second
	return t
}

// listen returns a client for one request. The context ends with errSilent if nothing
// arrives for as long as patience; done must be called at the end.
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

// stay rejects redirects, which would send the key to another address.
func stay(next *http.Request, _ []*http.Request) error {
	return &misled{fmt.Sprintf("redirects to %s://%s; if that is correct, set it as the base_url of the provider", next.URL.Scheme, next.URL.Host)}
}

// misled is the error for a request that did not reach the API of a model. A retry would
// not either.
type misled struct{ why string }

func (m *misled) Error() string { return m.why }

// notStreaming describes a response that is not a stream: the page of a proxy or of an
// unrelated server, or an error with a successful status.
func notStreaming(resp *http.Response) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // an invalid type is none of these
	if kind != "text/html" && (kind != "application/json" || resp.Request.Method == http.MethodGet) {
		return nil
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // as much as arrived
	var said struct{ Error any }
	if json.Unmarshal(body, &said) == nil && said.Error != nil {
		return readRefusal(resp.StatusCode, resp.Header, body)
	}
	return &misled{fmt.Sprintf("returned %s instead of a model's stream: %s; check that base_url is the address of the API and that no proxy interferes", kind, shorten(plainText(body)))}
}

// ear reports all data that arrives over a connection, whatever the client does with it: a
// provider that thinks for minutes sends keep-alives.
type ear struct {
	base  http.RoundTripper
	heard func()
}

// RoundTrip is that of the transport below, with an ear on the body. An error status
// becomes an error here: each client of a provider keeps only some parts of the response.
func (e *ear) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := e.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	e.heard()
	if resp.StatusCode >= http.StatusBadRequest {
		defer resp.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // as much as arrived
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
		return 0, fmt.Errorf("the answer exceeds %d MiB", maxBody>>20)
	}
	return n, err
}
