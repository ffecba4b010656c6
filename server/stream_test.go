package server

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
)

// received is a server-sent event.
type received struct{ kind, id, data string }

// stream opens a stream and returns its messages.
func (f *fixture) stream(path string, headers ...string) <-chan received {
	f.t.Helper()
	res := f.request("GET", path, nil, append(headers, "Accept", "text/event-stream")...)
	if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || kind != "text/event-stream" {
		text, _ := io.ReadAll(res.Body)
		f.t.Fatalf("GET %s: %d %s %s", path, res.StatusCode, kind, text)
	}
	if !res.Close {
		f.t.Error("a browser would keep the connection of a stream that it has closed")
	}
	out := make(chan received, 10_000)
	go func() {
		defer close(out)
		var m received
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			key, value, _ := strings.Cut(lines.Text(), ": ")
			switch key {
			case "event":
				m.kind = value
			case "id":
				m.id = value
			case "data":
				m.data = value
			case "":
				if m.kind != "" {
					out <- m
				}
				m = received{}
			}
		}
	}()
	return out
}

// types returns the types of all events until the stream ends.
func types(t *testing.T, messages <-chan received) (all []string, ids []string) {
	t.Helper()
	enough := time.After(15 * time.Second)
	for {
		select {
		case m, ok := <-messages:
			if !ok {
				t.Fatalf("the stream broke off after %v", all)
			}
			if m.kind == "end" {
				return all, ids
			}
			e := read[Event](t, m.data)
			if e.ID != m.id {
				t.Errorf("the id is %s, in the event %s", m.id, e.ID)
			}
			all, ids = append(all, e.Type+" "+e.Address), append(ids, e.ID)
		case <-enough:
			t.Fatalf("the stream has not ended after %v", all)
		}
	}
}

func TestFollow(t *testing.T) {
	f := newFixture(t, nil)
	run := f.begin("gated")
	live := f.stream(f.path("/runs/" + run + "/events"))
	r := f.until(run, "waiting")
	f.want(http.StatusOK, "POST", f.path("/runs/"+run+"/questions/approve/answer"), map[string]string{"value": "yes", "digest": r.Open[0].Digest})
	all, ids := types(t, live)
	text := strings.Join(all, "\n")
	for _, want := range []string{"step_started draft", "step_ended draft", "asked approve", "step_ended publish", "run_ended "} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is there %d times:\n%s", want, strings.Count(text, want), text)
		}
	}
	// From any event on, the rest is the same.
	for _, i := range []int{0, 1, len(ids) / 2, len(ids) - 2} {
		for _, how := range [][]string{{"?after=" + ids[i]}, {"", "Last-Event-ID", ids[i]}} {
			again, _ := types(t, f.stream(f.path("/runs/"+run+"/events"+how[0]), how[1:]...))
			if got, want := strings.Join(again, "\n"), strings.Join(all[i+1:], "\n"); got != want {
				t.Errorf("after %s:\n%s\nwant\n%s", ids[i], got, want)
			}
		}
	}
	// The same as a list, in pages.
	var listed []string
	for next := "0.0"; next != ""; {
		p := read[page[Event]](t, f.want(http.StatusOK, "GET", f.path("/runs/"+run+"/history?limit=3&after="+next), nil))
		for _, e := range p.Items {
			listed = append(listed, e.Type+" "+e.Address)
		}
		next = p.Next
	}
	if got := strings.Join(listed, "\n"); got != text {
		t.Errorf("the list is\n%s\nwant\n%s", got, text)
	}
	// After the state of a run, nothing is missing and nothing is repeated.
	state := f.until(run, "success")
	if rest, _ := types(t, f.stream(f.path("/runs/"+run+"/events?after="+state.Last))); len(rest) > 0 {
		t.Errorf("after the state came %v", rest)
	}
	for _, wrong := range []string{"x", "1", "-1.0", "1.2.3"} {
		f.want(http.StatusUnprocessableEntity, "GET", f.path("/runs/"+run+"/events?after="+wrong), nil)
	}
}

