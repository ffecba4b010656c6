package handoff_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/handoff"
	"github.com/hocket-dev/hocket/internal/filelock"
)

// Processes that check whether sessions are driven do not mistake each other for the driver, and do
// not keep a driver from starting.
func TestLookingIsNotDriving(t *testing.T) {
	o := newOffice(t, "")
	if _, err := o.Send(t.Context(), handoff.Order{File: "batch.md", Text: []byte(batch(0, 1))}); err != nil {
		t.Fatal(err)
	}
	looks, err := os.Create(filepath.Join(o.p.State(), "handoff.lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := filelock.Look(looks); err != nil {
		t.Fatal(err)
	}
	if o.Driven() {
		t.Error("a process that only checks is mistaken for the driver")
	}
	time.AfterFunc(10*time.Millisecond, func() { looks.Close() })
	if err := o.Drive(t.Context()); err != nil {
		t.Fatal(err)
	}
	if one, err := o.Find(t.Context(), "s0000"); err != nil || one.Status != handoff.Completed {
		t.Errorf("%+v, %v", one, err)
	}
}

// Waiting for a session that has ended does not write its directory again, unless it is missing.
func TestWaitLeavesDirectoriesAlone(t *testing.T) {
	o := newOffice(t, "")
	if _, err := o.Send(t.Context(), handoff.Order{File: "batch.md", Text: []byte(batch(0, 1))}); err != nil {
		t.Fatal(err)
	}
	if err := o.Drive(t.Context()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(o.p.Root(), "docs/.scratch/sessions/s0000/state.json")
	stat := func() os.FileInfo {
		t.Helper()
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	wait := func() {
		t.Helper()
		if err := o.Wait(t.Context(), []string{"s0000"}, nil, func(one *handoff.Session) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	before := stat()
	wait()
	if !os.SameFile(before, stat()) {
		t.Error("it was written again")
	}
	if err := os.RemoveAll(filepath.Dir(file)); err != nil {
		t.Fatal(err)
	}
	wait()
	stat()
}

func TestConversationWithoutSessionDirectory(t *testing.T) {
	o := newOffice(t, "handoff: {deliverables: session}")
	text := strings.Replace(request(`target_agent="worker"`, ""), "<mode>spawn</mode>", "<mode>conversation_only</mode>", 1)
	text = strings.Replace(text, "</deliverables>", `<file path="out/x.txt">All</file></deliverables>`, 1)
	o.refuse("a conversation has none", text)
}
