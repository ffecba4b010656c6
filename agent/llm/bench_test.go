//go:build unix

package llm

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/internal/fakemodel"
)

const asServer = "HOCKET_LLM_BENCH_SERVER"

// The model of the benchmark runs in its own process, so that only the agents are
// measured.
func TestMain(m *testing.M) {
	if os.Getenv(asServer) == "" {
		os.Exit(m.Run())
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("http://" + listener.Addr().String())
	_ = http.Serve(listener, &fakemodel.Server{}) // until it is killed
}

func startServer(b *testing.B) string {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), asServer+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var url string
	if _, err := fmt.Fscanln(out, &url); err != nil {
		b.Fatal(err)
	}
	return url
}

// BenchmarkAgents runs 200 agents, each of which receives 1,000 tokens at 50 per second.
// The targets are 300 MB, one core, and no goroutine left.
func BenchmarkAgents(b *testing.B) {
	const agents, tokens = 200, 1000
	for _, api := range apis {
		b.Run(string(api), func(b *testing.B) {
			url := startServer(b)
			before := runtime.NumGoroutine()
			e := executor(b, api, url, "k")
			prompt := fakemodel.Prompt(fakemodel.Step{Text: strings.Repeat("word ", tokens), Pieces: tokens, Delay: 20})
			stop := make(chan struct{})
			peak := watchHeap(stop)
			start, cpu := time.Now(), cpuTime()
			for b.Loop() {
				var wg sync.WaitGroup
				for range agents {
					wg.Go(func() {
						got, err := e.Run(context.Background(), task(prompt), func([]byte) {})
						if err != nil || len(got.Output) != 5*tokens {
							b.Errorf("%d bytes, %v", len(got.Output), err)
						}
					})
				}
				wg.Wait()
			}
			used, wall := cpuTime()-cpu, time.Since(start)
			close(stop)
			b.ReportMetric(float64(<-peak)/1e6, "peak-heap-MB")
			b.ReportMetric(float64(peakRSS())/1e6, "peak-RSS-MB")
			b.ReportMetric(used.Seconds()/wall.Seconds(), "cores")
			b.ReportMetric(used.Seconds()/float64(b.N), "cpu-s/op") // of 20 s on an idle machine
			e.Close()
			b.ReportMetric(float64(left(before)), "goroutines-left")
		})
	}
}

// left returns how many more goroutines there are than before, after giving finished ones
// time to exit.
func left(before int) int {
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return 0
		}
		time.Sleep(20 * time.Millisecond)
	}
	return runtime.NumGoroutine() - before
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func peakRSS() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return u.Maxrss // in bytes; elsewhere in KiB
	}
	return u.Maxrss << 10
}

// watchHeap sends the peak size of the heap when it is stopped.
func watchHeap(stop <-chan struct{}) <-chan uint64 {
	peak := make(chan uint64, 1)
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		most := uint64(0)
		for {
			metrics.Read(sample)
			most = max(most, sample[0].Value.Uint64())
			select {
			case <-stop:
				peak <- most
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return peak
}

// BenchmarkFirstPiece measures how long the first piece of an answer takes from the
// server to the log. The target is 50 ms.
func BenchmarkFirstPiece(b *testing.B) {
	var sent atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		sent.Store(time.Now().UnixNano())
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word\"}}]}\n\n")
		_ = http.NewResponseController(w).Flush()
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	e := executor(b, Compatible, server.URL, "k")
	var total time.Duration
	for b.Loop() {
		first := true
		if _, err := e.Run(context.Background(), task("hello"), func([]byte) {
			if first {
				total += time.Since(time.Unix(0, sent.Load()))
				first = false
			}
		}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(total.Microseconds())/float64(b.N)/1000, "ms/first-piece")
}
