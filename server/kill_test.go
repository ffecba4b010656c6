package server_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/server"
)

var (
	kills    = flag.Int("server-kills", 4, "how often TestKill kills the server")
	killRuns = flag.Int("server-runs", 60, "how many runs TestKill starts")
)

// killed is a real server, which is killed and started again.
type killed struct {
	t               *testing.T
	program, dir    string
	address, secret string
	access          *server.Access
	env             []string
	more            []string // what else is passed to the server

	mu  sync.Mutex
	cmd *exec.Cmd

	broken atomic.Int64 // requests that were sent again
}

// newKilled builds the program and prepares a project with some files.
func newKilled(t *testing.T, files map[string]string) *killed {
	t.Helper()
	k := &killed{t: t, program: filepath.Join(t.TempDir(), "hocket"), dir: t.TempDir()}
	if out, err := exec.Command("go", "build", "-o", k.program, "../cmd/hocket").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, text := range files {
		file := filepath.Join(k.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	state := t.TempDir()
	k.env = append(os.Environ(), "XDG_STATE_HOME="+state, "XDG_CONFIG_HOME="+t.TempDir())
	var err error
	k.access = server.OpenAccess(filepath.Join(state, "hocket", "server"))
	if k.secret, err = k.access.Create("test", []server.Scope{server.Start}, 0); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	k.address = l.Addr().String()
	return k
}

// runs returns the path of the runs of the project.
func (k *killed) runs() string {
	k.t.Helper()
	_, text := k.do("GET", "/api/projects", "", nil)
	var projects []server.Project
	if err := json.Unmarshal(text, &projects); err != nil || len(projects) != 1 {
		k.t.Fatalf("%v: %s", err, text)
	}
	return "/api/projects/" + projects[0].Name + "/runs"
}

func (k *killed) start() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cmd = exec.Command(k.program, append([]string{"-C", k.dir, "serve", "--listen", k.address}, k.more...)...)
	k.cmd.Env, k.cmd.Stderr = k.env, k.t.Output()
	if err := k.cmd.Start(); err != nil {
		k.t.Error(err)
	}
}

func (k *killed) kill() {
	k.mu.Lock()
	defer k.mu.Unlock()
	_ = k.cmd.Process.Kill()
	_ = k.cmd.Wait()
}

// do sends a request until there is an answer.
func (k *killed) do(method, path, key string, body any) (int, []byte) {
	data, err := json.Marshal(body)
	if err != nil {
		k.t.Error(err)
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		r, err := http.NewRequest(method, "http://"+k.address+path, bytes.NewReader(data))
		if err != nil {
			k.t.Error(err)
			break
		}
		r.Header.Set("Authorization", "Bearer "+k.secret)
		r.Header.Set("Content-Type", "application/json")
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			if !errors.Is(err, syscall.ECONNREFUSED) {
				k.broken.Add(1)
			}
			continue
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err == nil && res.StatusCode != http.StatusServiceUnavailable {
			return res.StatusCode, text
		}
		k.broken.Add(1)
	}
	k.t.Errorf("no answer to %s %s", method, path)
	return 0, nil
}

// Runs are started while the server is killed: each request starts one run, and each run ends once.
func TestKill(t *testing.T) {
	// Each step writes a line. A step that was killed may write a second one, but a recorded step never does.
	flow := "name: three\ninputs: {n: {type: integer, required: true}}\nsteps:\n"
	for _, step := range []string{"a", "b", "c"} {
		flow += fmt.Sprintf("  - {id: %[1]s, agent: shell, inputs: {n: \"${inputs.n}\"}, config: {command: 'echo %[1]s >> \"out/$n\"; echo %[1]s'}}\n", step)
	}
	k := newKilled(t, map[string]string{".hocket/workflows/three.yml": flow, "out/.keep": ""})
	dir := k.dir
	k.start()
	defer func() { k.kill() }()
	base := k.runs()

	var started atomic.Int64
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for n := range *kills { // evenly over the runs, however fast the machine is
			for at := int64((float64(n) + rand.Float64()) / float64(*kills) * float64(*killRuns)); started.Load() < at; {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(rand.N(50 * time.Millisecond))
			k.kill()
			k.start()
		}
	}()
	ids := make([]string, *killRuns)
	work := make(chan int)
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() {
			for n := range work {
				status, text := k.do("POST", base, fmt.Sprint(n), map[string]any{"workflow": "three", "inputs": map[string]any{"n": n}})
				var line server.RunLine
				if err := json.Unmarshal(text, &line); err != nil || status != http.StatusCreated {
					t.Errorf("run %d: %d %s", n, status, text)
				}
				ids[n] = line.ID
				started.Add(1)
			}
		})
	}
	for n := range *killRuns {
		work <- n
	}
	close(work)
	wait.Wait()
	<-stopped

	known := map[string]bool{}
	for n, id := range ids {
		if known[id] {
			t.Errorf("the run %s was started twice", id)
		}
		known[id] = true
		var run server.Run
		for end := time.Now().Add(2 * time.Minute); run.Status != "success" && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			_, text := k.do("GET", base+"/"+id, "", nil)
			if err := json.Unmarshal(text, &run); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
		}
		if run.Status != "success" || len(run.Steps) != 3 {
			t.Errorf("run %d, %s, is %s with %d steps", n, id, run.Status, len(run.Steps))
		}
		_, text := k.do("GET", base+"/"+id+"/history?limit=1000", "", nil)
		var history struct{ Items []server.Event }
		if err := json.Unmarshal(text, &history); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		ends, ran := map[string]int{}, ranIn(t, filepath.Join(dir, "out", fmt.Sprint(n)))
		for _, e := range history.Items {
			if e.Type == "step_ended" {
				ends[e.Node]++
			}
		}
		for _, s := range []string{"a", "b", "c"} {
			// An attempt that was lost with the server is made again; what was recorded is not.
			if ends[s] != 1 || ran[s] < 1 || ran[s] > 1+*kills {
				t.Errorf("step %s of run %s ended %d times, and ran %d times", s, id, ends[s], ran[s])
			}
		}
	}
	total := 0
	for cursor := ""; ; {
		_, text := k.do("GET", base+"?limit=200&cursor="+cursor, "", nil)
		var page struct {
			Items []server.RunLine
			Next  string
		}
		if err := json.Unmarshal(text, &page); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		total += len(page.Items)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if total != *killRuns {
		t.Errorf("there are %d runs, want %d", total, *killRuns)
	}
	t.Logf("%d runs, %d kills, %d requests that were broken off and sent again", total, *kills, k.broken.Load())
}

// ranIn counts the lines that steps have written to a file.
func ranIn(t *testing.T, file string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
	}
	n := map[string]int{}
	for line := range bytes.Lines(text) {
		n[string(bytes.TrimSpace(line))]++
	}
	return n
}
