package llm

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3/responses"

	"github.com/hocket-dev/hocket/agent"
)

// The events that the reader finds do not depend on how the bytes are split.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		"data: {\"a\":1}\n\ndata: b\n\n", "data: one\r\ndata: two\r\n\r\n", "data:x\r\rdata:y\n\r", ": comment\nevent: e\nid: 1\n\n",
		"data\n\n", "data: cut off", "\n\n\n", "data: a\n\r\n", "\r", "data: \xff\n\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		whole := collect(t, stream, false)
		if single := collect(t, stream, true); !slices.Equal(whole, single) {
			t.Errorf("%q: %q, byte by byte %q", stream, whole, single)
		}
		for _, e := range whole {
			if strings.ContainsRune(e, '\r') {
				t.Errorf("a line end is left in %q", e)
			}
		}
	})
}

func collect(t *testing.T, stream []byte, single bool) []string {
	t.Helper()
	var got []string
	var r interface{ Read([]byte) (int, error) } = bytes.NewReader(stream)
	if single {
		r = iotest.OneByteReader(r)
	}
	for data, err := range events(r) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(data))
	}
	return got
}

// Arguments from a model are either an object that fits the schema or an error that the
// model can be sent.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b":2}`, `{"a":"x"}`, `{`, ``, ` `, `[]`, `null`, `"{}"`, `{"a":1,"b":2} {}`, "{\"a\":1e999,\"b\":2}", "\xff", strings.Repeat("[", 10000), `{"a":0,"b":1,"a":-5}`, `{"a":1e999999,"b":2}`, `{"a":1,"b":2,"c":[1e-999999]}`} {
		f.Add(seed)
	}
	box, err := newToolbox([]agent.Tool{adder()})
	if err != nil {
		f.Fatal(err)
	}
	add := box.byTag["add"]
	f.Fuzz(func(t *testing.T, text string) {
		args, err := add.arguments(text)
		if err != nil {
			if args != nil || err.Error() == "" {
				t.Errorf("%v with %v", args, err)
			}
			return
		}
		for _, name := range []string{"a", "b"} {
			if _, ok := args[name].(json.Number); !ok {
				t.Errorf("%q: %s is %T", text, name, args[name])
			}
		}
		if !utf8.ValidString(shown(text)) {
			t.Errorf("the log would hold %q", shown(text))
		}
	})
}

func FuzzRefusal(f *testing.F) {
	f.Add(429, "30", []byte(`{"error":{"message":"m","type":"t","code":"c","details":[{"reason":"r","retryDelay":"3s"},7]}}`))
	f.Add(400, "Fri, 02 Jan 2026 03:05:05 GMT", []byte(`[{"error":"x"}]`))
	f.Add(500, "1e309", []byte("<html>\xff"))
	f.Add(500, "", []byte(strings.Repeat("漢", 600)))
	f.Add(0, "", []byte(`{"error":{"type":"`+strings.Repeat("x", 600)+`"}}`))
	f.Add(429, "", []byte(`{"detail":[{"msg":"try again in 3s"}],"code":1e3}`))
	f.Fuzz(func(t *testing.T, status int, after string, body []byte) {
		r := readRefusal(status, http.Header{"Retry-After": {after}}, body)
		if r.after < 0 || !utf8.ValidString(r.Error()) || utf8.RuneCountInString(r.Error()) > 500 {
			t.Errorf("%+v", r)
		}
		r.trouble()
	})
}

