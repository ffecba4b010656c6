package mcp

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/visible"
)

// stateless is the first version of the protocol in which a server returns its questions, and the
// client repeats the call with the answers.
const stateless = "2026-07-28"

// askable reports whether the user of a client may answer a question through it. A client that
// accepts a form does not prove that a person was there: some accept by themselves, or let a file in
// the project decide. So it must be a gate that does not require a person, unless the user's own
// configuration says otherwise. The project's cannot.
func (s *server) askable(q *hocket.Question) bool {
	if s.o.served { // the token of a model does not allow it
		return false
	}
	switch s.p.Config().MCP.Answers {
	case "all":
		return true
	case "none":
		return false
	}
	return q.Kind == engine.GateQuestion && !q.Required
}

// gates puts the open questions of a run to the user of a client, once each.
type gates struct {
	c       *call
	ctx     context.Context
	run     *hocket.Run
	asking  map[string]context.CancelFunc // questions that the user sees
	answers chan answer
}

// answer is what became of a question.
type answer struct {
	q      hocket.Question
	result *sdk.ElicitResult
	err    error
}

func (c *call) newGates(ctx context.Context, run *hocket.Run) *gates {
	return &gates{c, ctx, run, map[string]context.CancelFunc{}, make(chan answer)}
}

// look asks what has not been asked yet, and withdraws what was answered elsewhere. In the newer
// protocol it returns the questions as the result of the call.
func (g *gates) look() (*sdk.CallToolResult, error) {
	form := g.c.req.ClientCapabilities() != nil && canElicit(g.c.req.ClientCapabilities())
	if !form {
		return nil, nil
	}
	open, err := g.run.Questions(g.ctx)
	if err != nil {
		return nil, err
	}
	still, asked := map[string]bool{}, []hocket.Question{}
	for _, q := range open {
		still[q.ID] = true
		if g.asking[q.ID] == nil && g.c.s.asks(&q) {
			asked = append(asked, q)
		}
	}
	for id, withdraw := range g.asking {
		if !still[id] {
			withdraw()
			delete(g.asking, id)
		}
	}
	if len(asked) > 0 && g.c.req.ProtocolVersion() >= stateless {
		return g.c.s.inputRequired(g.run, asked)
	}
	for _, q := range asked {
		g.ask(q)
	}
	return nil, nil
}

func canElicit(c *sdk.ClientCapabilities) bool {
	return c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

// ask shows a form until it is submitted or withdrawn.
func (g *gates) ask(q hocket.Question) {
	ctx, withdraw := context.WithCancel(g.ctx)
	g.asking[q.ID] = withdraw
	go func() {
		res, err := g.c.req.Session.Elicit(ctx, g.c.s.form(&q))
		select {
		case g.answers <- answer{q, res, err}:
		case <-g.ctx.Done():
		}
	}()
}

// take records an answer, and asks again if it is invalid. again means that the run had stopped, and is
// driven again.
func (g *gates) take(a answer) (again bool, err error) {
	if g.asking[a.q.ID] == nil {
		return false, nil // it was answered elsewhere
	}
	delete(g.asking, a.q.ID)
	if a.err != nil {
		a.result = &sdk.ElicitResult{Action: "cancel"}
		if strings.Contains(a.err.Error(), "does not match requested schema") { // the SDK has no type for that
			a.result.Action = "accept" // nothing valid
		}
	}
	again, invalid, err := g.c.s.answer(g.ctx, g.c.p, g.run, &a.q, a.result)
	if invalid && g.c.s.asks(&a.q) {
		g.ask(a.q)
	}
	if err == nil && !again && len(g.asking) == 0 {
		again = true // look whether it still rests
	}
	return again, err
}

// form is the question to the user. Its field has no default, so that a client that accepts
// everything by itself has nothing to send. Clients show texts as they are, so what these hide is made visible here.
func (s *server) form(q *hocket.Question) *sdk.ElicitParams {
	field := map[string]any{"type": "string", "title": "Answer", "minLength": 1}
	var about []string
	var values []any
	for _, o := range q.Options {
		values = append(values, o.Value)
		if text := strings.TrimSpace(cmp.Or(o.Label, o.Value) + ": " + o.Description); o.Description != "" || o.Label != "" && o.Label != o.Value {
			about = append(about, strings.TrimSuffix(text, ":"))
		}
	}
	if len(values) > 0 && !q.Custom {
		field["enum"] = values
		delete(field, "minLength")
	}
	if len(about) > 0 {
		field["description"] = visible.Text(strings.Join(about, "; "))
	}
	message := q.Text
	if q.Detail != "" {
		message += "\n\n" + q.Detail
	}
	if why := s.shown(q).refused; why != "" {
		message = "Please answer again: " + why + "\n\n" + message
	}
	return &sdk.ElicitParams{
		Mode: "form", Message: visible.Text(fmt.Sprintf("%s\n\n(%s of run %s)", message, q.ID, q.Run)),
		RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"answer": field}, "required": []any{"answer"}},
	}
}

