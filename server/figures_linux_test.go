package server_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/server"
)

var (
	watchers = flag.Int("server-watchers", 50, "how many clients follow a run in TestWatchers")
	waiting  = flag.Int("server-waiting", 100, "how many runs wait in TestWaitingRuns")
)

// memory returns the memory that the server uses now, and the most that it has used, in MB.
func (k *killed) memory() (now, most float64) {
	k.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", k.cmd.Process.Pid))
	if err != nil {
		k.t.Fatal(err)
	}
	field := func(name string) float64 {
		_, rest, _ := strings.Cut(string(text), name+":")
		kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
		if err != nil {
			k.t.Fatal(err)
		}
		return kb / 1024
	}
	return field("VmRSS"), field("VmHWM")
}

// processor returns the time for which the server has used a processor.
func (k *killed) processor() time.Duration {
	k.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", k.cmd.Process.Pid))
	if err != nil {
		k.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	user, err := strconv.Atoi(f[11])
	if err != nil {
		k.t.Fatal(err)
	}
	system, err := strconv.Atoi(f[12])
	if err != nil {
		k.t.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// load returns how busy the machine is.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	return "load " + strings.Fields(string(text) + " ?")[0]
}

// begin starts a run, with replies unless they are "".
func (k *killed) begin(workflow, replies string) string {
	k.t.Helper()
	body := map[string]any{"workflow": workflow}
	if replies != "" {
		body["replies"] = replies
	}
	status, text := k.do("POST", k.runs(), "", body)
	var line struct {
		ID string `json:"run_id"`
	}
	if err := json.Unmarshal(text, &line); err != nil || status != http.StatusCreated {
		k.t.Fatalf("%d %v: %s", status, err, text)
	}
	return line.ID
}

// TestIdleMemory logs the memory of a server that has shown its pages and now does nothing.
func TestIdleMemory(t *testing.T) {
	k := newKilled(t, map[string]string{".hocket/workflows/gated.yml": "name: gated\nsteps:\n  - {id: ask, human: {question: \"Go on?\", options: [yes]}}\n"})
	k.start()
	defer k.kill()
	k.begin("gated", "")
	for _, path := range []string{"/", "/inbox", "/usage", strings.TrimSuffix(strings.TrimPrefix(k.runs(), "/api"), "/runs")} {
		if status, text := k.do("GET", path, "", nil); status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, status, text)
		}
	}
	before := k.processor()
	time.Sleep(3 * time.Second)
	now, most := k.memory()
	t.Logf("an idle server uses %.0f MB, %.0f MB at most, and %.2f %% of a core (%s)", now, most, (k.processor()-before).Seconds()/3*100, load())
	if now > 200 {
		t.Errorf("%.0f MB", now)
	}
}

// TestWatchers logs what a server needs for clients that follow one run with 200 events a second. All of them get all events.
func TestWatchers(t *testing.T) {
	const together = 20 // tasks, which end one after the other, so that the events are spread
	delays := `"*": [`
	for i := range together {
		delays += fmt.Sprintf("{output: ok, delay: %dms}, ", (i+1)*17)
	}
	items := strings.TrimSuffix(strings.Repeat("0,", 300), ",")
	k := newKilled(t, map[string]string{
		".hocket/workflows/busy.yml": "name: busy\nlimits: {max_steps: 10000, max_parallel: " + strconv.Itoa(together) + "}\nsteps:\n  - {id: each, for_each: \"[" + items + "]\", as: item, agent: x, prompt: p}\n", ".hocket/agents/x.yml": "name: x\nagent: shell\nsettings: {command: \"true\"}\n",
	})
	k.start()
	defer k.kill()
	k.runs() // the server is there
	_, idle := k.memory()
	began := time.Now()
	used := k.processor()
	run := k.begin("busy", strings.TrimSuffix(delays, ", ")+"]")
	var events atomic.Int64
	done := make(chan error, *watchers)
	secret := k.secret
	for i := range *watchers {
		if i%50 == 49 { // a token has only so many streams
			var err error
			if secret, err = k.access.Create(fmt.Sprint("watcher", i), []server.Scope{server.Read}, 0); err != nil {
				t.Fatal(err)
			}
		}
		as := "Bearer " + secret
		go func() {
			r, err := http.NewRequest("GET", "http://"+k.address+k.runs()+"/"+run+"/events", nil)
			if err != nil {
				done <- err
				return
			}
			r.Header.Set("Authorization", as)
			r.Header.Set("Accept", "text/event-stream")
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				done <- err
				return
			}
			defer res.Body.Close()
			lines := bufio.NewScanner(res.Body)
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				switch lines.Text() {
				case "event: end":
					done <- nil
					return
				default:
					if strings.HasPrefix(lines.Text(), "id: ") {
						events.Add(1)
					}
				}
			}
			done <- fmt.Errorf("the stream broke off: %w", lines.Err())
		}()
	}
	for range *watchers {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	took := time.Since(began)
	cores := (k.processor() - used).Seconds() / took.Seconds()
	_, most := k.memory()
	if events.Load()%int64(*watchers) != 0 {
		t.Errorf("%d watchers got %d events in all", *watchers, events.Load())
	}
	t.Logf("%d watchers, each with %.0f events a second: %.0f MB at most (%.0f MB before), %.2f cores (%s)", *watchers,
		float64(events.Load())/float64(*watchers)/took.Seconds(), most, idle, cores, load())
}

// TestWaitingRuns logs what a server needs for runs that wait for a person.
func TestWaitingRuns(t *testing.T) {
	k := newKilled(t, map[string]string{".hocket/workflows/gated.yml": "name: gated\nsteps:\n  - {id: ask, human: {question: \"Go on?\", options: [yes]}}\n"})
	k.start()
	defer k.kill()
	path := k.runs()
	work := make(chan int)
	ended := make(chan bool)
	for range 8 {
		go func() {
			for range work {
				if status, text := k.do("POST", path, "", map[string]any{"workflow": "gated"}); status != http.StatusCreated {
					t.Errorf("%d %s", status, text)
				}
			}
			ended <- true
		}()
	}
	for i := range *waiting {
		work <- i
	}
	close(work)
	for range 8 {
		<-ended
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if _, text := k.do("GET", "/metrics", "", nil); strings.Contains(string(text), "hocket_driven_runs{") && strings.Contains(string(text), "} 0\n# HELP hocket_open_questions") {
			break // all of them wait
		}
	}
	time.Sleep(time.Second)
	before := k.processor()
	window := time.Second
	if *waiting >= 1000 {
		window = 10 * time.Second
	}
	time.Sleep(window)
	now, _ := k.memory()
	t.Logf("%d runs wait: %.2f %% of a core, %.0f MB (%s)", *waiting, (k.processor()-before).Seconds()/window.Seconds()*100, now, load())
}
