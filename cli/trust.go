package cli

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/ask"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/trust"
)

// onlyPerson rejects a command that is reserved for people if an agent runs it.
func (a *app) onlyPerson(verb string) error {
	by := a.supervisor()
	if by == "" {
		return nil
	}
	what, hint := explain(&trust.SupervisedError{Verb: verb, By: by})
	return usagef(hint, "%s", what)
}

// supervisor returns the agent or run that started this command, "" if a person did.
func (a *app) supervisor() string {
	if by := trust.Supervisor(os.Environ()); by != a.std.Agent {
		return by
	}
	return ""
}

// decideTrust asks the user in the terminal whether to trust a project, and stores a yes.
// Without a terminal, the project is not trusted.
func (a *app) decideTrust(ctx context.Context, e *hocket.UntrustedError) (bool, error) {
	if a.people(a.std.Err) == nil || a.onlyPerson("trust") != nil {
		return false, nil
	}
	p, err := a.openProject()
	if err != nil {
		return false, err
	}
	if err := a.askPerson(ctx, e.Question()); err != nil {
		return false, err
	}
	return true, p.Trust(e.Powers)
}

// trustFlags are the flags of trust. They are mutually exclusive.
type trustFlags struct {
	list, print, diff, revoke bool
	digest                    string
}

func (a *app) trustVerb() *cobra.Command {
	var f trustFlags
	cmd := &cobra.Command{
		Use:   "trust [FILE...] [FLAGS]",
		Short: "Review and approve what a project can do",
		Long: `Show what the files of the project can do beyond the steps of a workflow that you
run: send keys to servers, start MCP servers and tools, replace CLI agents, or let
agents do anything without asking. You approve exactly this list; if it grows, you
are asked again. Until then, steps see only standard environment variables, and CLI
agents start without the project's own settings.

To include workflows outside of .hocket/workflows, name their files. In a project on
Temporal, workers on this machine then also do these workflows. Approvals are
stored in your state directory, for the directory of the project.`,
		Example: `  # Review and answer
  hocket trust

  # In CI: print the digest once, and pass it to every run
  hocket trust --print
  hocket trust --trust sha256:5f1c…

  # Show what has changed since the approval, and list trusted projects
  hocket trust --diff
  hocket trust --list`,
		Args:              argsBetween(0, -1),
		ValidArgsFunction: a.completeWorkflow,
		RunE: func(cmd *cobra.Command, args []string) error {
			if givenFlags(cmd) > 1 {
				return usagef("use one of them", "--list, --print, --diff, --revoke and --trust are mutually exclusive")
			}
			return a.trust(cmd.Context(), args, &f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.list, "list", false, "list the projects that you trust")
	flags.BoolVar(&f.print, "print", false, "print the digest of what the project can do")
	flags.BoolVar(&f.diff, "diff", false, "print what has changed since you approved it")
	flags.BoolVar(&f.revoke, "revoke", false, "stop trusting the project")
	flags.StringVar(&f.digest, "trust", "", "approve without asking, if `DIGEST` matches what the project can do")
	return cmd
}

// trustState is trust --json.
type trustState struct {
	Root    string       `json:"root"`
	Digest  string       `json:"digest"`
	Trusted bool         `json:"trusted"`
	Powers  trust.Powers `json:"powers"`
	Missing trust.Powers `json:"missing"` // not approved
	Changed trust.Powers `json:"changed"` // of these, approved with different file contents
}

// givenFlags returns how many of a command's own flags are given.
func givenFlags(cmd *cobra.Command) (given int) {
	cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
		if flag.Changed {
			given++
		}
	})
	return given
}

func (a *app) trust(ctx context.Context, files []string, f *trustFlags) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	switch {
	case f.list:
		return a.listTrusted(p.Approvals())
	case f.revoke:
		return a.revoke(p)
	}
	powers, err := a.powersOf(p, files)
	if err != nil {
		return err
	}
	if f.digest != "" {
		return a.trustDigest(p, powers, f.digest)
	}
	decision, err := p.Trusted(powers, "")
	if err != nil {
		return err
	}
	switch {
	case f.diff:
		before, _, err := p.Approvals().Find(p.Root(), powers)
		if err != nil {
			return err
		}
		diff := powers.Diff(before.Powers)
		if a.json {
			return a.printJSON(diff)
		}
		return a.print(view.Reveal(diff.String()))
	case a.json:
		return a.printJSON(trustState{p.Root(), powers.Digest(), decision.Trusted, orNone(powers), orNone(decision.Missing), orNone(decision.Changed)})
	case f.print:
		return a.print(powers.Digest() + "\n")
	}
	return a.askTrust(ctx, p, powers, decision)
}

