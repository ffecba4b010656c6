package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/agenttest"
	"github.com/hocket-dev/hocket/internal/fakemodel"
	"github.com/hocket-dev/hocket/workflow"
)

func TestKeyRefused(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		fake := fakemodel.Start(t)
		e := executor(t, api, fake.URL, fakemodel.BadKey)
		got, err := e.Run(t.Context(), task("hello"), func([]byte) {})
		wantError(t, err, agent.Failed, true, "fake rejected the key", "set THE_KEY")
		if n := len(fake.Requests()); n != 1 {
			t.Errorf("%d requests", n)
		}
		if got.Usage != (agent.Usage{}) {
			t.Errorf("usage %+v", got.Usage)
		}
	})
}

func TestUnknownModel(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		fake := fakemodel.Start(t)
		fake.Reply(func(*fakemodel.Request) fakemodel.Step { return fakemodel.Step{Status: 404, Message: "no such model"} })
		e := executor(t, api, fake.URL, "k")
		tk := task("hello")
		tk.Agent.Model = "fake-modle"
		_, err := e.Run(t.Context(), tk, func([]byte) {})
		wantError(t, err, agent.Failed, true, `fake does not know the model "fake-modle"`, "did you mean fake-model?")
	})
}

// A server that has the model, but not the requested path, uses another API.
func TestAnotherAPI(t *testing.T) {
	fake := fakemodel.Start(t)
	fake.Reply(func(*fakemodel.Request) fakemodel.Step {
		return fakemodel.Step{Status: 404, Message: "404 page not found"}
	})
	tk := task("hello")
	tk.Agent.Model = "fake-model"
	_, err := executor(t, OpenAI, fake.URL, "k").Run(t.Context(), tk, func([]byte) {})
	wantError(t, err, agent.Failed, true, "fake rejected the request: 404 page not found", "it has fake-model, so it may use another API; is api: openai correct?")
}

