package fakemodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// BadKey is the one key that the server rejects.
const BadKey = "refused-key"

// Server is a model's API on loopback. It is safe for concurrent use.
type Server struct {
	URL string // without a trailing slash

	mu       sync.Mutex
	requests []*Request
	reply    func(*Request) Step
	turn     int
}

// Start starts a server, which ends with the test.
func Start(t testing.TB) *Server {
	s := &Server{reply: func(*Request) Step { return Step{Text: "ok"} }}
	web := httptest.NewServer(s)
	s.URL = web.URL
	t.Cleanup(func() {
		web.CloseClientConnections() // do not wait for those that hang
		web.Close()
	})
	return s
}

// Reply sets the answer to requests without a script. The server calls it for one request
// at a time.
func (s *Server) Reply(reply func(*Request) Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reply = reply
}

// Requests returns the requests to the model so far, in order.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*Request
	for _, r := range s.requests {
		if r.API != "" {
			out = append(out, r)
		}
	}
	return out
}

// All returns all requests so far, including those for lists of models.
func (s *Server) All() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Request(nil), s.requests...)
}

// wire is one API.
type wire interface {
	// read fills in what the body says.
	read(r *http.Request, req *Request) error
	// failure returns the body of an error.
	failure(s Step) any
	// plain sends a complete answer, stream the same in pieces.
	plain(req *Request, a answer) any
	stream(req *Request, a answer, out *stream)
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	api, wire := wireOf(r.URL.Path)
	req := &Request{API: api, Path: r.URL.RequestURI(), Header: r.Header, Body: body, Key: keyOf(r)}
	if wire == nil {
		s.note(req)
		other(w, r)
		return
	}
	err = wire.read(r, req)
	id, step := s.decide(req, err)
	if req.Key == BadKey {
		step = Step{Status: http.StatusUnauthorized, Message: "invalid x-api-key"}
	}
	a, err := prepare(step, req, id)
	if err != nil {
		a = answer{Step: Step{Status: http.StatusBadRequest, Message: "fakemodel: " + err.Error()}}
	}
	send(w, r, wire, req, a)
}

func wireOf(path string) (string, wire) {
	switch {
	case strings.HasSuffix(path, "/messages"):
		return "anthropic", anthropic{}
	case strings.HasSuffix(path, "/responses"):
		return "responses", responses{}
	case strings.HasSuffix(path, "/chat/completions"):
		return "chat", chat{}
	case strings.HasSuffix(path, ":generateContent"), strings.HasSuffix(path, ":streamGenerateContent"):
		return "gemini", gemini{}
	}
	return "", nil
}

func keyOf(r *http.Request) string {
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return bearer
	}
	for _, header := range []string{"X-Api-Key", "X-Goog-Api-Key"} {
		if key := r.Header.Get(header); key != "" {
			return key
		}
	}
	return r.URL.Query().Get("key")
}

func (s *Server) note(req *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
}

// decide finds the step that a request asks for.
func (s *Server) decide(req *Request, unreadable error) (id string, step Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
	s.turn++
	id = fmt.Sprintf("fake%06d", s.turn)
	script, found, err := findScript(req.Prompt)
	switch {
	case unreadable != nil:
		return id, Step{Status: http.StatusBadRequest, Message: "fakemodel: " + unreadable.Error()}
	case err != nil:
		return id, Step{Status: http.StatusBadRequest, Message: "fakemodel: " + err.Error()}
	case found:
		return id, script.step(req.since)
	}
	return id, s.reply(req)
}

func send(w http.ResponseWriter, r *http.Request, wire wire, req *Request, a answer) {
	for name, value := range a.Headers {
		w.Header().Set(name, value)
	}
	if a.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(a.RetryAfter))
	}
	w.Header().Set("Request-Id", "req_"+a.id)
	empty := a.text == "" && len(a.calls) == 0
	switch {
	case a.Hang && empty:
		<-r.Context().Done()
	case a.Status >= 400 && empty:
		respond(w, a.Status, wire.failure(a.Step))
	case req.Stream:
		out := &stream{w: w, r: r}
		wire.stream(req, a, out)
		out.close()
	default:
		plain(w, r, wire, req, a)
	}
}

// plain answers at once; what comes in the middle of an answer comes in the middle of its
// bytes.
func plain(w http.ResponseWriter, r *http.Request, wire wire, req *Request, a answer) {
	wait(r, time.Duration(a.Delay)*time.Millisecond)
	if a.Status >= 400 {
		respond(w, a.Status, wire.failure(a.Step))
		return
	}
	if !a.Hang && !a.Drop {
		respond(w, http.StatusOK, wire.plain(req, a))
		return
	}
	data := encode(wire.plain(req, a))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data[:len(data)/2])
	_ = http.NewResponseController(w).Flush()
	if a.Hang {
		<-r.Context().Done()
	}
	panic(http.ErrAbortHandler) // breaks the connection
}

func respond(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(body))
}

// encode is like json.Marshal, but does not escape <, > and &: models do not.
func encode(v any) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("fakemodel: %v", err)) // plain data can always be encoded
	}
	return bytes.TrimRight(out.Bytes(), "\n")
}

// wait gives up, and closes the connection, when the client does.
func wait(r *http.Request, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
		panic(http.ErrAbortHandler)
	}
}