// One stream carries the changes of all runs, started by any process, and the events of some.
func TestFollowAll(t *testing.T) {
	f := newFixture(t, nil)
	run := f.begin("hello")
	f.until(run, "success")
	key := f.name() + "/" + run
	messages := f.stream("/api/events?run=" + url.QueryEscape(key))
	other, err := hocket.Open(f.dir, hocket.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	w, err := other.Load("hello")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := other.Start(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := elsewhere.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	statuses := map[string][]string{}
	events, last := 0, ""
	for enough := time.After(15 * time.Second); events < 9 || len(statuses[elsewhere.ID()]) == 0 || statuses[elsewhere.ID()][len(statuses[elsewhere.ID()])-1] != "success"; {
		select {
		case m := <-messages:
			switch m.kind {
			case "change":
				l := read[RunLine](t, m.data)
				statuses[l.ID] = append(statuses[l.ID], l.Status)
			case "event":
				e := read[struct {
					Event
					Run string `json:"run_id"`
				}](t, m.data)
				if e.Run != run || e.ID == "" {
					t.Errorf("the event is %s", m.data)
				}
				events, last = events+1, m.id
			}
		case <-enough:
			t.Fatalf("%d events, statuses %v", events, statuses)
		}
	}
	// The id says how far each run was sent.
	again := f.stream("/api/events?run="+url.QueryEscape(key), "Last-Event-ID", last)
	for enough := time.After(time.Second); ; {
		select {
		case m := <-again:
			if m.kind == "event" {
				t.Errorf("sent again: %+v", m)
			}
			continue
		case <-enough:
		}
		break
	}
	f.want(http.StatusNotFound, "GET", "/api/events?run=none/none", nil)
	f.want(http.StatusUnprocessableEntity, "GET", "/api/events?run=x/y"+strings.Repeat("&run=x/y", 20), nil)
}

// Many clients follow one run, and it is read once.
func TestManyFollowers(t *testing.T) {
	f := newFixture(t, nil)
	run := f.begin("gated")
	r := f.until(run, "waiting")
	var streams []<-chan received
	for range 50 {
		streams = append(streams, f.stream(f.path("/runs/"+run+"/events")))
	}
	f.s.mu.Lock()
	feeds := len(f.s.feeds)
	f.s.mu.Unlock()
	if feeds != 1 {
		t.Errorf("there are %d feeds", feeds)
	}
	f.want(http.StatusOK, "POST", f.path("/runs/"+run+"/questions/approve/answer"), map[string]string{"value": "yes", "digest": r.Open[0].Digest})
	var want []string
	var mu sync.Mutex
	var wait sync.WaitGroup
	for _, s := range streams {
		wait.Go(func() {
			all, _ := types(t, s)
			mu.Lock()
			defer mu.Unlock()
			if want == nil {
				want = all
			}
			if fmt.Sprint(all) != fmt.Sprint(want) {
				t.Errorf("one got %v, another %v", all, want)
			}
		})
	}
	wait.Wait()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		f.s.mu.Lock()
		feeds, watching := len(f.s.feeds), len(f.s.watchers)
		f.s.mu.Unlock()
		if feeds == 0 && watching == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d feeds and %d streams are left", feeds, watching)
		}
	}
}

// One token cannot take the streams of others, and its streams end when it is revoked.
func TestStreamsOfAToken(t *testing.T) {
	f := newFixture(t, nil)
	token, err := f.access.Create("ci", []Scope{Read}, 0)
	if err != nil {
		t.Fatal(err)
	}
	as := "Bearer " + token
	var all []<-chan received
	for range maxOwn {
		all = append(all, f.stream("/api/events", "Authorization", as))
	}
	f.want(http.StatusServiceUnavailable, "GET", "/api/events", nil, "Authorization", as)
	mine := f.stream("/api/events")
	if err := OpenAccess(filepath.Dir(f.access.file)).Revoke("ci"); err != nil { // another process
		t.Fatal(err)
	}
	enough := time.After(15 * time.Second)
	for _, messages := range all {
		for open := true; open; {
			select {
			case _, open = <-messages:
			case <-enough:
				t.Fatal("a stream of a revoked token goes on")
			}
		}
	}
	run := f.begin("hello")
	for {
		select {
		case m := <-mine:
			if strings.Contains(m.data, run) {
				return
			}
		case <-enough:
			t.Fatal("the stream of another token has ended")
		}
	}
}

func TestLogs(t *testing.T) {
	f := newFixture(t, map[string]string{
		".hocket/workflows/talk.yml": "name: talk\nsteps:\n  - {id: a, agent: shell, config: {command: \"for i in 1 2 3 4 5; do printf 'línea %s\\\\n' $i; sleep 0.1; done\"}}\n",
	})
	run := f.begin("talk")
	log := f.path("/runs/" + run + "/steps/a/attempts/1/output")
	for end := time.Now().Add(10 * time.Second); f.request("GET", log, nil).StatusCode != http.StatusOK && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	var live strings.Builder
	for m := range f.stream(log + "?follow=true") {
		if m.kind == "end" {
			break
		}
		piece := read[struct {
			At   int64
			Data []byte
		}](t, m.data)
		if int(piece.At) != live.Len() || m.id != fmt.Sprint(live.Len()+len(piece.Data)) {
			t.Errorf("the piece %+v comes at %d", m, live.Len())
		}
		live.Write(piece.Data)
	}
	f.until(run, "success")
	whole := f.want(http.StatusOK, "GET", log, nil)
	if whole != live.String() || !strings.Contains(whole, "línea 5") {
		t.Errorf("live %q, later %q", live.String(), whole)
	}
	if got := f.want(http.StatusOK, "GET", log+"?offset=2&limit=3", nil); got != whole[2:5] {
		t.Errorf("a range is %q", got) // inside a character
	}
	if got := f.want(http.StatusOK, "GET", log+"?offset=-4", nil); got != whole[len(whole)-4:] {
		t.Errorf("the end is %q", got)
	}
	res := f.request("GET", log+"?offset=2&limit=3", nil)
	if got, size := res.Header.Get("Hocket-Pieces"), res.Header.Get("Hocket-Size"); got != "2+3" || size != fmt.Sprint(len(whole)) {
		t.Errorf("the pieces are %q of %q", got, size)
	}
	if got := f.want(http.StatusOK, "GET", log+"?offset=100000", nil); got != "" {
		t.Errorf("after the end is %q", got)
	}
	f.want(http.StatusNotFound, "GET", f.path("/runs/"+run+"/steps/a/attempts/2/output"), nil)
	f.want(http.StatusNotFound, "GET", f.path("/runs/"+run+"/steps/none/attempts/1/output"), nil)
	f.want(http.StatusUnprocessableEntity, "GET", f.path("/runs/"+run+"/steps/a/attempts/1/secrets"), nil)
}

