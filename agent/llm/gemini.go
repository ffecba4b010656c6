package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/agent"
)

// geminiAPI is the generateContent API of Google, without its client: see
// docs/decisions/0020-gemini-by-hand.md.
type geminiAPI struct {
	at  Provider
	key string
}

type geminiContent struct {
	Role  string            `json:"role,omitempty"`
	Parts []json.RawMessage `json:"parts"` // kept unchanged: they have signatures that the API expects back
}

type geminiPart struct {
	Text         string              `json:"text,omitempty"`
	Thought      bool                `json:"thought,omitempty"`
	FunctionCall *geminiFunctionCall `json:"functionCall,omitempty"`
	Response     *geminiResponse     `json:"functionResponse,omitempty"`
}

type geminiFunctionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type geminiResponse struct {
	ID       string            `json:"id,omitempty"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
}

type geminiChunk struct {
	Candidates []struct {
		Content       geminiContent `json:"content"`
		FinishReason  string        `json:"finishReason"`
		FinishMessage string        `json:"finishMessage"`
	} `json:"candidates"`
	PromptFeedback struct {
		BlockReason        string `json:"blockReason"`
		BlockReasonMessage string `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
	Model string          `json:"modelVersion"`
	Usage *geminiUsage    `json:"usageMetadata"`
	Error json.RawMessage `json:"error"`
}

type geminiUsage struct {
	Prompt   int64 `json:"promptTokenCount"`
	Answer   int64 `json:"candidatesTokenCount"`
	Thoughts int64 `json:"thoughtsTokenCount"`
	Cached   int64 `json:"cachedContentTokenCount"`
	ToolUse  int64 `json:"toolUsePromptTokenCount"`
}

func (p *geminiAPI) models(ctx context.Context, client *http.Client) ([]string, error) {
	resp, err := p.do(ctx, client, http.MethodGet, "models?pageSize=1000", nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var list struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		return nil, err
	}
	var names []string
	for _, m := range list.Models {
		names = append(names, strings.TrimPrefix(m.Name, "models/"))
	}
	return names, nil
}

func (p *geminiAPI) do(ctx context.Context, client *http.Client, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.at.address()+"/v1beta/"+path, bytes.NewReader(body))
	if err != nil {
		return nil, agent.Permanentf("invalid base_url %q: %v", p.at.address(), err)
	}
	for name, value := range p.at.Headers {
		req.Header.Set(name, value)
	}
	if p.key != "" {
		req.Header.Set("X-Goog-Api-Key", p.key)
	}
	req.Header.Set("Content-Type", "application/json")
	return client.Do(req)
}

func (p *geminiAPI) answer(ctx context.Context, r *request, text func(string)) (answer, error) {
	body, err := json.Marshal(geminiRequest(r))
	if err != nil {
		return answer{}, fmt.Errorf("llm: gemini: %w", err)
	}
	resp, err := p.do(ctx, r.client, http.MethodPost, "models/"+url.PathEscape(r.model)+":streamGenerateContent?alt=sse", body)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	var got geminiAnswer
	for data, err := range events(resp.Body) {
		if err == nil {
			err = got.take(data, text)
		}
		if err != nil {
			return got.whole(), err
		}
	}
	if !got.ended() {
		return got.whole(), io.ErrUnexpectedEOF
	}
	return got.whole(), nil
}

func geminiRequest(r *request) map[string]any {
	body := map[string]any{"contents": geminiContents(r.messages)}
	if r.system != "" {
		body["systemInstruction"] = geminiContent{Parts: []json.RawMessage{encoded(geminiPart{Text: r.system})}}
	}
	if len(r.tools) > 0 {
		var functions []any
		for _, t := range r.tools {
			functions = append(functions, map[string]any{"name": t.Name, "description": t.Description, "parametersJsonSchema": inputSchema(t.Input)})
		}
		body["tools"] = []any{map[string]any{"functionDeclarations": functions}}
	}
	body["generationConfig"] = geminiConfig(r)
	return body
}

func geminiConfig(r *request) map[string]any {
	config := map[string]any{}
	if r.maxTokens > 0 {
		config["maxOutputTokens"] = min(r.maxTokens, 1<<30)
	}
	if r.set.Temperature != nil {
		config["temperature"] = *r.set.Temperature
	}
	if r.set.TopP != nil {
		config["topP"] = *r.set.TopP
	}
	if len(r.set.Stop) > 0 {
		config["stopSequences"] = r.set.Stop
	}
	if r.schema != nil && len(r.tools) == 0 { // many models reject both together
		config["responseMimeType"] = "application/json"
		if !open(r.schema) {
			config["responseJsonSchema"] = onlyWith(geminiKeywords, r.schema)
		}
	}
	switch {
	case r.set.ThinkingTokens > 0:
		config["thinkingConfig"] = map[string]any{"thinkingBudget": r.set.ThinkingTokens}
	case r.set.Effort == "none":
		config["thinkingConfig"] = map[string]any{"thinkingBudget": 0}
	case r.set.Effort == "xhigh" || r.set.Effort == "max":
		config["thinkingConfig"] = map[string]any{"thinkingLevel": "high"}
	case r.set.Effort != "":
		config["thinkingConfig"] = map[string]any{"thinkingLevel": r.set.Effort}
	}
	return config
}

