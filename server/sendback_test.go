package server

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// sendBack is a request to send the work of a run back from its open question.
func (f *fixture) sendBack(run string) (path string, body map[string]any, question Question) {
	f.t.Helper()
	question = f.until(run, "waiting").Open[0]
	return f.path("/runs/" + run + "/retry"), map[string]any{"from": "draft", "replace": true, "question": question.ID, "digest": question.Digest}, question
}

// Of an answer and a request to send the work back, one wins. So a run that went on is not replaced, and one that was
// replaced does not go on.
func TestAnAnswerOrSentBack(t *testing.T) {
	f := newFixture(t, nil)
	answered := 0
	for range 12 {
		run := f.begin("gated")
		path, body, q := f.sendBack(run)
		var answer, back *http.Response
		var wait sync.WaitGroup
		wait.Go(func() { back = f.request("POST", path, body) })
		wait.Go(func() {
			answer = f.request("POST", f.path("/runs/"+run+"/questions/"+url.PathEscape(q.ID)+"/answer"), map[string]any{"value": "yes", "digest": q.Digest})
		})
		wait.Wait()
		switch text, _ := io.ReadAll(back.Body); {
		case answer.StatusCode == http.StatusOK && back.StatusCode == http.StatusConflict:
			answered++
			f.until(run, "success")
			if forks := read[page[RunLine]](t, f.want(http.StatusOK, "GET", f.path("/runs?origin="+run), nil)); len(forks.Items) != 0 {
				t.Errorf("the run was answered, and repeated as %s", forks.Items[0].ID)
			}
		case answer.StatusCode == http.StatusConflict && back.StatusCode == http.StatusCreated:
			if was := f.until(run, "cancelled"); !strings.Contains(was.Error, "replaced by "+read[RunLine](t, string(text)).ID) {
				t.Errorf("the old run says %q", was.Error)
			}
		default:
			t.Fatalf("the answer got %d, sending back got %d: %s", answer.StatusCode, back.StatusCode, text)
		}
	}
	t.Logf("%d of 12 answers were first", answered)
}

// A retry with a key can be repeated, also one that has replaced its run.
func TestTheSameKeyRetriesOnce(t *testing.T) {
	f := newFixture(t, nil)
	run := f.begin("gated")
	path, body, _ := f.sendBack(run)
	ids := make([]string, 5)
	var wait sync.WaitGroup
	for i := range ids {
		wait.Go(func() {
			ids[i] = read[RunLine](t, f.want(http.StatusCreated, "POST", path, body, "Idempotency-Key", "again")).ID
		})
	}
	wait.Wait()
	for _, id := range ids {
		if id != ids[0] || id == "" {
			t.Errorf("the runs are %v", ids)
			break
		}
	}
	f.until(run, "cancelled")
	body["from"] = "approve"
	f.want(http.StatusConflict, "POST", path, body, "Idempotency-Key", "again")
	if forks := read[page[RunLine]](t, f.want(http.StatusOK, "GET", f.path("/runs?origin="+run), nil)); len(forks.Items) != 1 {
		t.Errorf("there are %d forks", len(forks.Items))
	}
}

// A fork that is not possible cancels nothing.
func TestSentBackToNowhere(t *testing.T) {
	f := newFixture(t, nil)
	run := f.begin("gated")
	path, body, _ := f.sendBack(run)
	body["from"] = "nowhere"
	f.want(http.StatusConflict, "POST", path, body)
	body["from"], body["digest"] = "draft", "sha256:other"
	f.want(http.StatusConflict, "POST", path, body)
	f.until(run, "waiting")
	delete(body, "replace") // the question could be answered meanwhile
	f.want(http.StatusUnprocessableEntity, "POST", path, body)
}
