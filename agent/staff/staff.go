// Package staff puts agents to work: it gives an executor what it should know and
// may use, and takes what it gives. It knows the words of package agent only; what
// remembers, hides and finds tools is handed to it.
//
// # What it does for an attempt
//
//  1. Everything that the executor says, asks or records is masked before anybody sees
//     it, and so are its output and its error, what it is told, and what tools give it.
//  2. An attempt from a prompt takes a slot of its account, or fails if the quota
//     is used up.
//  3. Its prompt is composed of the project's instructions, memories, what was said
//     before, its inputs and its task. The whole of it is kept.
//  4. It is given the tools and the MCP servers that its definition names.
//  5. What was asked and answered is kept as a conversation that can be taken up.
package staff

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// Options are what a project has for its agents. Every field may be missing.
type Options struct {
	// Instructions are those of the project: its AGENTS.md.
	Instructions func() (string, error)
	// Memories are what is remembered about a task, the most relevant first.
	Memories func(ctx context.Context, task string) ([]agent.Passage, error)
	// Conversations keep what was said.
	Conversations Conversations
	// Tools finds those that a task may use. For an executor that calls them itself
	// that is all that its definition names, and those of its servers; others have
	// tools of their own, and are given only what the project has, and servers that
	// they can talk to in place of those of the task. done ends what they need.
	Tools func(ctx context.Context, task *agent.Task, calls bool) (tools []agent.Tool, done func(), err error)
	// Servers are those of MCP, by name.
	Servers func(names []string) ([]agent.Server, error)
	// Accounts share out slots and quotas.
	Accounts *agent.Accounts
	// Mask hides secrets.
	Mask Mask
	// MaxBytes bounds a prompt; zero: nothing does.
	MaxBytes int
}

// Mask hides secrets.
type Mask interface {
	Mask(text string) string
	// Stream masks what is printed piece by piece. flush gives on what was held
	// back because it might have been the beginning of a secret.
	Stream(to func(piece []byte)) (write func(piece []byte), flush func())
}

// Conversations keep what was said.
type Conversations interface {
	// Open gives a conversation by its id; "" begins a new one for the task.
	Open(task *agent.Task, id string) (Conversation, error)
}

// Conversation is one of them.
type Conversation interface {
	ID() string
	History() []agent.Message
	Native() *agent.Conversation // the executor's own; nil: it has none
	// Add keeps a question with what came of it: the answer, what it used, and how the
	// executor goes on.
	Add(question string, res agent.Result) error
}

// Staff puts agents to work. It is safe for concurrent use.
type Staff struct{ o Options }

// New makes the staff of a project.
func New(o Options) *Staff {
	if o.Accounts == nil {
		o.Accounts = agent.NewAccounts(0, nil, "")
	}
	if o.Mask == nil {
		o.Mask = bare{}
	}
	return &Staff{o}
}

// Employ gives an executor that is put to work in every attempt.
func (s *Staff) Employ(exec agent.Executor) agent.Executor {
	return &employed{exec, exec.Traits(), s}
}

type employed struct {
	agent.Executor
	traits agent.Traits
	*Staff
}

// Run makes one attempt.
func (e *employed) Run(ctx context.Context, task *agent.Task, log agent.Log) (res agent.Result, err error) {
	write, flush := e.o.Mask.Stream(log)
	defer func() {
		if p := recover(); p != nil { // what it says may hold anything
			write(fmt.Appendf(nil, "panic: %v\n%s", p, debug.Stack()))
			err = agent.Errorf("the agent panicked: %v", p)
		}
		flush()
		res.Output, err = e.o.Mask.Mask(res.Output), e.masked(err)
	}()
	return e.attempt(ctx, e.discreet(task), write)
}

// discreet is a task whose questions and transcript hold no secret: they are shown and
// kept.
func (e *employed) discreet(task *agent.Task) *agent.Task {
	masked := *task
	if task.KeepEntry != nil {
		masked.KeepEntry = func(entry agent.Entry) { task.KeepEntry(agent.MaskEntry(entry, e.o.Mask.Mask)) }
	}
	if task.NoteModel != nil {
		masked.NoteModel = func(model string) { task.NoteModel(e.o.Mask.Mask(model)) }
	}
	if task.Ask != nil {
		masked.Ask = e.discreetAsk(task.Ask)
	}
	return &masked
}

