package llm

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/hocket-dev/hocket/agent"
)

// responsesAPI is the Responses API of OpenAI.
type responsesAPI struct {
	at  Provider
	key string
}

func openAIOptions(at Provider, key string, client *http.Client) []option.RequestOption {
	opts := []option.RequestOption{option.WithBaseURL(at.address() + "/"), option.WithHTTPClient(client), option.WithMaxRetries(0)}
	if key != "" {
		opts = append(opts, option.WithAPIKey(key))
	}
	for name, value := range at.Headers {
		opts = append(opts, option.WithHeader(name, value))
	}
	return opts
}

func openAIModels(ctx context.Context, opts []option.RequestOption) ([]string, error) {
	models := openai.NewModelService(opts...)
	page, err := models.List(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range page.Data {
		names = append(names, m.ID)
	}
	return names, nil
}

// openAIError extracts an error that arrived inside a stream from the client's error.
func openAIError(err error) error {
	var said *ssestream.StreamError
	if errors.As(err, &said) {
		return readRefusal(0, nil, said.Event.Data)
	}
	return err
}

func (p *responsesAPI) models(ctx context.Context, client *http.Client) ([]string, error) {
	return openAIModels(ctx, openAIOptions(p.at, p.key, client))
}

func (p *responsesAPI) answer(ctx context.Context, r *request, text func(string)) (answer, error) {
	params, err := responsesParams(r)
	if err != nil {
		return answer{}, err
	}
	service := responses.NewResponseService(openAIOptions(p.at, p.key, r.client)...)
	stream := service.NewStreaming(ctx, params)
	defer stream.Close()
	var got responsesAnswer
	for stream.Next() {
		event := stream.Current()
		if err := got.take(&event, text); err != nil {
			return got.whole(), err
		}
	}
	err = openAIError(stream.Err())
	if err == nil && !got.ended {
		err = io.ErrUnexpectedEOF
	}
	return got.whole(), err
}

func responsesParams(r *request) (responses.ResponseNewParams, error) {
	if r.set.ThinkingTokens > 0 {
		return responses.ResponseNewParams{}, agent.Permanentf("OpenAI models do not support thinking_tokens; use effort")
	}
	if len(r.set.Stop) > 0 {
		return responses.ResponseNewParams{}, agent.Permanentf("the OpenAI Responses API does not support stop; remove it")
	}
	params := responses.ResponseNewParams{
		Model: r.model,
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: responsesItems(r.messages)},
		Store: openai.Bool(false),
	}
	if reasons(r.model) { // nothing is stored, so the model's thoughts are part of the conversation
		params.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	}
	if r.system != "" {
		params.Instructions = openai.String(r.system)
	}
	if r.maxTokens > 0 {
		params.MaxOutputTokens = openai.Int(max(r.maxTokens, 16)) // the API's minimum
	}
	if r.set.Temperature != nil {
		params.Temperature = openai.Float(*r.set.Temperature)
	}
	if r.set.TopP != nil {
		params.TopP = openai.Float(*r.set.TopP)
	}
	if r.set.Effort != "" {
		params.Reasoning.Effort = shared.ReasoningEffort(r.set.Effort)
	}
	for _, t := range r.tools {
		tool := responses.FunctionToolParam{Name: t.Name, Parameters: inputSchema(t.Input), Strict: openai.Bool(false)}
		if t.Description != "" {
			tool.Description = openai.String(t.Description)
		}
		params.Tools = append(params.Tools, responses.ToolUnionParam{OfFunction: &tool})
	}
	if r.schema != nil {
		schema, isStrict := openAISchema(r.schema)
		params.Text.Format.OfJSONSchema = &responses.ResponseFormatTextJSONSchemaConfigParam{Name: "answer", Schema: schema, Strict: openai.Bool(isStrict)}
	}
	return params, nil
}

// reasons reports whether a model thinks before it answers. The API does not return the
// thoughts of one that does not.
func reasons(model string) bool {
	model = strings.TrimPrefix(model, "ft:")
	return !strings.HasPrefix(model, "gpt-3") && !strings.HasPrefix(model, "gpt-4") && !strings.HasPrefix(model, "chatgpt-") && !strings.Contains(model, "-chat")
}

