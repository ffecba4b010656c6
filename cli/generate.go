package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/planner"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// generateFlags are the flags of generate.
type generateFlags struct {
	limitFlags
	agent, to, file, replies string
	run, explain             bool
}

func (a *app) generateVerb() *cobra.Command {
	var f generateFlags
	cmd := &cobra.Command{
		Use:   "generate GOAL [FLAGS]",
		Short: "Have a model write a workflow for a goal",
		Long: `Have a model of the project write a workflow for a goal, and watch it being drawn
while it is written. The answer is checked: if it is not valid, the model is told
what is wrong and asked again, at most three times. It may use only agents that the
project has, and it cannot call other workflows.

The result is a proposal in .hocket/generated. It runs only after you have approved
exactly that, with --run or with "hocket approve". With -o, it is written to a file
instead. Use - to read the goal from standard input. Each question to the model is a
run.`,
		Example: `  hocket generate "Compare the three phones and write a table"
  hocket generate "Review the last commit" --run
  hocket generate "Check all links in docs" --agent claude --explain
  hocket generate "Summarize the news" --to mermaid -o news.md`,
		Args: argsBetween(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd.Flags()); err != nil {
				return err
			}
			if cmd.Flags().Changed("output") && f.file == "" {
				return usagef("name a new file, such as -o plan.yml", "-o has no file")
			}
			return a.generate(cmd.Context(), args[0], &f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.run, "run", false, "ask for approval, then run it")
	flags.BoolVar(&f.explain, "explain", false, "print what the model thought, and why it chose the agents")
	flags.StringVar(&f.to, "to", "", "write it in `NOTATION`: yaml (default), xml, mermaid, plantuml or json")
	flags.StringVarP(&f.file, "output", "o", "", "write it to a new `FILE` instead of proposing it")
	flags.StringVarP(&f.agent, "agent", "a", "", "the `NAME` of the agent that plans")
	flags.StringVar(&f.replies, "replies", "", "read the model's answers from a YAML `FILE`, under generate, correct, correct-2 and correct-3")
	f.addToPlan(flags)
	complete(cmd, "to", cobra.FixedCompletions(syntax.Notations(), cobra.ShellCompDirectiveNoFileComp))
	complete(cmd, "agent", func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return a.completeAgent(cmd, nil, typed)
	})
	return cmd
}

func (a *app) generate(ctx context.Context, goal string, f *generateFlags) error {
	goal, err := a.promptText("goal", goal, `hocket generate "Compare the three phones"`)
	if err != nil {
		return err
	}
	if f.run && f.file != "" {
		return usagef("use one of them", "--run and -o are mutually exclusive")
	}
	if _, ok := syntax.Named(f.to); f.to != "" && !ok {
		return usagef("the notations are "+strings.Join(syntax.Notations(), ", "), "unknown notation %q", f.to)
	}
	if f.run && a.people(a.std.Err) == nil { // before the model is paid for it
		return usagef("leave out --run, and approve the workflow later", "--run has to ask for approval: not a terminal")
	}
	n, ok := syntax.ByEnding(f.file)
	if f.file != "" && !ok && f.to == "" {
		return usagef("use the ending of a notation, such as .yml, or name the notation with --to", "the ending of %s does not name a notation", f.file)
	}
	if ok && f.file != "" {
		if f.to != "" && f.to != n.Name {
			return usagef("leave out --to, or give the file another ending", "-o %s means %s, but --to says %s", f.file, n.Name, f.to)
		}
		f.to = n.Name
	}
	if _, err := os.Lstat(a.outPath(f.file)); err == nil && f.file != "" { // before the model is paid for it
		return existsAlready(f.file)
	}
	replies, err := a.readReplies(f.replies)
	if err != nil {
		return err
	}
	p, err := a.openProject()
	if err != nil {
		return err
	}
	if _, _, err := p.Agents().Resolve(f.agent); f.agent != "" && err != nil { // also if replies stand in for it
		return usagef("`"+a.self("agents")+"` lists them", "%s", strings.TrimPrefix(err.Error(), "agent: "))
	}
	if f.file != "" && p.IsProposalFile(a.outPath(f.file)) {
		return usagef("leave out -o: the workflow is then proposed there, with its origin", "-o cannot write to .hocket/generated")
	}
	pl := planner.New(p, planner.Options{Agent: f.agent, Replies: replies, Notation: f.to, Budget: f.limits})
	plan, err := a.watchPlan(ctx, func(ctx context.Context, see func(planner.Partial)) (*planner.Plan, error) {
		return pl.Generate(ctx, goal, see)
	})
	if err != nil {
		return err
	}
	a.noteRepairs(plan, f.explain)
	if _, cut := terminal(a.std.Err); cut && !f.explain { // while it was drawn, only the beginning fitted
		a.note(sentBack(plan))
	}
	if f.file != "" {
		return a.writePlan(pl, plan, f)
	}
	made, err := pl.Propose(ctx, plan)
	if err != nil {
		return err
	}
	if err := a.showPlan(plan, made, f); err != nil || !f.run {
		return err
	}
	return a.run(ctx, made.ID, &runFlags{replies: f.replies, others: planner.Steps()})
}

// noteRepairs says that an answer was repaired. Repairs change no meaning, so that most people need no more.
func (a *app) noteRepairs(plan *planner.Plan, all bool) {
	if all {
		a.note(a.showDiagnostics(plan.Notes, a.errStyle))
	} else if n := len(plan.Notes); n > 0 {
		a.note(fmt.Sprintf("the answer had %s without consequences; --explain lists them\n", view.Count(n, "mistake")))
	}
}

