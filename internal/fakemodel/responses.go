package fakemodel

import (
	"encoding/json"
	"maps"
	"net/http"
)

// responses is POST /v1/responses.
type responses struct{}

type responsesTool struct {
	Type       string          `json:"type"`
	Name       string          `json:"name"`
	Parameters map[string]any  `json:"parameters"`
	Tools      []responsesTool `json:"tools"` // of a namespace
}

type responsesItem struct {
	Type    string `json:"type"`
	Role    string `json:"role"`
	Content parts  `json:"content"`
	CallID  string `json:"call_id"`
}

func (responses) read(_ *http.Request, req *Request) error {
	var body struct {
		Model        string          `json:"model"`
		Stream       bool            `json:"stream"`
		Instructions string          `json:"instructions"`
		Input        json.RawMessage `json:"input"`
		Tools        []responsesTool `json:"tools"`
	}
	if err := req.Decode(&body); err != nil {
		return err
	}
	req.Model, req.Stream, req.System = body.Model, body.Stream, body.Instructions
	for _, t := range body.Tools {
		switch t.Type {
		case "function":
			req.Tools = append(req.Tools, Tool{Name: t.Name, Schema: t.Parameters})
		case "custom":
			req.Tools = append(req.Tools, Tool{Name: t.Name, Plain: true})
		case "namespace":
			for _, inner := range t.Tools {
				req.Tools = append(req.Tools, Tool{Name: inner.Name, Space: t.Name, Schema: inner.Parameters})
			}
		}
	}
	var text string
	if json.Unmarshal(body.Input, &text) == nil {
		req.user(text)
		return nil
	}
	var items []responsesItem
	if err := json.Unmarshal(body.Input, &items); err != nil {
		return err
	}
	for _, item := range items {
		readItem(req, item)
	}
	return nil
}

func readItem(req *Request, item responsesItem) {
	switch item.Type {
	case "message", "":
		switch item.Role {
		case "user":
			req.user(item.Content.text())
		case "assistant":
			req.model("")
		case "system", "developer":
			req.System += item.Content.text()
		}
	case "function_call", "custom_tool_call":
		req.model(item.CallID)
	case "function_call_output", "custom_tool_call_output":
		req.result()
	}
}

func (responses) failure(s Step) any { return openAIFailure(s) }

func (responses) plain(req *Request, a answer) any {
	status := "completed"
	if a.MaxTokens {
		status = "incomplete"
	}
	output := []any{}
	for _, item := range responsesItems(a) {
		output = append(output, item)
	}
	return responsesBody(req, a, status, output)
}

func responsesBody(req *Request, a answer, status string, output []any) object {
	body := object{"id": "resp_" + a.id, "object": "response", "created_at": 1, "status": status, "model": a.model(req),
		"output": output, "error": nil, "incomplete_details": nil, "parallel_tool_calls": true, "tools": []any{},
		"tool_choice": "auto", "metadata": object{}, "instructions": nil, "temperature": 1, "top_p": 1}
	switch status {
	case "incomplete":
		body["incomplete_details"] = object{"reason": "max_output_tokens"}
	case "failed":
		body["error"] = object{"code": "server_error", "message": messageOf(a.Step)}
		if a.Status == http.StatusTooManyRequests {
			body["error"] = object{"code": "rate_limit_exceeded", "message": messageOf(a.Step)}
		}
	}
	if status == "completed" || status == "incomplete" {
		in := a.usage.In + a.usage.CacheRead + a.usage.CacheWrite
		body["usage"] = object{"input_tokens": in, "input_tokens_details": object{"cached_tokens": a.usage.CacheRead},
			"output_tokens": a.usage.Out, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": in + a.usage.Out}
	}
	return body
}

// responsesItems returns the complete parts of an answer.
func responsesItems(a answer) []object {
	var out []object
	if a.Think != "" {
		out = append(out, object{"type": "reasoning", "id": "rs_" + a.id, "summary": []any{object{"type": "summary_text", "text": a.Think}}})
	}
	if a.text != "" || len(a.calls) == 0 {
		out = append(out, object{"type": "message", "id": "msg_" + a.id, "role": "assistant", "status": "completed",
			"content": []any{responsesText(a.text)}})
	}
	for _, c := range a.calls {
		item := object{"type": "function_call", "id": "fc_" + c.id, "call_id": c.id, "name": c.name,
			"arguments": c.arguments(), "status": "completed"}
		if c.plain {
			item = object{"type": "custom_tool_call", "id": "ctc_" + c.id, "call_id": c.id, "name": c.name, "input": c.text, "status": "completed"}
		}
		if c.space != "" {
			item["namespace"] = c.space
		}
		out = append(out, item)
	}
	return out
}

func responsesText(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
}

func (responses) stream(req *Request, a answer, out *stream) {
	sequence := 0
	send := func(name string, more object) {
		more["type"], more["sequence_number"] = name, sequence
		sequence++
		out.event(name, more)
	}
	send("response.created", object{"response": responsesBody(req, a, "in_progress", []any{})})
	send("response.in_progress", object{"response": responsesBody(req, a, "in_progress", []any{})})
	fail := func() { send("response.failed", object{"response": responsesBody(req, a, "failed", []any{})}) }
	var done []any
	for i, item := range responsesItems(a) {
		goesOn := true
		switch item["type"] {
		case "message":
			goesOn = streamMessage(send, i, item, a, out, fail)
		case "function_call":
			streamCall(send, i, item)
		case "reasoning", "custom_tool_call":
			send("response.output_item.added", object{"output_index": i, "item": item})
		}
		if !goesOn {
			return
		}
		send("response.output_item.done", object{"output_index": i, "item": item})
		done = append(done, item)
	}
	if a.text == "" && len(a.calls) > 0 && !out.text(a, nil, fail) {
		return
	}
	status := "completed"
	if a.MaxTokens {
		status = "incomplete"
	}
	send("response."+status, object{"response": responsesBody(req, a, status, done)})
}

func streamMessage(send func(string, object), i int, item object, a answer, out *stream, fail func()) bool {
	place := func(more object) object {
		more["item_id"], more["output_index"], more["content_index"] = item["id"], i, 0
		return more
	}
	send("response.output_item.added", object{"output_index": i, "item": object{"type": "message", "id": item["id"],
		"role": "assistant", "status": "in_progress", "content": []any{}}})
	send("response.content_part.added", place(object{"part": responsesText("")}))
	if !out.text(a, func(text string) {
		send("response.output_text.delta", place(object{"delta": text, "logprobs": []any{}}))
	}, fail) {
		return false
	}
	send("response.output_text.done", place(object{"text": a.text, "logprobs": []any{}}))
	send("response.content_part.done", place(object{"part": responsesText(a.text)}))
	return true
}

func streamCall(send func(string, object), i int, item object) {
	started := maps.Clone(item)
	started["arguments"], started["status"] = "", "in_progress"
	send("response.output_item.added", object{"output_index": i, "item": started})
	send("response.function_call_arguments.delta", object{"item_id": item["id"], "output_index": i, "delta": item["arguments"]})
	send("response.function_call_arguments.done", object{"item_id": item["id"], "output_index": i, "name": item["name"], "arguments": item["arguments"]})
}