// A client that is behind what a feed keeps gets the rest from the journal, and then what is new.
func TestFollowBehind(t *testing.T) {
	f := newFixture(t, nil)
	run := f.begin("gated")
	r := f.until(run, "waiting")
	handle, err := f.s.projects[0].Run(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	feed, end := f.s.follow(f.s.projects[0], handle)
	defer end()
	for range 500 { // it has read what is there
		if found, _, _, _, _ := feed.after(hocket.EventID{}); len(found) >= 9 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	feed.mu.Lock()
	feed.most = 300 // about one event
	feed.mu.Unlock()
	f.want(http.StatusOK, "POST", f.path("/runs/"+run+"/questions/approve/answer"), map[string]string{"value": "yes", "digest": r.Open[0].Digest})
	f.until(run, "success")
	all, ids := types(t, f.stream(f.path("/runs/"+run+"/events")))
	if feed.dropped == (hocket.EventID{}) {
		t.Fatal("the feed has dropped nothing")
	}
	if len(all) < 15 || ids[0] != "1.0" || all[len(all)-1] != "run_ended " {
		t.Errorf("got %v", all)
	}
}

// TestOnlyNewChanges: a stream can leave out the runs that exist already, but not what happens to them.
func TestOnlyNewChanges(t *testing.T) {
	f := newFixture(t, nil)
	old := f.begin("hello")
	f.until(old, "success")
	for read[Run](t, f.want(http.StatusOK, "GET", f.path("/runs/"+old), nil)).Driven { // that it no longer is would be news
		time.Sleep(10 * time.Millisecond)
	}
	messages := f.stream("/api/events?new=true")
	next := func() received {
		select {
		case m := <-messages:
			return m
		case <-time.After(15 * time.Second):
			t.Fatal("nothing is reported")
		}
		return received{}
	}
	run := f.begin("gated")
	if m := next(); read[RunLine](t, m.data).ID != run {
		t.Errorf("a run that has not changed is reported: %s", m.data)
	}
	f.want(http.StatusNoContent, "DELETE", f.path("/runs/"+old), nil)
	for m := next(); m.kind != "deleted"; m = next() {
		if read[RunLine](t, m.data).ID == old {
			t.Errorf("a run that has not changed is reported: %s", m.data)
		}
	}
}

// A client that connects again learns what changed meanwhile, also after another server was started, or that it cannot.
func TestChangesMeanwhile(t *testing.T) {
	f := newFixture(t, nil)
	old := f.begin("hello")
	f.until(old, "success")
	last := f.lastID("/api/events?new=true")
	gated := f.begin("gated")
	f.until(gated, "waiting")
	f.want(http.StatusNoContent, "DELETE", f.path("/runs/"+old), nil)
	f.stop()
	f.start()

	seen := map[string]bool{}
	messages := f.stream("/api/events?new=true", "Last-Event-ID", last)
	for !seen["change "+gated] || !seen["deleted "+old] {
		select {
		case m := <-messages:
			seen[m.kind+" "+read[RunLine](t, m.data).ID] = true
			last = m.id
		case <-time.After(15 * time.Second):
			t.Fatalf("only this is reported: %v", seen)
		}
	}
	if m := <-f.stream("/api/events", "Last-Event-ID", last+"00"); m.kind != "reset" || read[RunLine](t, m.data).Project != f.name() || m.id == "" {
		t.Errorf("after a version that never was: %+v", m)
	}
	if m := <-f.stream("/api/events?new=true", "Last-Event-ID", "other=1"); m.kind != "reset" || read[RunLine](t, m.data).Project != f.name() {
		t.Errorf("after a message about another project: %+v", m)
	}
}

// lastID returns the id with which a stream begins.
func (f *fixture) lastID(path string) string {
	f.t.Helper()
	lines := bufio.NewScanner(f.request("GET", path, nil).Body)
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			return id
		}
	}
	f.t.Fatal("the stream has no id")
	return ""
}