// watchPlan shows a plan while it is made. Ctrl-C cancels it.
func (a *app) watchPlan(ctx context.Context, ask func(context.Context, func(planner.Partial)) (*planner.Plan, error)) (*planner.Plan, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s := a.newSketch()
	var plan *planner.Plan
	closed := sync.OnceFunc(func() { s.close(plan) })
	forget := onSignal(func() { stop(errInterrupted) }, closed)
	made, err := ask(ctx, s.see)
	forget()
	plan = made
	closed()
	if err != nil && context.Cause(ctx) != nil {
		a.note("interrupted; nothing was proposed\n")
		return nil, exitError(exitInterrupted)
	}
	return plan, err
}

// writePlan writes a plan to a file. It still needs approval.
func (a *app) writePlan(pl *planner.Planner, plan *planner.Plan, f *generateFlags) error {
	if err := pl.Export(plan); err != nil {
		return err
	}
	if err := a.putNew(string(plan.Text), f.file); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(planJSON(plan, nil, f.file))
	}
	if f.explain {
		if err := a.print(view.Reveal(a.explanation(plan) + "\nLimits\n  " + indented(a.planText(plan.Workflow.Plan(nil))) + "\n")); err != nil {
			return err
		}
	}
	a.note("wrote " + f.file + "\n" + a.approveText(asPath(f.file)))
	return nil
}

// showPlan shows what was proposed, with everything that it may do and cost.
func (a *app) showPlan(plan *planner.Plan, made *hocket.Generated, f *generateFlags) error {
	if a.json {
		if f.run { // the result of the run is printed
			return nil
		}
		return a.printJSON(planJSON(plan, made, made.File))
	}
	text := ""
	if f.explain {
		text = a.explanation(plan) + "\n"
	}
	if f.run { // which shows it before it asks
		return a.print(view.Reveal(text))
	}
	p, err := a.openProject()
	if err != nil {
		return err
	}
	r, err := p.Review(made.ID)
	if err != nil {
		return err
	}
	if err := a.print(view.Reveal(text + a.reviewText(r))); err != nil {
		return err
	}
	a.note(a.approveText(made.ID))
	return nil
}

func (a *app) approveText(id string) string {
	return "to approve and run it:\n  " + a.self("approve", id) + "\n  " + a.self("run", id) + "\n"
}

// asPath returns a file such that it cannot be taken for the name of a workflow.
func asPath(file string) string {
	if filepath.Base(file) == file && filepath.Ext(file) == "" {
		return "." + string(filepath.Separator) + file
	}
	return file
}

// explanation says what the model thought, and why it chose the agents.
func (a *app) explanation(plan *planner.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "planned by %s in %s", view.RevealLine(plan.By), view.Count(len(plan.Rounds), "answer"))
	if used := plannerUsage(plan.Usage()); used != "" {
		b.WriteString(", " + used)
	}
	b.WriteString("\n")
	b.WriteString(sentBack(plan))
	if plan.Thought != "" {
		b.WriteString("\nThought\n  " + indented(plan.Thought) + "\n")
	}
	b.WriteString("\nReasons\n") // for the choice of agents
	plan.Workflow.Model().Body.WalkTasks(func(n *workflow.Node, t *workflow.Task) {
		why := plan.Reasons[n.ID]
		if why == "" {
			why = "no reason given"
		}
		fmt.Fprintf(&b, "  %s: %s, %s\n", view.RevealLine(n.ID), view.RevealLine(t.Agent), indented(why))
	})
	return b.String()
}

// sentBack says what was wrong with earlier answers.
func sentBack(plan *planner.Plan) string {
	var b strings.Builder
	for i, r := range plan.Rounds[:len(plan.Rounds)-1] {
		fmt.Fprintf(&b, "answer %d was sent back:\n", i+1)
		for _, d := range r.Wrong {
			b.WriteString("  " + indentLines(d.Summary) + "\n")
		}
	}
	return b.String()
}

// plannerUsage says what answers of a model have used, "" if nothing.
func plannerUsage(u workflow.Usage) string {
	switch {
	case u == workflow.Usage{}:
		return ""
	case u.CostUnknown:
		return view.Tokens(u.Tokens()) + " tokens, cost unknown"
	}
	return view.Tokens(u.Tokens()) + " tokens, " + u.CostText()
}

// planned is generate with --json.
type planned struct {
	ID       string            `json:"id,omitempty"` // of the proposal
	Name     string            `json:"name"`
	File     string            `json:"file"`
	Digest   string            `json:"digest,omitempty"`
	State    string            `json:"state,omitempty"`
	Notation string            `json:"notation"`
	Text     string            `json:"text"`
	By       string            `json:"by"`
	Thought  string            `json:"thought,omitempty"`
	Reasons  map[string]string `json:"reasons"`
	Rounds   []plannedRound    `json:"rounds"`
	Usage    workflow.Usage    `json:"usage"`
	Plan     check.Plan        `json:"plan"`
}

type plannedRound struct {
	Run   string   `json:"run"`
	Wrong []string `json:"wrong"`
}

func planJSON(plan *planner.Plan, made *hocket.Generated, file string) planned {
	out := planned{
		Name: plan.Name, File: file, Notation: plan.Notation, Text: string(plan.Text), By: plan.By, Thought: plan.Thought,
		Reasons: maps.Collect(maps.All(plan.Reasons)), Usage: plan.Usage(), Plan: plan.Workflow.Plan(nil),
	}
	if made != nil {
		out.ID, out.Digest, out.State = made.ID, made.Digest, string(made.State)
	}
	for _, r := range plan.Rounds {
		round := plannedRound{r.Run, []string{}}
		for _, d := range r.Wrong {
			round.Wrong = append(round.Wrong, d.Summary)
		}
		out.Rounds = append(out.Rounds, round)
	}
	return out
}
