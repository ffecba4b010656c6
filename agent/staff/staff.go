// Package staff runs agents: it gives an executor the context and tools for an attempt, and
// processes its result. It depends only on package agent; memories, masking and tools are
// passed in.
//
// # What it does for an attempt
//
//  1. Secrets are masked in everything that the executor says, asks or records, in its
//     output and its error, in its prompt, and in the results of its tools.
//  2. An attempt from a prompt takes a slot of its account, or fails if the quota
//     is used up.
//  3. Its prompt is composed of the project's instructions, memories, what was said before,
//     its inputs and its task. The complete prompt is stored.
//  4. It is given the tools and the MCP servers that its definition names.
//  5. The question and the answer are stored as a conversation that can be continued.
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

// Options are what a project provides for its agents. Every field is optional.
type Options struct {
	// Instructions returns the project's AGENTS.md.
	Instructions func() (string, error)
	// Memories returns what is remembered about a task, most relevant first.
	Memories func(ctx context.Context, task string) ([]agent.Passage, error)
	// Conversations stores what was said.
	Conversations Conversations
	// Tools returns the tools that a task may use. An executor that calls tools itself gets
	// all that its definition names, and those of its servers; other executors have tools
	// of their own, and get only those of the project, and servers that they can connect to
	// instead of those of the task. done releases what they need.
	Tools func(ctx context.Context, task *agent.Task, calls bool) (tools []agent.Tool, done func(), err error)
	// Servers returns MCP servers by name.
	Servers func(names []string) ([]agent.Server, error)
	// Accounts enforces slots and quotas.
	Accounts *agent.Accounts
	// Mask masks secrets.
	Mask Mask
	// MaxBytes limits a prompt; zero means no limit.
	MaxBytes int
}

// Mask masks secrets.
type Mask interface {
	Mask(text string) string
	// Stream masks text that is printed piece by piece. flush passes on what was held back
	// because it might have been the beginning of a secret.
	Stream(to func(piece []byte)) (write func(piece []byte), flush func())
}

// Conversations stores what was said.
type Conversations interface {
	// Open returns a conversation by its id; "" begins a new one for the task.
	Open(task *agent.Task, id string) (Conversation, error)
}

// Conversation is one conversation.
type Conversation interface {
	ID() string
	History() []agent.Message
	Native() *agent.Conversation // the executor's own; nil: it has none
	// Add stores a question with its outcome: the answer, the usage, and how the executor
	// continues.
	Add(question string, res agent.Result) error
}

// Staff runs agents. It is safe for concurrent use.
type Staff struct{ o Options }

// New returns the staff of a project.
func New(o Options) *Staff {
	if o.Accounts == nil {
		o.Accounts = agent.NewAccounts(0, nil, "")
	}
	if o.Mask == nil {
		o.Mask = bare{}
	}
	return &Staff{o}
}

// Employ wraps an executor so that every attempt goes through the staff.
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
		if p := recover(); p != nil { // its message may contain anything
			write(fmt.Appendf(nil, "panic: %v\n%s", p, debug.Stack()))
			err = agent.Errorf("the agent panicked: %v", p)
		}
		flush()
		res.Output, err = e.o.Mask.Mask(res.Output), e.masked(err)
	}()
	return e.attempt(ctx, e.discreet(task), write)
}

// discreet returns a task whose questions, handoffs and transcript contain no secrets, because
// they are shown and stored.
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
	if task.HandOff != nil {
		masked.HandOff = func(ctx context.Context, h agent.Handoff) (agent.Handed, error) {
			return task.HandOff(ctx, h.Mask(e.o.Mask.Mask))
		}
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

// maskedOptions returns options without secrets. They stay distinct.
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
		if task.Comment != "" { // it reads nothing else
			again := *task
			again.Prompt = task.Prompt + "\n\n" + task.Comment
			task = &again
		}
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

// unseated returns a task that releases its seat while it waits for a person, or for another agent,
// which may need the seat.
func unseated(task *agent.Task, seat *agent.Seat) *agent.Task {
	patient := *task
	if task.Ask != nil {
		patient.Ask = func(ctx context.Context, q agent.Question) (said string, err error) {
			seat.Rest(ctx, func() { said, err = task.Ask(ctx, q) })
			return said, err
		}
	}
	if task.HandOff != nil {
		patient.HandOff = func(ctx context.Context, h agent.Handoff) (handed agent.Handed, err error) {
			seat.Rest(ctx, func() { handed, err = task.HandOff(ctx, h) })
			return handed, err
		}
	}
	return &patient
}

// forStep returns a task whose agent may do no more than its step allows.
func (e *employed) forStep(task *agent.Task) (*agent.Task, error) {
	narrowed := *task
	var problems []agent.Problem
	narrowed.Agent, narrowed.Settings, problems = e.traits.ForStep(task.Agent, task.Settings)
	if len(problems) > 0 {
		return nil, agent.Permanentf("%s", problems[0])
	}
	return &narrowed, nil
}

// takeSession removes the name of a conversation from the settings of a task.
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
	told := *task // the driver's task is not modified
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
			log(fmt.Appendf(nil, "[this conversation is incomplete: %v]\n", kept))
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

// compose builds the complete prompt of a task.
func (e *employed) compose(ctx context.Context, task *agent.Task, said Conversation, log agent.Log) error {
	brief := agent.Brief{
		Inputs: task.Inputs, Received: task.Received, Prompt: task.Prompt, Feedback: task.Feedback, Comment: task.Comment,
		Decide: task.Decide, Asks: task.Asks, Output: task.Output, MaxBytes: e.o.MaxBytes,
	}
	var err error
	if e.o.Instructions != nil {
		if brief.Instructions, err = e.o.Instructions(); err != nil {
			return agent.Reworded(err, fmt.Sprintf("cannot read the project's instructions: %v", err))
		}
	}
	if e.o.Memories != nil {
		if brief.Memories, err = e.o.Memories(ctx, task.Prompt); err != nil {
			log(fmt.Appendf(nil, "[cannot read memories: %v]\n", err)) // the task does not depend on them
		}
	}
	if resumes := e.traits.Resumes; said != nil && (resumes == nil || !resumes(task)) {
		brief.Session, brief.History = said.ID(), said.History()
	}
	composed := agent.Compose(brief)
	for _, what := range composed.LeftOut {
		log([]byte("[" + what + "]\n"))
	}
	task.Prompt = e.o.Mask.Mask(composed.Prompt) // the operator of the model must not see secrets
	if task.KeepPrompt != nil {
		task.KeepPrompt(e.o.Mask.Mask(agent.WithSystem(task.Agent.Name, task.Agent.Prompt, task.Prompt)))
	}
	return nil
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

// discreetCall wraps the call of a project's tool, which may know secrets that the model
// must not see.
func (e *employed) discreetCall(call toolCall) toolCall {
	return func(ctx context.Context, args map[string]any, task *agent.Task, log agent.Log) (string, error) {
		text, err := call(ctx, args, task, log)
		return e.o.Mask.Mask(text), e.masked(err)
	}
}

type toolCall = func(ctx context.Context, args map[string]any, task *agent.Task, log agent.Log) (string, error)

// question returns what the conversation stores about a task: what was asked, without the
// context.
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

// masked returns an error without secrets.
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

// bare masks nothing.
type bare struct{}

func (bare) Mask(text string) string { return text }

func (bare) Stream(to func([]byte)) (func([]byte), func()) { return to, func() {} }
