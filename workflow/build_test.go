package workflow_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// A simple workflow: the steps run one after the other.
func ExampleSequence() {
	w := workflow.Sequence("Search Task",
		workflow.Agent("browser", "Go to example.org and search for 'AI'"),
		workflow.Agent("llm", "Summarize the results"))
	fmt.Print(workflow.Print(w))
	// Output:
	// workflow "Search Task"
	//   node 1 task
	//     agent browser
	//     prompt "Go to example.org and search for 'AI'"
	//   node 2 task
	//     agent llm
	//     prompt "Summarize the results"
	//   edge 1 -> 2
}

// A manual workflow: steps say what they depend on, and use the results of other steps.
func ExampleSteps() {
	w := workflow.Steps("Custom Workflow",
		workflow.Agent("browser", "Navigate to https://example.com"),
		workflow.Agent("browser", "Extract all links from the page").Depends("1"),
		workflow.Agent("llm", "Categorize the extracted links").Depends("2").Input("input", workflow.Result("2")))
	fmt.Print(workflow.Print(w))
	// Output:
	// workflow "Custom Workflow"
	//   node 1 task
	//     agent browser
	//     prompt "Navigate to https://example.com"
	//   node 2 task
	//     agent browser
	//     prompt "Extract all links from the page"
	//   node 3 task
	//     agent llm
	//     prompt "Categorize the extracted links"
	//     with input = "${nodes[\"2\"].output}"
	//   edge 1 -> 2
	//   edge 2 -> 3
}

// A loop whose reviewer decides whether to repeat it, a person who can stop it, and everything else
// that belongs to the workflow.
func ExampleRepeat() {
	w := workflow.Sequence("Essay",
		workflow.Repeat(3,
			workflow.Agent("writer", "Write about ${inputs.topic}. Advice: ${vars.advice ?? \"none\"}").ID("draft").Output("essay"),
			workflow.Agent("editor", "Is this good?\n${vars.essay}").ID("review").Output("advice").
				OnLabel("revise", workflow.Again).OnLabel("good", "release")),
		workflow.Ask("Publish it?").ID("release").Timeout(24*time.Hour).OnTimeout(workflow.End),
		workflow.Agent("publisher", "Publish: ${vars.essay}").Once())
	w.Inputs = []workflow.Param{{Name: "topic", Type: workflow.StringType, Required: true}}
	w.Limits.CostUSD = 2
	w.Output.Text = "${vars.essay}"

	fmt.Print(workflow.Print(w))
	// Output:
	// workflow Essay
	//   input topic string required
	//   limits cost_usd=2
	//   output "${vars.essay}"
	//   node 1 loop
	//     max 3
	//     node draft task
	//       agent writer
	//       prompt "Write about ${inputs.topic}. Advice: ${vars.advice ?? \"none\"}"
	//       output var=essay
	//     node review task
	//       agent editor
	//       prompt "Is this good?\n${vars.essay}"
	//       output var=advice
	//     edge draft -> review
	//     edge review -> @again label revise
	//     edge review -> release label good
	//   node release human
	//     question "Publish it?"
	//     timeout 24h0m0s
	//   node 5 task
	//     agent publisher
	//     prompt "Publish: ${vars.essay}"
	//     effect once
	//   edge release -> 5
	//   edge release -> @end timeout
}

// Steps that run in parallel, and one that waits for the first two of them.
func ExampleJob_Join() {
	w := workflow.Sequence("Search",
		workflow.Agent("google", "Find ${inputs.what}").Group("engines"),
		workflow.Agent("bing", "Find ${inputs.what}").Group("engines"),
		workflow.Agent("kagi", "Find ${inputs.what}").Group("engines").OnError(workflow.Continue),
		workflow.Gather(workflow.Array).Join(2))
	fmt.Print(workflow.Print(w))
	// Output:
	// workflow Search
	//   node 1 task
	//     agent google
	//     prompt "Find ${inputs.what}"
	//     group engines
	//   node 2 task
	//     agent bing
	//     prompt "Find ${inputs.what}"
	//     group engines
	//   node 3 task
	//     agent kagi
	//     prompt "Find ${inputs.what}"
	//     group engines
	//     on_error continue
	//   node 4 combine
	//     strategy array
	//     join need=2 keep=false
	//   edge 1 -> 4
	//   edge 2 -> 4
	//   edge 3 -> 4
}

// A step for each item of a list.
func ExampleForEach() {
	w := workflow.Sequence("Translate",
		workflow.Agent("planner", "Which languages?").Extract(workflow.JSON, "").Output("languages"),
		workflow.ForEach("vars.languages",
			workflow.Agent("translator", "Translate into ${item}").Retry(workflow.Retry{Attempts: 3})).
			ID("translate").Parallel(4))
	fmt.Print(workflow.Print(w))
	// Output:
	// workflow Translate
	//   node 1 task
	//     agent planner
	//     prompt "Which languages?"
	//     output var=languages mode=json
	//   node translate each
	//     items vars.languages
	//     parallel 4
	//     node translate task
	//       agent translator
	//       prompt "Translate into ${item}"
	//       retry attempts=3 backoff=fixed delay=0s max_delay=0s
	//   edge 1 -> translate
}

