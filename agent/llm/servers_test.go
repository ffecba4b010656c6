package llm

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/fakemodel"
	"github.com/hocket-dev/hocket/workflow"
)

// turns starts a server that answers requests one after the other, each with a stream,
// and records their bodies.
func turns(t *testing.T, streams ...string) (url string, bodies func() []string) {
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, string(body))
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, streams[min(len(asked), len(streams))-1])
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return asked
	}
}

// chunk returns a chunk of the Chat Completions API.
func chunk(delta, finish string) string {
	return `data: {"choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + "}]}\n\n"
}

func said(text string) string { return chunk(`{"content":`+text+`}`, "null") }

func called(calls string) string { return chunk(`{"tool_calls":[`+calls+`]}`, "null") }

const (
	chatStop  = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	chatCalls = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
)

// Servers that claim to be compatible differ in many ways.
func TestTextOfServers(t *testing.T) {
	for name, stream := range map[string]string{
		"null before it":         chunk(`{"role":"assistant","content":null}`, "null") + said(`"hi"`) + chatStop,
		"nothing before it":      `data: {"choices":[{"index":0,"delta":null}]}` + "\n\n" + `data: {"choices":null}` + "\n\n" + said(`"hi"`) + chatStop,
		"an error that is null":  `data: {"error":null,"choices":[{"index":0,"delta":{"content":"hi"}}]}` + "\n\n" + chatStop,
		"parts":                  said(`[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"hi"}]`) + chatStop,
		"another choice":         `data: {"choices":[{"index":0,"delta":{"content":"hi"}},{"index":1,"delta":{"content":"ho"}}]}` + "\n\n" + chatStop,
		"no reason at its end":   said(`"hi"`) + "data: [DONE]\n\n",
		"no mark at its end":     said(`"hi"`) + chunk("{}", `"stop"`),
		"signs of life and CRLF": strings.ReplaceAll(": PROCESSING\n\n"+said(`"hi"`)+": PROCESSING\n\n"+chatStop, "\n", "\r\n"),
		"no spaces":              strings.ReplaceAll(said(`"hi"`)+chatStop, "data: ", "data:"),
		"names of events":        "event: message\nid: 1\n" + said(`"hi"`) + chatStop,
	} {
		t.Run(name, func(t *testing.T) {
			url, asked := turns(t, stream, said(`"asked again"`)+chatStop)
			got, err := executor(t, Compatible, url, "k").Run(t.Context(), task("hello"), func([]byte) {})
			if err != nil || got.Output != "hi" || len(asked()) != 1 {
				t.Errorf("%q, %v, %d requests", got.Output, err, len(asked()))
			}
		})
	}
}

func TestCallsOfServers(t *testing.T) {
	for name, stream := range map[string]string{
		"whole":              called(`{"index":0,"id":"x","function":{"name":"add","arguments":"{\"a\":1,\"b\":2}"}},{"index":1,"id":"y","function":{"name":"add","arguments":"{\"a\":30,\"b\":4}"}}`),
		"as objects":         called(`{"index":0,"id":"x","function":{"name":"add","arguments":{"a":1,"b":2}}},{"index":1,"id":"y","function":{"name":"add","arguments":{"a":30,"b":4}}}`),
		"one index":          called(`{"index":0,"id":"x","function":{"name":"add","arguments":"{\"a\":1,\"b\":2}"}}`) + called(`{"index":0,"id":"y","function":{"name":"add","arguments":"{\"a\":30,\"b\":4}"}}`),
		"no index":           called(`{"id":"x","function":{"name":"add","arguments":"{\"a\":1,\"b\":2}"}}`) + called(`{"id":"y","function":{"name":"add","arguments":"{\"a\":30,\"b\":4}"}}`),
		"no ids":             called(`{"index":0,"id":"","function":{"name":"add","arguments":"{\"a\":1,\"b\":2}"}},{"index":1,"id":"","function":{"name":"add","arguments":"{\"a\":30,\"b\":4}"}}`),
		"no ids, one index":  called(`{"index":0,"function":{"name":"add","arguments":"{\"a\":1,"}}`) + called(`{"index":0,"function":{"arguments":"\"b\":2}"}}`) + called(`{"index":0,"function":{"name":"add","arguments":"{\"a\":30,\"b\":4}"}}`),
		"one id":             called(`{"index":0,"id":"x","function":{"name":"add","arguments":"{\"a\":1,\"b\":2}"}},{"index":1,"id":"x","function":{"name":"add","arguments":"{\"a\":30,\"b\":4}"}}`),
		"name in each piece": called(`{"index":0,"id":"x","function":{"name":"add","arguments":"{\"a\":1,"}}`) + called(`{"index":0,"id":"x","function":{"name":"add","arguments":"\"b\":2}"}}`) + called(`{"index":1,"function":{"name":"add","arguments":"{\"a\":30,"}}`) + called(`{"index":1,"function":{"name":"add","arguments":"\"b\":4}"}}`),
		"null in pieces":     called(`{"index":0,"id":"x","function":{"name":"add","arguments":"{\"a\":1,"}},{"index":1,"id":"y","function":{"name":"add","arguments":null}}`) + called(`{"index":0,"id":null,"function":{"name":null,"arguments":"\"b\":2}"}},{"index":1,"id":null,"function":{"name":null,"arguments":"{\"a\":30,\"b\":4}"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			url, asked := turns(t, stream+chatCalls, said(`"done"`)+chatStop)
			tk := task("hello")
			tk.Tools = []agent.Tool{adder()}
			got, err := executor(t, Compatible, url, "k").Run(t.Context(), tk, func([]byte) {})
			if err != nil || got.Output != "done" {
				t.Fatalf("%q, %v", got.Output, err)
			}
			wantResults(t, asked()[1], "3", "34")
		})
	}
}

