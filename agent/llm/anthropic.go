package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/hocket-dev/hocket/agent"
)

// anthropicTokens is the default limit for an answer: the API requires a number, and all
// current models support this many.
const anthropicTokens = 32_000

// anthropicAPI is the Messages API of Anthropic.
type anthropicAPI struct {
	at  Provider
	key string
}

func (p *anthropicAPI) options(client *http.Client) []option.RequestOption {
	opts := []option.RequestOption{option.WithBaseURL(p.at.address()), option.WithHTTPClient(client), option.WithMaxRetries(0)}
	if p.key != "" {
		opts = append(opts, option.WithAPIKey(p.key))
	}
	for name, value := range p.at.Headers {
		opts = append(opts, option.WithHeader(name, value))
	}
	return opts
}

func (p *anthropicAPI) models(ctx context.Context, client *http.Client) ([]string, error) {
	models := anthropic.NewModelService(p.options(client)...)
	page, err := models.List(ctx, anthropic.ModelListParams{Limit: anthropic.Int(100)})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range page.Data {
		names = append(names, m.ID)
	}
	return names, nil
}

func (p *anthropicAPI) answer(ctx context.Context, r *request, text func(string)) (answer, error) {
	params, err := anthropicParams(r)
	if err != nil {
		return answer{}, err
	}
	messages := anthropic.NewMessageService(p.options(r.client)...)
	stream := messages.NewStreaming(ctx, params)
	defer stream.Close()
	var got anthropicAnswer
	for stream.Next() {
		got.take(stream.Current(), text)
	}
	err = anthropicError(stream.Err())
	if err == nil && !got.ended {
		err = io.ErrUnexpectedEOF
	}
	return got.whole(), err
}

// anthropicError extracts an error that arrived inside a stream from the client's error.
func anthropicError(err error) error {
	var said *anthropic.Error
	if errors.As(err, &said) {
		return readRefusal(0, nil, []byte(said.RawJSON()))
	}
	return err
}

func anthropicParams(r *request) (anthropic.MessageNewParams, error) {
	params := anthropic.MessageNewParams{Model: r.model, MaxTokens: anthropicTokens, StopSequences: r.set.Stop, Messages: anthropicMessages(r.messages)}
	if r.maxTokens > 0 {
		params.MaxTokens = r.maxTokens
	}
	if r.system != "" {
		params.System = []anthropic.TextBlockParam{{Text: r.system}}
	}
	if r.set.Temperature != nil {
		params.Temperature = anthropic.Float(*r.set.Temperature)
	}
	if r.set.TopP != nil {
		params.TopP = anthropic.Float(*r.set.TopP)
	}
	if len(r.tools) > 0 { // otherwise everything said so far is charged again at every turn
		params.CacheControl = anthropic.NewCacheControlEphemeralParam()
	}
	for _, t := range r.tools {
		params.Tools = append(params.Tools, anthropicTool(t))
	}
	if r.schema != nil && !open(r.schema) {
		schema := onlyWith(anthropicKeywords, r.schema)
		closed(schema)
		params.OutputConfig.Format = anthropic.JSONOutputFormatParam{Schema: schema}
	}
	return params, anthropicThinking(r.set, &params)
}

func anthropicThinking(set *settings, params *anthropic.MessageNewParams) error {
	if n := set.ThinkingTokens; n > 0 {
		if n >= params.MaxTokens {
			return agent.Permanentf("thinking_tokens is %d, but an answer has at most %d tokens in total; raise max_tokens or the budget, or lower thinking_tokens", n, params.MaxTokens)
		}
		params.Thinking = anthropic.ThinkingConfigParamOfEnabled(n)
	}
	switch set.Effort {
	case "":
	case "none":
		disabled := anthropic.NewThinkingConfigDisabledParam()
		params.Thinking = anthropic.ThinkingConfigParamUnion{OfDisabled: &disabled}
	case "minimal":
		params.OutputConfig.Effort = anthropic.OutputConfigEffortLow
	default:
		params.OutputConfig.Effort = anthropic.OutputConfigEffort(set.Effort)
	}
	return nil
}

func anthropicTool(t agent.Tool) anthropic.ToolUnionParam {
	schema := inputSchema(t.Input)
	input := anthropic.ToolInputSchemaParam{Properties: schema["properties"], ExtraFields: map[string]any{}}
	for key, value := range schema {
		if !slices.Contains([]string{"type", "properties"}, key) {
			input.ExtraFields[key] = value
		}
	}
	tool := anthropic.ToolUnionParamOfTool(input, t.Name)
	if t.Description != "" {
		tool.OfTool.Description = anthropic.String(t.Description)
	}
	return tool
}

