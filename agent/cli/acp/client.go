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

// client is our side of the conversation: it hears what the agent says and does, and is
// asked what the agent may do.
type client struct {
	ctx   context.Context // of the turn
	stop  context.CancelCauseFunc
	start *cli.Start
	task  *agent.Task
	log   *agent.Lines
	room  chan struct{} // for messages that were read and not heard yet

	mu        sync.Mutex
	listening bool      // else the past is being repeated
	over      bool      // nothing is heard any more: the attempt has ended
	heard     time.Time // when something came last
	replayed  chan struct{}
	message   strings.Builder
	messageID string
	last      string // the last message that has ended
	tools     map[string]*toolCall
	rejected  string // what the agent was not allowed to do last
	model     string
	cost      *float64 // of the whole conversation
}

// toolCall is what is known of a call of a tool; the agent tells it in pieces.
type toolCall struct {
	title  string
	input  string
	logged bool

	tool     string // its name; "": its title is all that there is
	kind     string
	args     any
	paths    []string           // the files that it is about
	changes  []agent.FileChange // that it makes if it succeeds
	terminal string             // what its command has printed so far
	over     bool               // its result was told
}

// maxQueued is below what the library takes before it gives up the connection.
const maxQueued = 512

func newClient(ctx context.Context, start *cli.Start, task *agent.Task, log agent.Log, stop context.CancelCauseFunc) *client {
	return &client{
		ctx: ctx, stop: stop, start: start, task: task, log: agent.NewLines(log), room: make(chan struct{}, maxQueued),
		tools: map[string]*toolCall{}, replayed: make(chan struct{}, 1),
	}
}

// handle takes a message of the agent. Files and terminals are not offered: the agent
// has its own.
func (c *client) handle(ctx context.Context, method string, params json.RawMessage) (any, *acp.RequestError) {
	switch method {
	case acp.ClientMethodSessionUpdate:
		defer c.makeRoom()
		var p struct {
			Update update `json:"update"`
		}
		if json.Unmarshal(params, &p) == nil { // else it is something newer than this client
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

// makeRoom is for one more message.
func (c *client) makeRoom() {
	select {
	case <-c.room:
	default: // it came as a request, which takes no room
	}
}

// update is what an agent tells while it works, all kinds of it in one.
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

// toolUpdate is about a call of a tool.
type toolUpdate struct {
	ID        string          `json:"toolCallId"`
	Title     string          `json:"title"`
	Status    string          `json:"status"`
	Tool      string          `json:"kind"`
	Name      string          `json:"name"` // besides the title, as some have it
	Input     json.RawMessage `json:"rawInput"`
	Output    json.RawMessage `json:"rawOutput"`
	Locations []struct {
		Path string `json:"path"`
	} `json:"locations"`
	Meta json.RawMessage `json:"_meta"`
}

// name is what the agent calls the call; "" nothing. Where that is its input once more, the
// name of the tool has to be looked for elsewhere.
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

// say takes a piece of a message. Some agents put warnings of their own among them.
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
		c.stop(agent.Permanentf("the answer of %s is over %d KiB; raise max_output_kb, or ask for less", c.start.Manifest.Name, c.start.MaxBytes>>10))
		return
	}
	c.message.WriteString(content.Text)
}

// tool notes a call of a tool, and logs it once: when it is known, which is when it
// begins or a person is asked about it.
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

// command is the input of a tool in words: the command that it is, else its JSON.
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

// withinBudget ends the turn when it has cost more than the agent may.
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
	return agent.Permanentf("%s used more than the budget of the agent: %s", c.start.Manifest.Name, c.task.Agent.Budget)
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

// print writes to the log, and line a line of its own.
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

// note puts a line of ours into the log.
func (c *client) note(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.line(text)
}

// leave ends all listening: what was read and is still to be heard says nothing any more.
func (c *client) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
}

// listen begins to take what is said as said now.
func (c *client) listen() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listening = true
}

// awaitReplay waits until an agent that repeats the past at its leisure has done so. It
// says nothing when it has; it lists its commands after that, or nearly.
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

// silence is the failure of a turn that ended without an answer, or with words that
// stand for a failure; nil: it has one. A model can say these words too. What they mean
// for a whole account is believed only where the agent shows that no model spoke.
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
		return agent.Permanentf("%s stopped, because it was not allowed to go on with: %s", name, agent.OneLine(c.rejected, maxToolLine))
	}
	return &agent.Error{Kind: agent.BadOutput, Message: name + " ended its turn without an answer"}
}

// maxToolLine is how much of a tool call the log shows.
const maxToolLine = 200