// A program may use the same jobs again, and change them afterwards.
func TestBuildingChangesNoJob(t *testing.T) {
	a, b := workflow.Agent("w", "a").Input("x", []int{1}).Setting("k", 1).Label("team", "docs"), workflow.Agent("w", "b")
	first, again := workflow.Sequence("n", a, b), workflow.Sequence("n", a, b)
	if !reflect.DeepEqual(first, again) {
		t.Errorf("%s\n%s", workflow.Print(first), workflow.Print(again))
	}
	digest := workflow.Digest(first)
	a.Input("y", 2).Setting("k", 3).Label("team", "ops").ID("other").Then()
	if workflow.Digest(first) != digest {
		t.Errorf("a job that was changed later changed the workflow:\n%s", workflow.Print(first))
	}
	jobs := []*workflow.Job{
		workflow.Invoke("c").Input("x", 1), workflow.Ask("q").Option(workflow.Option{Value: "x"}), workflow.Question("w", "q").Setting("k", 1).OnLabel("x"),
		workflow.Gather(workflow.Concatenate, "vars.x"), workflow.ForEach("vars.x", workflow.Agent("w", "a")),
	}
	built := workflow.Steps("n", jobs...)
	before := workflow.Print(built)
	jobs[0].Input("y", 2)
	jobs[1].Option(workflow.Option{Value: "y"}).Custom().Required()
	jobs[2].Setting("k", 2).OnLabel("y")
	jobs[3].Separator("--")
	jobs[4].As("one").Parallel(2)
	if after := workflow.Print(built); after != before {
		t.Errorf("jobs that were changed later changed the workflow:\n%s\nbefore\n%s", after, before)
	}
	if third := workflow.Sequence("n", workflow.Agent("w", "a").Setting("m", 1).Setting("n", 2), b); third.Body.Nodes[0].Step.(*workflow.Task).Settings["m"] != json.Number("1") {
		t.Error("a setting is not a value of the model")
	}
}

// A dependency on a step that is not in the list becomes an edge from nowhere, which a check
// reports.
func TestDependsOnAnUnknownStep(t *testing.T) {
	w := workflow.Steps("w", workflow.Agent("a", "x").ID("one"), workflow.Agent("a", "y").ID("two").Depends("one", "none"))
	edges := []workflow.Edge{{From: "one", To: "two", Pos: w.Body.Nodes[0].Pos}, {From: "none", To: "two", Pos: w.Body.Nodes[1].Pos}}
	if !slices.Equal(w.Body.Edges, edges) {
		t.Errorf("%+v", w.Body.Edges)
	}
}

