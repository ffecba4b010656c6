package server

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/handoff"
)

// Handoff is a task that one agent gave to another.
type Handoff struct {
	ID       string     `json:"session_id"`
	Status   string     `json:"status"`
	Agent    string     `json:"agent,omitempty"`
	Parent   string     `json:"parent_agent,omitempty"`
	Summary  string     `json:"summary"`
	Priority string     `json:"priority,omitempty"`
	Created  time.Time  `json:"created"`
	Started  *time.Time `json:"started,omitempty"`
	Ended    *time.Time `json:"ended,omitempty"`
	Run      string     `json:"run_id"`
	Step     string     `json:"step,omitempty"`
	Error    string     `json:"error,omitempty"`
	CostUSD  float64    `json:"cost_usd"`
}

// ShownHandoff is a handoff with its texts.
type ShownHandoff struct {
	Handoff
	Request string `json:"request" doc:"The agent_request, as XML"`
	Output  string `json:"output,omitempty" doc:"What the agent answered, as written"`
}

// HandoffCheck says whether a text could be sent.
type HandoffCheck struct {
	Valid       bool         `json:"valid"`
	Requests    int          `json:"requests" doc:"How many it contains"`
	Diagnostics []Diagnostic `json:"diagnostics"`
	Untrusted   []string     `json:"untrusted" doc:"What the project can do for this, and nobody has approved"`
}

// SentHandoffs is what became of the requests in a text.
type SentHandoffs struct {
	Sessions    []string     `json:"sessions" doc:"The ids of the new sessions, in the order of the requests"`
	Messaged    []string     `json:"messaged" doc:"The agents whose next task gets the context"`
	Diagnostics []Diagnostic `json:"diagnostics"`
}

// HandoffText is a text with requests.
type HandoffText struct {
	InProject
	Body HandoffBody
}

// HandoffBody is a text with requests, and how to read it.
type HandoffBody struct {
	Text    string `json:"text" doc:"Markdown with one or more agent_request blocks, or XML" minLength:"1" maxLength:"1000000"`
	Agent   string `json:"agent,omitempty" doc:"Overrides target_agent" maxLength:"200"`
	Lenient bool   `json:"lenient,omitempty" doc:"Repair mistakes"`
}

// order returns what the text orders. The server does not wait for a blocking request.
func (in *HandoffText) order() handoff.Order {
	return handoff.Order{File: "request", Text: []byte(in.Body.Text), Agent: in.Body.Agent, Lenient: in.Body.Lenient, Spawn: true}
}

