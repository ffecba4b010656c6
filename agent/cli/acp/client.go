package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/cli"
)

// client is our side of the conversation: it receives what the agent says and does, and
// answers its requests for permission.
type client struct {
	ctx   context.Context // of the turn
	stop  context.CancelCauseFunc
	start *cli.Start
	task  *agent.Task
	log   *agent.Lines
	room  chan struct{} // messages that were read and not processed yet

	mu        sync.Mutex
	listening bool      // false while past messages are being replayed
	over      bool      // the attempt has ended: ignore further messages
	heard     time.Time // time of the last message
	replayed  chan struct{}
	message   strings.Builder
	messageID string
	last      string // the last complete message
	tools     map[string]*toolCall
	rejected  string // what the agent was last refused
	model     string
	cost      *float64 // for the whole conversation
}

// toolCall is what is known about a tool call; the agent sends it in pieces.
type toolCall struct {
	title  string
	input  string
	logged bool

	tool     string // its name; "": only its title is known
	kind     string
	args     any
	paths    []string           // files that it affects
	changes  []agent.FileChange // changes that it makes if it succeeds
	terminal string             // output of its command so far
	over     bool               // its result was recorded
}

// maxQueued is less than the queue at which the library closes the connection.
const maxQueued = 512

func newClient(ctx context.Context, start *cli.Start, task *agent.Task, log agent.Log, stop context.CancelCauseFunc) *client {
	return &client{
		ctx: ctx, stop: stop, start: start, task: task, log: agent.NewLines(log), room: make(chan struct{}, maxQueued),
		tools: map[string]*toolCall{}, replayed: make(chan struct{}, 1),
	}
}

// handle processes a message of the agent. We offer no files or terminals: the agent has
// its own.
func (c *client) handle(ctx context.Context, method string, params json.RawMessage) (any, *acp.RequestError) {
	switch method {
	case acp.ClientMethodSessionUpdate:
		defer c.makeRoom()
		var p struct {
			Update update `json:"update"`
		}
		if json.Unmarshal(params, &p) == nil { // otherwise a newer message that this client does not know
			c.hear(&p.Update)
		}
		return nil, nil
	case acp.ClientMethodSessionRequestPermission:
		var p permissionRequest
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, acp.NewInvalidParams(map[string]any{"error": err.Error()})
		}
		return c.permit(ctx, &p), nil
	}
	return nil, acp.NewMethodNotFound(method)
}

// makeRoom frees the place of one message.
func (c *client) makeRoom() {
	select {
	case <-c.room:
	default: // it came as a request, which takes no place
	}
}

// update is what an agent reports while it works; it combines all kinds of updates.
type update struct {
	Kind      string          `json:"sessionUpdate"`
	Content   json.RawMessage `json:"content"`
	MessageID string          `json:"messageId"`
	Cost      *struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	} `json:"cost"`
	toolUpdate
}

// toolUpdate describes a tool call.
type toolUpdate struct {
	ID        string          `json:"toolCallId"`
	Title     string          `json:"title"`
	Status    string          `json:"status"`
	Tool      string          `json:"kind"`
	Name      string          `json:"name"` // in addition to the title, in some agents
	Input     json.RawMessage `json:"rawInput"`
	Output    json.RawMessage `json:"rawOutput"`
	Locations []struct {
		Path string `json:"path"`
	} `json:"locations"`
	Meta json.RawMessage `json:"_meta"`
}

// name returns the agent's name for the call; "" if it has none. If the name only repeats
// the input, the tool name must be found elsewhere.
func (u *toolUpdate) name() string {
	var meta struct {
		Tool string `json:"toolName"`
	}
	if strings.HasPrefix(u.Title, "{") && json.Unmarshal(u.Meta, &meta) == nil && meta.Tool != "" {
		return meta.Tool
	}
	return u.Title
}

func (c *client) hear(u *update) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = time.Now()
	if u.Kind == "usage_update" && u.Cost != nil && (u.Cost.Currency == "USD" || u.Cost.Currency == "") {
		c.cost = &u.Cost.Amount
		c.withinBudget()
	}
	if !c.listening || c.over {
		if u.Kind == "available_commands_update" {
			select {
			case c.replayed <- struct{}{}:
			default:
			}
		}
		return
	}
	switch u.Kind {
	case "agent_message_chunk":
		c.say(u)
	case "tool_call", "tool_call_update":
		call := c.tool(&u.toolUpdate, u.Status != "" && u.Status != "pending")
		c.deeds(call, u)
	}
}

