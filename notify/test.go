package notify

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hocket-dev/hocket"
)

// Attempt is the result of a test.
type Attempt struct {
	Rule hocket.NotificationRule
	Err  error // nil: it was delivered
}

// Test tells everyone whom the project names, whatever they want to know, that this is a test: once, and without
// repeating what fails. Link gets no run. The error is an *[hocket.UntrustedError] if the user has not approved whom the
// project tells.
func Test(ctx context.Context, o Options) ([]Attempt, error) {
	n := &notifier{Options: o, busy: make(chan struct{}, 4)}
	targets, err := o.Project.Notifications()
	if err != nil {
		return nil, err
	}
	notice := Notice{
		Reason: Trial, Project: line(o.Name, maxTitle), At: time.Now().UTC(), Link: o.Link(""),
		Title: "Test from " + line(o.Name, maxTitle), Text: "Notifications of this project arrive here. There is nothing to do.",
	}
	all := make([]Attempt, len(targets))
	var work sync.WaitGroup
	for i := range targets {
		all[i].Rule = targets[i].Notification
		work.Go(func() {
			if err := n.try(ctx, &targets[i], notice); err != nil {
				all[i].Err = errors.New(o.Project.Mask(err.Error()))
			}
		})
	}
	work.Wait()
	return all, nil
}
