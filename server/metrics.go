package server

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"time"
)

// metrics serves what an operator watches, in the text format of Prometheus.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	var b strings.Builder
	gauge := func(name, help string) {
		fmt.Fprintf(&b, "# HELP hocket_%s %s\n# TYPE hocket_%[1]s gauge\n", name, help)
	}
	gauge("driven_runs", "Runs that this server drives now.")
	for _, p := range s.projects {
		fmt.Fprintf(&b, "hocket_driven_runs{project=%q} %d\n", p.name, p.drives.running())
	}
	gauge("open_questions", "Questions that wait for an answer.")
	for _, p := range s.projects {
		counts, err := p.Count(r.Context(), time.Now())
		if err != nil {
			s.log.Error("questions cannot be counted", "project", p.name, "error", err)
			continue
		}
		fmt.Fprintf(&b, "hocket_open_questions{project=%q} %d\n", p.name, counts.Questions)
	}
	s.mu.Lock()
	streams := len(s.watchers)
	s.mu.Unlock()
	gauge("open_streams", "Streams of events that clients follow.")
	fmt.Fprintf(&b, "hocket_open_streams %d\n", streams)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	gauge("memory_bytes", "Memory that the server has obtained from the system.")
	fmt.Fprintf(&b, "hocket_memory_bytes %d\n", m.Sys)
	gauge("goroutines", "Goroutines of the server.")
	fmt.Fprintf(&b, "hocket_goroutines %d\n", runtime.NumGoroutine())
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write([]byte(b.String()))
}
