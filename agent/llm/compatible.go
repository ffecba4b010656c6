package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/respjson"
	"github.com/openai/openai-go/v3/shared"

	"github.com/hocket-dev/hocket/agent"
)

// chatAPI is the Chat Completions API, which many servers besides OpenAI's offer.
type chatAPI struct {
	at  Provider
	key string

	// What the server turned out not to support: counting the tokens of a stream, the newer
	// name for their limit, thoughts that are sent back.
	uncounted, newLimit, thoughtless bool
}

func (p *chatAPI) models(ctx context.Context, client *http.Client) ([]string, error) {
	return openAIModels(ctx, openAIOptions(p.at, p.key, client))
}

func (p *chatAPI) answer(ctx context.Context, r *request, text func(string)) (answer, error) {
	for {
		a, err := p.once(ctx, r, text)
		if !p.without(err) {
			return a, err
		}
	}
}

// without removes from the next request what a server does not support, or renames it;
// false if that is not the problem.
func (p *chatAPI) without(err error) bool {
	var r *refusal
	if !errors.As(err, &r) || !r.wrong() {
		return false
	}
	for _, q := range []struct {
		words string
		given *bool
	}{{"stream_options", &p.uncounted}, {"max_completion_tokens", &p.newLimit}, {"reasoning", &p.thoughtless}} {
		if !*q.given && strings.Contains(r.message, q.words) {
			*q.given = true
			return true
		}
	}
	return false
}

func (p *chatAPI) once(ctx context.Context, r *request, text func(string)) (answer, error) {
	params, err := p.params(r)
	if err != nil {
		return answer{}, err
	}
	service := openai.NewChatCompletionService(openAIOptions(p.at, p.key, r.client)...)
	var resp *http.Response
	if _, err := service.New(ctx, params, option.WithJSONSet("stream", true), option.WithResponseBodyInto(&resp)); err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	var got chatAnswer
	for data, err := range events(resp.Body) {
		if err == nil {
			err = got.take(data, text)
		}
		if err != nil {
			return got.whole(), err
		}
	}
	if got.stop == "" && !got.done {
		return got.whole(), io.ErrUnexpectedEOF
	}
	return got.whole(), nil
}

