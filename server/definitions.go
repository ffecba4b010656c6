package server

import (
	"context"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/trust"
)

// Agent is an agent that steps can use.
type Agent struct {
	Name         string   `json:"name"`
	Description  string   `json:"description,omitempty"`
	Role         string   `json:"role,omitempty"`
	Capabilities []string `json:"capabilities"`
	Executor     string   `json:"executor" doc:"What does the work"`
	Model        string   `json:"model,omitempty"`
	Tools        []string `json:"tools"`
	Builtin      bool     `json:"builtin"`
	File         string   `json:"file,omitempty"`
}

// Tool is a tool that agents can call.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Conversation is a conversation with an agent that can be continued.
type Conversation struct {
	ID       string    `json:"session_id"`
	Agent    string    `json:"agent"`
	Executor string    `json:"executor"`
	Created  time.Time `json:"created"`
	Changed  time.Time `json:"changed"`
	Messages int       `json:"messages"`
	CostUSD  float64   `json:"cost_usd"`
}

// Memory is something that agents remember.
type Memory struct {
	ID      int64     `json:"id"`
	Text    string    `json:"text"`
	Tags    []string  `json:"tags"`
	Source  string    `json:"source,omitempty"`
	Created time.Time `json:"created"`
	Score   float64   `json:"score,omitempty" doc:"How well it matches the query"`
}

// Definition is a workflow, agent or tool that a model wrote.
type Definition struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind" enum:"workflow,agent,tool"`
	Name    string    `json:"name"`
	State   string    `json:"state" doc:"Whether it can be used"`
	By      string    `json:"by,omitempty" doc:"The model that wrote it"`
	Goal    string    `json:"goal,omitempty"`
	Written time.Time `json:"written"`
	Digest  string    `json:"digest,omitempty" doc:"Of everything that it would use. Send it with the approval"`
}

// Review is what a person must see before approving a definition.
type Review struct {
	Definition
	Meaning     string            `json:"meaning,omitempty" doc:"All that the workflow says, in canonical form"`
	Texts       map[string]string `json:"texts,omitempty" doc:"The files of an agent or a tool"`
	Covered     map[string]string `json:"covered,omitempty" doc:"The files of the project that its commands name; of a long one the beginning"`
	Agents      []ReviewedAgent   `json:"agents" doc:"That it uses"`
	Effects     []Effect          `json:"effects" doc:"Every command, address, permission and prompt"`
	Plan        *Plan             `json:"plan,omitempty"`
	Changes     []string          `json:"changes" doc:"What differs from what was approved before"`
	Diagnostics []Diagnostic      `json:"diagnostics"`
}

// ReviewedAgent is an agent that a definition uses.
type ReviewedAgent struct {
	Name     string `json:"name"`
	Executor string `json:"executor"`
	Model    string `json:"model,omitempty"`
	Prompt   string `json:"prompt,omitempty"`
}

// Effect is something that a definition would do.
type Effect struct {
	Step  string   `json:"step,omitempty"`
	Kind  string   `json:"kind"`
	Text  string   `json:"text"`
	Files []string `json:"files,omitempty" doc:"That a command names. The approval covers them, and no others"`
}

// Trust is what the files of a project can do, and whether its user has approved it.
type Trust struct {
	Trusted bool     `json:"trusted"`
	Digest  string   `json:"digest" doc:"Of all powers. Send it to approve them"`
	Powers  []string `json:"powers" doc:"Everything that the files can do"`
	Missing []string `json:"missing" doc:"Of these, what is not approved"`
}

func (a *api) addDefinitions() {
	a.addAgents()
	a.addHandoffs()
	a.addMemories()
	a.addApprovals()
}

