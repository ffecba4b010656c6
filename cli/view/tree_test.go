package view_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }

func task(id string) workflow.Node { return workflow.Node{ID: id, Step: &workflow.Task{Agent: id}} }

// release returns a workflow with one of each kind of step that nests.
func release() *workflow.Bundle {
	child := &workflow.Workflow{Name: "publish", Body: workflow.Graph{Nodes: []workflow.Node{task("build"), task("upload")}}}
	root := &workflow.Workflow{Name: "release", Body: workflow.Graph{Nodes: []workflow.Node{
		task("plan"),
		{ID: "loop", Step: &workflow.Loop{Max: 5, Body: workflow.Graph{Nodes: []workflow.Node{task("write"), {ID: "judge", Step: &workflow.Choice{}}}}}},
		{ID: "scan", Step: &workflow.Each{Body: workflow.Graph{Nodes: []workflow.Node{task("scan")}}}},
		{ID: "publish", Step: &workflow.Call{Workflow: "publish"}},
		{ID: "approve", Step: &workflow.Human{}},
	}}}
	return &workflow.Bundle{Root: root, Called: map[string]*workflow.Workflow{"publish": child}}
}

// tell applies facts written as "seconds kind address [text]".
func tell(t *testing.T, tree *view.Tree, script string) {
	t.Helper()
	for l := range strings.Lines(strings.TrimSpace(script)) {
		fields := strings.Fields(l)
		if len(fields) > 4 {
			fields = append(fields[:3], strings.Join(fields[3:], " "))
		}
		var seconds float64
		if _, err := fmt.Sscan(fields[0], &seconds); err != nil {
			t.Fatal(err)
		}
		f := engine.Fact{Time: at(seconds), Kind: engine.FactKind(fields[1]), Address: fields[2]}
		if f.Address == "-" {
			f.Address = ""
		}
		if len(fields) == 4 {
			f.Text = fields[3]
		}
		switch f.Kind {
		case "log":
			tree.Log(f.Address, []byte(f.Text+"\n"))
			continue
		case "ok":
			f.Kind, f.Status = engine.StepEnded, engine.Success
		case "bad":
			f.Kind, f.Status = engine.StepEnded, engine.Failed
		case "again":
			f.Kind, f.Attempt = engine.AttemptStarted, 2
		case engine.Retrying:
			f.Until = f.Time.Add(4 * time.Second)
		case engine.RunEnded:
			f.Status = engine.Success
		}
		tree.Apply(f)
	}
}

func frame(tree *view.Tree, seconds float64, width, height int) string {
	return "\n" + strings.Join(tree.Frame(at(seconds), view.Style{Width: width}, height), "\n") + "\n"
}

func same(t *testing.T, got, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s\ngot:\n%s", diff, got)
	}
}

func TestTreeOfARunUnderWay(t *testing.T) {
	tree := view.NewTree("release-3k7q2m9a", release())
	tell(t, tree, `
		0   step_started plan
		0   attempt_started plan
		2.1 ok plan
		2.1 step_started write
		3   ok write
		3   decided judge no
		3   iterated loop
		3   step_started write#2
		3   again write#2
		3   log write#2 one
		4   log write#2 two thirds
		3   step_started scan[0]
		3   step_started scan[1]
		3   step_started publish
		3   step_started publish/build
		5   retrying publish/build
		4   bad scan[0] exit status 1
		4   step_started approve
		4   asked approve Ship it?`)
	same(t, frame(tree, 5, 80, 0), `
✓ plan        2.1s
⠋ loop        2.9s  round 2 of 5
  └ ⠋ write   2.0s  attempt 2  two thirds
⠋ scan        2.0s  1 of 2  1 running  1 failed
  ├ ✗ [0]     1.0s  exit status 1
  └ ⠋ [1]     2.0s
⠋ publish     2.0s
  ├ ↻ build   2.0s  retry in 4.0s
  └ · upload
? approve     1.0s  Ship it?
⠋ release-3k7q2m9a  running 5.0s  6 tasks
`)
}

// judged returns a workflow with a choice that asks an agent.
func judged() *workflow.Bundle {
	ask := &workflow.Task{Agent: "critic", Prompt: workflow.Template{Text: "Good?"}}
	return &workflow.Bundle{Root: &workflow.Workflow{Name: "page", Body: workflow.Graph{Nodes: []workflow.Node{
		task("write"), {ID: "good", Step: &workflow.Choice{Ask: ask}},
	}}}}
}

