package server

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	f := newFixture(t, nil)
	run := read[RunLine](t, f.want(http.StatusCreated, "POST", f.path("/runs"), map[string]any{"workflow": "hello", "inputs": map[string]any{"who": "Grace"}})).ID
	r := f.until(run, "success")
	if len(r.Steps) != 2 || r.Inputs["who"] != "Grace" || r.Steps[0].Output != "done" || r.By != "ada" || r.Via != "http" {
		t.Errorf("the run is %+v", r)
	}
	lines := read[page[RunLine]](t, f.want(http.StatusOK, "GET", f.path("/runs"), nil))
	if len(lines.Items) != 1 || lines.Items[0].ID != run || lines.Next != "" {
		t.Errorf("the list is %+v", lines)
	}
}

func TestAnswer(t *testing.T) {
	f := newFixture(t, nil)
	run := f.begin("gated")
	r := f.until(run, "waiting")
	for r.Driven { // the server leaves a run that waits for a person
		time.Sleep(10 * time.Millisecond)
		r = f.until(run, "waiting")
	}
	q := r.Open[0]
	f.want(http.StatusConflict, "POST", f.path("/runs/"+run+"/questions/approve/answer"), map[string]string{"value": "yes", "digest": "sha256:00"})
	made := read[Receipt](t, f.want(http.StatusOK, "POST", f.path("/runs/"+run+"/questions/approve/answer"), map[string]string{"value": "yes", "digest": q.Digest, "comment": "fine"}))
	if made.Driven != (made.Status != "interrupted") {
		t.Errorf("%+v", made)
	}
	f.until(run, "success")
}

// A definition that was rejected can be approved by a person who has seen that.
func TestApproveAfterRejection(t *testing.T) {
	files := map[string]string{
		".hocket/generated/plan/origin.yml": "kind: workflow\nname: plan\nby: a-model\n",
		".hocket/generated/plan/plan.yml":   "name: plan\nsteps: [{agent: shell, config: {command: echo hello}}]\n",
	}
	f := newFixture(t, files)
	path := f.path("/definitions/plan")
	seen := read[Definition](t, f.want(http.StatusOK, "GET", path, nil))
	f.want(http.StatusNoContent, "POST", path+"/reject", map[string]string{"state": seen.State})
	for name, text := range files { // a model writes the same again
		file := filepath.Join(f.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	again := read[Definition](t, f.want(http.StatusOK, "GET", path, nil))
	if again.State != "rejected" || again.Digest != seen.Digest {
		t.Fatalf("%+v", again)
	}
	f.want(http.StatusConflict, "POST", path+"/approve", map[string]string{"digest": seen.Digest})
	f.want(http.StatusConflict, "POST", path+"/approve", map[string]string{"digest": seen.Digest, "state": seen.State})
	f.want(http.StatusNoContent, "POST", path+"/approve", map[string]string{"digest": seen.Digest, "state": again.State})
	if now := read[Definition](t, f.want(http.StatusOK, "GET", path, nil)); now.State != "approved" {
		t.Errorf("%+v", now)
	}
}