func (p *chatAPI) params(r *request) (openai.ChatCompletionNewParams, error) {
	if r.set.ThinkingTokens > 0 {
		return openai.ChatCompletionNewParams{}, agent.Permanentf("OpenAI-compatible providers do not support thinking_tokens; use effort")
	}
	params := openai.ChatCompletionNewParams{Model: r.model, Messages: p.messages(r.system, r.messages)}
	if !p.uncounted {
		params.StreamOptions.IncludeUsage = openai.Bool(true)
	}
	switch {
	case r.maxTokens > 0 && p.newLimit:
		params.MaxCompletionTokens = openai.Int(r.maxTokens)
	case r.maxTokens > 0: // the older name, which most servers support
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

func (p *chatAPI) messages(system string, messages []message) []openai.ChatCompletionMessageParamUnion {
	var out []openai.ChatCompletionMessageParamUnion
	if system != "" {
		out = append(out, openai.SystemMessage(system))
	}
	for _, m := range messages {
		switch {
		case m.answered != nil:
			out = append(out, p.answered(m.answered))
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

func (p *chatAPI) answered(a *answer) openai.ChatCompletionMessageParamUnion {
	said := openai.ChatCompletionAssistantMessageParam{}
	if a.text != "" || len(a.calls) == 0 {
		said.Content.OfString = openai.String(a.text)
	}
	beside, _ := a.native.(chatBeside)
	for i, k := range a.calls {
		args := k.args
		if strings.TrimSpace(args) == "" {
			args = "{}"
		}
		one := &openai.ChatCompletionMessageFunctionToolCallParam{
			ID: k.id, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: k.name, Arguments: args},
		}
		if i < len(beside.calls) && beside.calls[i] != "" {
			one.SetExtraFields(map[string]any{extraContent: json.RawMessage(beside.calls[i])})
		}
		said.ToolCalls = append(said.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: one})
	}
	if len(a.calls) > 0 && !p.thoughtless { // thoughts before an answer are not requested
		said.SetExtraFields(beside.thoughts)
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: &said}
}

// chatBeside is what accompanies an answer and must be sent back unchanged.
type chatBeside struct {
	thoughts map[string]any
	calls    []string // for each call, as JSON; "": nothing
}

// extraContent is where Google's compatible API puts the signatures of calls.
const extraContent = "extra_content"

// chatAnswer assembles an answer from the chunks of a stream.
type chatAnswer struct {
	model   string
	calls   []*chatCall
	refusal strings.Builder
	thought [2]strings.Builder // by thoughtKeys
	details []json.RawMessage
	usage   openai.CompletionUsage
	stop    string
	done    bool
}

// thoughtKeys are the fields in which servers send a model's thoughts, piece by piece;
// OpenRouter also has a list.
var thoughtKeys = [2]string{"reasoning_content", "reasoning"}

const thoughtDetails = "reasoning_details"

type chatCall struct {
	index      int64
	id, extra  string
	name, args strings.Builder
}

func (a *chatAnswer) take(data []byte, text func(string)) error {
	if bytes.HasPrefix(data, []byte("[DONE]")) {
		a.done = true
		return nil
	}
	var chunk openai.ChatCompletionChunk
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return fmt.Errorf("invalid event in the stream: %s", shorten(string(data)))
	}
	if err := json.Unmarshal(data, &chunk); err != nil {
		return fmt.Errorf("invalid event in the stream: %w", err)
	}
	if given(chunk.JSON.ExtraFields["error"]) || chunk.JSON.Object.Raw() == `"error"` {
		return readRefusal(0, nil, data)
	}
	a.model = cmp.Or(chunk.Model, a.model)
	if chunk.JSON.Usage.Valid() {
		a.usage = chunk.Usage
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		a.delta(&choice.Delta, text)
		if choice.FinishReason != "" {
			a.stop = choice.FinishReason
		}
	}
	if a.stop == "error" {
		return &refusal{message: "the server ended it with an error"}
	}
	return nil
}

// given reports whether there is a field that the client does not know.
func given(f respjson.Field) bool { return f.Raw() != "" && f.Raw() != "null" }

func (a *chatAnswer) delta(delta *openai.ChatCompletionChunkChoiceDelta, text func(string)) {
	if raw := delta.JSON.Content.Raw(); strings.HasPrefix(raw, "[") {
		text(textOfParts(raw))
	} else {
		text(delta.Content)
	}
	a.refusal.WriteString(delta.Refusal)
	for i, key := range thoughtKeys {
		var piece string
		if json.Unmarshal([]byte(delta.JSON.ExtraFields[key].Raw()), &piece) == nil {
			a.thought[i].WriteString(piece)
		}
	}
	var details []json.RawMessage
	if json.Unmarshal([]byte(delta.JSON.ExtraFields[thoughtDetails].Raw()), &details) == nil {
		a.details = append(a.details, details...)
	}
	for i := range delta.ToolCalls {
		a.part(&delta.ToolCalls[i])
	}
}

// textOfParts returns the text of a content that is a list of parts, as sent by servers
// that include thoughts.
func textOfParts(raw string) string {
	var parts []struct{ Type, Text string }
	if json.Unmarshal([]byte(raw), &parts) != nil {
		return ""
	}
	var text strings.Builder
	for _, p := range parts {
		if p.Type == "text" {
			text.WriteString(p.Text)
		}
	}
	return text.String()
}

// part adds a piece of a call.
func (a *chatAnswer) part(part *openai.ChatCompletionChunkChoiceDeltaToolCall) {
	k := a.call(part.Index, part.ID, part.Function.Name)
	if k.name.String() != part.Function.Name { // some servers repeat it with every piece
		k.name.WriteString(part.Function.Name)
	}
	k.args.WriteString(part.Function.Arguments)
	if extra := part.JSON.ExtraFields[extraContent]; given(extra) {
		k.extra = extra.Raw()
	}
}

// call returns the call that a piece belongs to. Some servers give every call the same
// index and a new id; some not even that.
func (a *chatAnswer) call(index int64, id, name string) *chatCall {
	for _, k := range slices.Backward(a.calls) {
		if k.index == index && (id == "" || id == k.id) {
			if id == "" && k.isFollowedBy(name) {
				break
			}
			return k
		}
	}
	if len(a.calls) > maxCalls { // none of them is executed
		return a.calls[0]
	}
	k := &chatCall{index: index, id: id}
	a.calls = append(a.calls, k)
	return k
}

// isFollowedBy reports whether a piece without an id begins a new call: it has a name although this
// call already has one, and this call is complete or has another name.
func (k *chatCall) isFollowedBy(name string) bool {
	return name != "" && k.name.Len() > 0 && (name != k.name.String() || json.Valid([]byte(k.args.String())))
}

func (a *chatAnswer) whole() answer {
	u := a.usage
	out := answer{model: a.model, why: a.refusal.String(), counted: u.JSON.CompletionTokens.Valid()}
	out.tokens = openAITokens(u.PromptTokens, u.CompletionTokens, u.PromptTokensDetails.CachedTokens, u.PromptTokensDetails.CacheWriteTokens)
	beside := chatBeside{thoughts: a.thoughts()}
	seen := map[string]bool{"": true} // some servers send no ids, or the same for all, and expect one back
	for i, k := range a.calls {
		for n := i + 1; seen[k.id]; n++ {
			k.id = ownCallID + strconv.Itoa(n)
		}
		seen[k.id] = true
		out.calls = append(out.calls, call{id: k.id, name: k.name.String(), args: k.args.String()})
		beside.calls = append(beside.calls, k.extra)
	}
	out.native = beside
	switch {
	case a.stop == "length":
		out.stop = cutOff
	case a.stop == "content_filter":
		out.stop, out.why = refused, "the provider's content filter stopped the answer"
	case a.refusal.Len() > 0:
		out.stop = refused
	}
	return out
}

func (a *chatAnswer) thoughts() map[string]any {
	thoughts := map[string]any{}
	for i, key := range thoughtKeys {
		if a.thought[i].Len() > 0 {
			thoughts[key] = a.thought[i].String()
		}
	}
	if len(a.details) > 0 {
		thoughts[thoughtDetails] = a.details
	}
	return thoughts
}
