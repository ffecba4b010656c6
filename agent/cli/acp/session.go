package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/coder/acp-go-sdk"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/sorted"
)

// capabilities are what an agent supports, as far as it matters here.
type capabilities struct {
	LoadSession bool `json:"loadSession"`
	Session     struct {
		Resume       *struct{} `json:"resume"`
		SystemPrompt *struct{} `json:"systemPrompt"`
	} `json:"sessionCapabilities"`
	Servers struct {
		HTTP bool `json:"http"`
	} `json:"mcpCapabilities"`
}

// These types contain only the fields that are needed: agents add others.
type (
	initializeResponse struct {
		ProtocolVersion int          `json:"protocolVersion"`
		Capabilities    capabilities `json:"agentCapabilities"`
	}
	sessionRequest struct {
		SessionID    string          `json:"sessionId,omitempty"`
		Cwd          string          `json:"cwd"`
		Servers      []acp.McpServer `json:"mcpServers"`
		SystemPrompt *systemPrompt   `json:"systemPrompt,omitempty"`
		Meta         map[string]any  `json:"_meta,omitempty"`
	}
	systemPrompt struct {
		Mode    string             `json:"mode"`
		Content []acp.ContentBlock `json:"content"`
	}
	sessionResponse struct {
		SessionID string `json:"sessionId"`
		Modes     struct {
			Available []struct {
				ID string `json:"id"`
			} `json:"availableModes"`
			Current string `json:"currentModeId"`
		} `json:"modes"`
		Models struct {
			Available []struct {
				ID string `json:"modelId"`
			} `json:"availableModels"`
			Current string `json:"currentModelId"`
		} `json:"models"`
		Options []struct {
			ID      string          `json:"id"`
			Current json.RawMessage `json:"currentValue"`
		} `json:"configOptions"`
	}
	promptResponse struct {
		StopReason acp.StopReason `json:"stopReason"`
		Usage      *usage         `json:"usage"`
		Meta       meta           `json:"_meta"`
	}
)

func (t *talk) initialize(ctx context.Context) error {
	response, err := acp.SendRequest[initializeResponse](t.conn, ctx, acp.AgentMethodInitialize, acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber,
		ClientInfo:      &acp.Implementation{Name: "hocket", Version: "1"},
	})
	if err != nil {
		return err
	}
	if response.ProtocolVersion != acp.ProtocolVersionNumber {
		return agent.Permanentf("%s uses version %d of the Agent Client Protocol, but Hocket needs version %d",
			t.start.Manifest.Name, response.ProtocolVersion, acp.ProtocolVersionNumber)
	}
	t.can = response.Capabilities
	return nil
}

func (t *talk) resumes() bool { return t.task.Conversation != nil && t.task.Conversation.Native != "" }

// open begins a conversation, or continues one. Some agents then replay what was said
// before; it is ignored.
func (t *talk) open(ctx context.Context) error {
	request := sessionRequest{Cwd: t.start.Dir, Servers: []acp.McpServer{}, Meta: t.start.Meta}
	for _, s := range t.start.Servers {
		server, err := t.server(s)
		if err != nil {
			return err
		}
		request.Servers = append(request.Servers, server)
	}
	if system := t.task.Agent.Prompt; system != "" && t.can.Session.SystemPrompt != nil {
		request.SystemPrompt = &systemPrompt{Mode: "append", Content: []acp.ContentBlock{acp.TextBlock(system)}}
	}
	method := acp.AgentMethodSessionNew
	if t.resumes() {
		request.SessionID = t.task.Conversation.Native
		switch {
		case t.can.Session.Resume != nil:
			method = acp.AgentMethodSessionResume
		case t.can.LoadSession:
			method = acp.AgentMethodSessionLoad
			if err := t.awaitMinute(ctx, request.SessionID); err != nil {
				return err
			}
		default:
			return agent.Permanentf("%s cannot continue a conversation; remove the session", t.start.Manifest.Name)
		}
	}
	response, err := acp.SendRequest[sessionResponse](t.conn, ctx, method, request)
	if err != nil {
		return err
	}
	t.session = cmp.Or(request.SessionID, response.SessionID)
	if t.session == "" {
		return agent.Errorf("%s opened a conversation without an id", t.start.Manifest.Name)
	}
	t.client.model = response.Models.Current
	t.opened = response
	if method == acp.AgentMethodSessionLoad && t.quirks.LateReplay {
		t.client.awaitReplay(ctx)
	}
	return nil
}

