package handoff_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff"
)

// The result of a session has the result of each check, even if the session failed.
func TestFindings(t *testing.T) {
	o := newOffice(t, "")
	for _, file := range []string{"old.md", "touched.md"} {
		write(t, filepath.Join(o.p.Root(), file), "old")
	}
	answer := `{"decisions": ["yes"]}`
	o.work = func(*agent.Task) (string, error) {
		write(t, filepath.Join(o.p.Root(), "touched.md"), "new")
		write(t, filepath.Join(o.p.Root(), "bad.json"), "{")
		return answer, nil
	}
	q := strings.Replace(request(to("s1"), ""), "<report>what you found</report>", `<file path="touched.md">a</file><file path="old.md">b</file><file path="bad.json">c</file>
		<file path="none.md">d</file><file path="maybe.md" required="false">e</file><decision>May it stay?</decision><report>What you saw</report>`, 1)
	want := []string{"", "has not changed since the work was handed off", "is not valid JSON: unexpected end of JSON input", "does not exist", "does not exist", "", "is not answered"}
	o.send(q)
	o.drive()
	if log := o.read("s1", "session.log"); strings.Contains(log, "maybe.md") {
		t.Errorf("session.log: %s", log)
	}
	findings := func(id string) (found []string) {
		text := o.read(id, "result.json")
		wantValid(t, "handoff-result", text)
		var result struct{ Handoff handoff.Result }
		if err := json.Unmarshal([]byte(text), &result); err != nil {
			t.Fatal(err)
		}
		for _, d := range result.Handoff.Deliverables {
			if d.OK == nil || *d.OK != (d.Why == "") {
				t.Errorf("%+v", d)
			}
			found = append(found, d.Why)
		}
		return found
	}
	if diff := cmp.Diff(want, findings("s1")); diff != "" || o.find("s1").Status != handoff.Failed || o.find("s1").Answer.Decisions[0].Text != "yes" {
		t.Error(diff)
	}
	answer = `{"status": "FAILED", "summary": "It is broken", "decisions": ["yes"]}`
	o.send(strings.ReplaceAll(q, `"s1"`, `"s2"`))
	o.drive()
	want[0], want[2] = want[1], want[1] // they are the same as before
	if diff := cmp.Diff(want, findings("s2")); diff != "" || !strings.Contains(o.find("s2").Error, "It is broken") {
		t.Error(diff)
	}
}

// Whether a constraint names a path depends on what exists when the work is handed off, and means
// the same for all attempts.
func TestPathsInConstraints(t *testing.T) {
	if why := agent.WriteLimits(); why != "" {
		t.Skip(why)
	}
	o := newOffice(t, "")
	kept, made := filepath.Join(o.p.Root(), "lib/a.go"), filepath.Join(o.p.Root(), "client/server")
	write(t, kept, "package lib")
	var limits []*agent.WriteLimit
	o.work = func(task *agent.Task) (string, error) {
		limits = append(limits, task.Writes)
		write(t, made, "new")
		if len(limits) == 1 {
			return "", errors.Join(os.Remove(kept), agent.Errorf("try again"))
		}
		return "all is fine", nil
	}
	o.send(request(to("s1", `max_retries="1"`), "<constraint>Do not modify lib/a.go</constraint><constraint>Do not modify client/server</constraint>"))
	o.drive()
	want := &agent.WriteLimit{Except: []string{"lib/a.go"}}
	if diff := cmp.Diff([]*agent.WriteLimit{want, want}, limits); diff != "" {
		t.Error(diff)
	}
}

// A session can end even if its agent creates folders where Hocket writes files.
func TestFoldersInTheDirectory(t *testing.T) {
	o := newOffice(t, "")
	names := []string{"state.json", "result.json", "output.log", "session.log"}
	o.work = func(*agent.Task) (string, error) {
		for _, name := range names {
			if err := os.RemoveAll(filepath.Join(o.Dir("s1"), name)); err != nil {
				return "", err
			}
			write(t, filepath.Join(o.Dir("s1"), name, "notes.md"), "kept")
		}
		return "fine", nil
	}
	o.send(request(to("s1"), ""))
	o.drive()
	if one := o.find("s1"); one.Status != handoff.Completed || len(o.problems) > 0 {
		t.Errorf("%+v, %q", one.State, o.problems)
	}
	if state := o.read("s1", "state.json"); !strings.Contains(state, `"status": "COMPLETED"`) {
		t.Error(state)
	}
	for _, name := range names {
		o.read("s1", name)
		moved, err := filepath.Glob(filepath.Join(o.Dir("s1"), name+".moved-*", "notes.md"))
		if err != nil || len(moved) != 1 {
			t.Errorf("%s: %q, %v", name, moved, err)
		}
	}
}

// The result of a failed session contains its answer. A scripted reply that reports a failure makes
// the session fail too. Deliverables that were not checked are not reported as wrong.
func TestFailedAnswers(t *testing.T) {
	o := newOffice(t, "")
	failed := `<agent_response status="FAILED"><summary>No way in.</summary></agent_response>`
	o.work = func(task *agent.Task) (string, error) {
		if task.Run == "crashed" {
			return "half an answer", errors.New("crashed")
		}
		return failed, nil
	}
	replies, found := hocket.ReadReplies("replies.yml", []byte("handoff: '"+failed+"'\n"))
	if len(found) > 0 {
		t.Fatal(found)
	}
	o.send(request(to("real"), ""), request(to("crashed"), ""))
	if _, err := o.Send(t.Context(), handoff.Order{File: "work.md", Text: []byte(fenced(request(to("scripted"), ""))), Replies: replies}); err != nil {
		t.Fatal(err)
	}
	o.drive()
	for id, want := range map[string]struct{ summary, why string }{
		"real": {"No way in.", ""}, "scripted": {"No way in.", "it was not checked"}, "crashed": {"", "it was not checked"},
	} {
		text := o.read(id, "result.json")
		wantValid(t, "handoff-result", text)
		var result struct{ Handoff handoff.Result }
		if err := json.Unmarshal([]byte(text), &result); err != nil {
			t.Fatal(err)
		}
		r, d := result.Handoff, result.Handoff.Deliverables[0]
		if r.Status != handoff.Failed || (r.Response == nil) != (want.summary == "") || r.Response != nil && r.Response.Summary != want.summary || (d.OK == nil) != (want.why != "") || d.OK == nil && d.Why != want.why {
			t.Errorf("%s: %s", id, text)
		}
		if want.summary != "" && !strings.Contains(r.Error, "worker reports that it failed: No way in.") {
			t.Errorf("%s: %s", id, r.Error)
		}
	}
}
