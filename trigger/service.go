package trigger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
)

// Options configure [New].
type Options struct {
	// Labels are those of the runs that triggers start.
	Labels map[string]string
	// Now is the clock; nil: that of the machine.
	Now func() time.Time
	// Log is for the operator; nil: none.
	Log *slog.Logger
}

const (
	// reread is how often the definitions are read.
	reread = 2 * time.Second
	// maxQueue is how many runs of a trigger may be in progress or wait.
	maxQueue = 100
	// maxDepth is how many runs may follow each other, each because the one before has ended.
	maxDepth = 5
	// maxRate is how many runs a trigger starts in a minute; a trigger that causes itself is stopped by that.
	maxRate = 30
)

// Service fires the triggers of a project. It is safe for concurrent use.
type Service struct {
	p      *hocket.Project
	o      Options
	states store

	mu      sync.Mutex
	stopped bool
	due     map[string]due               // when schedules fire next, by trigger
	since   map[string]time.Time         // until when runs were over that do not matter, by trigger
	watched []*hocket.Trigger            // those that watch files
	failed  map[string]map[string]string // why a trigger cannot be served, by what the service does for it

	missing map[string]bool // triggers with a state and without a file, when that was last looked at; belongs to the goroutine of Run

	watching map[string]*watching // belongs to the goroutine of watch
}

// due is when the schedule of a cause fires next.
type due struct {
	cause string
	at    time.Time
}

// New returns a service for a project. [Service.Run] makes it work.
func New(p *hocket.Project, o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{p: p, o: o, states: store{filepath.Join(p.State(), "triggers")}, due: map[string]due{}, since: map[string]time.Time{}, failed: map[string]map[string]string{}, missing: map[string]bool{}, watching: map[string]*watching{}}
}

// Run fires triggers until ctx is done. A firing that has begun is finished.
func (s *Service) Run(ctx context.Context) {
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stopped = true
	})
	next := s.tick(ctx) // before ended runs are looked at, so that new triggers know since when they are served
	var others sync.WaitGroup
	defer others.Wait()
	others.Go(func() { s.follow(ctx) })
	others.Go(func() { s.watch(ctx) })
	for {
		wait := reread
		if !next.IsZero() {
			wait = max(min(wait, next.Sub(s.o.Now())), 0)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		next = s.tick(ctx)
	}
}

// tick reads the definitions and fires what is due. It returns when a schedule is due next, zero if none is.
func (s *Service) tick(ctx context.Context) (next time.Time) {
	var watched []*hocket.Trigger
	for _, t := range s.p.Triggers() {
		if ctx.Err() != nil {
			return next
		}
		if t.Wrong.Errors() {
			continue
		}
		at, err := s.look(ctx, t)
		if s.report(t.Name, "state", err); err != nil {
			at = s.o.Now().Add(reread)
		} else if _, ok := t.On.(*hocket.Files); ok && !t.Disabled {
			watched = append(watched, t)
		}
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	s.report("", "removed", s.forget())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watched = watched
	return next
}

// forget has a trigger whose file was removed begin anew if it comes back: nothing serves it meanwhile, so it misses
// nothing. It must be missing twice, because some editors remove a file before they write it.
func (s *Service) forget() error {
	names, err := s.states.names()
	if err != nil {
		return err
	}
	missing := map[string]bool{}
	for _, t := range s.p.Triggers() {
		names = slices.DeleteFunc(names, func(name string) bool { return name == t.Name })
	}
	for _, name := range names {
		if missing[name] = true; !s.missing[name] {
			continue
		}
		if err := s.states.change(name, func(st *state) error { st.Cause = "removed"; return nil }); err != nil {
			return err
		}
		s.mu.Lock()
		delete(s.due, name)
		s.mu.Unlock()
	}
	s.missing = missing
	return nil
}

// report remembers whether something that is done for a trigger fails, and logs a new failure.
func (s *Service) report(name, task string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.failed[name], task)
		return
	}
	if s.failed[name] == nil {
		s.failed[name] = map[string]string{}
	}
	if s.failed[name][task] != err.Error() {
		s.o.Log.Error("trigger cannot be served", "project", s.p.Root(), "trigger", name, "error", err)
	}
	s.failed[name][task] = err.Error()
}