// orNone returns a list that is not nil, so that JSON has [] instead of null.
func orNone(ps trust.Powers) trust.Powers { return append(trust.Powers{}, ps...) }

// powersOf returns the powers of a project, including those of the named workflows.
func (a *app) powersOf(p *hocket.Project, files []string) (trust.Powers, error) {
	var list []*hocket.Workflow
	for _, file := range files {
		w, err := a.load(file)
		if err != nil {
			return nil, err
		}
		if w.Model() == nil {
			return nil, &diagnosticsError{w.Diagnostics()}
		}
		list = append(list, w)
	}
	return p.Powers(list...)
}

// trustDigest approves the powers of a project if the digest matches.
func (a *app) trustDigest(p *hocket.Project, powers trust.Powers, digest string) error {
	if err := a.onlyPerson("trust"); err != nil {
		return err
	}
	if digest != powers.Digest() {
		return usagef("review what the project can do with `hocket trust`, and pass the complete digest", "wrong digest: --trust is %s, but that of the project is %s", view.Line(digest), powers.Digest())
	}
	if err := p.Trust(powers); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(trustState{p.Root(), powers.Digest(), true, orNone(powers), orNone(nil), orNone(nil)})
	}
	return a.print("trusted " + p.Root() + "\n")
}

// askTrust asks for approval of the powers of a project.
func (a *app) askTrust(ctx context.Context, p *hocket.Project, powers trust.Powers, decision trust.Decision) error {
	if decision.Trusted && len(powers) == 0 {
		return a.print("You trust " + p.Root() + "; its files can do nothing that needs approval.\n")
	}
	if decision.Trusted {
		return a.print("You trust " + p.Root() + " with:\n" + view.Reveal(powers.String()))
	}
	if err := a.onlyPerson("trust"); err != nil {
		return err
	}
	if err := a.askPerson(ctx, decision.Error(p.Root(), powers).Question()); err != nil {
		return err
	}
	if err := p.Trust(powers); err != nil {
		return err
	}
	return a.print("trusted " + p.Root() + "\n")
}

// askPerson asks in the terminal.
func (a *app) askPerson(ctx context.Context, q engine.Question) error {
	people := a.people(a.std.Err)
	if people == nil {
		a.note(view.Reveal(q.Detail))
		return usagef("run it in a terminal, or pass --trust "+q.Digest, "cannot ask for approval: not a terminal")
	}
	return a.decide(ctx, people, ask.Question{Text: q.Text, Detail: q.Detail, Options: q.Options}, trust.Yes, "not trusted")
}

func (a *app) revoke(p *hocket.Project) error {
	if err := a.onlyPerson("trust --revoke"); err != nil {
		return err
	}
	had, err := p.Approvals().Revoke(p.Root(), time.Now())
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"root": p.Root(), "revoked": had})
	}
	if !had {
		return a.print(p.Root() + " was not trusted\n")
	}
	return a.print("no longer trusted: " + p.Root() + "\n")
}

func (a *app) listTrusted(store *trust.Store) error {
	all, err := store.List()
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(append([]trust.Approval{}, all...))
	}
	for _, one := range all {
		if err := a.print(one.Root + "  " + one.Digest + "  " + one.At.Local().Format("2006-01-02 15:04") + "  " + view.Line(one.By) + "\n"); err != nil {
			return err
		}
	}
	return nil
}

// trustNew trusts the project that init has just created. If other files of the project
// existed before, a person has to decide.
func (a *app) trustNew(dir string) error {
	if a.onlyPerson("init") != nil {
		return nil // an agent may create a project, but not trust it
	}
	a.dir = dir
	p, err := a.reopenProject()
	if err != nil {
		return err
	}
	powers, err := p.Powers()
	if err != nil || len(powers.Without(trust.Command)) > 0 { // the commands of agents are ours
		return err
	}
	return p.Trust(powers)
}
