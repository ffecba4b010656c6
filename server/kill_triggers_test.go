package server_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
)

// Two servers of a project serve a schedule that has missed 25 minutes, and are killed again and again: each minute
// starts one run, which ends once.
func TestKillTriggers(t *testing.T) {
	const missed = 25
	a := newKilled(t, map[string]string{
		".hocket/workflows/note.yml":   "name: note\ninputs: {at: {type: string, required: true}}\nsteps:\n  - {id: a, agent: shell, inputs: {at: \"${inputs.at}\"}, config: {command: 'echo \"$at\" >> out/all'}}\n",
		".hocket/triggers/minutes.yml": "workflow: note\nschedule: \"* * * * *\"\nzone: UTC\nmissed: all\ninputs: {at: \"${time}\"}\n",
		".hocket/triggers/then.yml":    "workflow: note\nafter: other\ninputs: {at: \"${run}\"}\n",
		".hocket/workflows/other.yml":  "name: other\nsteps: [{id: a, agent: shell, config: {command: 'true'}}]\n",
		"out/.keep":                    "",
	})
	for _, v := range a.env {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, "XDG_") {
			t.Setenv(name, value)
		}
	}
	p, err := hocket.Open(a.dir, hocket.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	powers, err := p.Powers()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Trust(powers); err != nil {
		t.Fatal(err)
	}
	since := time.Now().UTC().Truncate(time.Minute).Add(-missed * time.Minute)
	for _, trigger := range p.Triggers() {
		state, err := json.Marshal(map[string]any{"cause": trigger.On.Kind() + " " + trigger.On.String(), "since": since})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(p.State(), "triggers", trigger.Name+".json")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, state, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w, err := p.Load("other")
	if err != nil {
		t.Fatal(err)
	}
	for range 5 { // which end before the servers see them
		r, err := p.Start(t.Context(), w, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &killed{t: t, program: a.program, dir: a.dir, env: a.env, secret: a.secret, address: l.Addr().String()}
	l.Close()
	servers := []*killed{a, b}
	for _, k := range servers {
		k.start()
		defer k.kill()
	}
	for i := range 2 * *kills {
		time.Sleep(time.Duration(50+rand.IntN(600)) * time.Millisecond)
		k := servers[i%2]
		k.kill()
		k.start()
	}
	firings := map[string]string{}
	count := func() (open int) {
		runs, err := p.Runs(t.Context(), hocket.Filter{Label: hocket.TriggerLabel})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			firing := r.Owner.Labels[hocket.TriggerLabel] + " " + r.Owner.Labels[hocket.FiringLabel]
			if other, ok := firings[firing]; ok && other != r.ID {
				t.Fatalf("%s started %s and %s", firing, other, r.ID)
			}
			if firings[firing] = r.ID; !r.Status.Done() {
				open++
			}
		}
		return open
	}
	for end := time.Now().Add(2 * time.Minute); count() > 0 || len(firings) < missed+5; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("of %d firings, %d runs are not over", len(firings), count())
		}
	}
	for n := 1; n <= missed; n++ {
		if at := since.Add(time.Duration(n) * time.Minute); firings["minutes "+at.Format(time.RFC3339)] == "" {
			t.Errorf("%s did not fire", at)
		}
	}
	text, err := os.ReadFile(filepath.Join(a.dir, "out", "all"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Count(string(text), line) > 1+2**kills { // a step that was killed is made again
			t.Error(fmt.Sprint("too often: ", line))
		}
	}
}