// causeOf identifies what fires a trigger. One that was disabled begins anew.
func causeOf(t *hocket.Trigger) string {
	if t.Disabled || t.On == nil {
		return "disabled"
	}
	return t.On.Kind() + " " + t.On.String()
}

// look makes sure that a trigger has a state, and fires its schedule if it is due. It returns when that is next.
func (s *Service) look(ctx context.Context, t *hocket.Trigger) (time.Time, error) {
	cause, now := causeOf(t), s.o.Now()
	s.mu.Lock()
	known, ok := s.due[t.Name]
	s.mu.Unlock()
	if ok && known.cause == cause && (known.at.IsZero() || now.Before(known.at)) {
		return known.at, nil
	}
	next := due{cause: cause}
	var since time.Time
	err := s.states.change(t.Name, func(st *state) error {
		if st.Cause != cause {
			st.Cause, st.Since, st.Files = cause, now, nil
		}
		if schedule, ok := t.On.(*hocket.Schedule); ok && !t.Disabled {
			if err := s.fireDue(ctx, t, schedule, st, now); err != nil {
				return err
			}
			next.at = schedule.Next(latest(now, st.Since))
		}
		since = st.Since
		return nil
	})
	if err != nil {
		return time.Time{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due[t.Name], s.since[t.Name] = next, since
	return next.at, nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

const (
	// grace is how late a firing may be without being missed.
	grace = time.Minute
	// maxMissed is how many missed times fire.
	maxMissed = 100
	// longestAbsence is how far back missed times are looked for.
	longestAbsence = 366 * 24 * time.Hour
)

// fireDue fires the times of a schedule that have come since the last one.
func (s *Service) fireDue(ctx context.Context, t *hocket.Trigger, schedule *hocket.Schedule, st *state, now time.Time) error {
	var times []time.Time
	missed := 0 // that do not fire
	for at := schedule.Next(latest(st.Since, now.Add(-longestAbsence))); !at.IsZero() && !at.After(now); at = schedule.Next(at) {
		times = append(times, at)
		drop := false
		switch schedule.Missed {
		case hocket.MissedOnce:
			drop = len(times) > 1
		case hocket.MissedAll:
			drop = len(times) > maxMissed
		case hocket.MissedSkip:
			drop = now.Sub(times[0]) > grace
		}
		if drop {
			times, missed = times[1:], missed+1
		}
		st.Since = at
	}
	if missed > 0 {
		err := st.note(Firing{Key: "missed " + stamp(st.Since), At: now, Why: fmt.Sprintf("%d times had passed while nothing served the trigger", missed)})
		if err != nil {
			return err
		}
	}
	for _, at := range times {
		_, err := s.fire(ctx, t, st, firing{key: stamp(at), values: map[string]any{"time": schedule.In(at).Format(time.RFC3339)}})
		if err != nil {
			return err
		}
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// firing is something that happened and fires a trigger.
type firing struct {
	key     string
	content string // the digest of what a request said
	values  map[string]any
	depth   int
	chain   int       // see [Firing]
	ended   time.Time // see [Firing]
	wrong   error     // why it can start no run
}

// fire starts the run of a firing, or remembers why there will never be one. An error means that it may start one later,
// such as when the disk is full: the caller does not store the state, and the firing comes again. It may find its run then.
func (s *Service) fire(ctx context.Context, t *hocket.Trigger, st *state, f firing) (Firing, error) {
	if was, err := st.find(f.key, f.content); was != nil || err != nil {
		return *cmp.Or(was, &Firing{}), err
	}
	done := Firing{Key: f.key, Content: f.content, Chain: f.chain, Ended: f.ended, At: s.o.Now().UTC()}
	run, err := s.start(context.WithoutCancel(ctx), t, f)
	if err != nil && !refused(err) {
		return Firing{}, err
	}
	if err != nil {
		done.Why = s.reason(err)
		done.Mistake = errors.As(err, new(*hocket.InvalidError)) || errors.As(err, new(*mappingError))
		s.o.Log.Warn("trigger started no run", "project", s.p.Root(), "trigger", t.Name, "firing", f.key, "reason", done.Why)
	}
	if done.Run = run; err == nil {
		s.o.Log.Info("trigger started a run", "project", s.p.Root(), "trigger", t.Name, "firing", f.key, "run", run)
	}
	return done, st.note(done)
}

// pause remembers that nothing can be started, once for many that wait or are refused.
func (s *Service) pause(t *hocket.Trigger, st *state, err error) error {
	const paused = "paused "
	why, now := s.reason(err), s.o.Now()
	if last := len(st.Fired) - 1; last >= 0 && strings.HasPrefix(st.Fired[last].Key, paused) && st.Fired[last].Why == why {
		return nil
	}
	s.o.Log.Warn("trigger is paused", "project", s.p.Root(), "trigger", t.Name, "reason", why)
	return st.note(Firing{Key: paused + stamp(now), At: now.UTC(), Why: why})
}

// reason says why there is no run, in at most a few lines.
func (s *Service) reason(err error) string {
	var untrusted *hocket.UntrustedError
	if errors.As(err, &untrusted) {
		return "you have not approved what it starts; review it with `hocket trust`"
	}
	text := err.Error()
	var invalid *hocket.InvalidError
	if errors.As(err, &invalid) {
		var all []string
		for _, d := range invalid.Diagnostics.Mistakes() {
			if d.Line > 0 {
				all = append(all, d.String())
			} else { // it is about the inputs
				all = append(all, d.Summary)
			}
		}
		text = strings.Join(all, "\n")
	}
	text = s.inProject(s.p.Mask(text))
	return strings.ToValidUTF8(text[:min(len(text), 1000)], "")
}

// inProject returns a text with the paths of the project relative to it: where that is concerns nobody who sees the page.
func (s *Service) inProject(text string) string {
	return strings.ReplaceAll(text, s.p.Root()+string(filepath.Separator), "")
}

// start records the run of a firing. The error says why it did not, for people.
func (s *Service) start(ctx context.Context, t *hocket.Trigger, f firing) (string, error) {
	if f.wrong != nil {
		return "", &refusal{f.wrong}
	}
	if f.depth > maxDepth {
		return "", &refusal{fmt.Errorf("%d runs have followed each other: the chain ends here", maxDepth)}
	}
	_ = s.p.Reload() // if the files have mistakes, the old ones stay in use
	p := s.p.As("trigger "+t.Name, "trigger")
	w, err := p.LoadTrigger(t)
	if err != nil {
		return "", err
	}
	inputs, err := t.Inputs(f.values)
	if err != nil {
		return "", &mappingError{err}
	}
	if _, wrong := w.Inputs(inputs, nil); wrong.Errors() { // before another run is cancelled
		return "", &hocket.InvalidError{Diagnostics: wrong}
	}
	active, err := inProgress(ctx, s.p, t.Name)
	if err != nil {
		return "", err
	}
	last, err := s.p.Runs(ctx, hocket.Filter{Label: hocket.TriggerLabel, Limit: maxQueue})
	if err != nil {
		return "", err
	}
	for _, r := range slices.Concat(active, last) { // recorded before a crash; it may be over by now
		if r.Owner.Labels[hocket.TriggerLabel] == t.Name && r.Owner.Labels[hocket.FiringLabel] == f.key {
			return r.ID, nil
		}
	}
	if err := s.makeRoom(ctx, p, t, active); err != nil {
		return "", err
	}
	labels := maps.Clone(s.o.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[hocket.TriggerLabel], labels[hocket.FiringLabel], labels[hocket.DepthLabel] = t.Name, f.key, strconv.Itoa(f.depth)
	run, err := p.Record(ctx, w, inputs, hocket.WithKey(fmt.Sprintf("trigger %s %s", t.Name, f.key)), hocket.WithLabels(labels))
	var known *hocket.KeyError
	if errors.As(err, &known) { // before a crash, with an older version of the workflow
		return known.Run, nil
	}
	if err != nil {
		return "", err
	}
	return run.ID(), nil
}

// refusal means that a firing starts no run, also if it came again.
type refusal struct{ error }

// refused reports whether a person, or the trigger itself, is why a firing started no run. Everything else may pass.
func refused(err error) bool {
	return errors.As(err, new(*refusal)) || errors.As(err, new(*mappingError)) || errors.As(err, new(*hocket.InvalidError)) ||
		errors.As(err, new(*hocket.UntrustedError)) || errors.As(err, new(*hocket.UnapprovedError))
}

// mappingError means that what has happened does not have the values that inputs need.
type mappingError struct{ error }

// ErrTooFast means that a trigger fires too often. It is paused for the rest of the minute.
var ErrTooFast = fmt.Errorf("the trigger has started %d runs in a minute, and is paused", maxRate)

func (s *Service) tooFast(st *state) bool { return st.started(s.o.Now().Add(-time.Minute)) >= maxRate }

// makeRoom does what the trigger says about runs that it started before. The error says why there is no new run.
func (s *Service) makeRoom(ctx context.Context, p *hocket.Project, t *hocket.Trigger, active []hocket.Info) error {
	if len(active) == 0 {
		return nil
	}
	switch t.Overlap {
	case hocket.SkipRuns:
		return &refusal{fmt.Errorf("run %s of this trigger was not over", active[0].ID)}
	case hocket.CancelOlder:
		for _, older := range active {
			r, err := p.Run(ctx, older.ID)
			if err == nil {
				_, err = r.Cancel(ctx, "the trigger "+t.Name+" has fired again")
			}
			var over *hocket.RefusedError
			if err != nil && !errors.As(err, &over) {
				return err
			}
		}
	case hocket.QueueRuns:
		if len(active) >= maxQueue {
			return &refusal{fmt.Errorf("%d runs of this trigger wait already", len(active))}
		}
	}
	return nil
}

// inProgress returns the runs of a trigger that are not over, newest first.
func inProgress(ctx context.Context, p *hocket.Project, name string) ([]hocket.Info, error) {
	all, err := p.Runs(ctx, hocket.Filter{Label: hocket.TriggerLabel, Status: []engine.Status{engine.Running, engine.Waiting}})
	return slices.DeleteFunc(all, func(r hocket.Info) bool { return r.Owner.Labels[hocket.TriggerLabel] != name }), err
}

// MustWait reports whether a run that has not begun has to wait until an older run of its trigger is over.
func MustWait(ctx context.Context, p *hocket.Project, run hocket.Info) (bool, error) {
	name := run.Owner.Labels[hocket.TriggerLabel]
	if name == "" || !run.Pending {
		return false, nil
	}
	active, err := inProgress(ctx, p, name)
	i := slices.IndexFunc(active, func(r hocket.Info) bool { return r.ID == run.ID })
	return i >= 0 && i < len(active)-1, err
}

// matters reports whether some trigger is served since before a time. Most runs were over by then.
func (s *Service) matters(ended time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, since := range s.since {
		if ended.After(since) {
			return true
		}
	}
	return false
}

// failures returns why a trigger cannot be served.
func (s *Service) failures(name string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Sorted(maps.Values(s.failed[name]))
	for i := range all {
		all[i] = s.inProject(all[i])
	}
	return all
}

// Status is a trigger as people see it.
type Status struct {
	*hocket.Trigger
	Problems []string // why it does not fire
	Trusted  bool
	Next     time.Time // when its schedule fires next; zero: not known
	Fired    []Firing  // the newest first
}

// shown is how many firings people see.
const shown = 20

// List returns the triggers of the project.
func (s *Service) List() ([]Status, error) {
	var all []Status
	for _, t := range s.p.Triggers() {
		one := Status{Trigger: t, Trusted: true, Problems: s.failures(t.Name)}
		wrong := s.p.CheckTrigger(t).Mistakes()
		for _, d := range wrong {
			one.Problems = append(one.Problems, s.inProject(d.String()))
		}
		if !wrong.Errors() && !t.Disabled {
			_, err := s.p.LoadTrigger(t)
			var untrusted *hocket.UntrustedError
			if one.Trusted = !errors.As(err, &untrusted); err != nil && one.Trusted {
				one.Problems = append(one.Problems, s.reason(err))
			}
			if schedule, ok := t.On.(*hocket.Schedule); ok {
				one.Next = schedule.Next(s.o.Now())
			}
		}
		st, err := s.states.read(t.Name)
		if err != nil {
			return nil, err
		}
		one.Fired = slices.Clone(st.Fired[max(0, len(st.Fired)-shown):])
		slices.Reverse(one.Fired)
		all = append(all, one)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all, nil
}
