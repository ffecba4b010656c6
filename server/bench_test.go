package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
)

// BenchmarkShowRun asks for a run of 100 steps, as several clients do, while the server drives ten runs.
func BenchmarkShowRun(b *testing.B) {
	dir := b.TempDir()
	b.Setenv("XDG_STATE_HOME", b.TempDir())
	b.Setenv("XDG_CONFIG_HOME", b.TempDir())
	steps := func(name string, n int) string {
		text := "name: " + name + "\nlimits: {max_steps: 1000000, max_runtime_mins: 600}\nsteps:\n"
		for i := range n {
			text += fmt.Sprintf("  - {id: n%d, agent: x, prompt: p}\n", i)
		}
		return text
	}
	if err := os.MkdirAll(filepath.Join(dir, ".hocket", "workflows"), 0o755); err != nil {
		b.Fatal(err)
	}
	for name, n := range map[string]int{"short": 100, "long": 5000} {
		if err := os.WriteFile(filepath.Join(dir, ".hocket", "workflows", name+".yml"), []byte(steps(name, n)), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	p, err := hocket.Open(dir, hocket.Options{Via: "http"})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	access := OpenAccess(b.TempDir())
	token, err := access.Create("bench", []Scope{Start}, 0)
	if err != nil {
		b.Fatal(err)
	}
	s, err := New(Options{Projects: []*hocket.Project{p}, Access: access, Listen: l.Addr()})
	if err != nil {
		b.Fatal(err)
	}
	farewell = time.Second
	ctx, stop := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	defer func() {
		stop()
		<-done
	}()
	base := "http://" + l.Addr().String() + "/api/projects/" + s.projects[0].name + "/runs"
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	send := func(method, url, body string) (int, string) {
		r, err := http.NewRequest(method, url, strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		res, err := client.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			b.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	begin := func(name, delay string) string {
		status, text := send("POST", base, `{"workflow":"`+name+`","replies":"\"*\": {output: ok, delay: `+delay+`}"}`)
		if status != http.StatusCreated {
			b.Fatal(status, text)
		}
		_, rest, _ := strings.Cut(text, `"run_id":"`)
		id, _, _ := strings.Cut(rest, `"`)
		return id
	}
	shown := begin("short", "0s")
	for status := ""; status != "success"; time.Sleep(10 * time.Millisecond) {
		_, text := send("GET", base+"/"+shown, "")
		_, rest, _ := strings.Cut(text, `"status":"`)
		status, _, _ = strings.Cut(rest, `"`)
	}
	for range 10 {
		begin("long", "50ms")
	}
	b.SetParallelism(8)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if status, text := send("GET", base+"/"+shown, ""); status != http.StatusOK {
				b.Error(status, text)
			}
		}
	})
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

// BenchmarkProjects describes 20 projects with 50 workflows each, as the home page does.
func BenchmarkProjects(b *testing.B) {
	b.Setenv("XDG_STATE_HOME", b.TempDir())
	b.Setenv("XDG_CONFIG_HOME", b.TempDir())
	var all []*hocket.Project
	for i := range 20 {
		dir := filepath.Join(b.TempDir(), fmt.Sprintf("p%d", i))
		if err := os.MkdirAll(filepath.Join(dir, ".hocket", "workflows"), 0o755); err != nil {
			b.Fatal(err)
		}
		for j := range 50 {
			text := fmt.Sprintf("name: w%d\nsteps:\n  - {id: a, agent: shell, config: {command: 'echo %d'}}\n  - {id: b, agent: shell, config: {command: ./build.sh}}\n", j, j)
			if err := os.WriteFile(filepath.Join(dir, ".hocket", "workflows", fmt.Sprintf("w%d.yml", j)), []byte(text), 0o644); err != nil {
				b.Fatal(err)
			}
		}
		p, err := hocket.Open(dir, hocket.Options{Via: "http"})
		if err != nil {
			b.Fatal(err)
		}
		defer p.Close()
		all = append(all, p)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	s, err := New(Options{Projects: all, Access: OpenAccess(b.TempDir()), Listen: l.Addr()})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if got, err := s.Projects(b.Context()); err != nil || len(got) != 20 || got[0].Workflows != 50 {
			b.Fatal(got, err)
		}
	}
}
