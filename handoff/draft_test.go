package handoff_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff"
	"github.com/hocket-dev/hocket/handoff/protocol"
)

func TestDraft(t *testing.T) {
	good := request(`target_agent="planner"`, "")
	sloppy := "Sure! Here it is:\n\n" + strings.ReplaceAll(strings.Replace(good, "spawn", "Spawn", 1), "</agent_request>", "")
	nobody := fenced(request(`target_agent="nobody"`, ""))
	for _, c := range []struct {
		name    string
		answers []string
		want    string // part of the error
	}{
		{"valid", []string{fenced(good)}, ""},
		{"repaired", []string{sloppy}, ""},
		{"corrected", []string{nobody, fenced(good)}, ""},
		{"prose first", []string{"I cannot.", fenced(good)}, ""},
		{"never valid", []string{nobody, "I cannot."}, "there is no <agent_request> in the answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newOffice(t, "")
			answers := c.answers
			o.work = func(*agent.Task) (string, error) {
				answer := answers[0]
				answers = answers[1:]
				return answer, nil
			}
			text, found, err := handoff.Draft(t.Context(), o.p, handoff.DraftOptions{Topic: "Look at <it> & {{more}}", Agent: "worker"})
			if c.want != "" {
				var invalid *hocket.InvalidError
				if !errors.As(err, &invalid) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %s", err, c.want)
				}
				return
			}
			if err != nil || len(answers) > 0 {
				t.Fatal(err, answers)
			}
			if found.Errors() || (len(found) > 0) != (c.name == "repaired") {
				t.Error(found)
			}
			h, err := protocol.Read("draft.md", text, protocol.Options{}) // strictly
			if err != nil || h.Found.Errors() || len(h.Requests) != 1 || h.Requests[0].TargetAgent != "planner" || h.Context != "# Look at <it> & {{more}}" {
				t.Errorf("%v %v\n%s", err, h.Found, text)
			}
			for _, part := range []string{"Look at <it> & {{more}}", "- `planner`", "- review: Review a change or a document", "`SPIKE`"} {
				if !strings.Contains(o.prompts[0], part) {
					t.Errorf("the prompt lacks %s:\n%s", part, o.prompts[0])
				}
			}
			if c.name == "corrected" && (!strings.Contains(o.prompts[1], `unknown agent "nobody"`) || !strings.Contains(o.prompts[1], nobody)) {
				t.Error(o.prompts[1])
			}
			if sent, err := o.List(t.Context(), 0); err != nil || len(sent) > 0 {
				t.Errorf("it was sent: %v %v", sent, err)
			}
		})
	}
}

func TestDraftFails(t *testing.T) {
	o := newOffice(t, "")
	o.work = func(*agent.Task) (string, error) { return "", agent.Permanentf("no model") }
	_, _, err := handoff.Draft(t.Context(), o.p, handoff.DraftOptions{Topic: "Look at it", Agent: "worker"})
	if err == nil || !strings.Contains(err.Error(), "no handoff was written") || !strings.Contains(err.Error(), "no model") {
		t.Error(err)
	}
}
