package cli

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/session"
)

// findSession is the conversation of an id, or that of the run with that id: whoever
// looks at a run need not look for its conversation. The beginning of either is enough.
func (a *app) findSession(ctx context.Context, state, id string) (*session.Session, error) {
	sessions := session.Open(state)
	found, err := sessions.Load(id)
	var unknown *session.UnknownError
	if !errors.As(err, &unknown) || len(unknown.Candidates) > 0 {
		return found, sessionUsage(err)
	}
	store, wrong := journal.OpenReadOnly(state)
	if errors.Is(wrong, os.ErrNotExist) {
		return nil, sessionUsage(err)
	}
	if wrong != nil {
		return nil, wrong
	}
	defer store.Close()
	run, wrong := store.Find(ctx, id)
	var none *journal.UnknownRunError
	switch {
	case errors.As(wrong, &none) && len(none.Candidates) == 0:
		return nil, sessionUsage(err)
	case wrong != nil:
		return nil, a.noRun(store, wrong)
	}
	return onlySession(ctx, store, run, sessions)
}

// onlySession is the one conversation of a run.
func onlySession(ctx context.Context, store *journal.Store, run journal.Run, sessions *session.Store) (*session.Session, error) {
	p, err := replay(ctx, store, run, nil)
	if err != nil {
		return nil, err
	}
	var all []*session.Session
	var told []string
	for _, s := range p.run.Result().Steps {
		one, err := sessions.Load(sessionOf(store, run.ID, s))
		var unknown *session.UnknownError
		switch {
		case errors.As(err, &unknown): // it had none, or it was deleted
		case err != nil:
			return nil, err
		default:
			told = append(told, one.ID+" ("+s.Address+")")
			if !slices.ContainsFunc(all, func(other *session.Session) bool { return other.ID == one.ID }) {
				all = append(all, one)
			}
		}
	}
	switch len(all) {
	case 0:
		return nil, usagef("`hocket sessions` lists those that are kept", "no conversation of run %s is kept", run.ID)
	case 1:
		return all[0], nil
	}
	return nil, usagef("name one of them: "+strings.Join(told, ", "), "run %s has %d conversations", run.ID, len(all))
}

// sessionUsage makes a session that is not there a mistake of the caller.
func sessionUsage(err error) error {
	var unknown *session.UnknownError
	if !errors.As(err, &unknown) {
		return err
	}
	if len(unknown.Candidates) > 0 {
		return usagef("write more of the id", "%v", err)
	}
	return usagef("`hocket sessions` lists them", "%v", err)
}

// completeSession offers the ids of conversations, with what they began with.
func (a *app) completeSession(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.sessionIDs()
}

func (a *app) sessionIDs() ([]string, cobra.ShellCompDirective) {
	dir, err := a.stateDir()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, _, err := session.Open(dir).List()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list := make([]string, len(all))
	for i, s := range all {
		list[i] = s.ID + "\t" + s.Agent + ": " + view.Line(beganWith(s))
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// beganWith is the first that was said.
func beganWith(s *session.Session) string {
	if len(s.Messages) == 0 {
		return ""
	}
	return s.Messages[0].Content
}