// openAISchema returns a schema in the form that the API can enforce strictly, if possible;
// otherwise unchanged, and the model does its best.
func openAISchema(schema map[string]any) (map[string]any, bool) {
	narrow := onlyWith(openAIKeywords, schema)
	closed(narrow)
	if strict(narrow) && !open(schema) {
		return narrow, true
	}
	return plainObject(schema), false
}

func responsesItems(messages []message) responses.ResponseInputParam {
	var items responses.ResponseInputParam
	for _, m := range messages {
		switch {
		case m.answered != nil:
			native, _ := m.answered.native.([]json.RawMessage)
			for _, item := range native {
				items = append(items, param.Override[responses.ResponseInputItemUnionParam](item))
			}
		case m.results != nil:
			for _, res := range m.results {
				item := responses.ResponseInputItemParamOfFunctionCallOutput(openAIResult(res))
				item.OfFunctionCallOutput.CallID = openai.String(res.call.id)
				items = append(items, item)
			}
		default:
			items = append(items, responses.ResponseInputItemParamOfMessage(m.told, responses.EasyInputMessageRoleUser))
		}
	}
	return items
}

// openAIResult formats the result of a call for APIs that cannot mark failures.
func openAIResult(res result) string {
	if res.failed {
		return "error: " + res.text
	}
	return res.text
}

// responsesAnswer assembles an answer from the events of a stream.
type responsesAnswer struct {
	items   []json.RawMessage
	calls   []call
	refusal strings.Builder
	final   strings.Builder
	end     responses.Response
	ended   bool
}

func (a *responsesAnswer) take(event *responses.ResponseStreamEventUnion, text func(string)) error {
	switch event.Type {
	case "response.output_text.delta":
		text(event.Delta)
	case "response.refusal.delta":
		a.refusal.WriteString(event.Delta)
	case "response.output_item.done":
		a.item(&event.Item)
	case "response.completed", "response.incomplete":
		a.end, a.ended = event.Response, true
	case "response.failed":
		a.end = event.Response
		said := event.Response.Error
		return &refusal{codes: []string{string(said.Code)}, message: shorten(said.Message)}
	case "error":
		return &refusal{codes: []string{event.Code}, message: shorten(event.Message)}
	}
	return nil
}

// item adds a complete item. Text on the way to an answer is a separate item, distinguished
// from the answer by its phase.
func (a *responsesAnswer) item(item *responses.ResponseOutputItemUnion) {
	if item.Type == "" {
		return // nothing that could be sent back
	}
	a.items = append(a.items, json.RawMessage(item.RawJSON()))
	switch {
	case item.Type == "function_call":
		f := item.AsFunctionCall()
		a.calls = append(a.calls, call{id: f.CallID, name: f.Name, args: f.Arguments})
	case item.Type == "message" && item.Phase == responses.ResponseOutputMessagePhaseFinalAnswer:
		for _, part := range item.AsMessage().Content {
			a.final.WriteString(part.Text)
		}
	}
}

func (a *responsesAnswer) whole() answer {
	u := a.end.Usage
	out := answer{model: a.end.Model, calls: a.calls, native: a.items, final: a.final.String(), why: a.refusal.String(), counted: u.JSON.OutputTokens.Valid()}
	out.tokens = openAITokens(u.InputTokens, u.OutputTokens, u.InputTokensDetails.CachedTokens, u.InputTokensDetails.CacheWriteTokens)
	switch {
	case a.end.IncompleteDetails.Reason == "max_output_tokens":
		out.stop = cutOff
	case a.end.IncompleteDetails.Reason == "content_filter":
		out.stop, out.why = refused, "the provider's content filter stopped the answer"
	case a.refusal.Len() > 0:
		out.stop = refused
	}
	return out
}

// openAITokens subtracts the cached tokens from the input tokens.
func openAITokens(in, out, read, written int64) agent.Tokens {
	return agent.Tokens{Input: max(0, in-read-written), Output: out, CacheRead: read, CacheWrite: written}
}
