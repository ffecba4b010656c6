package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/trigger"
)

// Trigger is what starts runs of a workflow by itself.
type Trigger struct {
	Name     string     `json:"name"`
	Workflow string     `json:"workflow"`
	Kind     string     `json:"kind" enum:"schedule,webhook,files,after,"`
	When     string     `json:"when" doc:"When it fires, for people"`
	Overlap  string     `json:"overlap" enum:"queue,skip,cancel," doc:"What happens if an older run is not over"`
	Enabled  bool       `json:"enabled"`
	Trusted  bool       `json:"trusted" doc:"Whether its user has approved exactly what it starts; otherwise it starts nothing"`
	Problems []string   `json:"problems" doc:"Mistakes because of which it does not fire"`
	Next     *time.Time `json:"next,omitempty" doc:"When it fires next, if it has a schedule"`
	Path     string     `json:"path,omitempty" doc:"Where a webhook expects its requests"`
	Firings  []Firing   `json:"firings" doc:"The last ones, newest first"`
}

// Firing is one time that a trigger fired.
type Firing struct {
	Key string    `json:"key" doc:"What it was: an instant, a delivery, a file with its digest, a run"`
	At  time.Time `json:"at"`
	Run string    `json:"run,omitempty" doc:"The run that it started"`
	Why string    `json:"why,omitempty" doc:"Why it started none"`
}

func (a *api) addTriggers() {
	add(a, op{id: "list-triggers", method: http.MethodGet, path: "/projects/{project}/triggers", scope: Read, tag: "Triggers", summary: "List the triggers, and what they did last", errors: []int{404}},
		func(ctx context.Context, in *InProject) (*reply[[]Trigger], error) {
			all, err := a.Triggers(ctx, in.Project)
			return say(all), err
		})
}

// Triggers returns the triggers of a project.
func (s *Server) Triggers(ctx context.Context, project string) ([]Trigger, error) {
	p, err := s.project(ctx, project)
	if err != nil {
		return nil, err
	}
	_ = p.Reload()
	list, err := p.triggers.List()
	if err != nil {
		return nil, err
	}
	all := []Trigger{}
	for _, t := range list {
		one := Trigger{
			Name: t.Name, Workflow: t.Workflow, Overlap: string(t.Overlap), Enabled: !t.Disabled, Trusted: t.Trusted,
			Problems: append([]string{}, t.Problems...), Firings: []Firing{},
		}
		if t.On != nil {
			one.Kind, one.When = t.On.Kind(), t.On.String()
		}
		if _, ok := t.On.(*hocket.Hook); ok {
			one.Path = hooksPath + url.PathEscape(p.name) + "/" + t.Name
		}
		if !t.Next.IsZero() {
			one.Next = &t.Next
		}
		for _, f := range t.Fired {
			one.Firings = append(one.Firings, Firing{f.Key, f.At, f.Run, f.Why})
		}
		all = append(all, one)
	}
	return all, nil
}

// hooksPath is where the webhooks are. Their requests have a signature instead of a token.
const hooksPath = "/hooks/"

const (
	// maxHook is the size of a request to a webhook. Anyone can send one.
	maxHook = 1 << 20
	// smallHook is the size up to which only the number of connections limits how many are read at the same time:
	// strangers who send slowly must not take the place of those who sign.
	smallHook = 64 << 10
	maxLarge  = 32 // that are read at the same time
	maxHooks  = 8  // that are checked at the same time
)

// hookTimeout is how long a request to a webhook may take to arrive, and how long it waits for its turn.
var hookTimeout = 10 * time.Second

// deliver handles a request to a webhook.
func (s *Server) deliver(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("trigger")
	p := s.hookOf(r.PathValue("project"), name)
	if signed := r.Header.Get("X-Hub-Signature-256") != ""; p == nil || !signed { // whatever the body is
		s.log.Warn("webhook refused", "project", r.PathValue("project"), "trigger", name, "exists", p != nil, "signed", signed)
		w.Header().Set("Connection", "close") // the body is not read
		fail(w, newProblem(http.StatusUnauthorized, "unauthorized", trigger.ErrUnknown.Error()))
		return
	}
	body, problem := s.readHook(w, r)
	if problem == nil {
		var done func()
		if done, problem = s.turn(r.Context(), s.hooks); problem == nil {
			defer done()
		}
	}
	if problem != nil {
		if problem.Status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "1")
		}
		w.Header().Set("Connection", "close")
		fail(w, problem)
		return
	}
	done, err := p.triggers.Deliver(r.Context(), name, r.Header, body)
	switch {
	case errors.Is(err, trigger.ErrUnknown):
		fail(w, newProblem(http.StatusUnauthorized, "unauthorized", err.Error()))
	case errors.Is(err, trigger.ErrTooFast):
		w.Header().Set("Retry-After", "60")
		fail(w, newProblem(http.StatusTooManyRequests, "too-fast", err.Error()))
	case errors.Is(err, trigger.ErrStopped):
		fail(w, newProblem(http.StatusServiceUnavailable, "stopping", err.Error()))
	case err != nil:
		s.log.Error("webhook failed", "trigger", name, "error", err)
		fail(w, newProblem(http.StatusInternalServerError, "internal", "the request could not be recorded; repeat it"))
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		_ = json.NewEncoder(w).Encode(Firing{done.Key, done.At, done.Run, done.Why}) // the client may have gone
	}
}

// hookOf returns the project with a webhook, nil if there is none.
func (s *Server) hookOf(project, name string) *served {
	for _, p := range s.projects {
		for _, t := range p.Triggers() {
			if _, ok := t.On.(*hocket.Hook); ok && p.name == project && t.Name == name {
				return &p
			}
		}
	}
	return nil
}

// readHook reads the body of a request to a webhook.
func (s *Server) readHook(w http.ResponseWriter, r *http.Request) ([]byte, *Problem) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(hookTimeout)) // without it, that of the server applies
	limited := http.MaxBytesReader(w, r.Body, maxHook)
	body, err := io.ReadAll(io.LimitReader(limited, smallHook))
	if err == nil && len(body) == smallHook {
		done, problem := s.turn(r.Context(), s.large)
		if problem != nil {
			return nil, problem
		}
		defer done()
		var rest []byte
		rest, err = io.ReadAll(limited)
		body = append(body, rest...)
	}
	var large *http.MaxBytesError
	var late net.Error
	switch {
	case errors.As(err, &large):
		return nil, newProblem(http.StatusRequestEntityTooLarge, "too-large", "a request to a webhook has at most 1 MB")
	case errors.As(err, &late) && late.Timeout():
		return nil, newProblem(http.StatusRequestTimeout, "invalid-request", "the request took too long")
	case err != nil:
		return nil, newProblem(http.StatusBadRequest, "invalid-request", "the request could not be read")
	}
	return body, nil
}

// turn waits for a turn among requests to webhooks. done ends it.
func (s *Server) turn(ctx context.Context, of chan struct{}) (done func(), problem *Problem) {
	select {
	case of <- struct{}{}:
		return func() { <-of }, nil
	case <-time.After(hookTimeout):
	case <-ctx.Done():
	}
	return nil, newProblem(http.StatusServiceUnavailable, "busy", "too many requests to webhooks at the same time")
}