func TestRateLimit(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		fake := fakemodel.Start(t)
		fake.Reply(func(*fakemodel.Request) fakemodel.Step { return fakemodel.Step{Status: 429, RetryAfter: 50} })
		e := executor(t, api, fake.URL, "k")
		start := time.Now()
		_, err := e.Run(t.Context(), task("hello"), func([]byte) {})
		wantError(t, err, agent.Quota, false, "is rate-limiting requests")
		var known *agent.Error
		errors.As(err, &known)
		if known.Until.Before(start.Add(49*time.Second)) || known.Until.After(time.Now().Add(51*time.Second)) {
			t.Errorf("until %s", known.Until)
		}
		if n := len(fake.Requests()); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

// A rate limit without a time is retried, and finally reported as a quota without a time.
func TestRateLimitWithoutTime(t *testing.T) {
	fake := fakemodel.Start(t)
	fake.Reply(func(*fakemodel.Request) fakemodel.Step { return fakemodel.Step{Status: 429} })
	e := executor(t, Anthropic, fake.URL, "k")
	_, err := e.Run(t.Context(), task("hello"), func([]byte) {})
	wantError(t, err, agent.Quota, false, "tried 4 times")
}

// During a conversation, the executor waits for a short rate limit, but not for a long one.
func TestRateLimitBetweenTurns(t *testing.T) {
	fake := fakemodel.Start(t)
	wait, limited := 20, false
	fake.Reply(func(r *fakemodel.Request) fakemodel.Step {
		switch {
		case r.Turns == 0:
			return fakemodel.Step{Tool: "add", Args: map[string]any{"a": 1, "b": 1}}
		case !limited:
			limited = true
			return fakemodel.Step{Status: 429, RetryAfter: wait}
		}
		return fakemodel.Step{Text: "two"}
	})
	e := executor(t, Anthropic, fake.URL, "k")
	var pauses []time.Duration
	e.rest = func(_ context.Context, d time.Duration) error { pauses = append(pauses, d); return nil }
	tk := task("hello")
	tk.Tools = []agent.Tool{adder()}
	got, err := e.Run(t.Context(), tk, func([]byte) {})
	if err != nil || got.Output != "two" || len(pauses) != 1 || pauses[0] != 20*time.Second {
		t.Errorf("%q, %v, pauses %v", got.Output, err, pauses)
	}
	wait, limited = 600, false
	_, err = e.Run(t.Context(), tk, func([]byte) {})
	wantError(t, err, agent.Quota, false, "until")
}

func TestNoMoney(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`)
	}))
	defer server.Close()
	_, err := executor(t, OpenAI, server.URL, "k").Run(t.Context(), task("hello"), func([]byte) {})
	wantError(t, err, agent.Failed, true, "billing")
}

func TestOverloaded(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		fake := fakemodel.Start(t)
		status := map[API]int{Anthropic: 529, OpenAI: 503, Compatible: 502, Gemini: 503}[api]
		failures := 2
		fake.Reply(func(*fakemodel.Request) fakemodel.Step {
			if failures--; failures >= 0 {
				return fakemodel.Step{Status: status, Message: "too busy"}
			}
			return fakemodel.Step{Text: "at last"}
		})
		e := executor(t, api, fake.URL, "k")
		var pauses []time.Duration
		e.rest = func(_ context.Context, d time.Duration) error { pauses = append(pauses, d); return nil }
		var log agenttest.Log
		got, err := e.Run(t.Context(), task("hello"), log.Add)
		if err != nil || got.Output != "at last" || got.Usage.TokensIn != 1000 {
			t.Fatalf("%+v, %v", got, err)
		}
		if len(pauses) != 2 || pauses[0] < time.Second || pauses[1] < 3*time.Second {
			t.Errorf("pauses %v", pauses)
		}
		if !strings.Contains(log.String(), "too busy") {
			t.Errorf("log %q", log.String())
		}
		failures = 100
		_, err = e.Run(t.Context(), task("hello"), func([]byte) {})
		wantError(t, err, agent.Failed, false, "overloaded", "too busy", "tried 4 times")
	})
}

func TestOverloadedForLong(t *testing.T) {
	fake := fakemodel.Start(t)
	fake.Reply(func(*fakemodel.Request) fakemodel.Step { return fakemodel.Step{Status: 503, RetryAfter: 600} })
	_, err := executor(t, Gemini, fake.URL, "k").Run(t.Context(), task("hello"), func([]byte) {})
	wantError(t, err, agent.Quota, false, "overloaded", "until")
}

func TestCancelledWhileWaiting(t *testing.T) {
	fake := fakemodel.Start(t)
	fake.Reply(func(*fakemodel.Request) fakemodel.Step { return fakemodel.Step{Status: 529} })
	e := executor(t, Anthropic, fake.URL, "k")
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop it")
	e.rest = func(ctx context.Context, d time.Duration) error { cancel(stop); return rest(ctx, d) }
	if _, err := e.Run(ctx, task("hello"), func([]byte) {}); !errors.Is(err, stop) {
		t.Fatal(err)
	}
}

func TestNetworkDownInTheMiddle(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		fake := fakemodel.Start(t)
		e := executor(t, api, fake.URL, "k")
		got, err := e.Run(t.Context(), task(fakemodel.Prompt(fakemodel.Step{Text: "half of it", Drop: true})), func([]byte) {})
		wantError(t, err, agent.Failed, false, "was interrupted in turn 1 after 10 characters")
		if !got.Usage.CostUnknown {
			t.Errorf("usage %+v", got.Usage)
		}
		if n := len(fake.Requests()); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestErrorInTheMiddle(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		fake := fakemodel.Start(t)
		e := executor(t, api, fake.URL, "k")
		_, err := e.Run(t.Context(), task(fakemodel.Prompt(fakemodel.Step{Text: "half of it", Status: 503, Message: "gone mad"})), func([]byte) {})
		wantError(t, err, agent.Failed, false, "after 10 characters", "gone mad")
	})
}

// A stream without its last event counts as broken off, even if the connection was closed
// properly.
func TestStreamWithoutEnd(t *testing.T) {
	streams := map[API]string{
		Anthropic: "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":7}}}\n\n" +
			"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"abc\"}}\n\n",
		OpenAI:     "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"abc\"}\n\n",
		Compatible: "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"abc\"}}]}\n\n",
		Gemini:     "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"abc\"}]}}]}\n\n",
	}
	each(t, func(t *testing.T, api API) {
		e := executor(t, api, serve(t, streams[api]), "k")
		_, err := e.Run(t.Context(), task("hello"), func([]byte) {})
		wantError(t, err, agent.Failed, false, "after 3 characters", "the connection was closed")
	})
}

// serve answers every request with one stream.
func serve(t *testing.T, stream string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, stream)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestGarbageInTheStream(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		e := executor(t, api, serve(t, "event: message_start\ndata: {{{\n\n"), "k")
		_, err := e.Run(t.Context(), task("hello"), func([]byte) {})
		wantError(t, err, agent.Failed, false, "cannot understand the response of fake")
	})
}

// At a wrong address, or behind a proxy, there may be any kind of server.
func TestNoAPIThere(t *testing.T) {
	for kind, body := range map[string]string{"text/html; charset=utf-8": "<html><p>Please &lt;log&gt; in</p></html>", "application/json": `{"hello": "Please <log> in"}`} {
		each(t, func(t *testing.T, api API) {
			var requests atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests.Add(1)
				w.Header().Set("Content-Type", kind)
				_, _ = io.WriteString(w, body)
			}))
			defer server.Close()
			got, err := executor(t, api, server.URL, "k").Run(t.Context(), task("hello"), func([]byte) {})
			wantError(t, err, agent.Failed, true, "fake returned", "Please <log> in", "check that base_url is the address")
			if n := requests.Load(); n != 1 {
				t.Errorf("%d requests", n)
			}
			if got.Usage != (agent.Usage{}) {
				t.Errorf("usage %+v", got.Usage)
			}
		})
	}
}

func TestNothingInTheStream(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		_, err := executor(t, api, serve(t, ""), "k").Run(t.Context(), task("hello"), func([]byte) {})
		wantError(t, err, agent.Failed, false, "fake closed the connection before it answered", "tried 4 times")
	})
}

func TestRefusalAsAPage(t *testing.T) {
	got := readRefusal(502, http.Header{}, []byte("\n<html><head><title>502 Bad Gateway</title></head>\n<body>nginx</body><"))
	if got.Error() != "502 Bad Gateway nginx" {
		t.Errorf("%q", got.Error())
	}
}

func TestNotReached(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := "http://" + listener.Addr().String()
		_ = listener.Close()
		got, err := executor(t, api, address, "k").Run(t.Context(), task("hello"), func([]byte) {})
		wantError(t, err, agent.Failed, false, "cannot reach fake", "refused", "tried 4 times", address)
		if got.Usage.CostUnknown {
			t.Error("nothing was used")
		}
	})
}

func TestCutOff(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		fake := fakemodel.Start(t)
		e := executor(t, api, fake.URL, "k")
		tk := task(fakemodel.Prompt(fakemodel.Step{Text: "and so on", MaxTokens: true}))
		tk.Output = workflow.Output{Mode: workflow.JSON}
		got, err := e.Run(t.Context(), tk, func([]byte) {})
		wantError(t, err, agent.Failed, false, "cut off", "max_tokens", "and so on")
		if got.Usage.TokensIn != 1000 || got.Usage.TokensOut != 50 {
			t.Errorf("usage %+v", got.Usage)
		}
		tk.Settings = map[string]any{"partial": true}
		if got, err := e.Run(t.Context(), tk, func([]byte) {}); err != nil || got.Output != "and so on" {
			t.Errorf("%q, %v", got.Output, err)
		}
	})
}

func TestEmptyAnswer(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		fake := fakemodel.Start(t)
		e := executor(t, api, fake.URL, "k")
		got, err := e.Run(t.Context(), task(fakemodel.Prompt(fakemodel.Step{Think: "hm"}, fakemodel.Step{Text: "now"})), func([]byte) {})
		if err != nil || got.Output != "now" {
			t.Fatalf("%q, %v", got.Output, err)
		}
		_, err = e.Run(t.Context(), task(fakemodel.Forever(fakemodel.Step{Think: "hm"})), func([]byte) {})
		wantError(t, err, agent.BadOutput, false, "it is empty")
	})
}

func TestRefusal(t *testing.T) {
	streams := map[API]string{
		Anthropic: "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":7}}}\n\n" +
			"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\",\"stop_details\":{\"type\":\"refusal\",\"explanation\":\"not this\"}},\"usage\":{\"output_tokens\":3}}\n\n" +
			"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
		OpenAI: "data: {\"type\":\"response.refusal.delta\",\"delta\":\"not this\"}\n\n" +
			"data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"usage\":{\"input_tokens\":7,\"output_tokens\":3}}}\n\n",
		Compatible: "data: {\"choices\":[{\"index\":0,\"delta\":{\"refusal\":\"not this\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}\n\n",
		Gemini:     "data: {\"candidates\":[{\"finishReason\":\"SAFETY\",\"finishMessage\":\"not this\"}],\"usageMetadata\":{\"promptTokenCount\":7,\"candidatesTokenCount\":3}}\n\n",
	}
	each(t, func(t *testing.T, api API) {
		e := executor(t, api, serve(t, streams[api]), "k")
		got, err := e.Run(t.Context(), task("hello"), func([]byte) {})
		wantError(t, err, agent.Failed, true, "the model refused to answer: not this")
		if u := got.Usage; u.TokensIn != 7 || u.TokensOut != 3 || u.CostUnknown {
			t.Errorf("usage %+v", u)
		}
	})
	e := executor(t, Gemini, serve(t, "data: {\"promptFeedback\":{\"blockReason\":\"PROHIBITED_CONTENT\"}}\n\n"), "k")
	_, err := e.Run(t.Context(), task("hello"), func([]byte) {})
	wantError(t, err, agent.Failed, true, "the prompt was blocked: PROHIBITED_CONTENT")
}

func TestContextTooLong(t *testing.T) {
	messages := map[API]string{
		Anthropic: "prompt is too long: 208310 tokens > 200000 maximum", OpenAI: "Your input exceeds the context window of this model.",
		Compatible: "This model's maximum context length is 8192 tokens.", Gemini: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
	}
	each(t, func(t *testing.T, api API) {
		fake := fakemodel.Start(t)
		fake.Reply(func(*fakemodel.Request) fakemodel.Step { return fakemodel.Step{Status: 400, Message: messages[api]} })
		_, err := executor(t, api, fake.URL, "k").Run(t.Context(), task("hello"), func([]byte) {})
		wantError(t, err, agent.Failed, true, "too long for m", "less context")
	})
	stream := "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"model_context_window_exceeded\"},\"usage\":{\"output_tokens\":3}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	_, err := executor(t, Anthropic, serve(t, stream), "k").Run(t.Context(), task("hello"), func([]byte) {})
	wantError(t, err, agent.Failed, true, "full in turn 1")
}

func TestSilence(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		fake := fakemodel.Start(t)
		e := executor(t, api, fake.URL, "k")
		tk := task(fakemodel.Prompt(fakemodel.Step{Text: "one", Hang: true}))
		tk.Settings = map[string]any{"silence": "100ms"}
		_, err := e.Run(t.Context(), tk, func([]byte) {})
		wantError(t, err, agent.TimedOut, false, "fake sent nothing for 100ms", "characters", "raise silence")
	})
}

func TestDeadline(t *testing.T) {
	fake := fakemodel.Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := executor(t, OpenAI, fake.URL, "k").Run(ctx, task(fakemodel.Prompt(fakemodel.Step{Hang: true})), func([]byte) {})
	wantError(t, err, agent.TimedOut, false, "timed out")
}

func TestOutputOverTheLimit(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		fake := fakemodel.Start(t)
		e := executor(t, api, fake.URL, "k")
		tk := task(fakemodel.Prompt(fakemodel.Step{Text: "many words ", Repeat: 1000}))
		tk.Agent.MaxOutputKB = 2
		_, err := e.Run(t.Context(), tk, func([]byte) {})
		wantError(t, err, agent.Failed, true, "exceeds 2 KiB", "max_output_kb")
	})
}

// A model may write arguments that are not JSON.
func TestInvalidArguments(t *testing.T) {
	var turn atomic.Int32
	var second atomic.Pointer[string]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if turn.Add(1) == 1 {
			_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"add","arguments":"{\"a\": 1,"}}]}}]}`+"\n\n"+
				`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`+"\n\n")
			return
		}
		text := string(body)
		second.Store(&text)
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"sorry"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	e := executor(t, Compatible, server.URL, "k")
	tk := task("hello")
	tk.Tools = []agent.Tool{adder()}
	got, err := e.Run(t.Context(), tk, func([]byte) {})
	if err != nil || got.Output != "sorry" {
		t.Fatalf("%q, %v", got.Output, err)
	}
	if !strings.Contains(*second.Load(), "not valid JSON") {
		t.Errorf("the model was not told: %s", *second.Load())
	}
	if !got.Usage.CostUnknown {
		t.Error("a server that counts nothing leaves the cost unknown")
	}
}

