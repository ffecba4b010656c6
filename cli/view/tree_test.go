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

// release is a workflow with one of everything that nests.
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
			tree.Log(f.Address, []byte(f.Text))
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
⠋ scan        2.0s  1 item done  1 running  1 failed
  ├ ✗ [0]     1.0s  exit status 1
  └ ⠋ [1]     2.0s
⠋ publish     2.0s
  ├ ↻ build   2.0s  again in 4.0s
  └ · upload
? approve     1.0s  Ship it?
⠋ release-3k7q2m9a  running 5.0s  6 tasks
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
… 17 to come
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
⠋ scan        2.0s  998 items done  2 running  1 failed
  ├ ⠋ [998]   2.0s
  ├ ⠋ [999]   2.0s
  └ ✗ [7]     1.0s  boom
· publish
· approve
⠋ scan-aaaaaaaa  running 2.0s  1000 tasks
`)
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