// A choice that asks an agent is shown as working, and counts as a step.
func TestTreeShowsWhatAChoiceAsks(t *testing.T) {
	tree := view.NewTree("page-3k7q2m9a", judged())
	tell(t, tree, `
		0 step_started write
		1 ok write
		1 step_started good
		1 attempt_started good`)
	same(t, frame(tree, 3, 80, 0), `
✓ write   1.0s
⠋ good    2.0s  Good?
⠋ page-3k7q2m9a  running 3.0s  2 tasks
`)
	tell(t, tree, `
		3 log good thinking`)
	same(t, frame(tree, 3, 80, 0), `
✓ write   1.0s
⠋ good    2.0s  thinking
⠋ page-3k7q2m9a  running 3.0s  2 tasks
`)
	tell(t, tree, `
		4 decided good yes → @end
		4 ok good`)
	same(t, frame(tree, 5, 80, 0), `
✓ write   1.0s
◇ good    3.0s  yes → end
⠋ page-3k7q2m9a  running 5.0s  2 tasks
`)
}

func TestTreeFoldsWhatDoesNotFit(t *testing.T) {
	var nodes []workflow.Node
	for i := range 40 {
		nodes = append(nodes, task(fmt.Sprintf("step-%02d", i)))
	}
	tree := view.NewTree("long-aaaaaaaa", &workflow.Bundle{Root: &workflow.Workflow{Body: workflow.Graph{Nodes: nodes}}})
	for i := range 20 {
		tell(t, tree, fmt.Sprintf("%d step_started step-%02d\n%d ok step-%02d", i, i, i+1, i))
	}
	tell(t, tree, "20 step_started step-20")
	same(t, frame(tree, 21, 60, 8), `
… 18 done
✓ step-18   1.0s
✓ step-19   1.0s
⠋ step-20   1.0s
· step-21
· step-22
… 17 pending
⠋ long-aaaaaaaa  running 21s  21 tasks
`)
}

func TestTreeShowsRunningAndFailedOfManyItems(t *testing.T) {
	tree := view.NewTree("scan-aaaaaaaa", release())
	for i := range 1000 {
		tell(t, tree, fmt.Sprintf("0 step_started scan[%d]", i))
		if i == 7 {
			tell(t, tree, "1 bad scan[7] boom")
		} else if i < 998 {
			tell(t, tree, fmt.Sprintf("1 ok scan[%d]", i))
		}
	}
	same(t, frame(tree, 2, 60, 0), `
· plan
· loop
⠋ scan        2.0s  998 of 1000  2 running  1 failed
  ├ ✗ [7]     1.0s  boom
  ├ ⠋ [998]   2.0s
  └ ⠋ [999]   2.0s
· publish
· approve
⠋ scan-aaaaaaaa  running 2.0s  1000 tasks
`)
}

// If many items run at once, some are shown with the number of the others. Running items
// never hide failed ones.
func TestTreeCountsWhatItDoesNotShow(t *testing.T) {
	tree := view.NewTree("scan-aaaaaaaa", release())
	tree.Apply(engine.Fact{Time: noon, Kind: engine.StepStarted, Address: "scan", Items: 80})
	for i := range 60 {
		tell(t, tree, fmt.Sprintf("0 step_started scan[%d]", i))
	}
	tell(t, tree, "1 ok scan[0]\n1 ok scan[1]")
	for i := 50; i < 58; i++ {
		tell(t, tree, fmt.Sprintf("1 bad scan[%d] boom", i))
	}
	same(t, frame(tree, 2, 60, 20), `
· plan
· loop
⠋ scan       2.0s  10 of 80  50 running  8 failed
  ├ ⠋ [2]    2.0s
  ├ ⠋ [3]    2.0s
  ├ ⠋ [4]    2.0s
  ├ ⠋ [5]    2.0s
  ├ ⠋ [6]    2.0s
  ├ ✗ [50]   1.0s  boom
  ├ ✗ [51]   1.0s  boom
  ├ ✗ [52]   1.0s  boom
  ├ ✗ [53]   1.0s  boom
  ├ ✗ [54]   1.0s  boom
  └ … 3 more failed, 45 more running
· publish
· approve
⠋ scan-aaaaaaaa  running 2.0s  60 tasks
`)
	same(t, frame(tree, 2, 60, 8), `
… 6 more running, 2 pending
  ├ ✗ [50]   1.0s  boom
  ├ ✗ [51]   1.0s  boom
  ├ ✗ [52]   1.0s  boom
  ├ ✗ [53]   1.0s  boom
  ├ ✗ [54]   1.0s  boom
  └ … 3 more failed, 45 more running, 2 pending
⠋ scan-aaaaaaaa  running 2.0s  60 tasks
`)
}

