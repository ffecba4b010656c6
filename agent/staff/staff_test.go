package staff_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/staff"
)

// mind is an executor that works from a prompt and records its task.
type mind struct {
	got     *agent.Task
	exact   bool
	resumes bool
	say     func(log agent.Log) (agent.Result, error)
}

func (m *mind) Run(_ context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
	m.got = task
	if m.say == nil {
		return agent.Result{Output: "done"}, nil
	}
	return m.say(log)
}

func (m *mind) Traits() agent.Traits {
	return agent.Traits{
		Prompted: true, CallsTools: true,
		Exact:   func(*agent.Task) bool { return m.exact },
		Resumes: func(*agent.Task) bool { return m.resumes },
		Account: func(*agent.Task) string { return "test" },
	}
}

// stars hides one secret, wherever it occurs.
type stars struct{}

const secret = "hunter2-hunter2"

func (stars) Mask(text string) string { return strings.ReplaceAll(text, secret, "***") }

func (s stars) Stream(to func([]byte)) (func([]byte), func()) {
	var held bytes.Buffer
	return func(p []byte) { held.Write(p) }, func() { to([]byte(s.Mask(held.String()))) }
}

// diary is a store with a single conversation.
type diary struct {
	opened   []string
	messages []agent.Message
	native   *agent.Conversation
	fails    error
}

func (d *diary) Open(_ *agent.Task, id string) (staff.Conversation, error) {
	d.opened = append(d.opened, id)
	return d, d.fails
}
func (d *diary) ID() string                  { return "task-1" }
func (d *diary) History() []agent.Message    { return d.messages }
func (d *diary) Native() *agent.Conversation { return d.native }
func (d *diary) Add(q string, res agent.Result) error {
	d.messages = append(d.messages, agent.Message{Role: agent.RoleUser, Content: q}, agent.Message{Role: agent.RoleAssistant, Content: res.Output})
	d.native = res.Conversation
	return nil
}

func newTask() *agent.Task {
	return &agent.Task{
		Agent: &agent.Definition{Name: "writer", Prompt: "You write.", Servers: []string{"tickets"}}, Prompt: "Write it.",
		Inputs: []agent.Input{{Name: "topic", Value: "owls"}}, Settings: map[string]any{"model": "m", "session": "s-9"},
	}
}

func run(t *testing.T, o staff.Options, m *mind, task *agent.Task) (agent.Result, string, error) {
	t.Helper()
	var log bytes.Buffer
	res, err := staff.New(o).Employ(m).Run(t.Context(), task, func(p []byte) { log.Write(p) })
	return res, log.String(), err
}

func TestATaskIsGivenAllThatItMayUse(t *testing.T) {
	var kept, asked string
	closed := 0
	d := &diary{messages: []agent.Message{{Role: agent.RoleUser, Content: "Before?"}}}
	m := &mind{say: func(agent.Log) (agent.Result, error) {
		return agent.Result{Output: "An owl.", Conversation: &agent.Conversation{Native: "n-1"}}, nil
	}}
	task := newTask()
	task.KeepPrompt = func(text string) { kept = text }
	task.Received = []agent.Received{{Step: "facts", Output: "Owls hunt at night.", Decision: "go on"}}
	res, _, err := run(t, staff.Options{
		Instructions: func() (string, error) { return "Be brief.", nil },
		Memories: func(_ context.Context, task string) ([]agent.Passage, error) {
			asked = task
			return []agent.Passage{{Source: "memory:7", Text: "Owls are birds."}}, nil
		},
		Conversations: d,
		Tools: func(context.Context, *agent.Task, bool) ([]agent.Tool, func(), error) {
			return []agent.Tool{{Name: "look"}}, func() { closed++ }, nil
		},
		Servers: func(names []string) ([]agent.Server, error) { return []agent.Server{{Name: names[0]}}, nil },
	}, m, task)
	if err != nil || res.Output != "An owl." {
		t.Fatalf("got %+v, %v", res, err)
	}
	for _, part := range []string{"Be brief.", "Owls are birds.", "Before?", "session:task-1", "step:facts", "Owls hunt at night.", "go on", "owls", "Write it."} {
		if !strings.Contains(m.got.Prompt, part) {
			t.Errorf("the prompt does not say %q:\n%s", part, m.got.Prompt)
		}
	}
	if !strings.Contains(kept, "You write.") || !strings.Contains(kept, m.got.Prompt) {
		t.Errorf("kept: %s", kept)
	}
	if asked != "Write it." || closed != 1 || len(m.got.Tools) != 1 || m.got.Servers[0].Name != "tickets" {
		t.Errorf("asked for %q, closed %d times, tools %v, servers %v", asked, closed, m.got.Tools, m.got.Servers)
	}
	if diff := cmp.Diff(map[string]any{"model": "m"}, m.got.Settings); diff != "" || d.opened[0] != "s-9" {
		t.Errorf("opened %q, settings (-want +got):\n%s", d.opened, diff)
	}
	want := []agent.Message{{Role: "user", Content: "Before?"}, {Role: "user", Content: "Write it.\n\ntopic: owls"}, {Role: "assistant", Content: "An owl."}}
	if diff := cmp.Diff(want, d.messages); diff != "" || d.native.Native != "n-1" {
		t.Errorf("said (-want +got):\n%s", diff)
	}
	if task.Prompt != "Write it." || task.Tools != nil {
		t.Error("the caller's task was changed")
	}
}

