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

// TestDetachKills kills a run at random moments while its agent detaches work. However often that
// happens, each session is started once, and the amounts are spent once.
func TestDetachKills(t *testing.T) {
	random := rand.New(rand.NewPCG(*seed, 5))
	t.Setenv("XDG_STATE_HOME", t.TempDir()) // of approvals
	met := map[int]int{}                    // how many sessions were started when the process was killed
	for done := 0; done < *sessions; {
		p := newProject(t, map[string]string{
			"flow.yml":  "name: flow\nsteps: [{id: lead, agent: shell, config: {command: cat answer.md}, handoffs: {to: [worker], max: 8, detach: true}}]\n",
			"answer.md": strings.NewReplacer("session_id", `detach="true" part`, "depends_on", "after", "Be kind", "Maximum cost: $1").Replace(sessionBatch(random)),
		})
		p.write(".hocket/agents/worker.yml", worker)
		digest := strings.TrimSpace(p.call("trust", "flow.yml", "--print").out)
		if got := p.call("trust", "flow.yml", "--trust", digest); got.code != 0 {
			t.Fatalf("trust: %s%s", got.out, got.err)
		}
		if err := os.MkdirAll(p.state, 0o700); err != nil {
			t.Fatal(err)
		}
		lock, err := filelock.Take(filepath.Join(p.state, "handoff.lock")) // as if a process drove the sessions
		if err != nil {
			t.Fatal(err)
		}
		p.kill(time.Duration(random.Int64N(int64(300*time.Millisecond))), "run", "flow.yml", "-q")
		for len(p.runs()) == 0 {
			p.kill(300*time.Millisecond, "run", "flow.yml", "-q")
		}
		run := ""
		for _, id := range p.runs() {
			if strings.Count(id, "-") == 1 {
				run = id
			}
		}
		for range 3 {
			done++
			met[len(p.runs())-1]++
			p.kill(time.Duration(random.Int64N(int64(200*time.Millisecond))), "resume", run, "-q")
		}
		got := p.call("resume", run, "-q") // it may have ended already
		if err := lock.Release(); err != nil {
			t.Fatal(err)
		}
		var shown struct {
			Status string
			Usage  struct {
				CostUSD float64 `json:"cost_usd"`
			}
		}
		if err := json.Unmarshal([]byte(p.call("show", run, "--json").out), &shown); err != nil || shown.Status != "success" || shown.Usage.CostUSD != batchSize {
			t.Fatalf("kill %d: %v %+v\n%s%s", done, err, shown, got.out, got.err)
		}
		if n := len(p.runs()) - 1; n != batchSize {
			t.Errorf("kill %d: %d sessions were started", done, n)
		}
		p.remove()
	}
	t.Logf("%d kills met so many sessions: %s", *sessions, fmt.Sprint(met))
}
