package planner_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/planner"
	"github.com/hocket-dev/hocket/workflow"
)

// people are the agents of the project in the tests.
var people = []string{"researcher", "writer", "analyst", "coder", "reviewer", "translator"}

// office is a project in which a model, which only the replies know, and some agents work.
func office(t testing.TB) *hocket.Project {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, "config.yml", "agent: model\n")
	for _, name := range people {
		put(t, dir, "agents/"+name+".yml", "description: The "+name+"\nagent: model\n")
	}
	echo := agent.New(agent.Traits{Prompted: true}, func(_ context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
		return agent.Result{Output: task.Prompt}, nil
	})
	p, err := hocket.Open(dir, hocket.Options{State: t.TempDir(), Agents: map[string]agent.Executor{"model": echo, "browser": echo}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// scripted returns the answers of a model, one after the other.
func scripted(t testing.TB, answers ...string) *hocket.Replies {
	t.Helper()
	replies := map[string]string{}
	for i, step := range []string{"generate", "correct", "correct-2", "correct-3"} {
		if replies[step] = "I have no more answers."; i < len(answers) {
			replies[step] = answers[i]
		}
	}
	text, err := json.Marshal(replies)
	if err != nil {
		t.Fatal(err)
	}
	r, found := hocket.ReadReplies("replies.yml", text)
	if found.Errors() {
		t.Fatal(found)
	}
	return r
}

// TestGoals has a model answer goals, as well and as badly as models do. At least 95 % end in a valid
// workflow with everything that the model wrote, and none in another one.
func TestGoals(t *testing.T) {
	files, err := filepath.Glob("testdata/goals/*.txt")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d goals, %v", len(files), err)
	}
	p := office(t)
	planned := 0
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			goal, answers, want, wantFacts := readGoal(t, file)
			plan, err := planner.New(p, planner.Options{Replies: scripted(t, answers...)}).Generate(context.Background(), goal, nil)
			got := ""
			var failed *planner.Error
			switch {
			case errors.As(err, &failed):
				got = "refused: " + failed.Rounds[len(answers)-1].Wrong[0].Summary + "\n"
			case err != nil:
				t.Fatal(err)
			default:
				planned++
				got = outline(&plan.Workflow.Model().Body, "")
				if facts := facts(plan.Workflow.Model()); facts != wantFacts {
					t.Errorf("got the facts\n%swant\n%s", facts, wantFacts)
				}
				if len(plan.Rounds) != len(answers) {
					t.Errorf("%d of %d answers were used: %v", len(plan.Rounds), len(answers), plan.Rounds)
				}
			}
			if !agrees(got, want) {
				t.Errorf("got\n%swant\n%s%v", got, want, failed)
			}
		})
	}
	if share := 100 * planned / len(files); share < 95 {
		t.Errorf("%d %% of the goals were planned", share)
	}
}

// readGoal reads a goal, the answers of the model, and what they mean: the outline of a workflow and the facts
// about it.
func readGoal(t *testing.T, file string) (goal string, answers []string, want, facts string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), "-- answer --\n")
	rest, want, ok := strings.Cut(rest, "-- want --\n")
	if !ok {
		t.Fatal("invalid file")
	}
	want, facts, _ = strings.Cut(want, "-- facts --\n")
	return strings.TrimSpace(strings.TrimPrefix(head, "goal:")), strings.Split(rest, "-- answer --\n"), want, facts
}

// facts returns everything that a workflow says and that its outline leaves out, a line each: inputs, outputs,
// limits, settings, questions and their options, conditions.
func facts(w *workflow.Workflow) string {
	var b strings.Builder
	at := ""
	for line := range strings.Lines(workflow.Print(w)) {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case word == "node":
			at, _, _ = strings.Cut(rest, " ")
			at += ": "
		case word == "edge" && len(strings.Fields(rest)) > 3: // with a condition
			b.WriteString(line + "\n")
		case !slices.Contains([]string{"workflow", "agent", "prompt", "edge"}, word):
			b.WriteString(at + line + "\n")
		}
	}
	return b.String()
}

// outline writes the steps of a graph with their agents, what they depend on, and their tasks.
func outline(g *workflow.Graph, prefix string) string {
	var b strings.Builder
	for i := range g.Nodes {
		n := &g.Nodes[i]
		who, task := n.Kind(), ""
		if t := n.Task(); t != nil {
			if who = t.Agent; who == "" {
				who = "-"
			}
			if task = t.Prompt.Text; task == "" {
				task = n.Title
			}
		}
		line := prefix + n.ID + " " + who
		if from := sources(g, n.ID); len(from) > 0 {
			line += " <- " + strings.Join(from, " ")
		}
		if task != "" {
			line += " | " + strings.Join(strings.Fields(task), " ")
		}
		b.WriteString(line + "\n")
		if body := n.Body(); body != nil {
			b.WriteString(outline(body, prefix+n.ID+"/"))
		}
	}
	return b.String()
}

// sources returns what leads to a node. What leads out of a loop is the loop.
func sources(g *workflow.Graph, id string) []string {
	var from []string
	for _, e := range g.Edges {
		if e.To != id {
			continue
		}
		if e.Label != "" {
			e.From += ":" + e.Label
		}
		from = append(from, e.From)
	}
	for i := range g.Nodes {
		if body := g.Nodes[i].Body(); body != nil && len(sources(body, id)) > 0 && g.Nodes[i].ID != id {
			from = append(from, g.Nodes[i].ID)
		}
	}
	slices.Sort(from)
	return slices.Compact(from)
}

// agrees reports whether an outline has exactly the lines that are wanted. A task may continue, with a
// list or a reference.
func agrees(got, want string) bool {
	a, b := slices.Collect(strings.Lines(got)), slices.Collect(strings.Lines(want))
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !strings.HasPrefix(strings.Replace(a[i], "step find: ", "", 1), strings.TrimSpace(b[i])) {
			return false
		}
		gotHead, _, _ := strings.Cut(a[i], " | ")
		wantHead, _, _ := strings.Cut(b[i], " | ")
		if strings.TrimSpace(gotHead) != strings.TrimSpace(wantHead) && !strings.HasPrefix(wantHead, "refused") {
			return false
		}
	}
	return true
}