// A call that Gemini itself could not parse is reported to the model.
func TestGarbledCall(t *testing.T) {
	turn := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if turn++; turn == 1 {
			_, _ = io.WriteString(w, "data: {\"candidates\":[{\"finishReason\":\"MALFORMED_FUNCTION_CALL\",\"finishMessage\":\"print(add(1,2))\"}]}\n\n")
			return
		}
		text := "told"
		if !strings.Contains(string(body), "print(add(1,2))") {
			text = "not told"
		}
		_, _ = io.WriteString(w, "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\""+text+"\"}]},\"finishReason\":\"STOP\"}]}\n\n")
	}))
	defer server.Close()
	got, err := executor(t, Gemini, server.URL, "k").Run(t.Context(), task("hello"), func([]byte) {})
	if err != nil || got.Output != "told" {
		t.Fatalf("%q, %v", got.Output, err)
	}
}

// A redirect would send the key to another server.
func TestNoRedirects(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		var stolen atomic.Bool
		thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Store(true) }))
		defer thief.Close()
		server := httptest.NewServer(http.RedirectHandler(thief.URL+"/v1/x", http.StatusTemporaryRedirect))
		defer server.Close()
		_, err := executor(t, api, server.URL, "k").Run(t.Context(), task("hello"), func([]byte) {})
		wantError(t, err, agent.Failed, true, "redirects to", "base_url")
		if stolen.Load() {
			t.Error("the redirect was followed")
		}
	})
}