func (a *api) addAgents() {
	const tag = "Agents"
	add(a, op{id: "list-agents", method: http.MethodGet, path: "/projects/{project}/agents", scope: Read, tag: tag, summary: "List the agents", errors: []int{404}},
		func(ctx context.Context, in *InProject) (*reply[[]Agent], error) {
			p, err := a.project(ctx, in.Project)
			if err != nil {
				return nil, err
			}
			_ = p.Reload()
			all := []Agent{}
			for _, d := range p.Agents().Definitions() {
				one := Agent{d.Name, d.Description, d.Role, append([]string{}, d.Capabilities...), d.Agent, d.Model, append([]string{}, d.Tools...), d.Builtin, ""}
				if d.Pos.File != "" {
					one.File = inside(p.Root(), d.Pos.File)
				}
				all = append(all, one)
			}
			return say(all), nil
		})
	add(a, op{id: "list-tools", method: http.MethodGet, path: "/projects/{project}/tools", scope: Read, tag: tag, summary: "List the tools", errors: []int{404}},
		func(ctx context.Context, in *InProject) (*reply[[]Tool], error) {
			p, err := a.project(ctx, in.Project)
			if err != nil {
				return nil, err
			}
			_ = p.Reload()
			all := []Tool{}
			for _, t := range p.Tools() {
				all = append(all, Tool{t.Name, t.Description})
			}
			return say(all), nil
		})
	add(a, op{id: "list-sessions", method: http.MethodGet, path: "/projects/{project}/sessions", scope: Read, tag: tag, summary: "List the conversations with agents, by their ids", errors: []int{404}},
		func(ctx context.Context, in *struct {
			InProject
			Paged
		}) (*reply[page[Conversation]], error) {
			p, err := a.project(ctx, in.Project)
			if err != nil {
				return nil, err
			}
			found, _, err := p.Sessions() // broken ones are not shown
			all := []Conversation{}
			for _, s := range found {
				all = append(all, Conversation{s.ID, s.Agent, s.Executor, s.Created, s.Changed, len(s.Messages), s.Spent.CostUSD})
			}
			if err != nil {
				return nil, err
			}
			sort.Slice(all, func(i, j int) bool { return all[i].ID < all[j].ID }) // the others move while they are paged through
			out, err := part(&in.Paged, all, func(c Conversation) []string { return []string{c.ID} })
			return say(out), err
		})
}

func (a *api) addMemories() {
	const tag = "Memory"
	add(a, op{id: "list-memories", method: http.MethodGet, path: "/projects/{project}/memories", scope: Read, tag: tag, summary: "List what agents remember, newest first, or search it",
		detail: "A search has no cursor: it returns the best matches.", errors: []int{404}},
		func(ctx context.Context, in *struct {
			InProject
			Paged
			Query string   `query:"query" doc:"Words to search for" maxLength:"1000"`
			Tags  []string `query:"tag,explode" maxItems:"20"`
		}) (*reply[page[Memory]], error) {
			p, err := a.project(ctx, in.Project)
			if err != nil {
				return nil, err
			}
			if in.Query != "" && in.Cursor != "" {
				return nil, invalidRequest(http.StatusUnprocessableEntity, "a search has no cursor: it returns the best matches")
			}
			all := []Memory{}
			if in.Query != "" {
				found, err := p.SearchMemories(ctx, in.Query, in.Limit, in.Tags)
				for _, m := range found {
					all = append(all, memoryOf(m.Memory, m.Score))
				}
				return say(page[Memory]{Items: all}), err
			}
			last, err := in.after(1)
			if err != nil {
				return nil, err
			}
			var before int64
			if last != nil {
				if before, err = strconv.ParseInt(last[0], 10, 64); err != nil || before <= 0 {
					return nil, invalidCursor()
				}
			}
			found, err := p.Memories(ctx, before, in.Limit+1, in.Tags)
			for _, m := range found {
				all = append(all, memoryOf(m, 0))
			}
			return say(trim(&in.Paged, all, func(m Memory) []string { return []string{strconv.FormatInt(m.ID, 10)} })), err
		})
	add(a, op{id: "add-memory", method: http.MethodPost, path: "/projects/{project}/memories", scope: Start, tag: tag, status: http.StatusCreated, summary: "Remember something", detail: repeatable, errors: []int{404, 409, 422}},
		func(ctx context.Context, in *struct {
			InProject
			Repeatable
			Body struct {
				Text string   `json:"text" minLength:"1" maxLength:"100000"`
				Tags []string `json:"tags,omitempty" maxItems:"20"`
			}
		}) (*reply[Memory], error) {
			p, err := a.project(ctx, in.Project)
			if err != nil {
				return nil, err
			}
			m, err := p.AddMemoryOnce(ctx, keyOf(ctx, in.Key), in.Body.Text, in.Body.Tags, callerOf(ctx).by)
			return say(memoryOf(m, 0)), err
		})
	add(a, op{id: "delete-memory", method: http.MethodDelete, path: "/projects/{project}/memories/{id}", scope: Admin, tag: tag, status: http.StatusNoContent, summary: "Forget something", errors: []int{404}},
		func(ctx context.Context, in *struct {
			InProject
			ID int64 `path:"id"`
		}) (*struct{}, error) {
			p, err := a.project(ctx, in.Project)
			if err != nil {
				return nil, err
			}
			return nil, p.DeleteMemory(ctx, in.ID)
		})
}

