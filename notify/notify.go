// Package notify tells people about the runs of a project: that one waits for them, has failed, is done,
// or has cost more than an amount. The project says in its config.yml whom to tell, and its user must
// have approved that. Like the front ends, the package uses the host, and no run waits for it.
//
// # Once
//
// Everything that happens to a run has a key: the run and the reason and, for a question, which one.
// A file in the project's state directory has the keys of what was told, so that it is told once,
// also after a restart. What was not delivered yet stays there, and the next server delivers it. Of
// several servers of a project, only the one that holds a lock tells anything. So a message arrives twice only
// if the process was killed after it was sent and before that was written.
//
// # Untrusted text
//
// A question or an error may contain anything that a model or a program wrote. It is cut to a limited length,
// loses its control characters, and is escaped as each format requires.
package notify

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/internal/filelock"
)

// Options configure [Serve].
type Options struct {
	Project *hocket.Project
	Name    string                  // of the project, for people
	Link    func(run string) string // the address of a page about a run, without secrets
	Log     *slog.Logger            // what could not be delivered
}

const (
	reloadEvery = 2 * time.Second // at most, to read config.yml
	againEvery  = 2 * time.Second // to try again to find out whom to tell
	maxOpen     = 100             // deliveries that are under way or wait to be repeated
)

// lockEvery is how often to look whether another server has stopped.
var lockEvery = 5 * time.Second

// notifier tells people about the runs of a project. Except for watch and deliver, everything belongs to the goroutine of run.
type notifier struct {
	Options
	memory   *memory
	results  chan result
	open     int           // deliveries under way
	busy     chan struct{} // limits how many send at the same time
	reloaded time.Time
	warned   string // the digest of what is not trusted, which was logged
	failing  string // why it is not known whom to tell, which was logged

	resumed bool                   // what an earlier process did not deliver is being sent
	again   map[string]hocket.Info // runs that were seen when it was not known whom to tell
}

// Serve tells people about runs until ctx is done. If another process does so for the same project, it waits
// until that stops.
func Serve(ctx context.Context, o Options) {
	n := &notifier{Options: o, results: make(chan result), busy: make(chan struct{}, 4), again: map[string]hocket.Info{}}
	lock := n.lock(ctx)
	if lock == nil {
		return
	}
	defer func() { _ = lock.Release() }()
	n.run(ctx)
}

// lock waits for the lock. It returns nil if ctx is done, or if there is no place for the lock.
func (n *notifier) lock(ctx context.Context) *filelock.Lock {
	state := n.Project.State()
	if !filepath.IsAbs(state) {
		return nil // then no run can be stored either
	}
	logged := ""
	for {
		err := os.MkdirAll(state, 0o700)
		if err == nil {
			var lock *filelock.Lock
			if lock, err = filelock.Take(filepath.Join(state, "notify.lock")); err == nil {
				return lock
			}
		}
		if !errors.Is(err, filelock.ErrLocked) && logged != err.Error() { // it may pass, such as a full disk
			logged = err.Error()
			n.Log.Error("notifications cannot be sent", "project", n.Name, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lockEvery):
		}
	}
}

func (n *notifier) run(ctx context.Context) {
	var err error
	if n.memory, err = recall(filepath.Join(n.Project.State(), "notified.json"), time.Now()); err != nil {
		n.Log.Error("what was notified before cannot be read; nothing is repeated", "project", n.Name, "error", err)
	}
	n.resume(ctx)
	changes := make(chan hocket.Info)
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() { n.watch(ctx, changes) })
	for ctx.Err() == nil {
		var again <-chan time.Time
		if len(n.again) > 0 || !n.resumed {
			again = time.After(againEvery)
		}
		select {
		case info := <-changes:
			n.see(ctx, info)
		case <-again:
			n.resume(ctx)
			for _, info := range n.again {
				n.see(ctx, info)
			}
		case r := <-n.results:
			n.settle(r)
		case <-ctx.Done():
		}
	}
	for n.open > 0 { // what is being sent now
		n.settle(<-n.results)
	}
}