func TestRefusals(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	for _, c := range []struct {
		header http.Header
		want   time.Duration
	}{
		{header(), 0},
		{header("Retry-After", "30"), 30 * time.Second},
		{header("Retry-After", "1e300"), 87600 * time.Hour},
		{header("Retry-After", "soon"), 0},
		{header("Retry-After", "Fri, 02 Jan 2026 03:05:05 GMT"), time.Minute},
		{header("Retry-After-Ms", "1500"), 1500 * time.Millisecond},
		{header("Anthropic-Ratelimit-Tokens-Remaining", "0", "Anthropic-Ratelimit-Tokens-Reset", "2026-01-02T03:14:05Z"), 10 * time.Minute},
		{header("X-Ratelimit-Remaining-Tokens", "0", "X-Ratelimit-Reset-Tokens", "6m0s"), 6 * time.Minute},
		{header("X-Ratelimit-Remaining-Tokens", "5", "X-Ratelimit-Reset-Tokens", "6m0s"), 0},
	} {
		if got := resetIn(c.header, now); got != c.want {
			t.Errorf("%v: %s", c.header, got)
		}
	}
	for _, c := range []struct {
		status int
		body   string
		is     trouble
		said   string
	}{
		{404, `{"error":"model \"x\" not found, try pulling it first"}`, unknownModel, "try pulling"},
		{400, `{"object":"error","message":"bad","type":"BadRequestError","code":400}`, unknownTrouble, "bad"},
		{400, `[{"error":{"code":400,"message":"API key not valid","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]`, keyRefused, "not valid"},
		{502, "<html>\n<b>Bad gateway</b></html>", overloaded, "Bad gateway"},
		{500, "", overloaded, "500 Internal Server Error"},
		{400, `{"error":{"code":"context_length_exceeded"}}`, tooLong, "400 Bad Request"},
		{0, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, overloaded, "Overloaded"},
		{418, strings.Repeat("é", 1000), unknownTrouble, "é…"},
		{400, `null`, unknownTrouble, "400"},
		{400, `[]`, unknownTrouble, "400"},
	} {
		r := readRefusal(c.status, nil, []byte(c.body))
		if r.trouble() != c.is || !strings.Contains(r.Error(), c.said) {
			t.Errorf("%d %.60s: %v, %s", c.status, c.body, r.trouble(), r.Error())
		}
	}
}