func FuzzGemini(f *testing.F) {
	f.Add([]byte(`{"candidates":[{"content":{"parts":[{"text":"a"},{"functionCall":{"name":"f","args":{"x":1}}},{"text":"b","thoughtSignature":"s"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3}}`))
	f.Add([]byte(`{"promptFeedback":{"blockReason":"SAFETY"}}`))
	f.Add([]byte(`{"error":{"code":500}}`))
	f.Add([]byte(`{"candidates":[{"content":{"parts":[null,7]}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var a geminiAnswer
		var said strings.Builder
		_ = a.take(data, func(s string) { said.WriteString(s) })
		out := a.whole()
		body, err := json.Marshal(geminiContents([]message{{answered: &out}}))
		if err != nil || !json.Valid(body) {
			t.Errorf("%q goes back as %s, %v", data, body, err)
		}
	})
}

// Whatever a compatible server streams is sent back as valid JSON, with a unique id for
// every call.
func FuzzChat(f *testing.F) {
	f.Add([]byte(`{"choices":[{"index":0,"delta":{"content":"a","reasoning_content":"t","reasoning_details":[{"a":1}],"tool_calls":[{"index":0,"id":"x","extra_content":{"s":1},"function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`),
		[]byte(`{"choices":[{"delta":{"content":[{"type":"text","text":"b"}],"tool_calls":[{"function":{"name":"f","arguments":{"a":1}}},{"id":"x","function":{}}]}}]}`))
	f.Add([]byte(`{"error":null,"object":"error"}`), []byte(`[DONE]`))
	f.Add([]byte(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call-2","function":{"name":"f"}},{"index":1,"function":{"name":"f"}}]}}]}`), []byte(``))
	f.Add([]byte(`{"choices":[null,7,{"delta":[]}]}`), []byte(`{"choices":{}}`))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var a chatAnswer
		for _, data := range [][]byte{first, second} {
			if a.take(data, func(string) {}) != nil {
				break
			}
		}
		out := a.whole()
		ids := map[string]bool{}
		for _, k := range out.calls {
			if k.id == "" || ids[k.id] {
				t.Errorf("a call has the id %q", k.id)
			}
			ids[k.id] = true
		}
		body, err := json.Marshal((&chatAPI{}).messages("", []message{{answered: &out}}))
		if err != nil || !json.Valid(body) {
			t.Errorf("%q, %q go back as %s, %v", first, second, body, err)
		}
	})
}

func FuzzAnthropic(f *testing.F) {
	f.Add([]byte(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"f","input":{"a":1}}}`), []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}`))
	f.Add([]byte(`{"type":"message_start","message":{"usage":{"input_tokens":3}}}`), []byte(`{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"explanation":"no"}},"usage":{"output_tokens":1}}`))
	f.Add([]byte(`{"type":"content_block_start","content_block":{"type":"thinking","thinking":"a","signature":"s"}}`), []byte(`{"type":"content_block_delta","index":9,"delta":null}`))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var a anthropicAnswer
		for _, data := range [][]byte{first, second} {
			var event anthropic.MessageStreamEventUnion
			if json.Unmarshal(data, &event) == nil {
				a.take(event, func(string) {})
			}
		}
		out := a.whole()
		body, err := json.Marshal(anthropicMessages([]message{{answered: &out}}))
		if err != nil || !json.Valid(body) {
			t.Errorf("%q, %q go back as %s, %v", first, second, body, err)
		}
	})
}

func FuzzResponses(f *testing.F) {
	f.Add([]byte(`{"type":"response.output_item.done","item":{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}}`), []byte(`{"type":"response.completed","response":{"usage":{"input_tokens":1,"output_tokens":2}}}`))
	f.Add([]byte(`{"type":"response.output_item.done","item":{"type":"message","phase":"final_answer","content":[{"type":"output_text","text":"a"}]}}`), []byte(`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}`))
	f.Add([]byte(`{"type":"response.output_item.done"}`), []byte(`{"type":"response.failed","response":{"error":{"code":"x","message":"m"}}}`))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var a responsesAnswer
		for _, data := range [][]byte{first, second} {
			var event responses.ResponseStreamEventUnion
			if json.Unmarshal(data, &event) == nil && a.take(&event, func(string) {}) != nil {
				break
			}
		}
		out := a.whole()
		body, err := json.Marshal(responsesItems([]message{{answered: &out}}))
		if err != nil || !json.Valid(body) {
			t.Errorf("%q, %q go back as %s, %v", first, second, body, err)
		}
	})
}
