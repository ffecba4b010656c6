package trial_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/draw"
	"github.com/hocket-dev/hocket/trial"
)

// What no case uses is marked in every format: steps, loops, the edges behind them, and the labels of failures.
func TestDrawnCoverage(t *testing.T) {
	root := project(t, map[string]string{
		"flow.yml": `name: flow
steps:
  - {id: draft, agent: coder, error: apologize}
  - id: approve
    human: Publish?
    timeout: 24h
    route: {approve: post, reject: end}
    on_timeout: remind
  - {id: post, agent: coder, next: end}
  - {id: remind, agent: coder, next: polish}
  - id: polish
    loop:
      max: 2
      until: '1 == 1'
      steps:
        - {id: edit, agent: coder}
        - {id: judge, agent: coder}
  - {id: last, agent: coder, next: end}
  - {id: apologize, agent: coder}
`,
		".hocket/tests/flow.yml": `workflow: flow.yml
cases: [{name: a, replies: {approve: approve, "*": ok}}]
`,
	})
	all := run(t, root, trial.Options{})
	mustPass(t, all)
	w := trial.CoverageOf(all).Workflows[0]
	drawn := map[string]string{}
	for _, form := range draw.MarkedForms() {
		text, err := draw.Marked(t.Context(), w.Model, form, w.Marks())
		if err != nil {
			t.Fatal(err)
		}
		drawn[form] = text
	}
	var edges []string
	for _, m := range regexp.MustCompile(`<g class="edge[^"]*\bmarked" data-from="([^"]*)" data-to="([^"]*)"`).FindAllStringSubmatch(drawn["svg"], -1) {
		edges = append(edges, m[1]+" "+m[2])
	}
	slices.Sort(edges)
	edges = slices.Compact(edges) // an edge out of a loop has two lines
	if got, want := strings.Join(edges, ", "), "apologize @end, approve @end, approve remind, choice @again, choice last, draft apologize, edit judge, judge choice, last @end, remind polish"; got != want {
		t.Errorf("marked edges:\n%s, not\n%s", got, want)
	}
	for _, want := range []string{`class="label marked" x=`, `class="node holder marked" data-place="polish"`, `class="node marked" data-place="last"`, `.node.marked .frame {`} {
		if !strings.Contains(drawn["svg"], want) {
			t.Errorf("no %s in\n%s", want, drawn["svg"])
		}
	}
	for _, label := range []string{"error", "timeout"} {
		if !regexp.MustCompile(`<text class="label marked" [^>]*>` + label + `<`).MatchString(drawn["svg"]) {
			t.Errorf("the label %s is not marked", label)
		}
	}
	if !regexp.MustCompile(`polish +loop, at most 2 rounds, not tested`).MatchString(drawn["tree"]) {
		t.Error(drawn["tree"])
	}
	if !regexp.MustCompile(`class .*n6_polish.* marked\n +linkStyle 2,4,5,6,7,8,9,10,12,13 `).MatchString(drawn["mermaid"]) {
		t.Error(drawn["mermaid"])
	}
}
