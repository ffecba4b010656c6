package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/handoff"
)

func (a *app) handoffListVerb() *cobra.Command {
	var all bool
	var run string
	cmd := &cobra.Command{
		Use:   "list [FLAGS]",
		Short: "List sessions",
		Long: `List the sessions that have not ended and the most recent ones that have, newest first. A
session that takes longer than its estimated_duration is marked as overdue. With --run, list
the work that agents handed off in a run, oldest first. With --all, sessions that have ended
are listed without errors, attempts and durations; "hocket handoff status" shows those.`,
		Example: `  hocket handoff list
  hocket handoff list --run review-3k7q

  # Show why each failed session failed
  hocket handoff list --all --json | jq -r '.[] | select(.status == "FAILED") | .session_id' |
    xargs -n1 hocket handoff status`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if run != "" && all {
				return usagef("use one or the other", "--run already lists everything that was handed off in the run, so --all has no effect")
			}
			if run != "" {
				return a.withRun(cmd.Context(), run, func(r *hocket.Run) error { return a.listInside(cmd.Context(), r) })
			}
			return a.listSessions(cmd.Context(), all)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "list all sessions")
	cmd.Flags().StringVar(&run, "run", "", "list the work that agents handed off in `RUN`")
	complete(cmd, "run", func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return a.completeRun(cmd, nil, typed)
	})
	return cmd
}

// listInside lists the work that agents handed off in a run.
func (a *app) listInside(ctx context.Context, run *hocket.Run) error {
	s, err := a.handoffs()
	if err != nil {
		return err
	}
	states, err := s.HandedOff(ctx, run)
	if err != nil {
		return err
	}
	t := &view.Table{Head: []string{"SESSION", "STEP", "AGENT", "STATUS", "TASK"}, Spare: []int{4, 2, 1}}
	for _, one := range states {
		step := cmp.Or(one.Step, "detached")
		t.Row(view.Cell{Text: one.ID}, view.Cell{Text: step}, view.Cell{Text: one.Agent}, sessionStatus(&one), view.Cell{Text: one.Summary})
	}
	switch {
	case a.json:
		return a.printJSON(states)
	case len(states) == 0:
		a.note("nothing was handed off in " + run.ID() + "\n")
		return nil
	}
	return a.print(t.Draw(a.outStyle))
}

func (a *app) listSessions(ctx context.Context, all bool) error {
	s, err := a.handoffs()
	if err != nil {
		return err
	}
	limit := 20
	if all {
		limit = 0
	}
	states, err := s.List(ctx, limit)
	if err != nil {
		return err
	}
	switch {
	case a.json:
		return a.printJSON(states)
	case len(states) == 0:
		a.note("no sessions yet; start one with `hocket handoff send FILE`\n")
		return nil
	}
	t := &view.Table{Head: []string{"SESSION", "AGENT", "STATUS", "CREATED", "TASK"}, Spare: []int{4, 1, 3}}
	for _, one := range states {
		t.Row(view.Cell{Text: one.ID}, view.Cell{Text: one.Agent}, sessionStatus(&one), view.Cell{Text: one.Created.Local().Format(time.DateTime)}, view.Cell{Text: one.Summary})
	}
	return a.print(t.Draw(a.outStyle))
}