func (t *talk) server(s agent.Server) (acp.McpServer, error) {
	if len(s.Command) > 0 {
		if t.quirks.NoCommandServers {
			return acp.McpServer{}, agent.Permanentf("%s does not support MCP servers with a command, such as %q; use one with a URL", t.start.Manifest.Name, s.Name)
		}
		server := &acp.McpServerStdio{Name: s.Name, Command: s.Command[0], Args: append([]string{}, s.Command[1:]...), Env: []acp.EnvVariable{}}
		for _, name := range sorted.Keys(s.Env) {
			server.Env = append(server.Env, acp.EnvVariable{Name: name, Value: s.Env[name]})
		}
		return acp.McpServer{Stdio: server}, nil
	}
	if !t.can.Servers.HTTP {
		return acp.McpServer{}, agent.Permanentf("%s does not support MCP servers with a URL, such as %q; use one with a command", t.start.Manifest.Name, s.Name)
	}
	server := &acp.McpServerHttpInline{Type: "http", Name: s.Name, Url: s.URL, Headers: []acp.HttpHeader{}}
	for _, name := range sorted.Keys(s.Headers) {
		server.Headers = append(server.Headers, acp.HttpHeader{Name: name, Value: s.Headers[name]})
	}
	return acp.McpServer{Http: server}, nil
}

// choose sets the mode in which the agent asks, and the model, in the way that the agent
// offers.
func (t *talk) choose(ctx context.Context) error {
	if mode := t.quirks.Mode; mode != "" && t.opened.Modes.Current != mode {
		if err := t.setMode(ctx, mode); err != nil {
			return err
		}
	}
	if t.start.Model == "" || t.start.Model == t.opened.Models.Current || !t.quirks.SetsModel {
		return nil
	}
	return t.setModel(ctx, t.start.Model)
}

func (t *talk) setMode(ctx context.Context, mode string) error {
	if t.has("mode") {
		return t.setOption(ctx, "mode", mode)
	}
	return t.conn.SendRequestNoResult(ctx, acp.AgentMethodSessionSetMode, acp.SetSessionModeRequest{SessionId: acp.SessionId(t.session), ModeId: acp.SessionModeId(mode)})
}

func (t *talk) setModel(ctx context.Context, model string) error {
	t.client.model = model
	set := func() error {
		return t.conn.SendRequestNoResult(ctx, acp.AgentMethodSessionSetModel, map[string]any{"sessionId": t.session, "modelId": model})
	}
	if t.has("model") {
		set = func() error { return t.setOption(ctx, "model", model) }
	}
	err := set()
	var refused *acp.RequestError
	if errors.As(err, &refused) && refused.Code == invalidParams { // most agents give no more detail than that
		return agent.Permanentf("%s does not support the model %q (%s); use another one", t.start.Manifest.Name, model, wordsOf(refused))
	}
	return err
}

// invalidParams is the JSON-RPC error code for invalid parameters.
const invalidParams = -32602

func (t *talk) has(option string) bool {
	for _, o := range t.opened.Options {
		if o.ID == option {
			return true
		}
	}
	return false
}

func (t *talk) setOption(ctx context.Context, id, value string) error {
	return t.conn.SendRequestNoResult(ctx, acp.AgentMethodSessionSetConfigOption, map[string]any{"sessionId": t.session, "configId": id, "value": value})
}
