package temporal

import (
	"strings"
	"sync"

	"go.temporal.io/sdk/log"
)

// logger is what the SDK logs to. That a run cannot be read here, because this process lacks the key of the project, is logged there
// as a panic with its stack, again and again. A worker tells it in its own words, once for each run.
type logger struct {
	log.Logger

	mu     sync.Mutex
	unread func(flow string, err error) // is told instead; nil: nobody
}

// reports lets somebody be told which runs cannot be read, until stop is called.
func (l *logger) reports(unread func(flow string, err error)) (stop func()) {
	set := func(to func(string, error)) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.unread = to
	}
	set(unread)
	return func() { set(nil) }
}

// Error logs an error.
func (l *logger) Error(msg string, pairs ...any) {
	flow, err := "", error(nil)
	for i := 0; i+1 < len(pairs); i += 2 {
		switch value := pairs[i+1].(type) {
		case string:
			if pairs[i] == "WorkflowID" {
				flow = value
			}
		case error:
			err = value
		}
	}
	l.mu.Lock()
	unread := l.unread
	l.mu.Unlock()
	if unread == nil || flow == "" || err == nil || !strings.Contains(err.Error(), errUnread.Error()) {
		l.Logger.Error(msg, pairs...)
		return
	}
	unread(flow, err)
}