// An executor that remembers the conversation is not sent it again.
func TestHistoryIsToldOnce(t *testing.T) {
	d := &diary{messages: []agent.Message{{Role: agent.RoleUser, Content: "Before?"}}, native: &agent.Conversation{Native: "n-1"}}
	m := &mind{resumes: true}
	if _, _, err := run(t, staff.Options{Conversations: d}, m, newTask()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(m.got.Prompt, "Before?") || m.got.Conversation.Native != "n-1" {
		t.Errorf("it was told %q, %v", m.got.Prompt, m.got.Conversation)
	}
}

func TestExactSettingsAreLeftAlone(t *testing.T) {
	m := &mind{exact: true}
	if _, _, err := run(t, staff.Options{Instructions: func() (string, error) { return "Be brief.", nil }}, m, newTask()); err != nil {
		t.Fatal(err)
	}
	if m.got.Prompt != "Write it." {
		t.Errorf("it was told %q", m.got.Prompt)
	}
}

// The executor does not see settings that a step uses to restrict its agent.
func TestAStepNarrowsItsAgent(t *testing.T) {
	m := &mind{}
	task := newTask()
	task.Settings = map[string]any{"permission": map[string]any{"edit": "deny"}, "model": "m"}
	traits := m.Traits()
	traits.Settings = agent.NewSchema(map[string]any{"type": "object"})
	if _, err := staff.New(staff.Options{}).Employ(agent.New(traits, m.Run)).Run(t.Context(), task, func([]byte) {}); err != nil {
		t.Fatal(err)
	}
	if m.got.Agent.Permissions["write"] != "deny" || len(m.got.Settings) != 1 || task.Agent.Permissions != nil {
		t.Errorf("%v %v; the definition has %v", m.got.Agent.Permissions, m.got.Settings, task.Agent.Permissions)
	}
}

func TestNothingSecretComesOut(t *testing.T) {
	until := time.Now().Add(time.Hour).Round(0)
	for name, failure := range map[string]error{
		"success": nil, "plain": errors.New("with " + secret), "known": &agent.Error{Kind: agent.Quota, Message: "with " + secret, Until: until},
	} {
		d := &diary{}
		m := &mind{say: func(log agent.Log) (agent.Result, error) {
			log([]byte("the key is hunter2-"))
			log([]byte("hunter2\n"))
			return agent.Result{Output: secret}, failure
		}}
		var kept string
		task := newTask()
		task.Prompt, task.KeepPrompt = "Use "+secret, func(text string) { kept = text }
		speaks := agent.Tool{Name: "speak", Call: func(context.Context, map[string]any, *agent.Task, agent.Log) (string, error) {
			return "said " + secret, errors.New("also " + secret)
		}}
		res, log, err := run(t, staff.Options{Mask: stars{}, Conversations: d, Tools: func(context.Context, *agent.Task, bool) ([]agent.Tool, func(), error) {
			return []agent.Tool{speaks}, func() {}, nil
		}}, m, task)
		told, wrong := m.got.Tools[0].Call(t.Context(), nil, m.got, func([]byte) {})
		all := res.Output + log + kept + m.got.Prompt + told + wrong.Error()
		for _, said := range d.messages {
			all += said.Content
		}
		if err != nil {
			all += err.Error()
		}
		if strings.Contains(all, "hunter2") || !strings.Contains(all, "***") {
			t.Errorf("%s: %s", name, all)
		}
		var quota *agent.Error
		if name == "known" && (!errors.As(err, &quota) || quota.Kind != agent.Quota || !quota.Until.Equal(until)) {
			t.Errorf("the kind of the error is lost: %v", err)
		}
	}
}

// A quota that one task hits applies to the next task of the account.
func TestAQuotaParksTheAccount(t *testing.T) {
	until := time.Now().Add(time.Hour)
	m := &mind{say: func(agent.Log) (agent.Result, error) {
		return agent.Result{}, &agent.Error{Kind: agent.Quota, Message: "later", Until: until}
	}}
	s := staff.New(staff.Options{})
	quiet := func([]byte) {}
	if _, err := s.Employ(m).Run(t.Context(), newTask(), quiet); err == nil {
		t.Fatal("no error")
	}
	m.got = nil
	_, err := s.Employ(m).Run(t.Context(), newTask(), quiet)
	var known *agent.Error
	if !errors.As(err, &known) || known.Kind != agent.Quota || m.got != nil {
		t.Errorf("the second task: %v, and it was asked: %t", err, m.got != nil)
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	broken := errors.New("broken")
	for name, o := range map[string]staff.Options{
		"instructions":  {Instructions: func() (string, error) { return "", broken }},
		"conversations": {Conversations: &diary{fails: broken}},
		"servers":       {Servers: func([]string) ([]agent.Server, error) { return nil, broken }},
		"tools":         {Tools: func(context.Context, *agent.Task, bool) ([]agent.Tool, func(), error) { return nil, nil, broken }},
	} {
		m := &mind{}
		if _, _, err := run(t, o, m, newTask()); err == nil || !strings.Contains(err.Error(), "broken") || m.got != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	m := &mind{}
	_, log, err := run(t, staff.Options{Memories: func(context.Context, string) ([]agent.Passage, error) { return nil, broken }}, m, newTask())
	if err != nil || !strings.Contains(log, "broken") {
		t.Errorf("memories: %v, %q", err, log)
	}
}

func TestQuestionsHoldNoSecret(t *testing.T) {
	m := &mind{}
	var asked agent.Question
	task := &agent.Task{Agent: &agent.Definition{}, Ask: func(_ context.Context, q agent.Question) (string, error) {
		asked = q
		return q.Options[len(q.Options)-1], nil
	}}
	if _, err := staff.New(staff.Options{Mask: stars{}}).Employ(m).Run(t.Context(), task, func([]byte) {}); err != nil {
		t.Fatal(err)
	}
	own := []string{"deny", "allow ***", "allow " + secret} // the agent knows the options that it offered
	said, err := m.got.Ask(t.Context(), agent.Question{Text: "Send " + secret + "?", Detail: "GET /?key=" + secret, Options: own})
	if err != nil || said != own[2] || asked.Text != "Send ***?" || asked.Detail != "GET /?key=***" ||
		!slices.Equal(asked.Options, []string{"deny", "allow ***", "allow *** (3)"}) {
		t.Errorf("asked %+v, got %q, %v", asked, said, err)
	}
}

func TestHandoffsHoldNoSecret(t *testing.T) {
	m := &mind{}
	var handed agent.Handoff
	task := &agent.Task{Agent: &agent.Definition{}, HandOff: func(_ context.Context, h agent.Handoff) (agent.Handed, error) {
		handed = h
		return agent.Handed{Handoff: agent.Handoff{ID: "a/handoff-1"}}, nil
	}}
	if _, err := staff.New(staff.Options{Mask: stars{}}).Employ(m).Run(t.Context(), task, func([]byte) {}); err != nil {
		t.Fatal(err)
	}
	work := agent.Handoff{To: "helper", Prompt: "Use " + secret, Settings: map[string]any{"handoff": map[string]any{"details": []any{secret}}}, Attempts: 2, Blocking: true}
	got, err := m.got.HandOff(t.Context(), work)
	want := agent.Handoff{To: "helper", Prompt: "Use ***", Settings: map[string]any{"handoff": map[string]any{"details": []any{"***"}}}, Attempts: 2, Blocking: true}
	if diff := cmp.Diff(want, handed); diff != "" || err != nil || got.ID != "a/handoff-1" {
		t.Errorf("%+v, %v, handed off (-want +got):\n%s", got, err, diff)
	}
}

func TestTranscriptsHoldNoSecret(t *testing.T) {
	var kept []agent.Entry
	var model string
	for _, exact := range []bool{false, true} { // also if no prompt is composed
		kept, model = nil, ""
		m := &mind{exact: exact}
		m.say = func(agent.Log) (agent.Result, error) {
			m.got.Record(agent.ToolCall{Tool: "send", Arguments: map[string]any{"body": []any{"the key is " + secret}}})
			m.got.Record(agent.ToolResult{Tool: "send", Text: "sent " + secret, Failed: true})
			m.got.NoteModel("model-" + secret)
			return agent.Result{}, nil
		}
		task := newTask()
		task.KeepEntry, task.NoteModel = func(e agent.Entry) { kept = append(kept, e) }, func(name string) { model = name }
		if _, _, err := run(t, staff.Options{Mask: stars{}}, m, task); err != nil {
			t.Fatal(err)
		}
		want := []agent.Entry{
			agent.ToolCall{Tool: "send", Arguments: map[string]any{"body": []any{"the key is ***"}}},
			agent.ToolResult{Tool: "send", Text: "sent ***", Failed: true},
		}
		if diff := cmp.Diff(want, kept); diff != "" || model != "model-***" {
			t.Errorf("model %q, entries (-want +got):\n%s", model, diff)
		}
	}
}

// While one task waits for a person or another agent, another may use the account.
func TestAQuestionLeavesTheSeat(t *testing.T) {
	s := staff.New(staff.Options{Accounts: agent.NewAccounts(1, nil, "")})
	asking := &mind{}
	asking.say = func(agent.Log) (agent.Result, error) {
		said, err := asking.got.Ask(t.Context(), agent.Question{Text: "May I?", Options: []string{"yes"}})
		handed, wrong := asking.got.HandOff(t.Context(), agent.Handoff{To: "helper", Blocking: true})
		return agent.Result{Output: said + " " + handed.Output}, errors.Join(err, wrong)
	}
	other := func(ctx context.Context) error {
		_, err := s.Employ(&mind{}).Run(ctx, newTask(), func([]byte) {}) // would otherwise wait forever
		return err
	}
	task := &agent.Task{
		Agent: &agent.Definition{},
		Ask:   func(ctx context.Context, _ agent.Question) (string, error) { return "yes", other(ctx) },
		HandOff: func(ctx context.Context, _ agent.Handoff) (agent.Handed, error) {
			return agent.Handed{Output: "done"}, other(ctx)
		},
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if res, err := s.Employ(asking).Run(ctx, task, func([]byte) {}); err != nil || res.Output != "yes done" {
		t.Errorf("%q, %v", res.Output, err)
	}
}

// Secrets in an agent's panic are hidden too, and a panic costs one attempt.
func TestPanicsHoldNoSecret(t *testing.T) {
	m := &mind{say: func(log agent.Log) (agent.Result, error) {
		log([]byte("so far " + secret[:4]))
		panic("no such key: " + secret)
	}}
	_, log, err := run(t, staff.Options{Mask: stars{}}, m, newTask())
	if err == nil || err.Error() != "the agent panicked: no such key: ***" {
		t.Errorf("it gives %v", err)
	}
	if strings.Contains(log, secret) || !strings.Contains(log, "so far hunt") || !strings.Contains(log, "panic: no such key: ***") {
		t.Errorf("the log is %q", log)
	}
}
