package llm

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// refusal is what an API returns instead of an answer.
type refusal struct {
	status  int      // HTTP status; 0: it arrived inside a stream
	codes   []string // the API's own name for the problem
	message string
	after   time.Duration // time to wait, if the API says so; 0: unknown
}

func (r *refusal) Error() string {
	switch {
	case r.message != "":
		return r.message
	case r.status != 0:
		return fmt.Sprintf("%d %s", r.status, http.StatusText(r.status))
	}
	return shorten(strings.Join(r.codes, " "))
}

// readRefusal parses a refusal in any of the formats of the APIs:
//
//	{"type": "error", "error": {"type": "rate_limit_error", "message": "…"}}
//	{"error": {"message": "…", "type": "invalid_request_error", "code": "model_not_found"}}
//	{"error": {"code": 429, "message": "…", "status": "RESOURCE_EXHAUSTED", "details": […]}}
//	{"error": "model not found"}
//	{"object": "error", "message": "…", "type": "NotFoundError", "code": 404}
//	{"detail": "…"}
//
// Anything else is used as the message.
func readRefusal(status int, header http.Header, body []byte) *refusal {
	return refusalAt(status, header, body, time.Now())
}

func refusalAt(status int, header http.Header, body []byte, now time.Time) *refusal {
	r := &refusal{status: status, after: resetIn(header, now)}
	v, err := workflow.ParseJSON(body)
	if err != nil {
		r.message = shorten(plainText(body))
		return r
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	whole, _ := v.(map[string]any)
	inner, ok := whole["error"].(map[string]any)
	if !ok {
		inner = whole
		r.message, _ = whole["error"].(string)
	}
	if said, ok := inner["message"].(string); ok {
		r.message = said
	}
	if detail, ok := whole["detail"]; ok && r.message == "" {
		r.message = workflow.FormatText(detail)
	}
	r.message = shorten(r.message)
	if code, ok := inner["code"].(json.Number); ok && status < http.StatusBadRequest { // the answer began well
		if n, err := strconv.Atoi(code.String()); err == nil {
			r.status = n
		}
	}
	for _, key := range []string{"code", "type", "status"} {
		if word, ok := inner[key].(string); ok && word != "" {
			r.codes = append(r.codes, word)
		}
	}
	r.readDetails(inner["details"], now)
	if r.after == 0 {
		r.after = saidIn(r.message)
	}
	return r
}

// readDetails reads what Google adds to the message: a reason, how long to wait, and which
// limit was reached. A daily limit is reset at midnight in California, which is 08:00 UTC
// in winter; the delay that comes with it is far too short.
func (r *refusal) readDetails(v any, now time.Time) {
	for _, detail := range objects(v) {
		if reason, ok := detail["reason"].(string); ok {
			r.codes = append(r.codes, reason)
		}
		if delay, ok := detail["retryDelay"].(string); ok && r.after == 0 { // a header or a daily limit takes precedence
			if wait, err := time.ParseDuration(delay); err == nil && wait > 0 {
				r.after = wait
			}
		}
		for _, violation := range objects(detail["violations"]) {
			if id, ok := violation["quotaId"].(string); ok && strings.Contains(id, "PerDay") {
				midnight := now.UTC().Add(-8 * time.Hour).Truncate(24 * time.Hour).Add(32 * time.Hour)
				r.after = max(r.after, midnight.Sub(now))
			}
			if violation["quotaValue"] == "0" { // waiting does not help
				r.codes = append(r.codes, "insufficient_quota")
			}
		}
	}
}

// objects returns the objects in a list.
func objects(v any) []map[string]any {
	list, _ := v.([]any)
	out := make([]map[string]any, 0, len(list))
	for _, item := range list {
		if object, ok := item.(map[string]any); ok {
			out = append(out, object)
		}
	}
	return out
}

// saidIn returns how long to wait according to the text of a message; 0 if it does not say.
func saidIn(message string) time.Duration {
	_, after, ok := strings.Cut(message, "try again in ")
	if !ok {
		return 0
	}
	word, _, _ := strings.Cut(after, " ")
	wait, err := time.ParseDuration(strings.TrimRight(word, ".,"))
	if err != nil || wait < 0 {
		return 0
	}
	return wait
}

// shorten keeps messages readable: some servers respond with a web page.
func shorten(text string) string { return agent.OneLine(text, 500) }

// plainText returns a body that is not JSON, without HTML tags.
func plainText(body []byte) string {
	text := strings.ToValidUTF8(string(body), "")
	if !strings.HasPrefix(strings.TrimSpace(text), "<") {
		return text
	}
	var b strings.Builder
	for text != "" {
		before, rest, _ := strings.Cut(text, "<")
		_, after, _ := strings.Cut(rest, ">")
		b.WriteString(before + " ")
		text = after
	}
	return html.UnescapeString(b.String())
}

// resetIn returns how long an API asks to wait; 0 if it does not say.
func resetIn(header http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return bounded(ms / 1000)
	}
	after := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(after, 64); err == nil && seconds >= 0 {
		return max(bounded(seconds), time.Millisecond)
	}
	if date, err := http.ParseTime(after); err == nil {
		return max(date.Sub(now), time.Millisecond)
	}
	var longest time.Duration
	for name := range header {
		if limit, ok := usedUp(header, name); ok {
			longest = max(longest, untilReset(header.Get(limit), now))
		}
	}
	return longest
}