// wantResults checks the results of calls, each under a unique id that the call before it
// has too.
func wantResults(t *testing.T, body string, results ...string) {
	t.Helper()
	var sent struct {
		Messages []struct {
			Role, Content string
			CallID        string                `json:"tool_call_id"`
			Calls         []struct{ ID string } `json:"tool_calls"`
		}
	}
	decode(t, body, &sent)
	var ids []string
	for _, m := range sent.Messages {
		for _, k := range m.Calls {
			ids = append(ids, k.ID)
		}
	}
	for _, m := range sent.Messages {
		if m.Role != "tool" {
			continue
		}
		if len(results) == 0 || m.Content != results[0] || m.CallID != ids[0] || m.CallID == "" {
			t.Fatalf("result %q under %q, calls %v: %s", m.Content, m.CallID, ids, body)
		}
		ids, results = ids[1:], results[1:]
		if len(ids) > 0 && ids[0] == m.CallID {
			t.Errorf("two calls have the id %q: %s", m.CallID, body)
		}
	}
	if len(results) > 0 {
		t.Errorf("results %q are missing: %s", results, body)
	}
}

// A model's reasoning before a tool call is sent back with the call: some servers refuse
// the conversation without it.
func TestThoughtsGoBack(t *testing.T) {
	call := `{"index":0,"id":"x","extra_content":{"google":{"thought_signature":"s1"}},"function":{"name":"add","arguments":"{\"a\":1,\"b\":2}"}}`
	for name, c := range map[string]struct{ first, second, want string }{
		"reasoning_content": {`{"reasoning_content":"let "}`, `{"reasoning_content":"me see"}`, `"reasoning_content":"let me see"`},
		"reasoning":         {`{"reasoning":"let "}`, `{"reasoning":"me see"}`, `"reasoning":"let me see"`},
		"reasoning_details": {`{"reasoning_details":[{"type":"reasoning.text","text":"a"}]}`, `{"reasoning_details":[{"type":"reasoning.encrypted","data":"b"}]}`, `"reasoning_details":[{"type":"reasoning.text","text":"a"},{"type":"reasoning.encrypted","data":"b"}]`},
		"extra_content":     {`{}`, `{}`, `"extra_content":{"google":{"thought_signature":"s1"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			url, asked := turns(t, chunk(c.first, "null")+chunk(c.second, "null")+called(call)+chatCalls, said(`"done"`)+chatStop)
			tk := task("hello")
			tk.Tools = []agent.Tool{adder()}
			if got, err := executor(t, Compatible, url, "k").Run(t.Context(), tk, func([]byte) {}); err != nil || got.Output != "done" {
				t.Fatalf("%q, %v", got.Output, err)
			}
			if body := asked()[1]; !strings.Contains(body, c.want) {
				t.Errorf("no %s in %s", c.want, body)
			}
		})
	}
}

// An error may follow a successful status.
func TestErrorsInsideOfAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		stream    string
		permanent bool
		words     string
	}{
		"a word":              {`data: {"error":"no such adapter"}` + "\n\n", true, "fake rejected the request: no such adapter"},
		"with a number":       {`data: {"error":{"message":"out of memory","code":500}}` + "\n\n", false, "fake is overloaded or unavailable: out of memory (tried 4 times)"},
		"as an object":        {`data: {"object":"error","message":"out of memory","type":"InternalServerError","code":500}` + "\n\ndata: [DONE]\n\n", false, "unavailable: out of memory"},
		"as the reason":       {said(`"hi"`) + chunk("{}", `"error"`), false, "was interrupted in turn 1 after 2 characters: the server ended it with an error"},
		"in the middle":       {said(`"hi"`) + `data: {"error":{"message":"out of memory","code":500}}` + "\n\n", false, "was interrupted in turn 1 after 2 characters: out of memory"},
		"a key that is not":   {`data: {"error":{"message":"no","code":401}}` + "\n\n", true, "fake rejected the key: no; set THE_KEY"},
		"what is no chunk":    {"data: [1,2]\n\n", false, "cannot understand the response of fake"},
		"what is no JSON":     {"data: {\n\n", false, "cannot understand the response of fake"},
		"lines without names": {`{"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}` + "\n", false, "closed the connection before it answered"},
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := turns(t, c.stream)
			_, err := executor(t, Compatible, url, "k").Run(t.Context(), task("hello"), func([]byte) {})
			wantError(t, err, agent.Failed, c.permanent, c.words)
		})
	}
}

