package plantuml_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/syntax/plantuml"
	"github.com/hocket-dev/hocket/workflow"
)

const review = `@startuml
skinparam shadowing false
title review
' who does what
|#LightBlue|writer|
|#Gold|critic|

start
note left #pink
  <<workflow>>
  limits: {max_steps: 9}
end note
|writer|
:Draft the text; <<#AAFFAA>>
note left
  <<prompt>>
  ' keep it short
  template: outline
  output: draft
end note
' the gate
if (draft contains "TODO") then (yes)
    -> unfinished;
    :Finish it;
else (no)
  |critic|
  :Praise it;
endif
stop
@enduml
`

// change reads the review, changes it and has the text follow.
func change(t *testing.T, change func(w *workflow.Workflow)) string {
	t.Helper()
	w, found := plantuml.Parse("review.puml", []byte(review))
	if found.Errors() {
		t.Fatal(found)
	}
	change(w)
	text, err := plantuml.Update("review.puml", []byte(review), w)
	if err != nil {
		t.Fatal(err)
	}
	again, found := plantuml.Parse("review.puml", text)
	if found.Errors() || workflow.Digest(again) != workflow.Digest(w) {
		t.Errorf("the text means something else: %v\n%s\n%s", found, cmp.Diff(workflow.Print(w), workflow.Print(again)), text)
	}
	return string(text)
}

// added and dropped are the lines that differ.
func differences(text string) (added, dropped []string) {
	before, after := strings.Split(review, "\n"), strings.Split(text, "\n")
	count := map[string]int{}
	for _, l := range before {
		count[l]++
	}
	for _, l := range after {
		if count[l]--; count[l] < 0 {
			added = append(added, l)
		}
	}
	for l, n := range count {
		for range n {
			dropped = append(dropped, l)
		}
	}
	return added, dropped
}

func task(w *workflow.Workflow, id string) *workflow.Task {
	return w.Body.Node(id).Step.(*workflow.Task)
}

func TestUpdateTouchesWhatChanged(t *testing.T) {
	for _, c := range []struct {
		name           string
		change         func(w *workflow.Workflow)
		added, dropped []string
	}{
		{"nothing", func(*workflow.Workflow) {}, nil, nil},
		{
			"a word of a note",
			func(w *workflow.Workflow) { w.Body.Node("draft-the-text").Timeout = time.Minute },
			[]string{"  <<task>>", "  retry: 3", "  timeout: 1m"}, []string{"  <<prompt>>", "  ' keep it short"},
		},
		{
			"a step without a note",
			func(w *workflow.Workflow) { w.Body.Node("praise-it").Labels = map[string]string{"team": "docs"} },
			[]string{"  note right", "    <<task>>", "    labels:", "      team: docs", "  end note"}, nil,
		},
		{
			"a prompt",
			func(w *workflow.Workflow) { task(w, "finish-it").Prompt.Text = "Write the rest." },
			[]string{"    note right", "      <<task>>", "      prompt: Write the rest.", "    end note"}, nil,
		},
		{
			"the head",
			func(w *workflow.Workflow) { w.Limits.Steps = 12 },
			[]string{"  limits:", "    max_steps: 12"}, []string{"  limits: {max_steps: 9}"},
		},
	} {
		added, dropped := differences(change(t, c.change))
		if diff := cmp.Diff(c.added, added); diff != "" {
			t.Errorf("%s: added %s", c.name, diff)
		}
		if diff := cmp.Diff(c.dropped, dropped, cmp.Transformer("sort", sorted)); diff != "" {
			t.Errorf("%s: dropped %s", c.name, diff)
		}
	}
}

func sorted(list []string) map[string]bool {
	set := map[string]bool{}
	for _, l := range list {
		set[l] = true
	}
	return set
}

// A new flow keeps what the file is decorated with.
func TestUpdateKeepsTheDecoration(t *testing.T) {
	text := change(t, func(w *workflow.Workflow) { w.Body.Edges = w.Body.Edges[:1] })
	for _, line := range []string{"skinparam shadowing false", "' who does what", "|#LightBlue|writer|"} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("%q is gone:\n%s", line, text)
		}
	}
}