// completeHandoff completes the ids of sessions, described by their status and task.
func (a *app) completeHandoff(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var list []string
	if s, err := a.handoffs(); err == nil && len(args) == 0 {
		states, _ := s.List(cmd.Context(), 50) // completion is silent
		for _, one := range states {
			list = append(list, one.ID+"\t"+string(one.Status)+", "+view.Line(one.Summary))
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// sessionStatus shows the status of a session, or its phase if it has not ended.
func sessionStatus(s *handoff.State) view.Cell {
	var like engine.Status
	switch s.Status {
	case handoff.Completed:
		like = engine.Success
	case handoff.Failed:
		like = engine.Failed
	case handoff.TimedOut:
		like = engine.TimedOut
	case handoff.Cancelled:
		like = engine.Cancelled
	case handoff.Running:
		if like = engine.Status(s.Phase); s.Interrupted {
			like = "interrupted"
		}
	}
	cell := view.Status(like)
	if s.Status != handoff.Running {
		cell.Text = string(s.Status)
	}
	if s.Overdue {
		cell.Text += " (overdue)"
	}
	return cell
}

// withSession finds a session by its id or a prefix of it.
func (a *app) withSession(ctx context.Context, id string, do func(*handoff.Sessions, *handoff.Session) error) error {
	s, err := a.handoffs()
	if err != nil {
		return err
	}
	one, err := s.Find(ctx, id)
	if err != nil {
		return err
	}
	return do(s, one)
}

func (a *app) handoffStatusVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "status SESSION [FLAGS]",
		Short: "Show the status of a session",
		Long: `Show the status of a session, and update its directory if it is out of date. With --json,
print the content of state.json: status is RUNNING until the session ends, and then
COMPLETED, FAILED, TIMEOUT or CANCELLED.`,
		Example: `  hocket handoff status 20260101-120000-validate-grafana
  hocket handoff status "$session" --json | jq -r .status`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeHandoff,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSession(cmd.Context(), args[0], func(s *handoff.Sessions, one *handoff.Session) error {
				if shown := s.Show(cmd.Context(), one.ID); shown != nil {
					one = shown
				}
				if a.json {
					return a.printJSON(one.State)
				}
				return a.print(a.handoffText(s, one))
			})
		},
	}
}

// handoffText describes a session.
func (a *app) handoffText(s *handoff.Sessions, one *handoff.Session) string {
	status := string(one.Status)
	switch {
	case one.Interrupted:
		status += " (interrupted)"
	case one.Phase != "":
		status += " (" + string(one.Phase) + ")"
	}
	if one.Overdue {
		status += ", overdue"
	}
	var b strings.Builder
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-10s %s\n", label, strings.ReplaceAll(a.outText(text), "\n", "\n"+strings.Repeat(" ", 11)))
		}
	}
	line("session", one.ID)
	if one.Step != "" {
		line("run", one.State.Run+" "+one.Step)
	}
	line("detached", one.From)
	line("status", status)
	line("task", one.Summary)
	line("agent", one.Agent)
	line("from", one.Parent)
	line("after", strings.Join(one.DependsOn, ", "))
	line("created", one.Created.Local().Format(time.DateTime))
	if one.Attempts > 0 {
		line("attempts", fmt.Sprint(one.Attempts))
	}
	if one.Duration > 0 {
		line("took", view.Took(time.Duration(one.Duration*float64(time.Second))))
	}
	line("waits for", one.Waits)
	switch resume := a.self("resume", one.State.Run); {
	case one.Interrupted && one.Step != "":
		line("next", "`"+resume+"` continues its run")
	case one.Interrupted:
		line("next", "`"+a.self("handoff", "wait", one.ID)+"` or `"+resume+"` continues it, `"+a.self("handoff", "cancel", one.ID)+"` ends it")
	}
	line("error", one.Error)
	line("directory", s.Dir(one.ID))
	if command := s.ClosePane(one.ID); command != "" && one.Final() {
		line("tmux", "its pane is open; close it with `"+command+"`")
	} else if command != "" {
		line("tmux", "attach with `"+a.self("handoff", "attach", one.ID)+"`")
	}
	return b.String()
}

func (a *app) handoffWaitVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "wait SESSION... [FLAGS]",
		Short: "Wait until sessions have ended",
		Long: `Wait until sessions have ended, and print their statuses. The exit code is 0 if all have
completed, 1 if one has not, and 3 if one is waiting for a person or a budget.`,
		Example: `  hocket handoff wait 20260101-120000-validate-grafana`,
		Args:    argsBetween(1, -1),
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return a.completeHandoff(cmd, nil, typed)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.handoffs()
			if err != nil {
				return err
			}
			return a.waitForSessions(cmd.Context(), s, args)
		},
	}
}

