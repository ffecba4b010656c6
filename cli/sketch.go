package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/draw"
	"github.com/hocket-dev/hocket/planner"
	"github.com/hocket-dev/hocket/workflow"
)

// sketch shows a plan while a model writes it: as a drawing that is replaced in a terminal, otherwise as
// a line for each step.
type sketch struct {
	out   io.Writer
	term  *os.File // nil: no terminal
	style view.Style

	mu     sync.Mutex // see is called from another goroutine
	screen view.Screen
	height int
	round  int
	steps  int // how many lines were written for steps
	last   planner.Partial
}

func (a *app) newSketch() *sketch {
	s := &sketch{out: a.std.Err, style: a.errStyle}
	if f, ok := terminal(a.std.Err); ok && os.Getenv("TERM") != "dumb" {
		s.term = f
	}
	return s
}

// see shows what has been written so far.
func (s *sketch) see(p planner.Partial) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = p
	if s.term == nil {
		s.line(p)
		return
	}
	s.draw(s.frame(p))
}

// line writes what is new. The last step may still be incomplete.
func (s *sketch) line(p planner.Partial) {
	if p.Round != s.round {
		s.round, s.steps = p.Round, 0
		s.write(view.Line(s.title(p)) + "\n")
	}
	if p.Workflow != nil {
		s.list(p.Workflow, len(p.Workflow.Body.Nodes)-1)
	}
}

// list writes a line for each of the first steps.
func (s *sketch) list(w *workflow.Workflow, most int) {
	for ; s.steps < most; s.steps++ {
		n := &w.Body.Nodes[s.steps]
		text := n.ID + ": " + n.Kind()
		if t := n.Task(); t != nil && t.Agent != "" {
			text = n.ID + ": " + t.Agent
		}
		s.write("  " + view.Line(strings.TrimSuffix(text+", "+saying(n), ", ")) + "\n")
	}
}

// saying returns what a step says, or the beginning of it.
func saying(n *workflow.Node) string {
	text := n.Heading()
	switch step := n.Step.(type) {
	case *workflow.Task:
		text = cmp.Or(text, step.Prompt.Text)
	case *workflow.Human:
		text = cmp.Or(text, step.Question.Text)
	case *workflow.Call, *workflow.Choice, *workflow.Combine, *workflow.Loop, *workflow.Each:
	}
	return view.Style{}.Cut(strings.Join(strings.Fields(text), " "), widestSaying)
}

// widestSaying is how much of a step's text is shown.
const widestSaying = 60

func (s *sketch) title(p planner.Partial) string {
	if p.Round == 1 {
		return "run " + p.Run
	}
	return fmt.Sprintf("run %s: asked again, because %s", p.Run, strings.Join(p.Problems, "; "))
}

// frame draws a plan into the lines of the terminal. The newest steps are usually the last ones.
func (s *sketch) frame(p planner.Partial) []string {
	s.style.Width, s.height = sizeOf(s.term)
	head := []string{s.style.Paint(view.Dim, s.cut(s.title(p)+fmt.Sprintf(", %s written", view.Bytes(uint64(p.Size)))))}
	var tree []string
	if p.Workflow != nil {
		p.Workflow.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) { // a long text is no heading of its own
			if n.Heading() == "" {
				n.Title = saying(n)
			}
		})
		for line := range strings.Lines(draw.Tree(p.Workflow)) {
			tree = append(tree, s.cut(strings.TrimRight(line, "\n")))
		}
	}
	if room := max(s.height-4, 2); len(tree) > room {
		hidden := len(tree) - room + 1
		tree = append([]string{tree[0], s.style.Paint(view.Dim, fmt.Sprintf("… %d lines more", hidden-1))}, tree[hidden+1:]...)
	}
	return append(append(head, tree...), s.style.Paint(view.Dim, "  "+s.cut(p.Tail)))
}

// cut makes a line of a model safe, and as wide as the terminal at most.
func (s *sketch) cut(line string) string {
	return s.style.Cut(strings.ReplaceAll(view.Text(line), "\n", " "), max(s.style.Width-3, 10))
}

func (s *sketch) draw(frame []string) { s.write(s.screen.Draw(frame, s.style.Width, s.height)) }

// close removes the drawing, or lists the steps that are left of a plan. Without a plan, the last
// drawing stays.
func (s *sketch) close(plan *planner.Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.term == nil && plan != nil:
		s.list(plan.Workflow.Model(), len(plan.Workflow.Model().Body.Nodes))
	case s.term != nil && plan != nil:
		s.draw(nil)
	}
	if s.term != nil {
		s.write(s.screen.Close())
	}
}

func (s *sketch) write(text string) {
	_, _ = io.WriteString(s.out, text) // losing the terminal does not stop the model
}