// The reason for a failure is readable in a narrow terminal too.
func TestTreeShowsFailuresInANarrowTerminal(t *testing.T) {
	tree := view.NewTree("publish-the-package-aaaaaaaa", release())
	tell(t, tree, `
		0 step_started plan
		1 ok plan
		1 step_started publish
		1 step_started publish/build
		2 bad publish/build exit status 3: cannot connect to registry.example.com: connection refused
		2 bad publish build: exit status 3`)
	same(t, frame(tree, 3, 40, 0), `
✓ plan        1.0s
· loop
· scan
✗ publish     1.0s  build: exit status 3
  ├ ✗ build   1.0s
  │   exit status 3: cannot connect to
  │   registry.example.com: connection
  │   refused
  └ · upload
· approve
⠋ publish-the-package-aa…  running 3.0s…
`)
}

// The output of a step that runs alone may fill the screen.
func TestTreeShowsTheOutputOfTheOnlyOneThatWorks(t *testing.T) {
	tree := view.NewTree("release-3k7q2m9a", release())
	tell(t, tree, `
		0 step_started plan
		0 log plan I read the files first.
		0 log plan > ls -l
		0 log plan total 8, of which every single one is longer than the terminal`)
	same(t, frame(tree, 3, 40, 20), `
⠋ plan   3.0s
    I read the files first.
    > ls -l
    total 8, of which every single one
    is longer than the terminal
· loop
· scan
· publish
· approve
⠋ release-3k7q2m9a  running 3.0s  1 task
`)
	if got := frame(tree, 3, 40, 8); !strings.Contains(got, "⠋ plan   3.0s\n    total 8, of which every single one\n    is longer") {
		t.Error(got)
	}
	tell(t, tree, "3 step_started write\n4 log write one\n4 log write two")
	if got := frame(tree, 4, 80, 20); !strings.Contains(got, "plan        4.0s  total 8") || strings.Contains(got, "one\n") {
		t.Errorf("two work:\n%s", got)
	}
}

func TestFramesNeverPassTheTerminal(t *testing.T) {
	tree := view.NewTree("release-3k7q2m9a", release())
	tell(t, tree, `
		0 step_started publish
		0 step_started publish/build
		0 log publish/build 漢字仮名交じり文 日本語のとても長い出力がここに続きます
		0 step_started write
		0 step_started scan[0]`)
	for width := 8; width < 90; width++ {
		for height := 2; height < 14; height++ {
			lines := tree.Frame(at(3), view.Style{Width: width}, height)
			if len(lines) > height {
				t.Fatalf("%d lines in a height of %d", len(lines), height)
			}
			for _, l := range lines {
				if view.Width(l) > width {
					t.Errorf("width %d: %q takes %d columns", width, l, view.Width(l))
				}
			}
		}
	}
}

// nested returns an item with several steps, a loop in an item, and calls in both.
func nested() *workflow.Bundle {
	child := &workflow.Workflow{Name: "child", Body: workflow.Graph{Nodes: []workflow.Node{task("work")}}}
	body := workflow.Graph{Nodes: []workflow.Node{
		task("fetch"),
		{ID: "polish", Step: &workflow.Loop{Max: 3, Body: workflow.Graph{Nodes: []workflow.Node{{ID: "sub", Step: &workflow.Call{Workflow: "child"}}}}}},
	}}
	root := &workflow.Workflow{Name: "nested", Body: workflow.Graph{Nodes: []workflow.Node{
		{ID: "outer", Step: &workflow.Loop{Body: workflow.Graph{Nodes: []workflow.Node{{ID: "files", Step: &workflow.Each{Body: body}}}}}},
	}}}
	return &workflow.Bundle{Root: root, Called: map[string]*workflow.Workflow{"child": child}}
}

func TestTreeOfNestedScopes(t *testing.T) {
	tree := view.NewTree("nested-aaaaaaaa", nested())
	tell(t, tree, `
		0 step_started files
		0 step_started fetch[0]
		1 ok fetch[0]
		1 step_started sub[0]
		1 step_started sub[0]/work
		2 ok sub[0]/work
		2 ok sub[0]
		2 ok files
		2 iterated outer
		2 step_started files#2
		2 step_started fetch#2[1]
		3 ok fetch#2[1]
		3 step_started sub#2[1]#3
		3 step_started sub#2[1]#3/work
		3 asked sub#2[1]#3/work Which?`)
	same(t, frame(tree, 4, 80, 0), `
? outer              4.0s  round 2 of 50
  └ ? files          2.0s  0 of 1  1 running
    └ ? [1]
      ├ ✓ fetch      1.0s
      └ ? polish     1.0s  round 3 of 3
        └ ? sub      1.0s
          └ ? work   1.0s  Which?
? nested-aaaaaaaa  waiting 4.0s  4 tasks
`)
	tree.Interrupt(at(5))
	if got := frame(tree, 9, 80, 0); !strings.Contains(got, "? nested-aaaaaaaa  waiting after 5.0s") {
		t.Errorf("the end of a run that waits:\n%s", got)
	}
}

