package llm

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"github.com/hocket-dev/hocket/agent"
)

// chatAPI is Chat Completions, as many servers besides OpenAI's have it.
type chatAPI struct {
	at  Provider
	key string
}

func (p *chatAPI) models(ctx context.Context, client *http.Client) ([]string, error) {
	return openAIModels(ctx, openAIOptions(p.at, p.key, client))
}

func (p *chatAPI) answer(ctx context.Context, r *request, text func(string)) (answer, error) {
	params, err := chatParams(r)
	if err != nil {
		return answer{}, err
	}
	service := openai.NewChatCompletionService(openAIOptions(p.at, p.key, r.client)...)
	stream := service.NewStreaming(ctx, params)
	defer stream.Close()
	var got chatAnswer
	for stream.Next() {
		chunk := stream.Current()
		got.take(&chunk, text)
	}
	err = openAIError(stream.Err())
	if err == nil && got.stop == "" {
		err = io.ErrUnexpectedEOF
	}
	return got.whole(), err
}

func chatParams(r *request) (openai.ChatCompletionNewParams, error) {
	if r.set.ThinkingTokens > 0 {
		return openai.ChatCompletionNewParams{}, agent.Permanentf("an OpenAI-compatible provider takes no thinking_tokens; use effort")
	}
	params := openai.ChatCompletionNewParams{
		Model: r.model, Messages: chatMessages(r.system, r.messages),
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	if r.maxTokens > 0 { // the older word, which all servers know
		params.MaxTokens = openai.Int(r.maxTokens)
	}
	if r.set.Temperature != nil {
		params.Temperature = openai.Float(*r.set.Temperature)
	}
	if r.set.TopP != nil {
		params.TopP = openai.Float(*r.set.TopP)
	}
	if len(r.set.Stop) > 0 {
		params.Stop.OfStringArray = r.set.Stop
	}
	params.ReasoningEffort = shared.ReasoningEffort(r.set.Effort)
	for _, t := range r.tools {
		f := shared.FunctionDefinitionParam{Name: t.Name, Parameters: inputSchema(t.Input)}
		if t.Description != "" {
			f.Description = openai.String(t.Description)
		}
		params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(f))
	}
	if r.schema != nil {
		schema, isStrict := openAISchema(r.schema)
		params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "answer", Schema: schema, Strict: openai.Bool(isStrict)},
		}
	}
	return params, nil
}

func chatMessages(system string, messages []message) []openai.ChatCompletionMessageParamUnion {
	var out []openai.ChatCompletionMessageParamUnion
	if system != "" {
		out = append(out, openai.SystemMessage(system))
	}
	for _, m := range messages {
		switch {
		case m.answered != nil:
			out = append(out, chatAnswered(m.answered))
		case m.results != nil:
			for _, res := range m.results {
				out = append(out, openai.ToolMessage(openAIResult(res), res.call.id))
			}
		default:
			out = append(out, openai.UserMessage(m.told))
		}
	}
	return out
}

func chatAnswered(a *answer) openai.ChatCompletionMessageParamUnion {
	said := openai.ChatCompletionAssistantMessageParam{}
	if a.text != "" || len(a.calls) == 0 {
		said.Content.OfString = openai.String(a.text)
	}
	for _, k := range a.calls {
		args := k.args
		if strings.TrimSpace(args) == "" {
			args = "{}"
		}
		said.ToolCalls = append(said.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
			ID: k.id, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: k.name, Arguments: args},
		}})
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: &said}
}

// chatAnswer puts an answer together from the chunks of a stream.
type chatAnswer struct {
	calls   []*chatCall
	refusal strings.Builder
	usage   openai.CompletionUsage
	stop    string
}

type chatCall struct {
	index      int64
	id         string
	name, args strings.Builder
}

func (a *chatAnswer) take(chunk *openai.ChatCompletionChunk, text func(string)) {
	if chunk.JSON.Usage.Valid() {
		a.usage = chunk.Usage
	}
	for _, choice := range chunk.Choices {
		text(choice.Delta.Content)
		a.refusal.WriteString(choice.Delta.Refusal)
		for _, part := range choice.Delta.ToolCalls {
			k := a.call(part.Index, part.ID)
			k.name.WriteString(part.Function.Name)
			k.args.WriteString(part.Function.Arguments)
		}
		if choice.FinishReason != "" {
			a.stop = choice.FinishReason
		}
	}
}

// call is the one that a part belongs to. Some servers give every call the same
// index, and a new id.
func (a *chatAnswer) call(index int64, id string) *chatCall {
	for _, k := range slices.Backward(a.calls) {
		if k.index == index && (id == "" || id == k.id) {
			return k
		}
	}
	if len(a.calls) > maxCalls { // none of them is made
		return a.calls[0]
	}
	k := &chatCall{index: index, id: id}
	a.calls = append(a.calls, k)
	return k
}

func (a *chatAnswer) whole() answer {
	u := a.usage
	out := answer{why: a.refusal.String(), counted: u.JSON.CompletionTokens.Valid()}
	out.tokens = openAITokens(u.PromptTokens, u.CompletionTokens, u.PromptTokensDetails.CachedTokens, u.PromptTokensDetails.CacheWriteTokens)
	for i, k := range a.calls {
		if k.id == "" { // some servers give none, and want one back
			k.id = ownCallID + strconv.Itoa(i+1)
		}
		out.calls = append(out.calls, call{id: k.id, name: k.name.String(), args: k.args.String()})
	}
	switch {
	case a.stop == "length":
		out.stop = cutOff
	case a.stop == "content_filter":
		out.stop, out.why = refused, "the answer was stopped by the provider's filter of contents"
	case a.refusal.Len() > 0:
		out.stop = refused
	}
	return out
}
