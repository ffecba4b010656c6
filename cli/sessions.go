package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/workflow"
)

func (a *app) sessionsVerb() *cobra.Command {
	return withVerbs(&cobra.Command{
		Use:   "sessions [COMMAND]",
		Short: "List, show and delete conversations with agents",
		Long: `List the conversations with agents of this project, most recent first. To continue
one, pass its id to "hocket task --session".`,
		Example: `  hocket sessions
  hocket sessions show task-1a2b3c4d
  hocket task 'Now document each of them.' --session task-1a2b3c4d
  hocket sessions delete task-1a2b3c4d`,
		RunE: func(*cobra.Command, []string) error { return a.sessions() },
	}, a.sessionsShowVerb(), a.sessionsDeleteVerb())
}

// sessionLine is one session with --json.
type sessionLine struct {
	SessionID string         `json:"session_id"`
	AgentName string         `json:"agent_name"`
	AgentCLI  string         `json:"agent_cli"`
	Created   time.Time      `json:"created_at"`
	Changed   time.Time      `json:"updated_at"`
	Native    string         `json:"native_id,omitempty"`
	Spent     workflow.Usage `json:"spent"`
	Messages  int            `json:"messages"`
}

func (a *app) sessions() error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	all, broken, err := p.Sessions()
	if err != nil {
		return err
	}
	switch {
	case a.json:
		err = a.printJSON(sessionLines(all))
	case len(all)+len(broken) == 0:
		a.note("no sessions yet; start one with `hocket task PROMPT`\n")
	case len(all) > 0:
		err = a.print(sessionTable(all).Draw(a.outStyle))
	}
	// A file that cannot be read does not hide the others.
	for _, b := range broken {
		what, hint := explain(b)
		a.note(a.errStyle.Paint(paintError, "damaged") + ": " + view.Line(what) + "\n" + a.errStyle.Paint(paintHint, "  help") + ": " + view.Line(hint) + "\n")
		err = errors.Join(err, exitError(exitFailed))
	}
	return err
}

func sessionLines(all []*hocket.Session) []sessionLine {
	lines := make([]sessionLine, len(all))
	for i, s := range all {
		lines[i] = sessionLine{s.ID, s.Agent, s.Executor, s.Created, s.Changed, s.Native, s.Spent, len(s.Messages)}
	}
	return lines
}

func sessionTable(all []*hocket.Session) *view.Table {
	t := &view.Table{Head: []string{"SESSION", "AGENT", "RUNS ON", "UPDATED", "MESSAGES", "FIRST MESSAGE"}, Right: []bool{4: true}}
	for _, s := range all {
		t.Row(view.Cell{Text: s.ID}, view.Cell{Text: s.Agent}, view.Cell{Text: s.Executor}, view.Cell{Text: s.Changed.Local().Format(time.DateTime), Paint: view.Dim},
			view.Cell{Text: fmt.Sprint(len(s.Messages))}, view.Cell{Text: beganWith(s)})
	}
	return t
}

func (a *app) sessionsShowVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "show SESSION|RUN",
		Short: "Show a conversation",
		Long: `Show the messages of a conversation. Instead of its id, you can pass the id of a run
that had only one conversation. A unique prefix of the id is enough.`,
		Example: `  hocket sessions show task-1a2b
  hocket sessions show task-1a2b --json | jq -r '.messages[-1].content'`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeSession,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.showSession(cmd.Context(), args[0]) },
	}
}

func (a *app) showSession(ctx context.Context, id string) error {
	s, err := a.findSession(ctx, id)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(s)
	}
	return a.print(a.sessionText(s))
}

// sessionText formats a conversation for people.
func (a *app) sessionText(s *hocket.Session) string {
	var b strings.Builder
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-9s %s\n", name, view.Line(value))
		}
	}
	row("session", s.ID)
	row("agent", s.Agent)
	row("runs on", s.Executor)
	row("native id", s.Native)
	row("created", s.Created.Local().Format(time.DateTime))
	if used := s.Spent; used != (workflow.Usage{}) {
		row("used", fmt.Sprintf("%d tokens in, %d out, cost %s", used.TokensIn, used.TokensOut, used.CostText()))
	}
	for _, m := range s.Messages {
		b.WriteString("\n" + a.outStyle.Paint(view.Bold, view.Line(m.Role)))
		if !m.At.IsZero() {
			b.WriteString(a.outStyle.Paint(view.Dim, "  "+m.At.Local().Format(time.DateTime)))
		}
		b.WriteString("\n")
		for line := range strings.SplitSeq(strings.TrimRight(view.Text(m.Content), "\n"), "\n") {
			b.WriteString(strings.TrimRight("  "+line, " ") + "\n")
		}
	}
	return b.String()
}

func (a *app) sessionsDeleteVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "delete SESSION",
		Short: "Delete a conversation",
		Long: `Delete a conversation. A unique prefix of its id is enough. This does not delete
what a CLI agent has stored about it.`,
		Example: `  hocket sessions delete task-1a2b
  hocket sessions delete task-1a2b3c4d --json`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeSession,
		RunE:              func(_ *cobra.Command, args []string) error { return a.deleteSession(args[0]) },
	}
}

func (a *app) deleteSession(prefix string) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	id, err := p.DeleteSession(prefix)
	if err != nil {
		return sessionUsage(err)
	}
	if a.json {
		return a.printJSON(map[string]any{"deleted": id})
	}
	return a.print("deleted " + id + "\n")
}

// findSession finds a session by its id or a prefix of it, or by a run that had only one.
func (a *app) findSession(ctx context.Context, id string) (*hocket.Session, error) {
	p, err := a.openProject()
	if err != nil {
		return nil, err
	}
	found, err := p.Session(ctx, id)
	if err == nil {
		return found, nil
	}
	var run *hocket.UnknownRunError
	if errors.As(err, &run) {
		return nil, noRun(ctx, p, err)
	}
	return nil, sessionUsage(err)
}

// sessionUsage turns an unknown session into a usage error.
func sessionUsage(err error) error {
	var unknown *hocket.UnknownSessionError
	var many *hocket.RunSessionsError
	switch {
	case errors.As(err, &many) && len(many.Sessions) == 0:
		return usagef("run `hocket sessions` to list the stored ones", "run %s has no stored conversation", many.Run)
	case errors.As(err, &many):
		return usagef("name one of them: "+strings.Join(many.Sessions, ", "), "run %s has %d conversations", many.Run, len(many.Sessions))
	case !errors.As(err, &unknown):
		return err
	case len(unknown.Candidates) > 0:
		return usagef("use a longer prefix of the id", "%v", err)
	}
	return usagef("run `hocket sessions` to list them", "%v", err)
}

func (a *app) completeSession(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.sessionIDs()
}

func (a *app) sessionIDs() ([]string, cobra.ShellCompDirective) {
	p, err := a.openProject()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, _, err := p.Sessions()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list := make([]string, len(all))
	for i, s := range all {
		list[i] = s.ID + "\t" + s.Agent + ": " + view.Line(beganWith(s))
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// beganWith returns the first message of a conversation.
func beganWith(s *hocket.Session) string {
	if len(s.Messages) == 0 {
		return ""
	}
	return s.Messages[0].Content
}
