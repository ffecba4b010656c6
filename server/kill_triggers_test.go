package server_test

import (
	"crypto/sha256"
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

// trusted opens the project, and approves everything that it can do.
func (k *killed) trusted() *hocket.Project {
	k.t.Helper()
	for _, v := range k.env {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, "XDG_") {
			k.t.Setenv(name, value)
		}
	}
	p, err := hocket.Open(k.dir, hocket.Options{})
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { p.Close() })
	powers, err := p.Powers()
	if err != nil {
		k.t.Fatal(err)
	}
	if err := p.Trust(powers); err != nil {
		k.t.Fatal(err)
	}
	return p
}

// two starts two servers of the project, which are killed at the end.
func (k *killed) two() []*killed {
	k.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		k.t.Fatal(err)
	}
	other := &killed{t: k.t, program: k.program, dir: k.dir, env: k.env, secret: k.secret, address: l.Addr().String()}
	l.Close()
	both := []*killed{k, other}
	for _, one := range both {
		one.start()
		k.t.Cleanup(one.kill)
	}
	return both
}

// firedOnce waits until so many firings have runs that are over, one each, and returns them.
func firedOnce(t *testing.T, p *hocket.Project, n int) map[string]string {
	t.Helper()
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
	for end := time.Now().Add(2 * time.Minute); count() > 0 || len(firings) < n; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("of %d firings, %d runs are not over", len(firings), count())
		}
	}
	return firings
}

// Two servers of a project watch files, and are killed again and again, while files are written, changed, moved away
// and back: each path and content starts one run.
func TestKillFiles(t *testing.T) {
	k := newKilled(t, map[string]string{
		".hocket/workflows/note.yml": "name: note\ninputs: {path: {type: string, required: true}}\nsteps:\n  - {id: a, agent: shell, inputs: {path: \"${inputs.path}\"}, config: {command: 'cat \"$path\"'}}\n",
		".hocket/triggers/new.yml":   "workflow: note\nfiles: {paths: \"inbox/**\", settle: 100ms}\ninputs: {path: \"${path}\"}\n",
		"inbox/old":                  "it was there before",
	})
	p := k.trusted()
	servers := k.two()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		state, err := os.ReadFile(filepath.Join(p.State(), "triggers", "new.json"))
		if err == nil && strings.Contains(string(state), "inbox/old") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the trigger is not served: %s, %v", state, err)
		}
	}
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(k.dir, "inbox", name)
		if err := os.WriteFile(file+".part", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".part", file); err != nil {
			t.Fatal(err)
		}
	}
	n := 2 * *kills
	for i := range n {
		write(fmt.Sprint(i), "first")
		time.Sleep(time.Duration(50+rand.IntN(1500)) * time.Millisecond)
		servers[i%2].kill()
		if i > 0 {
			write(fmt.Sprint(i-1), "second")
		}
		servers[i%2].start()
	}
	key := func(name, text string) string {
		return fmt.Sprintf("new file inbox/%s %x", name, sha256.Sum256([]byte(text)))
	}
	time.Sleep(time.Second)
	write("last", "first")
	firings := map[string]string{}
	for end := time.Now().Add(time.Minute); firings[key("last", "first")] == "" || firings[key(fmt.Sprint(n-2), "second")] == ""; time.Sleep(50 * time.Millisecond) {
		if firings = firedOnce(t, p, n); time.Now().After(end) {
			t.Fatalf("the firings are %v", firings)
		}
	}
	for i := range n - 1 { // the first content may have been replaced before it had settled
		if firings[key(fmt.Sprint(i), "second")] == "" {
			t.Errorf("%d did not fire: %v", i, firings)
		}
	}
	for firing := range firings {
		if strings.Contains(firing, "inbox/old") || strings.Contains(firing, ".part") {
			t.Errorf("%s fired", firing)
		}
	}
	// The same again, under new servers, is nothing new.
	for _, one := range servers {
		one.kill()
	}
	for i := range n - 1 {
		write(fmt.Sprint(i), "second")
	}
	for _, one := range servers {
		one.start()
	}
	write("after", "first")
	before, end := len(firings), time.Now().Add(time.Minute)
	for ; firings[key("after", "first")] == ""; time.Sleep(50 * time.Millisecond) {
		if firings = firedOnce(t, p, before); len(firings) > before+1 || time.Now().After(end) {
			t.Fatalf("something fired again, or the new file did not: %v", firings)
		}
	}
}

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
	p := a.trusted()
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

	servers := a.two()
	for i := range 2 * *kills {
		time.Sleep(time.Duration(50+rand.IntN(600)) * time.Millisecond)
		servers[i%2].kill()
		servers[i%2].start()
	}
	firings := firedOnce(t, p, missed+5)
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