func (e *employed) discreetAsk(ask agent.Ask) agent.Ask {
	return func(ctx context.Context, q agent.Question) (string, error) {
		own := q.Options
		q.Text, q.Detail, q.Options = e.o.Mask.Mask(q.Text), e.o.Mask.Mask(q.Detail), e.maskedOptions(own)
		said, err := ask(ctx, q)
		if i := slices.Index(q.Options, said); i >= 0 {
			said = own[i]
		}
		return said, err
	}
}

// maskedOptions are options that hold no secret. Each stays one of its own.
func (e *employed) maskedOptions(own []string) []string {
	masked := make([]string, len(own))
	for i, o := range own {
		masked[i] = e.o.Mask.Mask(o)
		if slices.Contains(masked[:i], masked[i]) {
			masked[i] += fmt.Sprintf(" (%d)", i+1)
		}
	}
	return masked
}

func (e *employed) attempt(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
	session, task := takeSession(task)
	task, err := e.forStep(task)
	if err != nil {
		return agent.Result{}, err
	}
	if !e.traits.FromPrompt(task) {
		return e.Executor.Run(ctx, task, log)
	}
	account := ""
	if e.traits.Account != nil {
		account = e.traits.Account(task)
	}
	seat, err := e.o.Accounts.Enter(ctx, account)
	if err != nil {
		return agent.Result{}, err
	}
	res, err := e.prompt(ctx, unseated(task, seat), session, log)
	seat.Leave(err)
	return res, err
}

// unseated is a task that keeps no seat while it waits for a person.
func unseated(task *agent.Task, seat *agent.Seat) *agent.Task {
	if task.Ask == nil {
		return task
	}
	patient := *task
	patient.Ask = func(ctx context.Context, q agent.Question) (said string, err error) {
		seat.Rest(ctx, func() { said, err = task.Ask(ctx, q) })
		return said, err
	}
	return &patient
}

// forStep is a task whose agent may do no more than its step says.
func (e *employed) forStep(task *agent.Task) (*agent.Task, error) {
	narrowed := *task
	var problems []agent.Problem
	narrowed.Agent, narrowed.Settings, problems = e.traits.ForStep(task.Agent, task.Settings)
	if len(problems) > 0 {
		return nil, agent.Permanentf("%s", problems[0])
	}
	return &narrowed, nil
}

// takeSession takes the name of a conversation out of the settings of a task.
func takeSession(task *agent.Task) (string, *agent.Task) {
	named, ok := task.Settings[agent.SessionSetting]
	if !ok {
		return "", task
	}
	without := *task
	without.Settings = maps.Clone(task.Settings)
	delete(without.Settings, agent.SessionSetting)
	return workflow.FormatText(named), &without
}

// prompt makes an attempt from a prompt.
func (e *employed) prompt(ctx context.Context, task *agent.Task, session string, log agent.Log) (agent.Result, error) {
	told := *task // the driver's task stays as it is
	told.Hide = e.o.Mask.Mask
	said, err := e.converse(&told, session)
	if err != nil {
		return agent.Result{}, err
	}
	if err := e.compose(ctx, &told, said, log); err != nil {
		return agent.Result{}, err
	}
	done, err := e.equip(ctx, &told)
	if err != nil {
		return agent.Result{}, err
	}
	defer done()
	res, err := e.Executor.Run(ctx, &told, log)
	if err == nil && said != nil {
		shown := res
		shown.Output = e.o.Mask.Mask(res.Output)
		if kept := said.Add(e.o.Mask.Mask(question(task)), shown); kept != nil {
			log(fmt.Appendf(nil, "[this conversation is not complete: %v]\n", kept))
		}
	}
	return res, err
}

