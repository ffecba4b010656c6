package web

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/server"
)

// changesData is a page with what a step, one of its attempts or a whole run has changed.
type changesData struct {
	server.InRun
	Step    string // its address; "": the whole run
	Attempt int    // 0: what the step has made
	Change  *change
	More    bool            // the change is longer
	None    *server.Problem // why no change is known
}

const shownChanges = 1 << 20 // bytes

// changes shows what was changed in a workspace.
func (s *site) changes(r *http.Request) (string, any, error) {
	ctx, in := r.Context(), inRun(r)
	run, _, _, err := s.Run(ctx, in)
	if err != nil {
		return "", nil, err
	}
	d := &changesData{InRun: *in, Step: r.URL.Query().Get("step")}
	d.Attempt, _ = strconv.Atoi(r.URL.Query().Get("attempt"))
	title := "Changes of " + in.Run
	made, err := run.Diff(ctx, hocket.Made{Address: d.Step, Attempt: d.Attempt}, shownChanges)
	if errors.As(err, new(*hocket.NoWorkspaceError)) || errors.As(err, new(*hocket.ElsewhereError)) {
		d.None = s.Explain(ctx, err)
		return title, d, nil
	}
	if err != nil {
		return "", nil, err
	}
	d.Change, d.More = readChange(made.Patch), made.Truncated
	return title, d, nil
}

// Command returns the command that shows all of the change.
func (d *changesData) Command() string {
	command := "hocket diff " + d.Run
	if d.Step != "" {
		command += " '" + d.Step + "'" // it may contain [
	}
	if d.Attempt > 0 {
		command += " --attempt " + strconv.Itoa(d.Attempt)
	}
	return command
}
