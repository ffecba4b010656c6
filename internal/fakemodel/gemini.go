package fakemodel

import (
	"fmt"
	"net/http"
	"path"
	"strings"
)

// gemini is POST /v1beta/models/NAME:generateContent and :streamGenerateContent.
type gemini struct{}

type geminiContent struct {
	Role  string `json:"role"`
	Parts []struct {
		Text string `json:"text"`
		Call *struct {
			ID string `json:"id"`
		} `json:"functionCall"`
		Result *struct{} `json:"functionResponse"`
	} `json:"parts"`
}

func (c geminiContent) text() string {
	var all []string
	for _, p := range c.Parts {
		if p.Text != "" {
			all = append(all, p.Text)
		}
	}
	return strings.Join(all, "\n")
}

func (gemini) read(r *http.Request, req *Request) error {
	var body struct {
		System   geminiContent   `json:"systemInstruction"`
		Contents []geminiContent `json:"contents"`
		Tools    []struct {
			Functions []struct {
				Name       string         `json:"name"`
				Parameters map[string]any `json:"parameters"`
				Schema     map[string]any `json:"parametersJsonSchema"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := req.Decode(&body); err != nil {
		return err
	}
	req.Model, _, _ = strings.Cut(path.Base(r.URL.Path), ":")
	req.Stream = strings.HasSuffix(r.URL.Path, ":streamGenerateContent")
	req.System = body.System.text()
	for _, t := range body.Tools {
		for _, f := range t.Functions {
			schema := f.Schema
			if schema == nil {
				schema = f.Parameters
			}
			req.Tools = append(req.Tools, Tool{Name: f.Name, Schema: schema})
		}
	}
	for _, c := range body.Contents {
		readContent(req, c)
	}
	return nil
}

func readContent(req *Request, c geminiContent) {
	if c.Role == "model" {
		for _, p := range c.Parts {
			id := ""
			if p.Call != nil {
				id = p.Call.ID
			}
			req.model(id)
		}
		return
	}
	for _, p := range c.Parts {
		if p.Result != nil {
			req.result()
		}
	}
	if text := c.text(); text != "" {
		req.user(text)
	}
}

func (gemini) failure(s Step) any {
	status := map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED",
		404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}[s.Status]
	if status == "" {
		status = "INTERNAL"
	}
	details := []any{}
	if s.Status == http.StatusTooManyRequests && s.RetryAfter >= 60 { // a quota, not a temporary overload
		details = append(details, object{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []any{object{
			"quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
			"quotaId":     "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "20",
		}}})
	}
	if s.RetryAfter > 0 {
		details = append(details, object{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": fmt.Sprintf("%ds", s.RetryAfter)})
	}
	return object{"error": object{"code": s.Status, "message": messageOf(s), "status": status, "details": details}}
}

func (gemini) plain(req *Request, a answer) any {
	parts := []any{}
	if a.Think != "" {
		parts = append(parts, object{"text": a.Think, "thought": true})
	}
	if a.text != "" {
		parts = append(parts, object{"text": a.text})
	}
	return geminiBody(req, a, append(parts, geminiCalls(a)...), true)
}

func geminiCalls(a answer) []any {
	var out []any
	for _, c := range a.calls {
		out = append(out, object{"functionCall": object{"id": c.id, "name": c.name, "args": c.args}})
	}
	return out
}

func geminiBody(req *Request, a answer, parts []any, last bool) object {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	body := object{"candidates": []any{candidate}, "modelVersion": a.model(req), "responseId": a.id}
	if !last {
		return body
	}
	candidate["finishReason"] = "STOP"
	if a.MaxTokens {
		candidate["finishReason"] = "MAX_TOKENS"
	}
	in := a.usage.In + a.usage.CacheRead + a.usage.CacheWrite
	body["usageMetadata"] = object{"promptTokenCount": in, "candidatesTokenCount": a.usage.Out,
		"cachedContentTokenCount": a.usage.CacheRead, "totalTokenCount": in + a.usage.Out}
	return body
}

func (w gemini) stream(req *Request, a answer, out *stream) {
	out.list = !strings.Contains(req.Path, "alt=sse")
	send := func(parts []any, last bool) { out.event("", geminiBody(req, a, parts, last)) }
	if a.Think != "" {
		send([]any{object{"text": a.Think, "thought": true}}, false)
	}
	if !out.text(a, func(text string) { send([]any{object{"text": text}}, false) },
		func() { out.event("", w.failure(a.Step)) }) {
		return
	}
	last := geminiCalls(a)
	if len(last) == 0 {
		last = []any{object{"text": ""}}
	}
	send(last, true)
}
