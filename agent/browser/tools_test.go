package browser_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/browser"
	"github.com/hocket-dev/hocket/internal/outbound"
	"github.com/hocket-dev/hocket/workflow"
)

func (s *site) tools(t *testing.T, task *agent.Task) func(name, args string) (string, error) {
	t.Helper()
	b := browser.New(browser.Options{Network: outbound.Policy{Allowed: []string{s.host}}})
	tools, done, err := b.Traits().Tools(task)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	return func(name, args string) (string, error) {
		v, err := workflow.ParseJSON([]byte(strings.ReplaceAll(args, "HOST", s.URL)))
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range tools {
			if tool.Name == "browser_"+name {
				return tool.Call(t.Context(), v.(map[string]any), task, func([]byte) {})
			}
		}
		return "", errors.New("there is no tool " + name)
	}
}

func TestTools(t *testing.T) {
	s := newSite(t)
	task := s.task(t, `{"timeout": "20s"}`)
	call := s.tools(t, task)
	for _, c := range []struct{ name, args, want, failure string }{
		{"open", `{"url": "HOST/"}`, "HOST/\nHome\n\nWares\n", ""},
		{"links", `{}`, "Second page\tHOST/two\n", ""},
		{"fields", `{}`, "text\told\tinput[name=\"q\"]\n", ""},
		{"type", `{"selector": "input[name=q]", "text": "new"}`, "typed", ""},
		{"click", `{"text": "Search"}`, "HOST/found?q=new&s=one\n\n\nnew/one", ""},
		{"back", `{}`, "HOST/\nHome\n", ""},
		{"click", `{"text": "Second page", "selector": "a"}`, "", "either text or selector"},
		{"click", `{"text": "New window"}`, "HOST/two\nTwo\n\nSecond", ""},
		{"read", `{"selector": "h1"}`, "Second", ""},
		{"read", `{"selector": "h9"}`, "", "nothing on the page matches"},
		{"open", `{"url": "HOST/huge"}`, "more characters; continue with browser_read from: 16384)", ""},
		{"read", `{"from": 999999999}`, "(no text)", ""},
		{"open", `{"url": "HOST/missing"}`, "(status 404)", ""},
		{"open", `{"url": "file:///etc/passwd"}`, "", "nobody is available"},
		{"open", `{"url": "http://127.0.0.2:8000/"}`, "", "127.0.0.2 is not a public address"},
		{"open", `{"address": "HOST"}`, "", "invalid arguments for the tool"},
		{"screenshot", `{"name": "../evil.png"}`, "", "letters, digits, dots and dashes"},
		{"screenshot", `{"name": "seen"}`, ".hocket/artifacts/seen.png", ""},
	} {
		got, err := call(c.name, c.args)
		if want := strings.ReplaceAll(c.want, "HOST", s.URL); c.failure == "" && (err != nil || !strings.Contains(got, want)) || c.failure != "" && (err == nil || !strings.Contains(err.Error(), c.failure)) {
			t.Errorf("%s %s\ngot  %.300q, %v\nwant %q %s", c.name, c.args, got, err, want, c.failure)
		}
	}
	if info, err := os.Stat(filepath.Join(task.Artifacts, "seen.png")); err != nil || info.Size() == 0 {
		t.Errorf("no picture: %v", err)
	}
}

func TestToolsKeepToPermissions(t *testing.T) {
	s := newSite(t)
	task := s.task(t, `{}`)
	var asked []string
	task.Ask = func(_ context.Context, q agent.Question) (string, error) {
		asked = append(asked, q.Detail)
		return "allow", nil
	}
	task.Agent.Permissions = map[string]any{"network": map[string]any{s.URL + "/two*": "deny", s.URL + "/links": "ask", s.URL + "/*": "allow"}}
	call := s.tools(t, task)
	if _, err := call("open", `{"url": "HOST/two"}`); err == nil || !strings.Contains(err.Error(), "do not allow this") {
		t.Errorf("got %v", err)
	}
	if _, err := call("open", `{"url": "HOST/links"}`); err != nil || len(asked) != 1 || asked[0] != s.URL+"/links" {
		t.Errorf("got %v, asked %q", err, asked)
	}
	// The approved address may be spelled differently from the browser's.
	if _, err := call("open", `{"url": "HOST/two/../links#top"}`); err != nil || len(asked) != 2 {
		t.Errorf("got %v, asked %q", err, asked)
	}
	if _, err := call("open", `{"url": "HOST/"}`); err != nil {
		t.Errorf("got %v", err)
	}
	if _, err := call("click", `{"text": "Second page"}`); err == nil || !strings.Contains(err.Error(), "needs permission") {
		t.Errorf("got %v", err)
	}
	if s.asked("/two") {
		t.Error("a page was opened that may not be")
	}
	task.Agent.Permissions = map[string]any{"network": "deny"}
	if tools, done, err := browser.New(browser.Options{}).Traits().Tools(task); err != nil || len(tools) > 0 {
		t.Errorf("got %v, %v", tools, err)
	} else {
		done()
	}
}