func memoryOf(m hocket.Memory, score float64) Memory {
	return Memory{m.ID, m.Text, append([]string{}, m.Tags...), m.Source, m.Created, score}
}

func (a *api) addApprovals() {
	const tag = "Approvals"
	add(a, op{id: "list-definitions", method: http.MethodGet, path: "/projects/{project}/definitions", scope: Read, tag: tag, summary: "List what models wrote", errors: []int{404}},
		func(ctx context.Context, in *InProject) (*reply[[]Definition], error) {
			all, err := a.Definitions(ctx, in.Project)
			return say(all), err
		})
	add(a, op{id: "review-definition", method: http.MethodGet, path: "/projects/{project}/definitions/{id}", scope: Read, tag: tag, summary: "Show all that a person must see before approving a definition", errors: []int{404}},
		func(ctx context.Context, in *InDefinition) (*reply[Review], error) {
			r, err := a.Review(ctx, in)
			return say(r), err
		})
	add(a, op{id: "approve-definition", method: http.MethodPost, path: "/projects/{project}/definitions/{id}/approve", scope: Admin, tag: tag, status: http.StatusNoContent,
		summary: "Approve exactly what was shown", errors: []int{404, 409}},
		func(ctx context.Context, in *struct {
			InDefinition
			Body struct {
				Digest string `json:"digest" minLength:"1" maxLength:"200"`
				State  string `json:"state,omitempty" doc:"The state that was shown. What was rejected can be approved only with rejected" maxLength:"50"`
			}
		}) (*struct{}, error) {
			return nil, a.Approve(ctx, &in.InDefinition, in.Body.Digest, in.Body.State)
		})
	add(a, op{id: "reject-definition", method: http.MethodPost, path: "/projects/{project}/definitions/{id}/reject", scope: Admin, tag: tag, status: http.StatusNoContent,
		summary: "Reject a definition, or withdraw its approval", errors: []int{404, 409}},
		func(ctx context.Context, in *struct {
			InDefinition
			Body struct {
				State string `json:"state" doc:"The state that was shown" maxLength:"50"`
			}
		}) (*struct{}, error) {
			return nil, a.Reject(ctx, &in.InDefinition, in.Body.State)
		})
	add(a, op{id: "show-trust", method: http.MethodGet, path: "/projects/{project}/trust", scope: Read, tag: tag, summary: "Show what the files of a project can do", errors: []int{404}},
		func(ctx context.Context, in *InProject) (*reply[Trust], error) {
			t, err := a.Trust(ctx, in.Project)
			return say(t), err
		})
	add(a, op{id: "trust-project", method: http.MethodPost, path: "/projects/{project}/trust", scope: Admin, tag: tag, status: http.StatusNoContent, summary: "Approve exactly the powers that were shown", errors: []int{404, 409}},
		func(ctx context.Context, in *struct {
			InProject
			Body struct {
				Digest string `json:"digest" minLength:"1" maxLength:"200"`
			}
		}) (*struct{}, error) {
			return nil, a.GiveTrust(ctx, in.Project, in.Body.Digest)
		})
}

// Definitions returns what models wrote in a project.
func (s *Server) Definitions(ctx context.Context, project string) ([]Definition, error) {
	p, err := s.project(ctx, project)
	if err != nil {
		return nil, err
	}
	found, err := p.Generated()
	all := []Definition{}
	for _, g := range found {
		all = append(all, definitionOf(g))
	}
	return all, err
}

