package fakemodel

import "net/http"

// chat is POST /v1/chat/completions.
type chat struct{}

type chatFunction struct {
	Name       string         `json:"name"`
	Parameters map[string]any `json:"parameters"`
}

func (chat) read(_ *http.Request, req *Request) error {
	var body struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role    string `json:"role"`
			Content parts  `json:"content"`
			Calls   []struct {
				ID string `json:"id"`
			} `json:"tool_calls"`
		} `json:"messages"`
		Tools []struct {
			Function chatFunction `json:"function"`
		} `json:"tools"`
	}
	if err := req.Decode(&body); err != nil {
		return err
	}
	req.Model, req.Stream = body.Model, body.Stream
	for _, t := range body.Tools {
		req.Tools = append(req.Tools, Tool{Name: t.Function.Name, Schema: t.Function.Parameters})
	}
	for _, m := range body.Messages {
		switch m.Role {
		case "system", "developer":
			req.System += m.Content.text()
		case "user":
			req.user(m.Content.text())
		case "tool":
			req.result()
		case "assistant":
			id := ""
			if len(m.Calls) > 0 {
				id = m.Calls[0].ID
			}
			req.model(id)
		}
	}
	return nil
}

func (chat) failure(s Step) any { return openAIFailure(s) }

// openAIFailure is the error format of both of OpenAI's APIs.
func openAIFailure(s Step) any {
	kind, code := "server_error", any(nil)
	switch s.Status {
	case http.StatusBadRequest:
		kind = "invalid_request_error"
	case http.StatusUnauthorized:
		kind, code = "invalid_request_error", "invalid_api_key"
	case http.StatusNotFound:
		kind, code = "invalid_request_error", "model_not_found"
	case http.StatusTooManyRequests:
		kind, code = "requests", "rate_limit_exceeded"
	}
	return object{"error": object{"message": messageOf(s), "type": kind, "param": nil, "code": code}}
}

func (chat) plain(req *Request, a answer) any {
	message := object{"role": "assistant", "content": nil, "refusal": nil}
	if a.text != "" {
		message["content"] = a.text
	}
	if calls := chatCalls(a, false); len(calls) > 0 {
		message["tool_calls"] = calls
	}
	return object{"id": "chatcmpl-" + a.id, "object": "chat.completion", "created": 1, "model": a.model(req),
		"choices": []any{object{"index": 0, "message": message, "finish_reason": chatStop(a), "logprobs": nil}},
		"usage":   chatUsage(a.usage)}
}

func chatCalls(a answer, indexed bool) []any {
	var out []any
	for i, c := range a.calls {
		call := object{"id": c.id, "type": "function", "function": object{"name": c.name, "arguments": c.arguments()}}
		if indexed {
			call["index"] = i
		}
		out = append(out, call)
	}
	return out
}

func chatStop(a answer) string {
	switch {
	case a.MaxTokens:
		return "length"
	case len(a.calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func chatUsage(u Usage) object {
	in := u.In + u.CacheRead + u.CacheWrite
	return object{"prompt_tokens": in, "completion_tokens": u.Out, "total_tokens": in + u.Out,
		"prompt_tokens_details": object{"cached_tokens": u.CacheRead}}
}

func (chat) stream(req *Request, a answer, out *stream) {
	chunk := func(delta object, stop any) {
		out.event("", object{"id": "chatcmpl-" + a.id, "object": "chat.completion.chunk", "created": 1, "model": a.model(req),
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": stop, "logprobs": nil}}})
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	if a.Think != "" {
		chunk(object{"reasoning_content": a.Think}, nil)
	}
	if !out.text(a, func(text string) { chunk(object{"content": text}, nil) },
		func() { out.event("", openAIFailure(a.Step)) }) {
		return
	}
	if calls := chatCalls(a, true); len(calls) > 0 {
		chunk(object{"tool_calls": calls}, nil)
	}
	chunk(object{}, chatStop(a))
	out.event("", object{"id": "chatcmpl-" + a.id, "object": "chat.completion.chunk", "created": 1, "model": a.model(req),
		"choices": []any{}, "usage": chatUsage(a.usage)})
	out.raw("[DONE]")
}