// say adds a piece of a message. Some agents insert warnings of their own.
func (c *client) say(u *update) {
	var content struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(u.Content, &content) != nil || content.Text == "" {
		return
	}
	if u.MessageID != c.messageID {
		c.endMessage()
		c.messageID = u.MessageID
	}
	if notice := c.start.Quirks.Notice; notice != nil && notice.MatchString(content.Text) {
		c.line(strings.TrimSpace(content.Text))
		return
	}
	c.print(content.Text)
	if c.message.Len()+len(content.Text) > c.start.MaxBytes {
		c.stop(agent.Permanentf("the answer of %s exceeds %d KiB; raise max_output_kb or ask for a shorter answer", c.start.Manifest.Name, c.start.MaxBytes>>10))
		return
	}
	c.message.WriteString(content.Text)
}

// tool records a tool call and logs it once, when its content is known: when it begins or a
// person is asked about it.
func (c *client) tool(u *toolUpdate, known bool) *toolCall {
	call := c.tools[u.ID]
	if call == nil {
		call = &toolCall{}
		c.tools[u.ID] = call
		c.endMessage()
	}
	if name := u.name(); name != "" {
		call.title = name
	}
	if input := command(u.Input); input != "" {
		call.input = input
	}
	call.learn(u)
	if known && !call.logged {
		call.logged = true
		c.endMessage()
		text := call.title
		if call.input != "" && call.input != call.title {
			text += " " + call.input
		}
		c.line("> " + agent.OneLine(text, maxToolLine))
		call.tool = cmp.Or(call.tool, call.title)
		c.record(agent.ToolCall{ID: u.ID, Tool: call.tool, Arguments: call.args})
	}
	return call
}

// command describes the input of a tool: its command, otherwise its JSON.
func command(input json.RawMessage) string {
	var shell struct {
		Command json.RawMessage `json:"command"`
	}
	if json.Unmarshal(input, &shell) == nil && len(shell.Command) > 0 {
		var line string
		var words []string
		switch {
		case json.Unmarshal(shell.Command, &line) == nil:
			return line
		case json.Unmarshal(shell.Command, &words) == nil:
			return strings.Join(words, " ")
		}
	}
	if text := strings.TrimSpace(string(input)); text != "{}" && text != "null" {
		return text
	}
	return ""
}

// withinBudget ends the turn when it exceeds the agent's budget.
func (c *client) withinBudget() {
	var before float64
	if c.task.Conversation != nil {
		before = c.task.Conversation.Spent.CostUSD
	}
	if c.task.Agent.Budget.CostUSD.Exceeded(*c.cost - before) {
		c.stop(c.overBudget())
	}
}

func (c *client) overBudget() error {
	return agent.Permanentf("%s exceeded the budget of the agent: %s", c.start.Manifest.Name, c.task.Agent.Budget)
}

func (c *client) endMessage() {
	if c.message.Len() > 0 {
		c.last = c.message.String()
		c.message.Reset()
		c.record(agent.AssistantText{Text: c.last})
	}
	if !c.over {
		c.log.End()
	}
}

// print writes to the log, and line writes a separate line.
func (c *client) print(text string) {
	if !c.over {
		c.log.Write(text)
	}
}

func (c *client) line(text string) {
	if !c.over {
		c.log.Line(text)
	}
}

// note writes a line of our own to the log.
func (c *client) note(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.line(text)
}

// leave stops listening: messages that were read and not processed yet are dropped.
func (c *client) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
}

// listen starts to treat messages as current.
func (c *client) listen() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listening = true
}

// awaitReplay waits until an agent that replays the past asynchronously has finished. It
// does not report the end, but lists its commands at about that time.
func (c *client) awaitReplay(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, replayPatience)
	defer stop()
	select {
	case <-c.replayed:
	case <-ctx.Done():
		return
	}
	for {
		c.mu.Lock()
		quiet := time.Since(c.heard)
		c.mu.Unlock()
		if quiet >= replayQuiet {
			return
		}
		select {
		case <-time.After(replayQuiet - quiet):
		case <-ctx.Done():
			return
		}
	}
}

// answer is the last message.
func (c *client) answer() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endMessage()
	return c.last
}

// silence returns the error for a turn that ended without an answer, or with text that
// indicates a failure; nil otherwise. A model can produce the same text, so an error that
// would affect a whole account is believed only if the agent shows that no model wrote it.
func (c *client) silence(unused bool) error {
	answer := c.answer()
	c.mu.Lock()
	defer c.mu.Unlock()
	name := c.start.Manifest.Name
	switch failed := c.start.Quirks.FailedText; {
	case failed != nil && failed.MatchString(answer):
		failure := c.start.Failure(strings.TrimSpace(answer), 0)
		if failure.Kind == agent.Quota && !unused {
			return agent.Errorf("%s failed: %s", name, strings.TrimSpace(answer))
		}
		return failure
	case answer != "":
		return nil
	case c.rejected != "":
		return agent.Permanentf("%s stopped because it was not allowed to do this: %s", name, agent.OneLine(c.rejected, maxToolLine))
	}
	return &agent.Error{Kind: agent.BadOutput, Message: name + " ended its turn without an answer"}
}

// maxToolLine limits how much of a tool call the log shows.
const maxToolLine = 200