// usedUp returns the header with the reset time of an exhausted limit:
// anthropic-ratelimit-tokens-remaining and -reset, x-ratelimit-remaining-tokens and
// x-ratelimit-reset-tokens.
func usedUp(header http.Header, name string) (reset string, ok bool) {
	lower := strings.ToLower(name)
	if !strings.Contains(lower, "ratelimit") || !strings.Contains(lower, "remaining") || header.Get(name) != "0" {
		return "", false
	}
	return strings.Replace(lower, "remaining", "reset", 1), true
}

func untilReset(value string, now time.Time) time.Duration {
	if at, err := time.Parse(time.RFC3339, value); err == nil {
		return at.Sub(now)
	}
	if d, err := time.ParseDuration(value); err == nil {
		return d
	}
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return bounded(seconds)
	}
	return 0
}

// bounded returns a number of seconds as a duration, for numbers of any size.
func bounded(seconds float64) time.Duration {
	const most = 10 * 365 * 24 * 3600
	return time.Duration(min(max(seconds, 0), most) * float64(time.Second))
}

// badRequest reports whether the request itself was rejected.
func (r *refusal) badRequest() bool {
	return r.status == http.StatusBadRequest || r.status == http.StatusUnprocessableEntity
}

// wrong reports whether it was rejected for an unknown reason.
func (r *refusal) wrong() bool { return r.badRequest() && r.trouble() == unknownTrouble }

// trouble is the kind of a refusal.
type trouble int

const (
	unknownTrouble trouble = iota
	keyRefused
	unpaid
	unknownModel
	limited
	overloaded
	tooLong
)

// troubles maps the APIs' names for problems to kinds.
var troubles = []struct {
	is       trouble
	codes    []string
	statuses []int
}{
	{keyRefused, []string{"authentication_error", "permission_error", "invalid_api_key", "API_KEY_INVALID", "UNAUTHENTICATED", "PERMISSION_DENIED"}, nil},
	{unpaid, []string{"billing_error", "insufficient_quota", "billing_hard_limit_reached"}, nil},
	{tooLong, []string{"context_length_exceeded", "request_too_large"}, []int{413}},
	{unknownModel, []string{"not_found_error", "model_not_found", "NOT_FOUND"}, nil},
	{limited, []string{"rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"}, nil},
	{overloaded, []string{"overloaded_error", "api_error", "server_error", "timeout_error", "UNAVAILABLE", "INTERNAL", "DEADLINE_EXCEEDED"}, nil},
	{keyRefused, nil, []int{401, 403}},
	{unpaid, nil, []int{402}},
	{unknownModel, nil, []int{404}},
	{limited, nil, []int{429}},
	{overloaded, nil, []int{408, 425, 500, 502, 503, 504, 520, 522, 524, 529}},
}

// lengthy are phrases with which APIs report in a plain message that a prompt is too long.
var lengthy = []string{"prompt is too long", "maximum context length", "context window", "exceeds the maximum number of tokens", "context length"}

func (r *refusal) trouble() trouble {
	if r.status == http.StatusBadRequest && slices.ContainsFunc(lengthy, func(words string) bool { return strings.Contains(strings.ToLower(r.message), words) }) {
		return tooLong
	}
	for _, row := range troubles {
		if slices.Contains(row.statuses, r.status) || slices.ContainsFunc(row.codes, func(c string) bool { return slices.Contains(r.codes, c) }) {
			return row.is
		}
	}
	return unknownTrouble
}
