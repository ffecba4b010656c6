package server

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write openapi.json")

// Programs depend on the API: a change of it is a decision, which shows in the copy.
func TestOpenAPI(t *testing.T) {
	f := newFixture(t, nil)
	var text bytes.Buffer
	if err := json.Indent(&text, []byte(strings.ReplaceAll(f.want(http.StatusOK, "GET", "/api/openapi.json", nil), `"version":"test"`, `"version":"1"`)), "", " "); err != nil {
		t.Fatal(err)
	}
	text.WriteByte('\n')
	if *update {
		if err := os.WriteFile("openapi.json", text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile("openapi.json")
	if err != nil || !bytes.Equal(stored, text.Bytes()) {
		t.Errorf("the API differs from openapi.json (%v); if that is intended, run `go test ./server -run OpenAPI -update`", err)
	}
}

func TestBrowse(t *testing.T) {
	f := newFixture(t, nil)
	text := f.want(http.StatusOK, "GET", "/", nil)
	var document struct {
		Paths map[string]map[string]struct {
			ID string `json:"operationId"`
		}
	}
	if err := json.Unmarshal([]byte(f.want(http.StatusOK, "GET", "/api/openapi.json", nil)), &document); err != nil {
		t.Fatal(err)
	}
	for _, path := range document.Paths {
		for _, o := range path {
			if !strings.Contains(text, `<details id="`+o.ID+`">`) {
				t.Errorf("the page lacks %s", o.ID)
			}
		}
	}
	for _, want := range []string{"answer-question", "/api/projects/{project}/runs/{run}/events", "<code>admin</code>"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(text, "<style") || strings.Contains(text, "style=") || strings.Contains(text, "<script") {
		t.Error("the page has something inline, which its policy forbids")
	}
}
