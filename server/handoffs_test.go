package server

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/handoff"
)

const aRequest = `<agent_request version="1.0" target_agent="greeter" session_id="first"><mode>blocking</mode><original_intent>It must work</original_intent>` +
	`<current_task_summary>Check the shop</current_task_summary><workflow>standard</workflow><task_details>All pages</task_details><deliverables><report>What you found</report></deliverables></agent_request>`

// A handoff is checked with the scope read, and sent with run: once, in the background.
func TestHandoffs(t *testing.T) {
	f := newFixture(t, nil)
	f.want(http.StatusNotImplemented, "POST", f.path("/handoffs"), map[string]string{"text": aRequest}) // no process would carry it out
	driven := 0
	f.s.handoffs = func(p *hocket.Project) *handoff.Sessions {
		all := handoff.Open(p, nil)
		all.Background = func() error { driven++; return all.Drive(context.WithoutCancel(t.Context())) }
		return all
	}
	powers, err := f.p.Powers()
	if err == nil {
		err = f.p.Trust(powers)
	}
	if err != nil {
		t.Fatal(err)
	}
	reader, err := f.access.Create("reader", []Scope{Read}, 0)
	if err != nil {
		t.Fatal(err)
	}
	as := []string{"Authorization", "Bearer " + reader}
	check := func(text string) HandoffCheck {
		t.Helper()
		return read[HandoffCheck](t, f.want(http.StatusOK, "POST", f.path("/handoffs/check"), map[string]string{"text": text}, as...))
	}
	if c := check(aRequest); !c.Valid || c.Requests != 1 {
		t.Errorf("the check says %+v", c)
	}
	if c := check(strings.Replace(aRequest, "greeter", "nobody", 1)); c.Valid || len(c.Diagnostics) == 0 || !strings.Contains(c.Diagnostics[0].Summary, "nobody") {
		t.Errorf("the check says %+v", c)
	}
	f.want(http.StatusForbidden, "POST", f.path("/handoffs"), map[string]string{"text": aRequest}, as...)
	f.want(http.StatusUnprocessableEntity, "POST", f.path("/handoffs"), map[string]string{"text": strings.Replace(aRequest, "<mode>blocking", "<mode>soon", 1)})
	if runs := read[page[RunLine]](t, f.want(http.StatusOK, "GET", f.path("/runs"), nil)); len(runs.Items) != 0 || driven != 0 {
		t.Errorf("there are %d runs before anything was sent", len(runs.Items))
	}
	sent := read[SentHandoffs](t, f.want(http.StatusCreated, "POST", f.path("/handoffs"), map[string]string{"text": aRequest}))
	if len(sent.Sessions) != 1 || sent.Sessions[0] != "first" || driven != 1 {
		t.Errorf("sent %+v, driven %d times", sent, driven)
	}
	f.want(http.StatusUnprocessableEntity, "POST", f.path("/handoffs"), map[string]string{"text": aRequest}) // the session exists
	shown := read[ShownHandoff](t, f.want(http.StatusOK, "GET", f.path("/handoffs/first"), nil, as...))
	if shown.Summary != "Check the shop" || !strings.Contains(shown.Request, "<report>What you found</report>") || shown.Output != "done" || shown.Status == "RUNNING" {
		t.Errorf("it is shown as %+v", shown)
	}
	f.want(http.StatusNotFound, "GET", f.path("/handoffs/second"), nil)
}