// Then says what follows a loop, and a dependency on the same step adds no second edge.
func TestThen(t *testing.T) {
	step := func(id string) *workflow.Job { return workflow.Agent("w", "p").ID(id) }
	for want, w := range map[string]*workflow.Workflow{
		"a -> @again label more, a -> c error, b -> c": workflow.Sequence("w", workflow.Repeat(2, step("a").OnLabel("more", workflow.Again).OnFailure("c"), step("b")).Then("c"), step("x"), step("c")),
		"a -> b":           workflow.Steps("w", step("a").Then("b"), step("b").Depends("a")),
		"a -> c, a -> b":   workflow.Steps("w", step("a").Then("b"), step("b"), step("c").Depends("a")),
		"n -> b, c -> n":   workflow.Sequence("w", step("n"), step("b").Then(), step("c").Then("n")),
		"a -> c when true": workflow.Sequence("w", step("a").When("true", "c"), step("b"), step("c")),
		"a -> c else":      workflow.Sequence("w", step("a").Else("c"), step("b"), step("c")),
		"a -> c":           workflow.Sequence("w", step("a"), step("a"), step("c")),
	} {
		var edges []string
		for line := range strings.Lines(workflow.Print(w)) {
			if edge, ok := strings.CutPrefix(strings.TrimSpace(line), "edge "); ok {
				edges = append(edges, edge)
			}
		}
		if got := strings.Join(edges, ", "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A nil step is reported at its position, like other mistakes.
func TestNilStep(t *testing.T) {
	w := workflow.Sequence("w", workflow.Agent("a", "x"), nil, workflow.Repeat(2, nil), workflow.ForEach("inputs.items", nil))
	if n := len(w.Mistakes); n != 3 || w.Mistakes[0].Summary != "the step is nil" || w.Mistakes[0].Part != "w: step 2 of the builder" {
		t.Errorf("%d mistakes: %v", n, w.Mistakes)
	}
}

// Everything that a program can set, and the resulting model.
func TestEveryMethodOfTheBuilder(t *testing.T) {
	w := workflow.Steps("all",
		workflow.Agent("w", "p").ID("a").Title("First").Context(workflow.NoContext).Input("x", 1).Setting("model", "m").Extract(workflow.Regex, "(a)").
			Schema(map[string]any{"type": "string"}).Retry(workflow.Retry{Attempts: 2, Delay: time.Second}).Timeout(time.Minute).OnError(workflow.Continue).Once().Label("team", "docs").Label("area", "web").Output("v").
			When("vars.v == 1", "b", "c").Else("d").OnFailure("e"),
		workflow.Ask("Good?").ID("b").Option(workflow.Option{Value: "yes", Label: "Yes"}).Option(workflow.Option{Value: "no"}).Custom().Required().OnTimeout(workflow.End),
		workflow.Invoke("child").ID("c").Input("y", []string{"z"}),
		workflow.Decide("vars.v").ID("d").OnLabel("l", "e"),
		workflow.Question("w", "Which?").ID("e").Setting("model", "n").OnLabel("l", "f"),
		workflow.Gather(workflow.Concatenate, "vars.v", "nodes.a.output").ID("f").Separator("--").Join(1).KeepRest().Group("g"),
		workflow.ForEach("vars.list", workflow.Agent("w", "each").ID("h")).ID("i").As("one").Parallel(3).Depends("f").Then())
	const want = `workflow all
  node a task
    agent w
    prompt p
    context none
    with x = 1
    setting model = "m"
    output var=v mode=regex pattern="(a)" schema={"type":"string"}
    retry attempts=2 backoff=fixed delay=1s max_delay=0s
    timeout 1m0s
    on_error continue
    effect once
    label area = web
    label team = docs
  node b human
    question "Good?"
    option yes label=Yes
    option no
    custom
    required
  node c call
    workflow child
    with y = ["z"]
  node d choice
    on vars.v
  node e choice
    agent w
    ask "Which?"
    setting model = "n"
  node f combine
    strategy concatenate
    from vars.v
    from nodes.a.output
    separator --
    join need=1 keep=true
    group g
  node i each
    items vars.list
    as one
    parallel 3
    node h task
      agent w
      prompt each
  edge a -> b when "vars.v == 1"
  edge a -> c when "vars.v == 1"
  edge a -> d else
  edge a -> e error
  edge b -> @end timeout
  edge d -> e label l
  edge e -> f label l
  edge f -> i
`
	if got := workflow.Print(w); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	const places = `
all: step 1 of the builder 1:0-1:0
all: step 1 of the builder, input "x" 1:1-1:1
all: step 1 of the builder, setting "model" 1:2-1:2
all: step 1 of the builder, when 1:3-1:3
all: step 2 of the builder 2:0-2:0
all: step 3 of the builder 3:0-3:0
all: step 3 of the builder, input "y" 3:1-3:1
all: step 4 of the builder 4:0-4:0
all: step 4 of the builder, its decision 4:1-4:1
all: step 5 of the builder 5:0-5:0
all: step 5 of the builder, setting "model" 5:1-5:1
all: step 6 of the builder 6:0-6:0
all: step 6 of the builder 6:1-6:1
all: step 6 of the builder 6:2-6:2
all: step 7 of the builder 7:0-7:0
all: step 7 of the builder, its items 7:1-7:1
all: step 8 of the builder 8:0-8:0
all: the builder 0:0-0:0`
	if got := "\n" + positions(w); got != places {
		t.Errorf("got\n%s\nwant\n%s", got, places)
	}
	if got, want := positions(workflow.Sequence("", workflow.Agent("w", "p"))), "step 1 of the builder 1:0-1:0\nthe builder 0:0-0:0"; got != want {
		t.Errorf("without a name: %s", got)
	}
	if w.Body.Nodes[0].Title != "First" || len(w.Mistakes) > 0 {
		t.Errorf("the title is %q, and there are %v", w.Body.Nodes[0].Title, w.Mistakes)
	}
}

// A method that does not apply to a kind of step is a mistake, reported at the step.
func TestMisusedMethods(t *testing.T) {
	steps := map[string]func() *workflow.Job{
		"Agent": func() *workflow.Job { return workflow.Agent("w", "p") }, "Ask": func() *workflow.Job { return workflow.Ask("q") }, "Invoke": func() *workflow.Job { return workflow.Invoke("c") },
		"Decide": func() *workflow.Job { return workflow.Decide("vars.x") }, "Question": func() *workflow.Job { return workflow.Question("w", "q") },
		"Gather": func() *workflow.Job { return workflow.Gather(workflow.Array) }, "Repeat": func() *workflow.Job { return workflow.Repeat(1) }, "ForEach": func() *workflow.Job { return workflow.ForEach("vars.x") },
	}
	for method, c := range map[string]struct {
		call func(*workflow.Job) *workflow.Job
		fits []string
	}{
		"Input":     {func(j *workflow.Job) *workflow.Job { return j.Input("x", 1) }, []string{"Agent", "Invoke"}},
		"Context":   {func(j *workflow.Job) *workflow.Job { return j.Context(workflow.NoContext) }, []string{"Agent"}},
		"Setting":   {func(j *workflow.Job) *workflow.Job { return j.Setting("x", 1) }, []string{"Agent", "Question"}},
		"Option":    {func(j *workflow.Job) *workflow.Job { return j.Option(workflow.Option{Value: "x"}) }, []string{"Ask"}},
		"Custom":    {(*workflow.Job).Custom, []string{"Ask"}},
		"Required":  {(*workflow.Job).Required, []string{"Ask"}},
		"Separator": {func(j *workflow.Job) *workflow.Job { return j.Separator("x") }, []string{"Gather"}},
		"As":        {func(j *workflow.Job) *workflow.Job { return j.As("x") }, []string{"ForEach"}},
		"Parallel":  {func(j *workflow.Job) *workflow.Job { return j.Parallel(1) }, []string{"ForEach"}},
	} {
		for kind, step := range steps {
			want := fmt.Sprintf("w: step 1 of the builder: error[step-key]: %s does not apply to %s; use it with %s", method, kind, strings.Join(c.fits, " or "))
			if slices.Contains(c.fits, kind) {
				want = ""
			}
			if got := workflow.Steps("w", c.call(step())).Mistakes.String(); got != want {
				t.Errorf("%s of %s: %q, want %q", method, kind, got, want)
			}
		}
	}
	for want, step := range map[string]*workflow.Job{
		"a Repeat can only have the edges of Then":                     workflow.Repeat(1).OnFailure("x"),
		"input \"x\" contains a chan int, which is not a JSON value":   workflow.Agent("w", "p").Input("x", make(chan int)),
		"setting \"x\" contains a chan int, which is not a JSON value": workflow.Agent("w", "p").Setting("x", make(chan int)),
		"the schema contains a chan int, which is not a JSON value":    workflow.Agent("w", "p").Schema(make(chan int)),
	} {
		if got := workflow.Steps("w", step).Mistakes; len(got) != 1 || got[0].Summary != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
}

// positions returns all positions of a built workflow, by what they name.
func positions(w *workflow.Workflow) string {
	var all []string
	for _, m := range regexp.MustCompile(`"(\d+:\d+-\d+:\d+)=((?:[^"\\]|\\.)*)"`).FindAllStringSubmatch(workflow.FormatJSON(w), -1) {
		all = append(all, strings.ReplaceAll(m[2], `\"`, `"`)+" "+m[1])
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "\n")
}

func TestResult(t *testing.T) {
	for id, dotted := range map[string]bool{
		"a": true, "z": true, "A": true, "Z": true, "_": true, "a-": true, "a0": true, "a9": true, "aZ_z-A9": true,
		"": false, "-a": false, "0a": false, "9": false, "a/": false, "a:": false, "`": false, "{": false, "@": false, "[": false, "ä": false, "a b": false, "a.b": false,
	} {
		want := fmt.Sprintf("${nodes[%q].output}", id)
		if dotted {
			want = "${nodes." + id + ".output}"
		}
		if got := workflow.Result(id); got != want {
			t.Errorf("%q: %s", id, got)
		}
	}
}

// Which nodes are in a graph, and which are not.
func TestGraph(t *testing.T) {
	w := everything()
	var walked []string
	w.Body.Walk(func(g *workflow.Graph, n *workflow.Node) {
		if g.Node(n.ID) == nil || g.Node("none") != nil {
			t.Errorf("%s is not found in its graph, or another is", n.ID)
		}
		walked = append(walked, n.Kind()+" "+n.ID)
	})
	if got, want := strings.Join(walked, ", "), "loop loop, task write, choice choice, human gate, each scan, call scan, combine sum, choice good?, choice which"; got != want {
		t.Errorf("walked %s, want %s", got, want)
	}
	var tasks []string
	w.Body.WalkTasks(func(n *workflow.Node, t *workflow.Task) { tasks = append(tasks, n.ID+" "+t.Agent) })
	if got, want := strings.Join(tasks, ", "), "write Writer, good? Writer"; got != want {
		t.Errorf("the tasks are %s, want %s", got, want)
	}
	at := workflow.OutputPos{Mode: workflow.Pos{Line: 1}}
	if (&workflow.Output{}).Places() != (workflow.OutputPos{}) || (&workflow.Output{At: &at}).Places() != at {
		t.Error("an output is written elsewhere")
	}
}