// watch passes on every run, and every change of one.
func (n *notifier) watch(ctx context.Context, changes chan<- hocket.Info) {
	wrong := ""
	for ctx.Err() == nil {
		for change, err := range n.Project.Watch(ctx) {
			if err != nil {
				if ctx.Err() == nil && err.Error() != wrong { // it may last
					n.Log.Error("runs cannot be watched for notifications", "project", n.Name, "error", err)
					wrong = err.Error()
				}
				break
			}
			wrong = ""
			select {
			case changes <- change.Info:
			case <-ctx.Done():
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second): // the journal may be readable again
		}
	}
}

// see tells people what is new about a run.
func (n *notifier) see(ctx context.Context, info hocket.Info) {
	delete(n.again, info.ID)
	found := slices.DeleteFunc(n.happenings(ctx, info), n.memory.has)
	if len(found) == 0 {
		return
	}
	targets, none, err := n.targets()
	if err != nil {
		n.again[info.ID] = info
		return
	}
	if none {
		n.memory.forget(time.Now())
		return
	}
	for _, group := range grouped(found) {
		notice := n.compose(ctx, info, group)
		var ids []string
		for _, t := range targets {
			if wants(&t.Notification, group[0]) {
				ids = append(ids, t.ID())
			}
		}
		if n.open+len(ids) > maxOpen {
			n.Log.Error("too many notifications are under way; this one is not sent", "project", n.Name, "run", info.ID, "reason", notice.Reason)
			ids = nil
		}
		n.memory.add(group, notice, ids)
		n.write() // before it is sent: whatever happens then, it is not forgotten
		n.send(ctx, group[0].key(), notice, targets, ids)
	}
}

// targets returns whom to tell. none means that the project names nobody; if it names somebody and is not
// trusted, there are no targets either. An error means that it is not known.
func (n *notifier) targets() (all []hocket.Notification, none bool, err error) {
	if now := time.Now(); now.Sub(n.reloaded) > reloadEvery {
		n.reloaded = now
		_ = n.Project.Reload() // if the files have mistakes, the old ones stay in use
	}
	all, err = n.Project.Notifications()
	var untrusted *hocket.UntrustedError
	switch {
	case errors.As(err, &untrusted):
		if n.warned != untrusted.Digest {
			n.warned = untrusted.Digest
			n.Log.Warn("nobody is notified: the notifications of the project are not trusted; review them with `hocket trust` or on the page", "project", n.Name)
		}
		return nil, false, nil
	case err != nil:
		if n.failing != err.Error() {
			n.failing = err.Error()
			n.Log.Error("nobody is notified until it is known whom to tell", "project", n.Name, "error", err)
		}
		return nil, false, err
	}
	n.failing = ""
	return all, len(all) == 0, nil
}

// resume sends what an earlier process did not deliver.
func (n *notifier) resume(ctx context.Context) {
	if n.resumed {
		return
	}
	targets, none, err := n.targets()
	if n.resumed = err == nil; !n.resumed {
		return
	}
	if none {
		n.memory.forget(time.Now())
		return
	}
	for _, e := range n.memory.pending() {
		n.send(ctx, e.Key, *e.Notice, targets, slices.Clone(e.Pending))
	}
	n.write() // what happens from now on is told, even if this process is not there to see it
}

// send delivers a notice to the targets with these ids. Those that config.yml no longer has get nothing.
func (n *notifier) send(ctx context.Context, key string, notice Notice, targets []hocket.Notification, ids []string) {
	for _, id := range ids {
		i := slices.IndexFunc(targets, func(t hocket.Notification) bool { return t.ID() == id })
		if i < 0 {
			n.memory.delivered(key, id)
			continue
		}
		n.open++
		go func() { n.results <- n.deliver(ctx, key, &targets[i], notice) }()
	}
}

// settle notes the end of a delivery.
func (n *notifier) settle(r result) {
	n.open--
	if r.later {
		return // the next process tries again
	}
	n.memory.delivered(r.key, r.target)
	n.write()
}

func (n *notifier) write() {
	if err := n.memory.write(); err != nil {
		n.Log.Error("what was notified cannot be written", "project", n.Name, "error", err)
	}
}
