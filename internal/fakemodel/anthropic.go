package fakemodel

import "net/http"

type object = map[string]any

// anthropic is POST /v1/messages.
type anthropic struct{}

func (anthropic) read(_ *http.Request, req *Request) error {
	var body struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		System   parts  `json:"system"`
		Messages []struct {
			Role    string `json:"role"`
			Content parts  `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name   string         `json:"name"`
			Schema map[string]any `json:"input_schema"`
		} `json:"tools"`
	}
	if err := req.Decode(&body); err != nil {
		return err
	}
	req.Model, req.Stream, req.System = body.Model, body.Stream, body.System.text()
	for _, t := range body.Tools {
		req.Tools = append(req.Tools, Tool{Name: t.Name, Schema: t.Schema})
	}
	for _, m := range body.Messages {
		readMessage(req, m.Role, m.Content)
	}
	return nil
}

func readMessage(req *Request, role string, content parts) {
	switch role {
	case "assistant":
		for _, p := range content {
			id := ""
			if p.Type == "tool_use" {
				id = p.ID
			}
			req.model(id)
		}
	case "user":
		for _, p := range content {
			if p.Type == "tool_result" {
				req.result()
			}
		}
		if text := content.text(); text != "" {
			req.user(text)
		}
	}
}

func (anthropic) failure(s Step) any {
	kind := "api_error"
	switch s.Status {
	case http.StatusBadRequest:
		kind = "invalid_request_error"
	case http.StatusUnauthorized:
		kind = "authentication_error"
	case http.StatusForbidden:
		kind = "permission_error"
	case http.StatusNotFound:
		kind = "not_found_error"
	case http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case 529:
		kind = "overloaded_error"
	}
	return object{"type": "error", "error": object{"type": kind, "message": messageOf(s)}}
}

func messageOf(s Step) string {
	if s.Message != "" {
		return s.Message
	}
	return "the script says " + http.StatusText(s.Status)
}

func (anthropic) plain(req *Request, a answer) any {
	m := anthropicMessage(req, a)
	content := []any{}
	if a.Think != "" {
		content = append(content, object{"type": "thinking", "thinking": a.Think, "signature": "fake"})
	}
	if a.text != "" {
		content = append(content, object{"type": "text", "text": a.text})
	}
	for _, c := range a.calls {
		content = append(content, object{"type": "tool_use", "id": c.id, "name": c.name, "input": c.args})
	}
	m["content"], m["stop_reason"], m["usage"] = content, anthropicStop(a), anthropicUsage(a.usage)
	return m
}

func anthropicMessage(req *Request, a answer) object {
	before := a.usage
	before.Out = 1
	return object{"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": a.model(req), "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": anthropicUsage(before)}
}

func anthropicStop(a answer) string {
	switch {
	case a.MaxTokens:
		return "max_tokens"
	case len(a.calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}

func anthropicUsage(u Usage) object {
	return object{"input_tokens": u.In, "output_tokens": u.Out,
		"cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite}
}

func (w anthropic) stream(req *Request, a answer, out *stream) {
	send := func(name string, more object) {
		more["type"] = name
		out.event(name, more)
	}
	index := 0
	block := func(start object, deltas func(delta func(object))) {
		send("content_block_start", object{"index": index, "content_block": start})
		deltas(func(d object) { send("content_block_delta", object{"index": index, "delta": d}) })
		send("content_block_stop", object{"index": index})
		index++
	}
	send("message_start", object{"message": anthropicMessage(req, a)})
	if a.Think != "" {
		block(object{"type": "thinking", "thinking": "", "signature": ""}, func(delta func(object)) {
			delta(object{"type": "thinking_delta", "thinking": a.Think})
			delta(object{"type": "signature_delta", "signature": "fake"})
		})
	}
	fail := func() { out.event("error", w.failure(a.Step)) }
	goesOn := a.text != "" || out.text(a, nil, fail)
	if a.text != "" {
		block(object{"type": "text", "text": ""}, func(delta func(object)) {
			goesOn = out.text(a, func(text string) { delta(object{"type": "text_delta", "text": text}) }, fail)
		})
	}
	if !goesOn {
		return
	}
	for _, c := range a.calls {
		block(object{"type": "tool_use", "id": c.id, "name": c.name, "input": object{}}, func(delta func(object)) {
			delta(object{"type": "input_json_delta", "partial_json": ""})
			delta(object{"type": "input_json_delta", "partial_json": c.arguments()})
		})
	}
	send("message_delta", object{"delta": object{"stop_reason": anthropicStop(a), "stop_sequence": nil}, "usage": anthropicUsage(a.usage)})
	send("message_stop", object{})
}