// An error may also be the whole body, with a successful status.
func TestErrorsThatLookWell(t *testing.T) {
	for name, c := range map[string]struct {
		body      string
		permanent bool
		words     string
	}{
		"overloaded":   {`{"error":{"message":"no worker","code":503}}`, false, "fake is overloaded or unavailable: no worker"},
		"not paid":     {`{"error":{"message":"no credits","code":402}}`, true, "requires payment: no credits"},
		"in one word":  {`{"error":"model is loading"}`, true, "fake rejected the request: model is loading"},
		"not an error": {`{"error":null,"hello":1}`, true, "instead of a model's stream"},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, api API) {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, c.body)
				}))
				defer server.Close()
				_, err := executor(t, api, server.URL, "k").Run(t.Context(), task("hello"), func([]byte) {})
				wantError(t, err, agent.Failed, c.permanent, c.words)
			})
		})
	}
}

// A server may refuse parameters that it does not know. The request is then repeated
// without them.
func TestServersThatKnowLess(t *testing.T) {
	for name, c := range map[string]struct {
		mention string
		status  int
		message string
		want    string
	}{
		"counts":     {`"stream_options"`, 422, "body.stream_options: Extra inputs are not permitted", `"stream":true`},
		"limit":      {`"max_tokens"`, 400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", `"max_completion_tokens":77`},
		"the schema": {`"response_format"`, 422, "Extra inputs are not permitted", `"stream":true`},
	} {
		t.Run(name, func(t *testing.T) {
			var last string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				last = string(body)
				if strings.Contains(last, c.mention) {
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, `{"detail":"`+c.message+`"}`)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, said(`"{}"`)+chatStop)
			}))
			defer server.Close()
			tk := task("hello")
			tk.Settings = map[string]any{"max_tokens": 77}
			tk.Output.Schema = map[string]any{"type": "object"}
			got, err := executor(t, Compatible, server.URL, "k").Run(t.Context(), tk, func([]byte) {})
			if err != nil || got.Output != "{}" || !strings.Contains(last, c.want) {
				t.Errorf("%q, %v: %s", got.Output, err, last)
			}
		})
	}
}

func decode(t *testing.T, body string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), into); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
}

// The budget may allow a longer answer than the model can return, which APIs refuse. The
// smaller limit of the API is then used.
func TestBudgetOverTheLimitOfTheModel(t *testing.T) {
	limits := map[API]struct{ key, message string }{
		Anthropic:  {"max_tokens", "max_tokens: %s > 64000, which is the maximum allowed number of output tokens for m"},
		OpenAI:     {"max_output_tokens", "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 16384, but got %s instead."},
		Compatible: {"max_tokens", "'max_tokens' or 'max_completion_tokens' is too large: %s. This model's maximum context length is 8192 tokens and your request has 9 input tokens"},
		Gemini:     {"maxOutputTokens", "Unable to submit request because it has a maxOutputTokens value of %s but the supported range is from 1 (inclusive) to 65537 (exclusive)."},
	}
	each(t, func(t *testing.T, api API) {
		for budget, most := range map[int64]int{100_000: 2, 10_000_000: 1} {
			var bodies []string
			fake := fakemodel.Start(t)
			fake.Reply(func(r *fakemodel.Request) fakemodel.Step {
				bodies = append(bodies, string(r.Body))
				if _, after, ok := strings.Cut(string(r.Body), `"`+limits[api].key+`":`); ok {
					digits := after[:len(after)-len(strings.TrimLeft(after, "0123456789"))]
					if len(digits) > 5 || digits > "64000" {
						return fakemodel.Step{Status: 400, Message: fmt.Sprintf(limits[api].message, digits)}
					}
				}
				return fakemodel.Step{Text: "short"}
			})
			tk := task("hello")
			tk.Agent.Budget.Tokens = workflow.AtMost(budget)
			got, err := executor(t, api, fake.URL, "k").Run(t.Context(), tk, func([]byte) {})
			if err != nil || got.Output != "short" || len(bodies) > most {
				t.Errorf("%d: %q, %v, after %d requests", budget, got.Output, err, len(bodies))
			}
		}
	})
}
