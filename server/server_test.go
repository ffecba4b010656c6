package server

import (
	"net/http"
	"testing"
)

func TestRun(t *testing.T) {
	f := newFixture(t, nil)
	run := f.begin("hello")
	r := f.until(run, "success")
	if len(r.Steps) != 2 || r.Steps[0].Output != "done" || r.By != "ada" || r.Via != "http" {
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
	q := r.Open[0]
	f.want(http.StatusConflict, "POST", f.path("/runs/"+run+"/questions/approve/answer"), map[string]string{"value": "yes", "digest": "sha256:00"})
	f.want(http.StatusOK, "POST", f.path("/runs/"+run+"/questions/approve/answer"), map[string]string{"value": "yes", "digest": q.Digest, "comment": "fine"})
	f.until(run, "success")
}
