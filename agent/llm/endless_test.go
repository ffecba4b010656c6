package llm

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
)

// streaming starts a server that answers every request with a stream written by a
// function; flush sends what was written so far.
func streaming(t *testing.T, write func(w io.Writer, flush func(), done <-chan struct{})) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		write(w, w.(http.Flusher).Flush, r.Context().Done())
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A server that only sends keep-alives and never an answer does not block forever.
func TestAnAnswerThatNeverEnds(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		url := streaming(t, func(w io.Writer, flush func(), done <-chan struct{}) {
			for tick := time.NewTicker(10 * time.Millisecond); ; {
				_, _ = io.WriteString(w, ": still there\n\n")
				flush()
				select {
				case <-tick.C:
				case <-done:
					return
				}
			}
		})
		e := executor(t, api, url, "k")
		e.longest = 200 * time.Millisecond
		_, err := e.Run(t.Context(), task("hello"), func([]byte) {})
		wantError(t, err, agent.TimedOut, false, "fake did not finish within 200ms")
	})
}

// An excessive number of calls is not made, because the results would fill the memory.
func TestCallsWithoutEnd(t *testing.T) {
	url := streaming(t, func(w io.Writer, _ func(), _ <-chan struct{}) {
		for i := range 20000 {
			fmt.Fprintf(w, `data: {"choices":[{"delta":{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"add","arguments":"{}"}}]}}]}`+"\n\n", i, i)
		}
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
	})
	e := executor(t, Compatible, url, "k")
	tk := task("hello")
	tk.Tools = []agent.Tool{adder()}
	_, err := e.Run(t.Context(), tk, func([]byte) {})
	wantError(t, err, agent.BadOutput, false, "more than 256 tools in one answer")
}