// Review returns all that a person must see before approving a definition.
func (s *Server) Review(ctx context.Context, in *InDefinition) (Review, error) {
	p, err := s.written(ctx, in)
	if err != nil {
		return Review{}, err
	}
	r, err := p.Review(in.ID)
	if err != nil {
		return Review{}, err
	}
	return reviewOf(r), nil
}

// Approve approves a definition. The digest and the state are those that were shown.
func (s *Server) Approve(ctx context.Context, in *InDefinition, digest, state string) error {
	p, err := s.written(ctx, in)
	switch {
	case err != nil:
		return err
	case state == string(hocket.Rejected):
		return p.ApproveRejected(ctx, in.ID, digest)
	}
	return p.Approve(ctx, in.ID, digest)
}

// Reject rejects a definition, or withdraws its approval.
func (s *Server) Reject(ctx context.Context, in *InDefinition, state string) error {
	p, err := s.written(ctx, in)
	if err != nil {
		return err
	}
	return p.Reject(ctx, in.ID, hocket.DefinitionState(state))
}

// Trust returns what the files of a project can do.
func (s *Server) Trust(ctx context.Context, project string) (Trust, error) {
	p, err := s.project(ctx, project)
	if err != nil {
		return Trust{}, err
	}
	_ = p.Reload()
	p.approved.forget() // so that lists say the same
	return trustOf(p)
}

func trustOf(p served) (Trust, error) {
	powers, err := p.Powers()
	if err != nil {
		return Trust{}, err
	}
	d, err := p.Trusted(powers, "")
	return Trust{d.Trusted, powers.Digest(), textsOf(powers), textsOf(d.Missing)}, err
}

// GiveTrust approves the powers of a project whose digest was shown.
func (s *Server) GiveTrust(ctx context.Context, project, digest string) error {
	p, err := s.project(ctx, project)
	if err != nil {
		return err
	}
	_ = p.Reload()
	powers, err := p.Powers()
	if err != nil {
		return err
	}
	if powers.Digest() != digest {
		return newProblem(http.StatusConflict, "changed", "what the files can do has changed since it was shown")
	}
	defer p.approved.forget()
	return p.Trust(powers)
}

// written returns the project of a definition that a model wrote. The host would also accept the path of a
// file.
func (s *Server) written(ctx context.Context, in *InDefinition) (served, error) {
	p, err := s.project(ctx, in.Project)
	if err != nil {
		return p, err
	}
	all, err := p.Generated()
	if err == nil && !slices.ContainsFunc(all, func(g *hocket.Generated) bool { return g.ID == in.ID }) {
		err = newProblem(http.StatusNotFound, "unknown-definition", "no model wrote "+quote(in.ID))
	}
	return p, err
}

// InDefinition names a definition that a model wrote.
type InDefinition struct {
	InProject
	ID string `path:"id" maxLength:"200"`
}

func definitionOf(g *hocket.Generated) Definition {
	return Definition{g.ID, string(g.Kind), g.Name, string(g.State), g.Origin.By, g.Origin.Goal, g.Origin.At, g.Digest}
}

func reviewOf(r *hocket.Review) Review {
	out := Review{Definition: definitionOf(&r.Generated), Meaning: r.Meaning, Texts: r.Texts, Covered: r.Covered, Agents: []ReviewedAgent{}, Effects: []Effect{}, Changes: []string{}, Diagnostics: diagnosticsOf(r.Found)}
	for _, d := range r.Effects {
		out.Effects = append(out.Effects, Effect{d.Step, string(d.Kind), d.What, d.Files})
	}
	for _, a := range r.Agents {
		out.Agents = append(out.Agents, ReviewedAgent{a.Name, a.Agent, a.Model, a.Prompt})
	}
	if r.Plan != nil {
		out.Plan = planOf(r.Plan)
	}
	for _, c := range r.Changes {
		out.Changes = append(out.Changes, strings.Join(append([]string{c.Mark + " " + c.Name}, c.Lines...), "\n"))
	}
	return out
}

func textsOf(powers trust.Powers) []string {
	texts := []string{}
	for _, p := range powers {
		texts = append(texts, p.Line())
	}
	return texts
}
