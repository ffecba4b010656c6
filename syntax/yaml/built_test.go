package yaml_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/xml"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// A workflow built by a program equals the one parsed from a file.
func TestBuiltAndWrittenAreTheSame(t *testing.T) {
	built := workflow.Steps("Custom Workflow",
		workflow.Agent("browser", "Navigate"),
		workflow.Agent("browser", "Extract all links").Depends("1").Output("links"),
		workflow.Agent("llm", "Check").ID("check").Depends("1"),
		workflow.Agent("llm", "Categorize").Depends("2", "check").Input("input", workflow.Result("2")).Input("note", workflow.Result("check")))
	inXML, found := xml.Parse("w.xml", []byte(`
<workflow name="Custom Workflow" taskId="42">
  <agent name="browser" id="1"><task>Navigate</task></agent>
  <agent name="browser" id="2" depends="1" output="links"><task>Extract all links</task></agent>
  <agent name="llm" id="check" depends="1"><task>Check</task></agent>
  <agent name="llm" id="4" depends="2,check"><task>Categorize</task>
    <input>{{agent_2_result}}</input>
    <input name="note">{{agent_check_result}}</input>
  </agent>
</workflow>`))
	if len(found) > 0 {
		t.Fatal(found)
	}
	inYAML, found := yaml.Parse("w.yml", []byte(`
name: Custom Workflow
execution: dag
on_error: stop
steps:
  - {id: 1, agent: browser, prompt: Navigate}
  - {id: 2, agent: browser, prompt: Extract all links, needs: 1, output: links}
  - {id: check, agent: llm, prompt: Check, needs: 1}
  - {id: 4, agent: llm, prompt: Categorize, needs: [2, check], inputs: {input: "{{agent_2_result}}", note: "${steps.check.output}"}}
`))
	if len(found) > 0 {
		t.Fatal(found)
	}
	want := workflow.Print(built)
	for name, w := range map[string]*workflow.Workflow{"XML": inXML, "YAML": inYAML} {
		if got := workflow.Print(w); got != want {
			t.Errorf("in %s:\n%s\nbuilt:\n%s", name, got, want)
		}
	}
}

func TestSequenceOfYAML(t *testing.T) {
	built := workflow.Sequence("s", workflow.Agent("a", "one").ID("a"), workflow.Agent("b", "two").ID("b"))
	w, _ := yaml.Parse("s.yml", []byte("name: s\nsteps:\n  - {agent: a, prompt: one}\n  - {agent: b, prompt: two}\n"))
	if workflow.Digest(built) != workflow.Digest(w) {
		t.Errorf("%s\n%s", workflow.Print(built), workflow.Print(w))
	}
	if empty := workflow.Sequence("none"); len(empty.Body.Nodes) != 0 {
		t.Error("steps out of nothing")
	}
}

// Loops, groups, routes and steps that routes name are joined as in YAML.
func TestBuiltAsYAMLIsJoined(t *testing.T) {
	task := func(id string) *workflow.Job { return workflow.Agent("w", "").ID(id) }
	for _, tc := range []struct {
		name, yaml string
		built      *workflow.Workflow
	}{
		{"a group side by side", `
steps:
  - {id: a, agent: w}
  - {id: b, agent: w, parallel_group: g}
  - {id: c, agent: w, parallel_group: g}
  - {id: d, agent: w}
`, workflow.Sequence("n", task("a"), task("b").Group("g"), task("c").Group("g"), task("d"))},
		{"named steps hold no position", `
steps:
  - {id: a, agent: w, route: {bug: fix, question: answer}}
  - {id: fix, agent: w}
  - {id: answer, agent: w, error: fix}
  - {id: d, agent: w}
`, workflow.Sequence("n", task("a").OnLabel("bug", "fix").OnLabel("question", "answer"), task("fix"), task("answer").OnFailure("fix"), task("d"))},
		{"a loop goes on behind it", `
steps:
  - id: l
    loop:
      max: 3
      steps:
        - {id: a, agent: w}
        - {id: b, agent: w, route: {more: again}, else: end}
        - {id: c, agent: w}
  - {id: d, agent: w}
`, workflow.Sequence("n", workflow.Repeat(3, task("a"), task("b").OnLabel("more", workflow.Again).Else(workflow.End), task("c")).ID("l"), task("d"))},
		{"a step that depends on a loop", `
execution: dag
on_error: stop
steps:
  - id: l
    loop:
      max: 3
      steps:
        - {id: a, agent: w}
        - {id: b, agent: w, needs: a}
  - {id: c, agent: w, needs: l}
`, workflow.Steps("n", workflow.Repeat(3, task("a"), task("b").Depends("a")).ID("l"), task("c").Depends("l"))},
		{"each item", `
steps:
  - {id: e, for_each: "${inputs.list}", as: one, max_parallel: 2, agent: w, output: all}
  - {id: d, agent: w, next: end}
`, workflow.Sequence("n", workflow.ForEach("inputs.list", workflow.Agent("w", "")).As("one").Parallel(2).ID("e").Output("all"), task("d").Then(workflow.End))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want, found := yaml.Parse("n.yml", []byte("name: n"+tc.yaml))
			if found.Errors() {
				t.Fatal(found)
			}
			if got, want := workflow.Print(tc.built), workflow.Print(want); got != want {
				t.Errorf("built\n%s\nYAML\n%s", got, want)
			}
		})
	}
}

