package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/ask"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/draw"
	"github.com/hocket-dev/hocket/workflow"
)

// replanFlags are the flags of replan.
type replanFlags struct {
	act
	limitFlags
	with           string
	yes            bool
	agent, replies string // for a plan in words
}

func (a *app) replanVerb() *cobra.Command {
	var f replanFlags
	cmd := &cobra.Command{
		Use:   "replan RUN [WORDS] [FLAGS]",
		Short: "Give a run a new plan, and keep what is done",
		Long: `Change the workflow of a run: a model changes it as WORDS say, or FILE replaces it.
Steps that are done and unchanged keep their results, steps in progress go on if they are unchanged, and everything else
runs as the new workflow says: what is changed or new, and what follows it. What is in
progress and no longer part of the workflow is cancelled.

The run keeps its id, its inputs, its limits and what it has spent. A run that has ended
continues. The command first shows what would change, and asks. What a model wrote is
approved by its digest, in a terminal.`,
		Example: `  hocket replan review-3k7q "skip the third phone, add a chart" --resume

  # Edit the workflow by hand
  hocket replan review-3k7q --with review.yml
  hocket replan review-3k7q --with review.yml --resume

  # In a script
  hocket replan review-3k7q --with review.yml --yes --max-steps 200`,
		Args:              argsBetween(1, 2),
		ValidArgsFunction: a.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(a.onlyPerson("replan"), f.check(cmd.Flags())); err != nil {
				return err
			}
			if (f.with == "") == (len(args) == 1) {
				return usagef("say what to change, or name the new workflow: `"+a.self("replan", args[0], "--with", "FILE")+"`", "expected either WORDS or --with FILE")
			}
			f.record = func(ctx context.Context, r *hocket.Run) (hocket.Receipt, error) {
				if f.with == "" {
					return a.replanWords(ctx, r, args[1], &f)
				}
				w, err := a.load(f.with)
				if err != nil {
					return hocket.Receipt{}, err
				}
				receipt, same, err := a.replan(ctx, r, w, f.yes, hocket.Replan{Limits: f.limits})
				if same {
					f.done = "the plan is the same; the limits of the run are raised"
				}
				return receipt, err
			}
			f.done, f.driver = "the run has a new plan", "continues with it"
			err := a.actOn(cmd, args[0], &f.act)
			if errors.Is(err, errSamePlan) {
				return a.withRun(cmd.Context(), args[0], func(r *hocket.Run) error { return a.samePlan(cmd.Context(), r, &f.act) })
			}
			return err
		},
	}
	cmd.Flags().StringVar(&f.with, "with", "", "the new workflow, as `FILE` or by its name")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "with --with: do not ask")
	cmd.Flags().StringVarP(&f.agent, "agent", "a", "", "the `NAME` of the agent that plans")
	cmd.Flags().StringVar(&f.replies, "replies", "", "read the model's answers from a YAML `FILE`, under replan, correct, correct-2 and correct-3")
	f.limitFlags.add(cmd.Flags())
	f.flags(cmd)
	return cmd
}

// replan shows what a new plan would change, and gives it to the run if the user agrees. If the plan is the
// same, it only raises limits; a run that is over needs a plan to continue with them.
func (a *app) replan(ctx context.Context, r *hocket.Run, w *hocket.Workflow, yes bool, o hocket.Replan) (receipt hocket.Receipt, same bool, err error) {
	changes, err := r.Compare(ctx, w)
	if err != nil {
		return receipt, false, err
	}
	if changes.Same {
		info, err := r.Info(ctx)
		switch {
		case err != nil:
			return receipt, false, err
		case o.Limits == (workflow.Limits{}):
			return receipt, true, errSamePlan
		case !info.Status.Done():
			receipt, err = r.Raise(ctx, o.Limits)
			return receipt, true, err
		}
	}
	text := comparisonText(w, changes)
	if yes {
		a.note(view.Reveal(text))
	} else if err := a.agree(ctx, r.ID(), text); err != nil {
		return receipt, false, err
	}
	receipt, err = r.Replan(ctx, w, o)
	var unapproved *hocket.UnapprovedError
	if errors.As(err, &unapproved) {
		if ok, wrong := a.offer(ctx, unapproved); wrong != nil || !ok {
			return receipt, false, errors.Join(wrong, err)
		}
		receipt, err = r.Replan(ctx, w, o)
	}
	return receipt, changes.Same, err
}

var errSamePlan = errors.New("the plan is the same; nothing was changed")

// samePlan says that a run keeps its plan, and continues it if that was asked for.
func (a *app) samePlan(ctx context.Context, r *hocket.Run, v *act) error {
	info, err := r.Info(ctx)
	switch {
	case err != nil:
		return err
	case v.resume && !info.Status.Done() && (!info.Driven || r.OnWorkers()):
		a.note(errSamePlan.Error() + "\n")
		return a.resume(ctx, r, "", v.driveFlags)
	case a.json:
		return a.printJSON(acknowledgement{r.ID(), info.Driven, string(info.Status), errSamePlan.Error()})
	}
	a.note(errSamePlan.Error() + "\n")
	if isStopped(info.Shown()) {
		a.note(a.continuing(info) + "\n")
	}
	return nil
}

// agree asks the user whether a run continues with a new plan.
func (a *app) agree(ctx context.Context, run, changes string) error {
	people := a.people(a.std.Err)
	if people == nil {
		a.note(view.Reveal(changes))
		return usagef("run it in a terminal, or pass --yes", "cannot ask whether to change the plan: not a terminal")
	}
	return a.decide(ctx, people, ask.Question{
		Text: "Continue run " + run + " with this plan?", Detail: changes,
		Options: []workflow.Option{{Value: workflow.Approve, Label: "continue"}, {Value: workflow.Reject, Label: "stop"}}, // yes and no are understood, too
	}, workflow.Approve, "the plan was not changed")
}

