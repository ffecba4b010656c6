package notify

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/internal/process"
)

// tryTime is how long one try may take, and pauses are those between the tries.
var (
	tryTime = 15 * time.Second
	pauses  = []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute}
)

// result is the end of a delivery.
type result struct {
	key, target string
	later       bool // the process stops, and the next one tries again
}

// permanent is an error that another try would not change.
type permanent struct{ error }

// deliver tells a target. It tries several times, and logs what failed.
func (n *notifier) deliver(ctx context.Context, key string, to *hocket.Notification, notice Notice) result {
	end := result{key: key, target: to.ID()}
	log := n.Log.With("project", n.Name, "run", notice.Run, "reason", string(notice.Reason), "to", Way(&to.Notification))
	for try := 0; ; try++ {
		err := n.try(ctx, to, notice)
		if err == nil {
			log.Info("notified")
			return end
		}
		text := n.Project.Mask(err.Error())
		if end.later = ctx.Err() != nil; end.later {
			return end
		}
		var final permanent
		if try == len(pauses) || errors.As(err, &final) {
			log.Error("notification not delivered", "error", text)
			return end
		}
		log.Warn("notification not delivered yet", "error", text, "again", pauses[try])
		select {
		case <-ctx.Done():
			end.later = true
			return end
		case <-time.After(pauses[try]):
		}
		to = n.fresh(to)
	}
}

// fresh returns a target as it is now: a secret may have been missing for a moment.
func (n *notifier) fresh(to *hocket.Notification) *hocket.Notification {
	all, _ := n.Project.Notifications() // otherwise it stays as it was
	if i := slices.IndexFunc(all, func(one hocket.Notification) bool { return one.ID() == to.ID() }); i >= 0 {
		return &all[i]
	}
	return to
}

// try tells a target once. A try that has begun may end when the process stops.
func (n *notifier) try(ctx context.Context, to *hocket.Notification, notice Notice) error {
	select {
	case n.busy <- struct{}{}:
		defer func() { <-n.busy }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if to.Err != nil {
		return to.Err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tryTime)
	defer cancel()
	switch {
	case to.Webhook != nil:
		return post(ctx, to, notice)
	case to.Email != nil:
		return mail(ctx, to, notice)
	}
	return n.start(ctx, to, notice)
}

// Way says how somebody is told. An address may be secret.
func Way(to *hocket.NotificationRule) string {
	switch {
	case to.Webhook != nil:
		return to.Webhook.Format + " webhook"
	case to.Email != nil:
		return "e-mail"
	}
	return to.Command[0]
}

// start starts a command, with the facts in its environment and as JSON on its standard input. The variables
// have names of their own: HOCKET_RUN would make it part of the run.
func (n *notifier) start(ctx context.Context, to *hocket.Notification, notice Notice) error {
	facts, err := json.Marshal(notice)
	if err != nil {
		return permanent{err}
	}
	cmd := exec.Command(to.Command[0], to.Command[1:]...)
	cmd.Dir, cmd.Env = n.Project.Root(), to.Environ
	for name, value := range map[string]string{
		"REASON": string(notice.Reason), "PROJECT": notice.Project, "WORKFLOW": notice.Workflow, "RUN": notice.Run, "STATUS": notice.Status,
		"TITLE": notice.Title, "TEXT": notice.Text, "LINK": notice.Link, "COST": fmt.Sprintf("%.4f", notice.CostUSD),
	} {
		cmd.Env = append(cmd.Env, "HOCKET_NOTIFY_"+name+"="+value)
	}
	var said bytes.Buffer
	hear := func(piece []byte) error {
		said.Write(piece[:min(len(piece), max(0, 500-said.Len()))])
		return nil
	}
	c := process.Command{Cmd: cmd, Key: rand.Text(), Grace: time.Second}
	err = c.Run(ctx, string(facts)+"\n", func([]byte) error { return nil }, hear)
	switch {
	case errors.Is(err, process.ErrCutOff):
		return fmt.Errorf("the command did not end within %s", tryTime)
	case errors.Is(err, exec.ErrNotFound):
		return permanent{err}
	case err != nil:
		return fmt.Errorf("%w: %s", err, line(strings.TrimSpace(said.String()), 300))
	}
	return nil
}