func geminiContents(messages []message) []geminiContent {
	var out []geminiContent
	for _, m := range messages {
		switch {
		case m.answered != nil:
			if parts, _ := m.answered.native.([]json.RawMessage); len(parts) > 0 {
				out = append(out, geminiContent{Role: "model", Parts: parts})
			}
		case m.results != nil:
			content := geminiContent{Role: "user"}
			for _, res := range m.results {
				content.Parts = append(content.Parts, encoded(geminiPart{Response: geminiResult(res)}))
			}
			out = append(out, content)
		default:
			out = append(out, geminiContent{Role: "user", Parts: []json.RawMessage{encoded(geminiPart{Text: m.told})}})
		}
	}
	return out
}

func geminiResult(res result) *geminiResponse {
	key := "output"
	if res.failed {
		key = "error"
	}
	id := res.call.id
	if strings.HasPrefix(id, ownCallID) {
		id = ""
	}
	return &geminiResponse{ID: id, Name: res.call.name, Response: map[string]string{key: res.text}}
}

// encoded encodes a part of a message, which always succeeds for its fields.
func encoded(part geminiPart) json.RawMessage {
	data, err := json.Marshal(part)
	if err != nil {
		return json.RawMessage("{}")
	}
	return data
}

// geminiAnswer assembles an answer from the chunks of a stream.
type geminiAnswer struct {
	model string
	parts []json.RawMessage
	calls []call
	said  strings.Builder // text of plain parts that is not in parts yet
	usage *geminiUsage
	stop  string
	why   string
}

func (a *geminiAnswer) take(data []byte, text func(string)) error {
	var chunk geminiChunk
	if err := json.Unmarshal(data, &chunk); err != nil {
		return fmt.Errorf("invalid event in the stream: %w", err)
	}
	if len(chunk.Error) > 0 {
		return readRefusal(0, nil, data)
	}
	a.model = cmp.Or(chunk.Model, a.model)
	if chunk.Usage != nil {
		a.usage = chunk.Usage
	}
	if reason := chunk.PromptFeedback.BlockReason; reason != "" {
		a.stop, a.why = blocked, strings.TrimSpace("the prompt was blocked: "+reason+" "+chunk.PromptFeedback.BlockReasonMessage)
	}
	if len(chunk.Candidates) == 0 {
		return nil
	}
	c := chunk.Candidates[0]
	for _, raw := range c.Content.Parts {
		if err := a.part(raw, text); err != nil {
			return err
		}
	}
	if c.FinishReason != "" {
		a.stop, a.why = c.FinishReason, c.FinishMessage
	}
	return nil
}

func (a *geminiAnswer) part(raw json.RawMessage, text func(string)) error {
	var part map[string]json.RawMessage
	var known geminiPart
	if err := json.Unmarshal(raw, &part); err != nil {
		return fmt.Errorf("invalid part of the answer: %w", err)
	}
	if err := json.Unmarshal(raw, &known); err != nil {
		return fmt.Errorf("invalid part of the answer: %w", err)
	}
	if len(part) == 1 && part["text"] != nil {
		a.said.WriteString(known.Text)
		text(known.Text)
		return nil
	}
	a.flush()
	a.parts = append(a.parts, bytes.Clone(raw))
	if !known.Thought {
		text(known.Text)
	}
	if f := known.FunctionCall; f != nil {
		id := f.ID
		if id == "" {
			id = ownCallID + strconv.Itoa(len(a.calls)+1)
		}
		a.calls = append(a.calls, call{id: id, name: f.Name, args: string(f.Args)})
	}
	return nil
}

// flush combines the pieces of a text into one part.
func (a *geminiAnswer) flush() {
	if a.said.Len() > 0 {
		a.parts = append(a.parts, encoded(geminiPart{Text: a.said.String()}))
		a.said.Reset()
	}
}

func (a *geminiAnswer) ended() bool { return a.stop != "" }

func (a *geminiAnswer) whole() answer {
	a.flush()
	out := answer{model: a.model, calls: a.calls, native: a.parts, why: a.why}
	if u := a.usage; u != nil {
		out.counted = a.ended()
		out.tokens = agent.Tokens{Input: max(0, u.Prompt+u.ToolUse-u.Cached), Output: u.Answer + u.Thoughts, CacheRead: u.Cached}
	}
	switch a.stop {
	case "", "STOP", "FINISH_REASON_UNSPECIFIED":
	case "MAX_TOKENS":
		out.stop = cutOff
	case "MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS":
		out.stop = garbled
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "MODEL_ARMOR", "JAILBREAK", blocked:
		out.stop = refused
	default: // OTHER, and future reasons
		out.stop = stopped
	}
	if out.why == "" {
		out.why = a.stop
	}
	return out
}

// blocked is the reason for which an answer ends that never began: the prompt itself was
// rejected.
const blocked = "blocked"