// changeMarks are the marks of changes in a drawing.
var changeMarks = map[hocket.StepChangeKind]string{hocket.StepKept: " ", hocket.StepChanged: "~", hocket.StepAdded: "+", hocket.StepRemoved: "-"}

// comparisonText draws the new plan, with marks for what changes and what happens to the steps of the
// run, and lists what is removed. Whoever shows it escapes control characters.
func comparisonText(w *hocket.Workflow, c *hocket.Comparison) string {
	var b strings.Builder
	byNode := map[string]hocket.NodeChange{}
	var others []hocket.NodeChange // removed, or in workflows that are called
	shown := map[string]bool{}     // places
	for _, n := range c.Nodes {
		if n.Workflow == w.Model().Name && n.Kind != hocket.StepRemoved {
			byNode[n.Node] = n
		} else if n.Kind != hocket.StepKept {
			others = append(others, n)
		}
	}
	tree := draw.Tree(w.Model())
	for i, line := range strings.Split(strings.TrimRight(tree, "\n"), "\n") {
		node, _, _ := strings.Cut(strings.TrimLeft(line, "│├└─ "), " ")
		mark, now := " ", ""
		if n, ok := byNode[node]; ok && i > 0 {
			mark, now = changeMarks[n.Kind], fate(c, n.Node)
			shown[n.Node] = true
		}
		b.WriteString(strings.TrimRight(mark+" "+line, " ") + now + "\n")
	}
	if c.Head != "" {
		fmt.Fprintf(&b, "~ %s\n%s", w.Model().Name, indentDiff(c.Head))
	}
	changed, more := 0, 0
	for _, n := range c.Nodes {
		switch {
		case n.Diff == "":
		case changed < maxDiffs:
			changed++
			fmt.Fprintf(&b, "~ %s\n%s", nodeName(w, n), indentDiff(n.Diff))
		default:
			more++
		}
	}
	if more > 0 {
		fmt.Fprintf(&b, "… and %s\n", view.Count(more, "more changed step"))
	}
	for _, n := range others {
		now := ""
		if n.Workflow == w.Model().Name {
			now, shown[n.Node] = fate(c, n.Node), true
		}
		fmt.Fprintf(&b, "%s %s %s%s\n", changeMarks[n.Kind], n.Kind, nodeName(w, n), now)
	}
	for _, place := range inCalls(c) {
		if !shown[place] {
			b.WriteString("  " + place + fate(c, place) + "\n")
		}
	}
	return b.String()
}

// inCalls returns the places of steps of called workflows that do not only keep their results.
func inCalls(c *hocket.Comparison) []string {
	places := slices.Collect(maps.Keys(c.MayRepeat))
	for _, list := range [][]string{c.Again, c.Later, c.Cancelled, c.Dropped} {
		for _, address := range list {
			places = append(places, hocket.PlaceOf(address))
		}
	}
	slices.Sort(places)
	return slices.DeleteFunc(slices.Compact(places), func(place string) bool { return !strings.Contains(place, "/") })
}

// maxDiffs is how many changed steps are shown with their differences.
const maxDiffs = 20

func indentDiff(diff string) string { return "    " + strings.ReplaceAll(diff, "\n", "\n    ") + "\n" }

func nodeName(w *hocket.Workflow, n hocket.NodeChange) string {
	if n.Workflow != w.Model().Name {
		return n.Workflow + "/" + n.Node
	}
	return n.Node
}

// fate says what happens to the instances of the step at a place.
func fate(c *hocket.Comparison, place string) string {
	var now []string
	for _, s := range []struct {
		list         []string
		text, effect string // effect: if it has an effect that must happen once, and that %s happened
	}{
		{c.Kept, "keeps its result", ""},
		{c.GoesOn, "goes on", "still asks before its effect is repeated"},
		{c.Again, "runs again", "asks before its effect is repeated"},
		{c.Later, "runs again if what it follows or is given changes", "asks before its effect is repeated if what it is given changes"},
		{c.Cancelled, "is cancelled", "is cancelled, but its effect %s happened"},
		{c.Dropped, "its result is dropped", "its result is dropped, but its effect %s happened"},
	} {
		which := map[string][]string{} // addresses by what happens to them
		var texts []string
		for _, address := range s.list {
			if hocket.PlaceOf(address) != place {
				continue
			}
			text := s.text
			switch {
			case slices.Contains(c.Effects, address):
				text = strings.Replace(s.effect, "%s", "has", 1)
			case slices.Contains(c.Unsure, address):
				text = strings.Replace(s.effect, "%s", "may have", 1)
			}
			if which[text] == nil {
				texts = append(texts, text)
			}
			which[text] = append(which[text], address)
		}
		for _, text := range texts {
			gone := s.text == "is cancelled" || s.text == "its result is dropped"
			now = append(now, text+instances(which[text], place, text == s.text && !(gone && len(now) > 0)))
		}
	}
	if address := c.MayRepeat[place]; address != "" {
		now = append(now, "asks first if it would repeat the effect of "+address)
	}
	if len(now) == 0 {
		return ""
	}
	return "  (" + strings.Join(now, ", ") + ")"
}

// instances names the items and iterations of a step whose effects matter, or which are gone while others stay.
func instances(addresses []string, place string, harmless bool) string {
	const most = 3
	switch more := len(addresses) - most; {
	case harmless || len(addresses) == 1 && addresses[0] == place:
		return ""
	case more > 0:
		return fmt.Sprintf(": %s and %d more", strings.Join(addresses[:most], ", "), more)
	}
	return ": " + strings.Join(addresses, ", ")
}