func (a *api) addHandoffs() {
	const tag = "Handoffs"
	add(a, op{id: "list-handoffs", method: http.MethodGet, path: "/projects/{project}/handoffs", scope: Read, tag: tag, summary: "List the tasks that agents gave to others, newest first", errors: []int{404}},
		func(ctx context.Context, in *struct {
			InProject
			Paged
		}) (*reply[page[Handoff]], error) {
			p, err := a.project(ctx, in.Project)
			if err != nil {
				return nil, err
			}
			last, err := in.after(1)
			if err != nil {
				return nil, err
			}
			found, err := a.handoffs(p.Project).Page(ctx, strings.Join(last, ""), in.Limit+1)
			out := trim(&in.Paged, handoffsOf(found), func(h Handoff) []string { return []string{h.Run} })
			return say(out), cursorError(err, last)
		})
	add(a, op{id: "show-handoff", method: http.MethodGet, path: "/projects/{project}/handoffs/{id}", scope: Read, tag: tag, summary: "Show a handoff", errors: []int{404}},
		func(ctx context.Context, in *struct {
			InProject
			ID string `path:"id" maxLength:"300"`
		}) (*reply[ShownHandoff], error) {
			p, err := a.project(ctx, in.Project)
			if err != nil {
				return nil, err
			}
			one, err := a.handoffs(p.Project).Find(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			return say(ShownHandoff{handoffOf(&one.State), one.Handoff.Request.Format(), one.Output}), nil
		})
	add(a, op{id: "check-handoff", method: http.MethodPost, path: "/projects/{project}/handoffs/check", scope: Read, tag: tag, summary: "Check a handoff, without sending it", errors: []int{404}},
		func(ctx context.Context, in *HandoffText) (*reply[HandoffCheck], error) {
			found, err := a.CheckHandoff(ctx, in)
			return say(found), err
		})
	add(a, op{id: "send-handoff", method: http.MethodPost, path: "/projects/{project}/handoffs", scope: Start, tag: tag, status: http.StatusCreated, summary: "Send a handoff: a session for each request",
		detail: "The sessions work in the background. If a request names a session_id that is used already, nothing is sent. " + repeatable, errors: []int{404, 409, 422}},
		func(ctx context.Context, in *struct {
			HandoffText
			Repeatable
		}) (*reply[SentHandoffs], error) {
			sent, err := a.SendHandoff(ctx, in.Key, &in.HandoffText)
			return say(sent), err
		})
}

// Handoffs lists the handoffs of a project that have not ended, and the newest others.
func (s *Server) Handoffs(ctx context.Context, project string, limit int) ([]Handoff, error) {
	p, err := s.project(ctx, project)
	if err != nil {
		return nil, err
	}
	found, err := s.handoffs(p.Project).List(ctx, limit)
	return handoffsOf(found), err
}

// AgentNames returns the names of the agents of a project.
func (s *Server) AgentNames(ctx context.Context, project string) ([]string, error) {
	p, err := s.project(ctx, project)
	if err != nil {
		return nil, err
	}
	_ = p.Reload()
	var names []string
	for _, d := range p.Agents().Definitions() {
		names = append(names, d.Name)
	}
	return names, nil
}

// CheckHandoff checks a text with requests as sending it would.
func (s *Server) CheckHandoff(ctx context.Context, in *HandoffText) (HandoffCheck, error) {
	p, err := s.project(ctx, in.Project)
	if err != nil {
		return HandoffCheck{}, err
	}
	_ = p.Reload()
	h, untrusted, err := s.handoffs(p.Project).Check(ctx, in.order())
	if err != nil {
		return HandoffCheck{}, err
	}
	c := HandoffCheck{!h.Found.Errors() && untrusted == nil, len(h.Requests), diagnosticsOf(h.Found), []string{}}
	if untrusted != nil {
		c.Untrusted = textsOf(untrusted.Missing)
	}
	return c, nil
}

// SendHandoff sends a text with requests. The process that carries out handoffs drives their sessions, as
// for those of the command line. The same text with the same key returns the same sessions; "": none.
func (s *Server) SendHandoff(ctx context.Context, key string, in *HandoffText) (SentHandoffs, error) {
	if err := s.mayStart(); err != nil {
		return SentHandoffs{}, err
	}
	p, err := s.project(ctx, in.Project)
	if err != nil {
		return SentHandoffs{}, err
	}
	_ = p.Reload()
	sessions := s.handoffs(p.Project)
	if sessions.Background == nil {
		return SentHandoffs{}, newProblem(http.StatusNotImplemented, "unsupported", "this server cannot carry out handoffs")
	}
	order := in.order()
	order.Key = keyOf(ctx, key)
	sent, err := sessions.Send(ctx, order)
	if err != nil {
		return SentHandoffs{}, err
	}
	out := SentHandoffs{[]string{}, append([]string{}, sent.Messaged...), diagnosticsOf(sent.Found)}
	for _, one := range sent.Sessions {
		out.Sessions = append(out.Sessions, one.ID)
	}
	if len(sent.Sessions) > 0 {
		err = sessions.Background()
	}
	return out, err
}

func handoffsOf(found []handoff.State) []Handoff {
	all := []Handoff{}
	for _, one := range found {
		all = append(all, handoffOf(&one))
	}
	return all
}

func handoffOf(s *handoff.State) Handoff {
	h := Handoff{s.ID, string(s.Status), s.Agent, s.Parent, s.Summary, s.Priority, s.Created, nil, nil, s.Run, s.Step, s.Error, s.CostUSD}
	if !s.Started.IsZero() {
		h.Started = &s.Started
	}
	if !s.Ended.IsZero() {
		h.Ended = &s.Ended
	}
	return h
}