// The wait may be given only in the message, or be too short for the exhausted quota.
func TestWaits(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	day := `{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED","details":[
		{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier","quotaValue":"%s"}]},
		{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"12s"}]}}`
	for _, c := range []struct {
		body string
		is   trouble
		want time.Duration
	}{
		{`{"error":{"message":"Rate limit reached for gpt-6 on tokens per min. Limit 30000, Used 29000, Requested 2000. Please try again in 6.5s. Visit x","code":"rate_limit_exceeded"}}`, limited, 6500 * time.Millisecond},
		{`{"error":{"message":"Please try again in 7m12.48s.","code":"rate_limit_exceeded"}}`, limited, 7*time.Minute + 12480*time.Millisecond},
		{`{"error":{"message":"Please try again in 250ms.","code":"rate_limit_exceeded"}}`, limited, 250 * time.Millisecond},
		{`{"error":{"message":"Please try again in a moment","code":"rate_limit_exceeded"}}`, limited, 0},
		{`{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"12.5s"}]}}`, limited, 12500 * time.Millisecond},
		{fmt.Sprintf(day, "20"), limited, 4*time.Hour + 55*time.Minute + 55*time.Second}, // midnight in Google's time zone
		{fmt.Sprintf(day, "0"), unpaid, 4*time.Hour + 55*time.Minute + 55*time.Second},
		{`{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, unpaid, 0},
	} {
		r := refusalAt(429, nil, []byte(c.body), now)
		if r.after != c.want || r.trouble() != c.is {
			t.Errorf("%s: %s, %v", c.body, r.after, r.trouble())
		}
	}
	if r := refusalAt(429, http.Header{"Retry-After": {"30"}}, []byte(`{"error":{"message":"try again in 5s"}}`), now); r.after != 30*time.Second {
		t.Errorf("the header counts: %s", r.after)
	}
}

func TestQuotaOverADay(t *testing.T) {
	if e := quota("no", 25*time.Hour, 1); !e.Permanent || !strings.Contains(e.Message, "24 h") {
		t.Errorf("%+v", e)
	}
}

// Checking such numbers against a schema would take forever.
func TestMonstrousNumbers(t *testing.T) {
	box, err := newToolbox([]agent.Tool{adder()})
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{`{"a":1e999999,"b":2}`, `{"a":1,"b":2,"c":[[1e-999999]]}`, `{"a":1,"b":` + strings.Repeat("9", 500) + `}`} {
		if _, err := box.byTag["add"].arguments(args); err == nil || !strings.Contains(err.Error(), "too large or too small") {
			t.Errorf("%.40s: %v", args, err)
		}
	}
	if _, err := box.byTag["add"].arguments(`{"a":0,"b":-12345678901234567890,"c":[1.5e300,0.0]}`); err != nil {
		t.Error(err)
	}
}

func TestLongResultsAreCut(t *testing.T) {
	got := cutText(strings.Repeat("é", maxResult))
	if len(got) > maxResult+100 || !strings.Contains(got, fmt.Sprintf("(cut off here: %d more bytes)", maxResult)) {
		t.Errorf("%d bytes, %q", len(got), got[len(got)-80:])
	}
}