// randomSteps returns the same random steps in a program and in a file. The steps of a sequence
// name later steps, the others earlier ones.
func randomSteps(random *rand.Rand, count *int, indent string, sequential, inLoop bool) (jobs []*workflow.Job, text string) {
	n := 1 + random.IntN(4)
	ids := make([]string, n)
	for i := range ids {
		*count++
		ids[i] = fmt.Sprintf("s%d", *count)
	}
	for i, id := range ids {
		var j *workflow.Job
		key := func(format string, args ...any) { text += fmt.Sprintf(indent+"  "+format+"\n", args...) }
		text += indent + "- id: " + id + "\n"
		isLoop := indent == "  " && random.IntN(5) == 0
		if isLoop {
			body, steps := randomSteps(random, count, indent+"      ", sequential, true)
			j = workflow.Repeat(3, body...).ID(id)
			key("loop:\n%[1]s    max: 3\n%[1]s    steps:\n%[2]s", indent, strings.TrimSuffix(steps, "\n"))
		} else {
			j = workflow.Agent("w", "").ID(id)
			key("agent: w")
		}
		targets := append([]string{workflow.End}, ids[i+1:]...)
		words := append([]string{"end"}, ids[i+1:]...)
		if inLoop {
			targets, words = append(targets, workflow.Again), append(words, "again")
		}
		if group := []string{"", "", "g", "h"}[random.IntN(4)]; sequential && group != "" && !isLoop {
			j.Group(group)
			key("parallel_group: %s", group)
		}
		if to := random.IntN(len(targets)); sequential && !isLoop && random.IntN(3) == 0 {
			other := random.IntN(len(targets))
			switch random.IntN(4) {
			case 0:
				j.Then(targets[to])
				key("next: %s", words[to])
			case 1:
				j.OnLabel("l", targets[to])
				key("route: {l: %s}", words[to])
			case 2:
				j.OnLabel("l", targets[to]).Else(targets[other])
				key("route: {l: %s}", words[to])
				key("else: %s", words[other])
			case 3:
				j.OnFailure(targets[to])
				key("error: %s", words[to])
			}
		}
		if before := ids[:i]; !sequential {
			var needs []string
			for _, id := range before {
				if random.IntN(2) == 0 {
					needs = append(needs, id)
				}
			}
			if len(needs) > 0 {
				j.Depends(needs...)
				key("needs: [%s]", strings.Join(needs, ", "))
			}
		}
		jobs = append(jobs, j)
	}
	return jobs, text
}

func TestRandomBuiltAsYAML(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		count := 0
		sequential := random.IntN(2) == 0
		jobs, text := randomSteps(random, &count, "  ", sequential, false)
		build, head := workflow.Steps, "execution: dag\non_error: stop\n"
		if sequential {
			build, head = workflow.Sequence, ""
		}
		text = "name: n\n" + head + "steps:\n" + text
		want, found := yaml.Parse("n.yml", []byte(text))
		if found.Errors() {
			t.Fatalf("%s\n%s", text, found)
		}
		if got, want := workflow.Print(build("n", jobs...)), workflow.Print(want); got != want {
			t.Fatalf("%s\nbuilt\n%s\nYAML\n%s", text, got, want)
		}
	}
}