// answer records the answer of the user of a client, and has the run driven again if it had
// stopped. What is not accepted stays open. If it is invalid, the user may be asked again, see asks.
func (s *server) answer(ctx context.Context, p *hocket.Project, run *hocket.Run, q *hocket.Question, r *sdk.ElicitResult) (again, invalid bool, err error) {
	value, _ := r.Content["answer"].(string)
	switch {
	case r.Action != "accept" || !s.askable(q):
		s.note(q, func(f *shown) { f.declined = true })
		return false, false, nil
	case value == "":
		s.refuse(q, "the form has no valid answer; "+expectedAnswer(q))
		return false, true, nil
	}
	run, err = p.Run(ctx, run.ID()) // the answer is recorded as that of the client
	if err != nil {
		return false, false, err
	}
	receipt, err := run.Answer(ctx, q.ID, hocket.Answer{Value: value, Digest: q.Digest})
	var refused *hocket.RefusedError
	switch {
	case errors.As(err, &refused): // answered elsewhere, or not one of the options
		s.refuse(q, refused.Reason)
		return false, true, nil
	case err != nil:
		return false, false, err
	case receipt.Driven || receipt.Status.Done():
		return false, false, nil
	}
	info, err := run.Info(ctx)
	if err != nil {
		return false, false, err
	}
	if s.driven(run.ID()) != nil || info.Owner.Claimed {
		s.drive(p, run)
		return true, false, nil
	}
	return true, false, s.detach(run)
}

// expectedAnswer says what a question accepts.
func expectedAnswer(q *hocket.Question) string {
	if q.Custom || len(q.Options) == 0 {
		return "expected a text"
	}
	var values []string
	for _, o := range q.Options {
		values = append(values, o.Value)
	}
	return "expected one of: " + strings.Join(values, ", ")
}

// maxInvalid is how many invalid answers a user may give to a question. Some clients submit forms by
// themselves, and would do so forever.
const maxInvalid = 3

// shown is what became of the forms of a question.
type shown struct {
	declined bool   // the user does not want to answer
	invalid  int    // how many answers were not accepted
	refused  string // why the last one was not
}

// seen identifies a question as it was shown.
func seen(q *hocket.Question) string { return q.Run + " " + q.ID + " " + q.Digest }

func (s *server) shown(q *hocket.Question) shown {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forms[seen(q)]
}

// note changes what became of the forms of a question.
func (s *server) note(q *hocket.Question, change func(*shown)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.forms[seen(q)]
	change(&f)
	s.forms[seen(q)] = f
}

func (s *server) refuse(q *hocket.Question, why string) {
	s.note(q, func(f *shown) { f.invalid, f.refused = f.invalid+1, why })
}

// asks reports whether the user of the client is asked a question, perhaps again.
func (s *server) asks(q *hocket.Question) bool {
	f := s.shown(q)
	return s.askable(q) && !f.declined && f.invalid < maxInvalid
}

// formKey identifies a form for a question in a task. A client answers each only once.
func (s *server) formKey(q *hocket.Question) string {
	return fmt.Sprintf("%s#%s#%d", q.ID, q.Digest, s.shown(q).invalid)
}

// asked is what a client sends back with answers, so that they count only for what was shown.
type asked struct {
	Run       string            `json:"run"`
	Questions map[string]string `json:"questions"` // the digest of each, by id
}

// inputRequired returns questions as the result of a call.
func (s *server) inputRequired(run *hocket.Run, open []hocket.Question) (*sdk.CallToolResult, error) {
	res, state := &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{}}, asked{run.ID(), map[string]string{}}
	for _, q := range open {
		res.InputRequests[q.ID] = s.form(&q)
		state.Questions[q.ID] = q.Digest
	}
	data, err := json.Marshal(state)
	if err != nil {
		return nil, err
	}
	res.RequestState = base64.RawURLEncoding.EncodeToString(append(s.sign(data), data...))
	return res, nil
}

func (s *server) sign(data []byte) []byte {
	h := hmac.New(sha256.New, s.key)
	_, _ = h.Write(data) // never fails
	return h.Sum(nil)
}

// proceed continues a call that was repeated with answers.
func (c *call) proceed(ctx context.Context) (*sdk.CallToolResult, error) {
	data, err := base64.RawURLEncoding.DecodeString(c.req.Params.RequestState)
	if err != nil || len(data) < sha256.Size || !hmac.Equal(data[:sha256.Size], c.s.sign(data[sha256.Size:])) {
		return nil, errors.New("the state of the request is not from this server; call hocket_run with the id of the run instead")
	}
	var state asked
	if err := json.Unmarshal(data[sha256.Size:], &state); err != nil {
		return nil, err
	}
	run, err := c.p.Run(ctx, state.Run)
	if err != nil {
		return nil, err
	}
	open, err := run.Questions(ctx)
	if err != nil {
		return nil, err
	}
	for _, q := range open {
		if digest, ok := state.Questions[q.ID]; !ok || digest != q.Digest {
			continue
		}
		result, ok := c.req.Params.InputResponses[q.ID].(*sdk.ElicitResult)
		if !ok {
			result = &sdk.ElicitResult{Action: "cancel"}
		}
		if _, _, err := c.s.answer(ctx, c.p, run, &q, result); err != nil {
			return nil, err
		}
	}
	// A call that only answered a question of somebody else's run must not cancel the run.
	_, err = c.s.ownRun(ctx, c.p, run.ID(), "")
	return c.follow(ctx, run, err == nil && c.s.driven(run.ID()) != nil)
}
