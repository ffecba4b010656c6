package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/handoff"
	"github.com/hocket-dev/hocket/handoff/protocol"
)

// sessionKind is what users call the run of a session.
const sessionKind = "session"

// sendFlags are the flags of send and create; check has some of them.
type sendFlags struct {
	driveFlags
	agent   string
	mode    string
	replies string
	lenient bool
	spike   bool
}

func (f *sendFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.replies, "replies", "", "read the agent's reply from a YAML `FILE`, under the key handoff")
	flags.BoolVar(&f.lenient, "lenient", false, "repair mistakes and report them as warnings")
	flags.BoolVar(&f.spike, "spike", false, "send prose without a request as a research task")
}

func (a *app) handoffSendVerb() *cobra.Command {
	var f sendFlags
	cmd := &cobra.Command{
		Use:   "send FILE... [FLAGS]",
		Short: "Check handoffs and carry them out",
		Long: `Check handoffs and carry them out, each request as a session. A spawn session runs in
the background, and its id is printed. For a blocking session, wait and print its answer;
the exit code is that of the run. A conversation_only request starts no session: the
agent's next task gets the context. With --detach, blocking requests run in the
background too. If any request in a file is invalid, nothing in that file is sent. Use -
to read from standard input.`,
		Example: `  hocket handoff send prompt.md
  hocket handoff send prompt.md --mode blocking

  # Try it without an agent
  hocket handoff send prompt.md --replies replies.yml`,
		Args: argsBetween(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.send(cmd.Context(), args, &f) },
	}
	f.add(cmd)
	f.driveFlags.add(a, cmd.Flags())
	a.agentFlag(cmd, &f)
	cmd.Flags().StringVar(&f.mode, "mode", "", "use `MODE`, spawn or blocking, instead of the mode in the request")
	return cmd
}

func (a *app) agentFlag(cmd *cobra.Command, f *sendFlags) {
	cmd.Flags().StringVarP(&f.agent, "agent", "a", "", "use the agent `NAME` instead of target_agent")
	complete(cmd, "agent", func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return a.completeAgent(cmd, nil, typed)
	})
}

func (a *app) handoffCreateVerb() *cobra.Command {
	var f sendFlags
	cmd := &cobra.Command{
		Use:   "create AGENT FILE [FLAGS]",
		Short: "Start a session in the background",
		Long: `Start a session with an agent in the background, whatever the mode of the request, and
print its id.`,
		Example: `  session=$(hocket handoff create devops-agent validate-grafana.md)
  hocket handoff status "$session" --json`,
		Args: argsBetween(2, 2),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return a.completeAgent(cmd, args, typed)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.agent, f.mode = args[0], string(protocol.Spawn)
			return a.send(cmd.Context(), args[1:], &f)
		},
	}
	f.add(cmd)
	a.trustFlag(cmd.Flags())
	return cmd
}

// handoffs opens the sessions of the project.
func (a *app) handoffs() (*handoff.Sessions, error) {
	p, err := a.openProject()
	if err != nil {
		return nil, err
	}
	return a.sessionsOf(p), nil
}

// sessionsOf opens the sessions of a project.
func (a *app) sessionsOf(p *hocket.Project) *handoff.Sessions {
	s := handoff.Open(p, func(err error) { a.note("warning: " + err.Error() + "\n") })
	s.Background = func() error { return a.startDriver(s) }
	s.Tmux = &handoff.Tmux{Command: func(id, environment string) ([]string, error) {
		self, err := os.Executable()
		return append([]string{self, "handoff", "work", id, "--environment", environment}, a.where()...), err
	}}
	return s
}

func (a *app) send(ctx context.Context, files []string, f *sendFlags) error {
	mode := protocol.Mode(f.mode)
	if mode != "" && mode != protocol.Spawn && mode != protocol.Blocking {
		return usagef("use --mode spawn or --mode blocking", "invalid --mode %q", f.mode)
	}
	replies, err := a.readReplies(f.replies)
	if err != nil {
		return err
	}
	s, err := a.handoffs()
	if err != nil {
		return err
	}
	var sent []*handoff.Session
	var refused error
	left := []string{}
	for _, name := range files {
		file, text, err := a.readFile(name, "handoff send")
		if err != nil {
			refused = err
			break
		}
		one, err := s.Send(ctx, handoff.Order{File: file, Text: text, Agent: f.agent, Mode: mode, Spawn: f.detach, Spike: f.spike, Lenient: f.lenient, Replies: replies})
		if err != nil {
			refused = a.notSent(one, err)
			break
		}
		a.note(a.showDiagnostics(one.Found, a.errStyle))
		for _, note := range one.Notes {
			a.note(note + "\n")
		}
		sent, left = append(sent, one.Sessions...), append(left, one.Messaged...)
	}
	for _, agent := range left {
		a.note("the next task of " + agent + " will get the context\n")
	}
	if refused != nil && len(sent)+len(left) == 0 {
		return refused
	}
	err = a.carryOut(ctx, s, sent, left, f) // the files before the refused one were sent
	return cmp.Or(refused, err)
}

