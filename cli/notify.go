package cli

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/notify"
	"github.com/hocket-dev/hocket/server"
)

func (a *app) notifyVerb() *cobra.Command {
	return withVerbs(&cobra.Command{
		Use:   "notify [COMMAND]",
		Short: "List and test notifications",
		Long: `List whom "hocket serve" tells about runs of the project, as notify in
.hocket/config.yml says.`,
		Example: `  hocket notify

  # Send a test to everyone
  hocket notify test`,
		RunE: func(*cobra.Command, []string) error { return a.listNotifications() },
	}, a.notifyTestVerb())
}

// noticeLine is one notification in notify --json.
type noticeLine struct {
	To    string `json:"to"`
	When  string `json:"when"`
	Sent  *bool  `json:"sent,omitempty"` // only in a test
	Error string `json:"error,omitempty"`
}

func (a *app) listNotifications() error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	lines := []noticeLine{}
	for _, one := range p.Config().Notify {
		lines = append(lines, noticeLine{To: notify.Way(&one), When: one.Occasions()})
	}
	return a.printNotifications(lines)
}

func (a *app) printNotifications(lines []noticeLine) error {
	if a.json {
		return a.printJSON(lines)
	}
	if len(lines) == 0 {
		a.note("the project notifies nobody; add `notify` to .hocket/config.yml\n")
		return nil
	}
	t := &view.Table{Head: []string{"TO", "WHEN A RUN"}}
	if lines[0].Sent != nil {
		t.Head = []string{"TO", "TEST", "PROBLEM"}
	}
	for _, l := range lines {
		switch {
		case l.Sent == nil:
			t.Row(view.Cell{Text: l.To}, view.Cell{Text: l.When})
		case *l.Sent:
			t.Row(view.Cell{Text: l.To}, view.Cell{Text: "sent", Paint: view.Green}, view.Cell{})
		default:
			t.Row(view.Cell{Text: l.To}, view.Cell{Text: "failed", Paint: view.Red}, view.Cell{Text: l.Error})
		}
	}
	return a.print(t.Draw(a.outStyle))
}

func (a *app) notifyTestVerb() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "test [FLAGS]",
		Short: "Send a test to everyone who is notified",
		Long: `Send a test to everyone whom the project notifies, whatever they want to know, and
report what failed. It needs no server. A command gets HOCKET_NOTIFY_REASON=test. You
must have approved the notifications with "hocket trust". The exit code is 1 if one of
them was not delivered.`,
		Example: `  hocket notify test
  hocket notify test --url https://hocket.example.org --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.testNotifications(cmd.Context(), address) },
	}
	cmd.Flags().StringVar(&address, "url", "", "the public `URL` of the server, for the link, if it has one")
	return cmd
}

func (a *app) testNotifications(ctx context.Context, address string) error {
	if address == "" {
		dir, err := serverDir()
		if err != nil {
			return err
		}
		if address, err = server.OpenAccess(dir).Address("7433"); err != nil {
			return err
		}
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return usagef("write it like https://hocket.example.org", "invalid --url %q", address)
	}
	p, err := a.openProject()
	if err != nil {
		return err
	}
	name := filepath.Base(p.Root())
	all, err := notify.Test(ctx, notify.Options{Project: p, Name: name, Link: func(string) string {
		return strings.TrimSuffix(u.String(), "/") + "/projects/" + url.PathEscape(name)
	}})
	if err != nil {
		return err
	}
	lines, failed := []noticeLine{}, false
	for _, one := range all {
		sent := one.Err == nil
		l := noticeLine{To: notify.Way(&one.Rule), When: one.Rule.Occasions(), Sent: &sent}
		if !sent {
			l.Error, failed = one.Err.Error(), true
		}
		lines = append(lines, l)
	}
	if err := a.printNotifications(lines); err != nil || !failed {
		return err
	}
	return exitError(exitFailed)
}