func anthropicMessages(messages []message) []anthropic.MessageParam {
	var out []anthropic.MessageParam
	for _, m := range messages {
		switch {
		case m.answered != nil:
			if blocks, _ := m.answered.native.([]anthropic.ContentBlockParamUnion); len(blocks) > 0 {
				out = append(out, anthropic.NewAssistantMessage(blocks...))
			}
		case m.results != nil:
			var blocks []anthropic.ContentBlockParamUnion
			for _, res := range m.results {
				blocks = append(blocks, anthropic.NewToolResultBlock(res.call.id, res.text, res.failed))
			}
			out = append(out, anthropic.NewUserMessage(blocks...))
		default:
			out = append(out, anthropic.NewUserMessage(anthropic.NewTextBlock(m.told)))
		}
	}
	return out
}

// anthropicAnswer assembles an answer from the events of a stream. The client can do that
// too, but in quadratic time.
type anthropicAnswer struct {
	model  string
	blocks []*anthropicBlock
	usage  agent.Tokens
	stop   anthropic.StopReason
	why    string
	ended  bool
}

type anthropicBlock struct {
	kind, id, name, data string
	input                string // of a call that arrives as a whole; most arrive in pieces
	text, signature      strings.Builder
}

func (a *anthropicAnswer) take(event anthropic.MessageStreamEventUnion, text func(string)) {
	switch event.Type {
	case "message_start":
		a.model = event.Message.Model
		u := event.Message.Usage
		a.usage = agent.Tokens{Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadInputTokens, CacheWrite: u.CacheCreationInputTokens}
	case "content_block_start":
		b := event.ContentBlock
		block := &anthropicBlock{kind: b.Type, id: b.ID, name: b.Name, data: b.Data, input: b.JSON.Input.Raw()}
		block.text.WriteString(b.Text + b.Thinking)
		block.signature.WriteString(b.Signature)
		a.blocks = append(a.blocks, block)
		text(b.Text)
	case "content_block_delta":
		a.grow(event, text)
	case "message_delta":
		a.stop, a.why = event.Delta.StopReason, event.Delta.StopDetails.Explanation
		u := event.Usage
		a.usage.Output = u.OutputTokens // all counts are for the whole message
		if u.JSON.InputTokens.Valid() {
			a.usage.Input = u.InputTokens
		}
		if u.JSON.CacheReadInputTokens.Valid() {
			a.usage.CacheRead = u.CacheReadInputTokens
		}
		if u.JSON.CacheCreationInputTokens.Valid() {
			a.usage.CacheWrite = u.CacheCreationInputTokens
		}
	case "message_stop":
		a.ended = true
	}
}

func (a *anthropicAnswer) grow(event anthropic.MessageStreamEventUnion, text func(string)) {
	if event.Index < 0 || event.Index >= int64(len(a.blocks)) {
		return
	}
	block, delta := a.blocks[event.Index], event.Delta
	switch delta.Type {
	case "text_delta":
		block.text.WriteString(delta.Text)
		text(delta.Text)
	case "input_json_delta":
		block.text.WriteString(delta.PartialJSON)
	case "thinking_delta":
		block.text.WriteString(delta.Thinking)
	case "signature_delta":
		block.signature.WriteString(delta.Signature)
	}
}

func (a *anthropicAnswer) whole() answer {
	out := answer{model: a.model, tokens: a.usage, counted: a.ended, why: a.why}
	var native []anthropic.ContentBlockParamUnion
	said := false // the API does not accept thoughts that nothing follows
	for _, b := range a.blocks {
		text := b.text.String()
		switch b.kind {
		case "text":
			if strings.TrimSpace(text) != "" {
				native, said = append(native, anthropic.NewTextBlock(text)), true
			}
		case "thinking":
			native = append(native, anthropic.NewThinkingBlock(b.signature.String(), text))
		case "redacted_thinking":
			native = append(native, anthropic.NewRedactedThinkingBlock(b.data))
		case "tool_use":
			text = cmp.Or(text, b.input)
			out.calls = append(out.calls, call{id: b.id, name: b.name, args: text})
			native, said = append(native, anthropic.NewToolUseBlock(b.id, anthropicInput(text), b.name)), true
		}
	}
	if !said {
		native = []anthropic.ContentBlockParamUnion{anthropic.NewTextBlock(nothing)}
	}
	out.native = native
	switch a.stop {
	case anthropic.StopReasonMaxTokens:
		out.stop = cutOff
	case anthropic.StopReasonRefusal:
		out.stop = refused
	case anthropic.StopReasonModelContextWindowExceeded:
		out.stop = contextFull
	}
	return out
}

// anthropicInput returns the arguments of a call in the form that the API accepts: always
// an object, whatever the model wrote.
func anthropicInput(text string) any {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) != nil || object == nil {
		return map[string]any{}
	}
	return json.RawMessage(text)
}