// notSent explains why a handoff was refused, with the wording that the protocol defines.
func (a *app) notSent(sent *handoff.Sent, err error) error {
	var invalid *hocket.InvalidError
	if !errors.As(err, &invalid) || sent == nil || a.json {
		return err
	}
	reason := protocol.Refusal(invalid.Diagnostics)
	a.note(reason.Title + "\n" + a.showDiagnostics(invalid.Diagnostics, a.errStyle))
	if reason.Advice != "" {
		a.note(reason.Advice + "\n")
	}
	return exitError(exitUsage)
}

// carryOut starts the process that drives spawned sessions, and drives the others here.
func (a *app) carryOut(ctx context.Context, s *handoff.Sessions, sent []*handoff.Session, left []string, f *sendFlags) error {
	var blocking []*handoff.Session
	spawned := []string{}
	for _, one := range sent {
		if one.Mode == protocol.Blocking {
			blocking = append(blocking, one)
		}
		if one.Mode == protocol.Spawn || len(one.DependsOn) > 0 {
			spawned = append(spawned, one.ID)
		}
	}
	if len(spawned) > 0 {
		if err := a.startDriver(s); err != nil {
			return err
		}
	}
	if a.json && len(blocking) == 0 {
		return a.printJSON(map[string]any{"sessions": spawned, "left_for": left})
	}
	for _, one := range sent {
		if one.Mode == protocol.Spawn {
			if err := a.print(one.ID + "\n"); err != nil {
				return err
			}
		}
	}
	var failed error
	for _, one := range blocking {
		failed = cmp.Or(failed, a.block(ctx, s, one, f))
	}
	return failed
}

// block drives a session in this process, and prints its answer.
func (a *app) block(ctx context.Context, s *handoff.Sessions, one *handoff.Session, f *sendFlags) error {
	if len(one.DependsOn) > 0 && one.Phase == handoff.Pending && !f.apart {
		return a.waitForSessions(ctx, s, []string{one.ID})
	}
	bundle, err := one.Run().Bundle(ctx)
	if err != nil {
		return err
	}
	err = a.drive(ctx, &drive{run: one.Run(), kind: sessionKind, bundle: bundle}, f.driveFlags)
	if shown, lost := s.Find(context.WithoutCancel(ctx), one.ID); lost == nil {
		a.noteNext(shown)
	}
	return err
}

// afterSession starts the process that drives sessions if other sessions were waiting for the one
// that this process has driven.
func (a *app) afterSession(ctx context.Context, s *handoff.Sessions, run *hocket.Run, failed error) {
	info, err := run.Info(ctx)
	if err != nil || !handoff.IsSession(info) {
		return // what is wrong with the run was already reported
	}
	var interrupted *hocket.InterruptedError
	if errors.As(failed, &interrupted) {
		s.Interrupted(run.ID())
		return
	}
	idle, err := s.Idle(ctx)
	if err == nil && idle {
		err = a.startDriver(s)
	}
	if err != nil {
		a.note("warning: " + err.Error() + "\n")
	}
}

// startDriver starts the process that drives the sessions of the project, if there is none. It
// needs no digest: what each session may do was decided when it was recorded.
func (a *app) startDriver(s *handoff.Sessions) error {
	if s.Driven() {
		return nil
	}
	return a.background("", "handoff", "drive")
}

// handoffWorkVerb drives one session in tmux. The process that drives all sessions starts it.
func (a *app) handoffWorkVerb() *cobra.Command {
	var environment string
	cmd := &cobra.Command{
		Use: "work SESSION", Short: "Drive a session in tmux", Hidden: true, Args: argsBetween(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := readEnvironment(environment); err != nil {
				return err
			}
			return a.withSession(cmd.Context(), args[0], func(s *handoff.Sessions, one *handoff.Session) error {
				return a.block(cmd.Context(), s, one, &sendFlags{driveFlags: driveFlags{apart: true}})
			})
		},
	}
	cmd.Flags().StringVar(&environment, "environment", "", "read the environment from `FILE`, and delete it")
	return cmd
}

// readEnvironment replaces the environment of this process with the one in a file, and deletes the
// file.
func readEnvironment(file string) error {
	text, err := os.ReadFile(file)
	if err = errors.Join(err, os.Remove(file)); err != nil {
		return err
	}
	terminal := map[string]string{}
	for _, name := range []string{"TERM", "TMUX", "TMUX_PANE"} { // these belong to the pane
		terminal[name] = os.Getenv(name)
	}
	os.Clearenv()
	for pair := range strings.SplitSeq(string(text), "\x00") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			err = errors.Join(err, os.Setenv(name, value))
		}
	}
	for name, value := range terminal {
		err = errors.Join(err, os.Setenv(name, value))
	}
	return err
}

// handoffDriveVerb drives the spawned sessions of the project. Other commands start it in the background.
func (a *app) handoffDriveVerb() *cobra.Command {
	return &cobra.Command{
		Use: "drive", Short: "Drive the spawned sessions of the project", Hidden: true, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.handoffs()
			if err != nil {
				return err
			}
			ctx, stop := context.WithCancelCause(cmd.Context())
			defer stop(nil)
			defer onSignal(func() { stop(errInterrupted) }, func() {})()
			return s.Drive(ctx)
		},
	}
}