// Facts that do not fit the workflow, or arrive in any order, never break a tree.
func FuzzTree(f *testing.F) {
	f.Add("0 step_started files#2[1]\n1 ok sub#2[1]#3/work\n1 iterated outer")
	f.Add("0 asked sub[0]/work/more\n1 skipped files[9]\n0 retrying #[")
	f.Add("0 step_ended fetch[1][2]\n0 run_ended -\n0 warned - x")
	f.Fuzz(func(t *testing.T, script string) {
		tree := view.NewTree("x", nested())
		for l := range strings.Lines(script) {
			fields := strings.Fields(l)
			if len(fields) < 3 {
				continue
			}
			fact := engine.Fact{Time: noon, Kind: engine.FactKind(fields[1]), Address: strings.TrimPrefix(fields[2], "-"), Attempt: len(fields[2])}
			tree.Apply(fact)
			tree.Log(fields[2], []byte(l))
		}
		for _, l := range tree.Frame(noon, view.Style{Width: 40}, 8) {
			if view.Width(l) > 40 {
				t.Errorf("%q is too wide", l)
			}
		}
	})
}

func TestPlainTerminalsGetASCII(t *testing.T) {
	tree := view.NewTree("release-3k7q2m9a", release())
	tell(t, tree, `
		0 step_started publish
		0 step_started publish/build
		1 ok publish/build
		1 step_started publish/upload
		1 log publish/upload a line that is too long for this terminal
		1 bad plan boom
		1 asked approve Ship?`)
	for _, l := range tree.Frame(at(3), view.Style{Width: 30, ASCII: true}, 6) {
		for _, r := range l {
			if r > 126 {
				t.Fatalf("%q is not ASCII", l)
			}
		}
	}
}

// If the cost of one step is unknown, so is the total.
func TestTreeTellsUnknownCosts(t *testing.T) {
	tree := view.NewTree("r", release())
	for _, f := range []engine.Fact{
		{Time: at(0), Kind: engine.StepStarted, Address: "plan"},
		{Time: at(1), Kind: engine.StepEnded, Address: "plan", Status: engine.Success, Usage: engine.Usage{CostUSD: 0.5}},
		{Time: at(1), Kind: engine.StepStarted, Address: "approve"},
		{Time: at(2), Kind: engine.StepEnded, Address: "approve", Status: engine.Success, Usage: engine.Usage{CostUnknown: true}},
	} {
		tree.Apply(f)
	}
	got := strings.Join(tree.Frame(at(3), view.Style{Width: 80}, 40), "\n")
	if strings.Count(got, "cost unknown") != 2 || strings.Count(got, "$0.50") != 1 {
		t.Error(got)
	}
}

// A run that gets a new plan is drawn with its steps. Those that are as they were keep their state,
// wherever they are now, and the others begin again.
func TestTreeOfANewPlan(t *testing.T) {
	tree := view.NewTree("release-1", release())
	tell(t, tree, `
0 step_started plan
0 attempt_started plan
1 ok plan
1 step_started write
1 attempt_started write
2 ok write
2 iterated loop
2 step_started write#2
2 attempt_started write#2
2 log write#2 working
3 step_started scan[0]
3 attempt_started scan[0]
4 ok scan[0]
4 step_started publish/build
4 attempt_started publish/build
`)
	plan := release()
	nodes := plan.Root.Body.Nodes
	nodes[0], nodes[4] = task("outline"), nodes[0]
	tree.Apply(engine.Fact{Time: at(5), Kind: engine.PlanChanged, Plan: &engine.NewPlan{Bundle: plan, Kept: []string{"plan", "write", "write#2"}}})
	tell(t, tree, `
5 step_started outline
5 attempt_started outline
`)
	same(t, frame(tree, 6, 60, 20), `
⠋ outline     1.0s
⠋ loop        4.0s  round 2 of 5
  └ ⠋ write   4.0s  working
· scan
· publish
✓ plan        1.0s
⠋ release-1  running 6.0s  6 tasks
`)
}
