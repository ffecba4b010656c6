package llm

import (
	"context"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
)

// messages returns an Anthropic answer with one block.
func messages(stop, start string, deltas ...string) string {
	event := func(name, data string) string {
		return "event: " + name + "\ndata: {\"type\":\"" + name + "\"," + data + "}\n\n"
	}
	s := event("message_start", `"message":{"usage":{"input_tokens":7}}`) + event("content_block_start", `"index":0,"content_block":`+start)
	for _, d := range deltas {
		s += event("content_block_delta", `"index":0,"delta":`+d)
	}
	return s + event("content_block_stop", `"index":0`) + event("message_delta", `"delta":{"stop_reason":"`+stop+`"},"usage":{"output_tokens":3}`) + event("message_stop", `"x":0`)
}

// The content of an answer is sent back in the next request, except what the API would
// reject: blank text, and thinking that nothing follows.
func TestWhatAnthropicTakesBack(t *testing.T) {
	ok := messages("end_turn", `{"type":"text","text":""}`, `{"type":"text_delta","text":"ok"}`)
	for name, c := range map[string]struct{ first, has, hasNot string }{
		"spaces":           {messages("end_turn", `{"type":"text","text":""}`, `{"type":"text_delta","text":" \n"}`), `it is empty`, `" \n"`},
		"thoughts alone":   {messages("end_turn", `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"hm"}`, `{"type":"signature_delta","signature":"s"}`), `it is empty`, `thinking`},
		"a call at once":   {messages("tool_use", `{"type":"tool_use","id":"c","name":"add","input":{"a":1,"b":2}}`), `"text":"3"`, `invalid arguments`},
		"a call in pieces": {messages("tool_use", `{"type":"tool_use","id":"c","name":"add","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"a\":1,"}`, `{"type":"input_json_delta","partial_json":"\"b\":2}"}`), `"text":"3"`, `invalid arguments`},
	} {
		t.Run(name, func(t *testing.T) {
			url, asked := turns(t, c.first, ok)
			tk := task("hello")
			tk.Tools = []agent.Tool{adder()}
			got, err := executor(t, Anthropic, url, "k").Run(t.Context(), tk, func([]byte) {})
			if err != nil || got.Output != "ok" {
				t.Fatalf("%q, %v", got.Output, err)
			}
			if body := asked()[1]; !strings.Contains(body, c.has) || strings.Contains(body, c.hasNot) {
				t.Errorf("%s", body)
			}
		})
	}
}

// An empty result is described in words, because some APIs refuse an empty text.
func TestEmptyResults(t *testing.T) {
	tk := task("hello")
	tk.Tools = []agent.Tool{{Name: "add", Input: map[string]any{"type": "object"}, Call: func(context.Context, map[string]any, *agent.Task, agent.Log) (string, error) { return "", nil }}}
	url, asked := turns(t, messages("tool_use", `{"type":"tool_use","id":"c","name":"add","input":{}}`), messages("end_turn", `{"type":"text","text":"ok"}`))
	if got, err := executor(t, Anthropic, url, "k").Run(t.Context(), tk, func([]byte) {}); err != nil || got.Output != "ok" {
		t.Fatalf("%q, %v", got.Output, err)
	}
	if body := asked()[1]; strings.Contains(body, `"text":""`) || !strings.Contains(body, "nothing") {
		t.Errorf("%s", body)
	}
}

// Commentary that an OpenAI model writes before its answer is not part of the answer.
func TestCommentary(t *testing.T) {
	message := func(phase, text string) string {
		return `data: {"type":"response.output_text.delta","delta":"` + text + `"}` + "\n\n" +
			`data: {"type":"response.output_item.done","item":{"type":"message","role":"assistant","status":"completed","phase":` + phase + `,"content":[{"type":"output_text","text":"` + text + `"}]}}` + "\n\n"
	}
	end := `data: {"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":7,"output_tokens":3}}}` + "\n\n"
	for name, c := range map[string]struct{ stream, want string }{
		"before the answer": {message(`"commentary"`, "I look. ") + message(`"final_answer"`, "It is 3."), "It is 3."},
		"alone":             {message(`"commentary"`, "It is 3."), "It is 3."},
		"not told apart":    {message(`null`, "It ") + message(`null`, "is 3."), "It is 3."},
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := turns(t, c.stream+end)
			got, err := executor(t, OpenAI, url, "k").Run(t.Context(), task("hello"), func([]byte) {})
			if err != nil || got.Output != c.want {
				t.Errorf("%q, %v", got.Output, err)
			}
		})
	}
}

// The reason why Gemini stopped decides whether a retry may help.
func TestHowGeminiStops(t *testing.T) {
	chunk := func(reason string) string {
		return `data: {"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":"` + reason + `"}],"usageMetadata":{"promptTokenCount":7}}` + "\n\n"
	}
	ok := `data: {"candidates":[{"content":{"parts":[{"text":"ok"}]},"finishReason":"STOP"}]}` + "\n\n"
	for _, reason := range []string{"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"} {
		url, _ := turns(t, chunk(reason), ok)
		_, err := executor(t, Gemini, url, "k").Run(t.Context(), task("hello"), func([]byte) {})
		wantError(t, err, agent.Failed, true, "the model refused", reason)
	}
	for _, reason := range []string{"OTHER", "MISSING_THOUGHT_SIGNATURE", "SOMETHING_NEW"} {
		url, _ := turns(t, chunk(reason), ok)
		_, err := executor(t, Gemini, url, "k").Run(t.Context(), task("hello"), func([]byte) {})
		wantError(t, err, agent.Failed, false, "fake stopped the answer", reason)
	}
	for _, reason := range []string{"MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"} {
		url, asked := turns(t, chunk(reason), ok)
		got, err := executor(t, Gemini, url, "k").Run(t.Context(), task("hello"), func([]byte) {})
		if err != nil || got.Output != "ok" || !strings.Contains(asked()[1], reason) {
			t.Errorf("%s: %q, %v: %s", reason, got.Output, err, asked()[1])
		}
	}
}