// converse opens the conversation of a task.
func (e *employed) converse(task *agent.Task, session string) (Conversation, error) {
	if e.o.Conversations == nil {
		return nil, nil
	}
	said, err := e.o.Conversations.Open(task, session)
	if err != nil {
		return nil, agent.Permanentf("%v", err)
	}
	task.Conversation = said.Native()
	return said, nil
}

// compose makes the whole prompt of a task.
func (e *employed) compose(ctx context.Context, task *agent.Task, said Conversation, log agent.Log) error {
	brief := agent.Brief{
		Inputs: task.Inputs, Received: task.Received, Prompt: task.Prompt, Feedback: task.Feedback,
		Decide: task.Decide, Asks: task.Asks, Output: task.Output, MaxBytes: e.o.MaxBytes,
	}
	var err error
	if e.o.Instructions != nil {
		if brief.Instructions, err = e.o.Instructions(); err != nil {
			return agent.Reworded(err, fmt.Sprintf("the project's instructions cannot be read: %v", err))
		}
	}
	if e.o.Memories != nil {
		if brief.Memories, err = e.o.Memories(ctx, task.Prompt); err != nil {
			log(fmt.Appendf(nil, "[memories cannot be read: %v]\n", err)) // nothing that the task depends on
		}
	}
	if resumes := e.traits.Resumes; said != nil && (resumes == nil || !resumes(task)) {
		brief.Session, brief.History = said.ID(), said.History()
	}
	composed := agent.Compose(brief)
	for _, what := range composed.LeftOut {
		log([]byte("[" + what + "]\n"))
	}
	task.Prompt = e.o.Mask.Mask(composed.Prompt) // whoever runs the model is no one to tell a secret
	if task.KeepPrompt != nil {
		task.KeepPrompt(e.o.Mask.Mask(e.whole(task)))
	}
	return nil
}

// whole is all that the executor is told, as people look at it later.
func (e *employed) whole(task *agent.Task) string {
	if task.Agent.Prompt == "" {
		return task.Prompt
	}
	return "# System prompt of " + task.Agent.Name + "\n\n" + strings.TrimRight(task.Agent.Prompt, "\n") + "\n\n# Prompt\n\n" + task.Prompt
}

// equip gives a task its tools and servers.
func (e *employed) equip(ctx context.Context, task *agent.Task) (done func(), err error) {
	if e.o.Servers != nil {
		if task.Servers, err = e.o.Servers(task.Agent.Servers); err != nil {
			return nil, agent.Permanentf("%v", err)
		}
	}
	if e.o.Tools == nil {
		return func() {}, nil
	}
	tools, done, err := e.o.Tools(ctx, task, e.traits.CallsTools)
	if err != nil {
		return nil, err
	}
	for i := range tools {
		tools[i].Call = e.discreetCall(tools[i].Call)
	}
	task.Tools = append(slices.Clip(task.Tools), tools...)
	return done, nil
}

// discreetCall is the call of a tool of the project, which may know secrets that the
// model who is told its result may not.
func (e *employed) discreetCall(call toolCall) toolCall {
	return func(ctx context.Context, args map[string]any, task *agent.Task, log agent.Log) (string, error) {
		text, err := call(ctx, args, task, log)
		return e.o.Mask.Mask(text), e.masked(err)
	}
}

type toolCall = func(ctx context.Context, args map[string]any, task *agent.Task, log agent.Log) (string, error)

// question is what the conversation keeps of a task: what was asked, without all
// that came along.
func question(task *agent.Task) string {
	parts := []string{}
	if task.Prompt != "" {
		parts = append(parts, task.Prompt)
	}
	for _, in := range task.Inputs {
		parts = append(parts, in.Name+": "+workflow.FormatText(in.Value))
	}
	return strings.Join(parts, "\n\n")
}

// masked is an error without secrets.
func (e *employed) masked(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	hidden := e.o.Mask.Mask(text)
	if hidden == text {
		return err
	}
	return agent.Reworded(err, hidden)
}

// bare hides nothing.
type bare struct{}

func (bare) Mask(text string) string { return text }

func (bare) Stream(to func([]byte)) (func([]byte), func()) { return to, func() {} }
