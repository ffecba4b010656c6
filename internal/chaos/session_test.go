package chaos

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/internal/filelock"
)

// worker is an agent that writes the id of its session to a file, so that the test sees
// how often it worked.
const worker = `name: worker
description: Works
agent: shell
settings: {command: "grep -o 'sessions/s[0-9]*' | head -1 >> trace; sleep 0.05; echo done"}
`

// TestSessionKills kills the process that drives a batch of sessions with dependencies at
// random moments. Nothing is lost, no session works again after its result was recorded, and
// state.json is never half written.
func TestSessionKills(t *testing.T) {
	random := rand.New(rand.NewPCG(*seed, 4))
	met := map[int]int{} // how many sessions had ended when the process was killed
	for done := 0; done < *sessions; {
		p := newProject(t, nil)
		p.write(".hocket/agents/worker.yml", worker)
		p.write("batch.md", sessionBatch(random))
		if done == 0 {
			t.Setenv("HOCKET_TRUST", p.trustDigest())
		}
		p.sendAlone("batch.md")
		ended := map[string]int{} // how often a session had worked when it had ended
		for len(ended) < batchSize && done < *sessions {
			p.kill(time.Duration(random.Int64N(int64(500*time.Millisecond))), "handoff", "drive")
			done++
			worked := p.worked()
			for id, state := range p.sessionStates() {
				if _, known := ended[id]; state != "RUNNING" && !known {
					ended[id] = worked[id]
				}
			}
			met[len(ended)]++
		}
		if got := p.call("handoff", "drive"); got.code != 0 {
			t.Fatalf("kill %d: drive: %s%s", done, got.out, got.err)
		}
		worked := p.worked()
		for id, state := range p.sessionStates() {
			if state != "COMPLETED" || worked[id] == 0 {
				t.Errorf("kill %d: session %s is %s after it worked %d times", done, id, state, worked[id])
			}
			if n, known := ended[id]; known && worked[id] != n {
				t.Errorf("kill %d: session %s worked again after it had ended", done, id)
			}
			p.wantOneResult(id)
		}
		p.remove()
	}
	t.Logf("%d kills met batches with so many ended sessions: %v", *sessions, met)
}

// TestSenderKills kills senders of blocking sessions at random moments. A session that was recorded
// ends in the background, and so does the one that depends on it.
func TestSenderKills(t *testing.T) {
	random := rand.New(rand.NewPCG(*seed, 5))
	p := newProject(t, nil)
	p.write(".hocket/agents/worker.yml", worker)
	p.write("batch.md", sessionRequest("s", "blocking", ""))
	t.Setenv("HOCKET_TRUST", p.trustDigest())
	recorded := 0
	for i := range *sessions {
		first, next := fmt.Sprintf("s%d", 2*i), fmt.Sprintf("s%d", 2*i+1)
		p.write("batch.md", sessionRequest(next, "spawn", first)+sessionRequest(first, "blocking", ""))
		p.kill(time.Duration(random.Int64N(int64(300*time.Millisecond))), "handoff", "send", "batch.md")
		for _, id := range []string{first, next} {
			if p.call("handoff", "status", id).code != 0 {
				continue // it was not recorded yet
			}
			recorded++
			if got := p.call("handoff", "wait", id); got.code != 0 || got.out != id+" COMPLETED\n" {
				t.Fatalf("kill %d: %s%s", i, got.out, got.err)
			}
			p.wantOneResult(id)
		}
	}
	if t.Logf("%d of %d sessions were recorded", recorded, 2**sessions); recorded == 0 {
		t.Error("all senders were killed too early to show anything")
	}
}

func (p project) write(name, text string) {
	p.t.Helper()
	file := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

const batchSize = 8

// sessionBatch returns a batch in which sessions depend on earlier ones.
func sessionBatch(random *rand.Rand) string {
	var b strings.Builder
	for i := range batchSize {
		depends := ""
		if i > 0 && random.IntN(2) == 0 {
			depends = fmt.Sprintf("s%d", random.IntN(i))
		}
		b.WriteString(sessionRequest(fmt.Sprintf("s%d", i), "spawn", depends))
	}
	return b.String()
}

// sessionRequest returns a request in a block. depends may be "".
func sessionRequest(id, mode, depends string) string {
	if depends != "" {
		depends = ` depends_on="` + depends + `"`
	}
	return fmt.Sprintf("```xml\n"+`<agent_request version="1.0" session_id="%s" target_agent="worker"%s>
  <mode>%s</mode>
  <original_intent>See that nothing is lost</original_intent>
  <current_task_summary>Work on part %[1]s</current_task_summary>
  <workflow>standard</workflow>
  <task_details>Work.</task_details>
  <constraints><constraint>Be kind</constraint></constraints>
  <deliverables><report>what was done</report></deliverables>
</agent_request>`+"\n```\n\n", id, depends, mode)
}

// trustDigest returns the digest with which the project is trusted.
func (p project) trustDigest() string {
	p.t.Helper()
	got := p.call("handoff", "send", "batch.md")
	_, rest, ok := strings.Cut(got.err, "HOCKET_TRUST=")
	if !ok {
		p.t.Fatalf("no digest in %s%s", got.out, got.err)
	}
	return strings.Fields(rest)[0]
}

// sendAlone sends a batch without starting a process that drives it: it pretends that there
// is one.
func (p project) sendAlone(file string) {
	p.t.Helper()
	if err := os.MkdirAll(p.state, 0o700); err != nil {
		p.t.Fatal(err)
	}
	lock, err := filelock.Take(filepath.Join(p.state, "handoff.lock"))
	if err != nil {
		p.t.Fatal(err)
	}
	got := p.call("handoff", "send", file)
	if err := lock.Release(); err != nil || got.code != 0 {
		p.t.Fatalf("send: %v %s%s", err, got.out, got.err)
	}
}

// worked counts how often each session has worked.
func (p project) worked() map[string]int {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, "trace"))
	if err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	n := map[string]int{}
	for line := range strings.Lines(string(text)) {
		n[strings.TrimSpace(strings.TrimPrefix(line, "sessions/"))]++
	}
	return n
}

// sessionStates reads the state.json of all sessions. If one says that its session has
// ended, there is a result.
func (p project) sessionStates() map[string]string {
	p.t.Helper()
	states := map[string]string{}
	for i := range batchSize {
		id := fmt.Sprintf("s%d", i)
		dir := filepath.Join(p.dir, "docs/.scratch/sessions", id)
		var state struct{ Status string }
		p.readJSON(filepath.Join(dir, "state.json"), &state)
		if states[id] = state.Status; state.Status != "RUNNING" {
			var result struct{ Handoff struct{ Status string } }
			if p.readJSON(filepath.Join(dir, "result.json"), &result); result.Handoff.Status != state.Status {
				p.t.Errorf("session %s is %s, and its result says %s", id, state.Status, result.Handoff.Status)
			}
		}
	}
	return states
}

func (p project) readJSON(file string, into any) {
	p.t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", file, err, text)
	}
}

// wantOneResult checks that a session has one recorded result.
func (p project) wantOneResult(id string) {
	p.t.Helper()
	events, _ := p.events(id)
	n := 0
	for _, e := range events {
		if e.Type == "TaskEnded" && len(e.Error) == 0 {
			n++
		}
	}
	if n != 1 {
		p.t.Errorf("session %s has %d results", id, n)
	}
}
