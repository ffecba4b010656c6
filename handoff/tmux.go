package handoff

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Tmux lets sessions run in tmux, so that people can attach to them. Every project has its own tmux
// server.
type Tmux struct {
	// Command returns the command that drives a session. The command reads the environment of the
	// session from a file and deletes the file. On the command line of tmux, every user of the machine
	// could read the environment.
	Command func(id, environment string) ([]string, error)
}

// NoTmuxError reports that tmux is not installed.
type NoTmuxError struct{}

func (*NoTmuxError) Error() string {
	return "the project runs sessions in tmux, but tmux is not installed"
}

// Hint returns advice for the user.
func (*NoTmuxError) Hint() string {
	return "install it, for instance with `apt install tmux` or `brew install tmux`, or remove `handoff: {tmux: true}` from config.yml"
}

// tmux returns a command of tmux for the project's own server.
func (s *Sessions) tmux(args ...string) (*exec.Cmd, error) {
	program, err := exec.LookPath("tmux")
	if err != nil {
		return nil, &NoTmuxError{}
	}
	return exec.Command(program, append([]string{"-L", s.tmuxServer(), "-f", os.DevNull}, args...)...), nil
}

// tmuxServer returns the name of the project's own server.
func (s *Sessions) tmuxServer() string {
	sum := sha256.Sum256([]byte(s.p.State()))
	return "hocket-" + hex.EncodeToString(sum[:6])
}

// paneName returns the name of a session in tmux, where dots and colons have a special meaning.
func paneName(id string) string {
	name := strings.NewReplacer(".", "_", ":", "_").Replace(id)
	if name != id {
		sum := sha256.Sum256([]byte(id))
		name += "-" + hex.EncodeToString(sum[:3])
	}
	return name
}

// Attach returns the command that attaches a terminal to a session in tmux.
func (s *Sessions) Attach(ctx context.Context, id string) (*exec.Cmd, error) {
	one, err := s.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	pane := "=" + paneName(one.run.ID()) // work inside a run is in the pane of the run
	look, err := s.tmux("has-session", "-t", pane)
	if err != nil {
		return nil, err
	}
	if look.Run() != nil {
		return nil, &NotInTmuxError{one.ID, one.State.Run, one.Step}
	}
	return s.tmux("attach-session", "-t", pane)
}

// ClosePane returns the command that closes the pane of a session in tmux; "" if it has none. A pane
// stays open after its session has ended, so that people can read it.
func (s *Sessions) ClosePane(id string) string {
	if !slices.Contains(s.panes(), paneName(id)) {
		return ""
	}
	return fmt.Sprintf("tmux -L %s kill-session -t '=%s'", s.tmuxServer(), paneName(id))
}

// panes returns the names of the sessions that have a pane; none if tmux is not installed.
func (s *Sessions) panes() []string {
	look, err := s.tmux("list-sessions", "-F", "#{session_name}")
	if err != nil {
		return nil
	}
	said, _ := look.Output() // fails if no server is running
	return strings.Fields(string(said))
}

// closePanes closes the panes of sessions. tmux exits when the last one is closed.
func (s *Sessions) closePanes(ids []string) {
	open := s.panes()
	for _, id := range ids {
		if !slices.Contains(open, paneName(id)) {
			continue
		}
		if kill, err := s.tmux("kill-session", "-t", "="+paneName(id)); err == nil {
			_ = kill.Run() // it may be closed already
		}
	}
}

// NotInTmuxError reports that a session does not run in tmux.
type NotInTmuxError struct {
	ID, Run string
	Step    string // of the run; "" if the session is the run
}

func (e *NotInTmuxError) Error() string {
	if e.Step != "" {
		return fmt.Sprintf("session %s is part of run %s, which does not run in tmux", e.ID, e.Run)
	}
	return fmt.Sprintf("session %s does not run in tmux", e.ID)
}

// Hint returns advice for the user.
func (e *NotInTmuxError) Hint() string {
	if e.Step != "" {
		return "`hocket logs " + e.Run + " " + e.Step + "` shows what its agent prints"
	}
	return "to run new sessions in tmux, set `handoff: {tmux: true}` in config.yml; for this one, use `hocket handoff status` and `hocket logs`"
}

// driveInTmux drives a session in tmux, and waits until it has ended.
func (s *Sessions) driveInTmux(ctx context.Context, id string) error {
	if err := s.startPane(id); err != nil {
		return err
	}
	for ctx.Err() == nil {
		info, err := s.info(ctx, id)
		if err != nil {
			return err
		}
		if state := listed(info); state.Final() || state.Phase == Waiting && !info.Driven {
			break
		}
		if !info.Driven && s.paneDead(id) {
			return fmt.Errorf("the process of session %s exited in tmux; `hocket handoff attach %s` shows why", id, id)
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	ctx = context.WithoutCancel(ctx)
	s.showDriven(ctx, id, func() (*Session, error) { return s.Find(ctx, id) })
	return nil
}

// startPane starts a session in tmux. Its output stays visible after it has ended.
func (s *Sessions) startPane(id string) (err error) {
	environment := filepath.Join(s.p.State(), "environment-"+paneName(id))
	defer func() {
		if err != nil {
			_ = os.Remove(environment) // it may contain secrets, and nothing else will delete it
		}
	}()
	f, err := os.OpenFile(environment, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.Join(os.Environ(), "\x00"))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	command, err := s.Tmux.Command(id, environment)
	if err != nil {
		return err
	}
	if old, err := s.tmux("kill-session", "-t", "="+paneName(id)); err == nil {
		_ = old.Run() // left over from an earlier attempt to drive it; usually there is none
	}
	start, err := s.tmux(append([]string{"start-server", ";", "set-option", "-g", "remain-on-exit", "on", ";",
		"new-session", "-d", "-x", "160", "-y", "50", "-s", paneName(id), "-c", s.p.Root(), "--"}, command...)...)
	if err != nil {
		return err
	}
	if said, err := start.CombinedOutput(); err != nil {
		return fmt.Errorf("tmux: %w: %s", err, strings.TrimSpace(string(said)))
	}
	return nil
}

// paneDead reports whether the process of a session in tmux has ended.
func (s *Sessions) paneDead(id string) bool {
	look, err := s.tmux("list-panes", "-t", "="+paneName(id)+":", "-F", "#{pane_dead}")
	if err != nil {
		return true
	}
	said, err := look.Output()
	return err != nil || strings.TrimSpace(string(said)) == "1"
}