func (a *app) waitForSessions(ctx context.Context, s *handoff.Sessions, ids []string) error {
	states := []handoff.State{}
	worst := exitDone
	var all []string
	for _, id := range ids {
		one, err := s.Find(ctx, id)
		if err != nil {
			return err
		}
		if all = append(all, one.ID); !one.Final() && one.Step == "" {
			s.ClearObstacle(one.ID)
		}
	}
	err := s.Wait(ctx, all, func() error { return a.startDriver(s) }, func(one *handoff.Session) error {
		states = append(states, one.State)
		switch {
		case !one.Final():
			worst = max(worst, exitWaits)
		case one.Status != handoff.Completed:
			worst = max(worst, exitFailed)
		}
		if a.json {
			return nil
		}
		a.noteNext(one)
		switch {
		case one.Phase == handoff.Waiting:
			a.note("the session is waiting: " + view.Text(one.Waits) + "\n`" + a.self("show", one.State.Run) + "` shows how to answer\n")
		case one.Waits != "":
			a.note("the session cannot run: " + view.Text(one.Waits) + "\n`" + a.self("resume", one.State.Run) + "` runs it here\n")
		case one.Phase == handoff.Working:
			a.note("the session was interrupted: `" + a.self("resume", one.State.Run) + "` continues it\n")
		}
		return a.print(fmt.Sprintf("%s %s\n", one.ID, one.Status))
	})
	if err != nil {
		return err
	}
	if a.json {
		if err := a.printJSON(states); err != nil {
			return err
		}
	}
	if worst != exitDone {
		return exitError(worst)
	}
	return nil
}

func (a *app) handoffResultVerb() *cobra.Command {
	var next bool
	cmd := &cobra.Command{
		Use:   "result SESSION [FLAGS]",
		Short: "Print the result of a session",
		Long: `Print the result of a session that has ended, as in its result.json: what the agent
answered and, under the key handoff, what Hocket read and checked. With --next, print
the further requests that the agent proposes. They are not sent unless you send them.`,
		Example: `  hocket handoff result 20260101-120000-validate-grafana | jq .handoff.response.summary

  # Look at what the agent proposes, and send it
  hocket handoff result 20260101-120000-validate-grafana --next > next.md
  hocket handoff send next.md`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeHandoff,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSession(cmd.Context(), args[0], func(_ *handoff.Sessions, one *handoff.Session) error {
				if !one.Final() {
					return usagef("`"+a.self("handoff", "wait", one.ID)+"` waits for it", "session %s has not ended", one.ID)
				}
				if next {
					return a.print(a.outText(one.Next()))
				}
				text, err := one.ResultJSON()
				if err != nil {
					return err
				}
				return a.print(a.outText(string(text)))
			})
		},
	}
	cmd.Flags().BoolVar(&next, "next", false, "print the requests that the agent proposes")
	return cmd
}

// noteNext prints a note if the agent of a session proposes further requests.
func (a *app) noteNext(one *handoff.Session) {
	if one != nil && one.Answer != nil && len(one.Answer.Next) > 0 {
		a.note("the agent proposes " + view.Count(len(one.Answer.Next), "request") + "; see `" + a.self("handoff", "result", one.ID, "--next") + "`\n")
	}
}

func (a *app) handoffCancelVerb() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:               "cancel SESSION [FLAGS]",
		Short:             "Cancel a session",
		Long:              `Cancel a session and everything that it started.`,
		Example:           `  hocket handoff cancel 20260101-120000-validate-grafana --reason "not needed"`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeHandoff,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.handoffs()
			if err != nil {
				return err
			}
			receipt, err := s.Cancel(cmd.Context(), args[0], reason)
			if err != nil {
				return err
			}
			return a.acknowledge(hocket.Info{ID: args[0]}, act{done: "cancelled", driver: "stops it"}, receipt, false)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "store `TEXT` with the session")
	return cmd
}

func (a *app) handoffAttachVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "attach SESSION",
		Short: "Attach the terminal to a session in tmux",
		Long: `Attach the terminal to a session that runs in tmux. Sessions do so with "handoff: {tmux:
true}" in config.yml. The output stays visible after the session has ended, until you close
the pane or archive the session. Detach with Ctrl-B D.`,
		Example:           `  hocket handoff attach 20260101-120000-validate-grafana`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeHandoff,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.handoffs()
			if err != nil {
				return err
			}
			attach, err := s.Attach(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.people(a.std.Err) == nil {
				return usagef("run it in a terminal", "cannot attach: not a terminal")
			}
			attach.Stdin, attach.Stdout, attach.Stderr = os.Stdin, os.Stdout, os.Stderr
			if err := attach.Run(); err != nil {
				return err
			}
			if one, err := s.Find(cmd.Context(), args[0]); err == nil && one.Final() {
				if command := s.ClosePane(one.ID); command != "" {
					a.note("the session has ended; close its pane with:\n  " + command + "\n")
				}
			}
			return nil
		},
	}
}
