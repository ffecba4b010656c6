package temporal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// claim looks for the worker on whose machine tasks stay.
type claim struct {
	Run      string   `json:"run"`
	Plan     string   `json:"plan"`
	Label    string   `json:"label,omitempty"`
	Programs []string `json:"programs,omitempty"` // that its machine must have
	Homes    []string `json:"homes,omitempty"`    // queues of workers where tasks of the run stay already

	again   bool          // no worker has taken it for a while
	timeout time.Duration // of the task that needs it; 0: none
}

// site returns where the claim is asked for. Workers without the first program need not refuse it.
func (c claim) site() driver.Site {
	s := driver.Site{Queue: c.Label}
	if len(c.Programs) > 0 {
		s.Program = c.Programs[0]
	}
	return s
}

// home is the result of a claim: the queue of the worker where tasks stay.
type home struct {
	Queue string `json:"queue,omitempty"`

	label string
	late  bool // no worker has taken the claim for a while
}

// programs returns the executors that tasks which stay on a worker with a label need.
func (m *machine) programs(label string) (names []string) {
	for task, s := range m.pin.Sites {
		if s.Stays && s.Queue == label && s.Program != "" && !strings.HasPrefix(task, "@") {
			names = append(names, s.Program)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// homeQueues returns the queues of the workers where tasks of a run stay already, which are by label.
func homeQueues(homes map[string]string) []string {
	return slices.Compact(slices.Sorted(maps.Values(homes)))
}

// seek lets an attempt wait for the worker on which tasks with its label stay.
func (m *machine) seek(a *attempt) {
	label := a.site.Queue
	m.homeless[label] = append(m.homeless[label], a)
	if m.claiming[label] {
		return
	}
	m.claiming[label] = true
	c := m.claim(label, false)
	c.timeout = a.task.Timeout
	m.do.claim(c)
}

// claimed starts the attempts that have waited for a worker, or looks for one again.
func (m *machine) claimed(now time.Time, h *home) error {
	waiting := m.homeless[h.label]
	if h.late && len(waiting) > 0 {
		m.do.claim(m.claim(h.label, true))
		return m.wait(waiting)
	}
	delete(m.homeless, h.label)
	delete(m.claiming, h.label)
	if h.late {
		return nil
	}
	m.homes[h.label] = h.Queue
	for _, a := range waiting {
		a.waits, a.unasked = false, false
		if err := m.recordIf(m.at(now, a.queued(true))); err != nil {
			return err
		}
		m.send(a)
	}
	return nil
}

// unclaim withdraws the claims of a plan that is replaced: they ask for what that needs, and who takes one may not be able to do what is
// new. What then begins to wait for a worker claims it anew.
func (m *machine) unclaim() {
	for _, label := range slices.Sorted(maps.Keys(m.claiming)) {
		m.do.unclaim(label)
	}
	clear(m.claiming)
}

// reclaim lets the attempts that were not asked for yet, but go on in a new plan, follow that: they look for a worker that it needs.
func (m *machine) reclaim(now time.Time) error {
	for _, a := range slices.Concat(m.held, m.crowded) {
		m.follow(a)
	}
	waiting := m.homeless
	m.homeless = map[string][]*attempt{}
	for _, label := range slices.Sorted(maps.Keys(waiting)) {
		for _, a := range waiting[label] {
			m.follow(a)
			if err := m.resend(now, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow makes an attempt part of the newest plan, unless that does not say where it is made: its workflow may have another name now.
func (m *machine) follow(a *attempt) {
	_, named := m.pin.Sites[a.task.Workflow+"/"+a.task.Node]
	_, handed := m.pin.Sites["@"+a.task.Agent]
	if named || handed {
		a.pin, a.site = m.pin, m.pin.Site(a.task)
	}
}

// claim returns what a worker has to know to take the tasks with a label.
func (m *machine) claim(label string, again bool) claim {
	return claim{Run: m.id, Label: label, Programs: m.programs(label), Homes: homeQueues(m.homes), again: again}
}

// wait records that attempts wait for a worker, since the newest event. Until it has come, their timeouts and the
// run's clock are paused.
func (m *machine) wait(waiting []*attempt) error {
	for _, a := range waiting {
		a.waits, a.unasked = true, false // who takes it says that it begins
		if err := m.recordIf(m.at(m.newest(), a.queued(false))); err != nil {
			return err
		}
	}
	return nil
}

// isQueued reports whether attempts wait for a worker, or to be asked for.
func (m *machine) isQueued() bool {
	if len(m.held) > 0 || len(m.crowded) > 0 {
		return true
	}
	for _, a := range m.attempts {
		if a.waits {
			return true
		}
	}
	for _, waiting := range m.homeless {
		if len(waiting) > 0 {
			return true
		}
	}
	return false
}

// looks reports whether the run looks for a worker that it may find at once: then nobody has to know that attempts wait.
func (m *machine) looks() bool {
	for _, waiting := range m.homeless {
		for _, a := range waiting {
			if !a.waits {
				return true
			}
		}
	}
	return false
}

// claim looks for a worker on which tasks stay. Workers that cannot take them refuse.
func (f *flow) claim(c claim) {
	c.Plan = f.m.pin.Plan
	options := workflow.ActivityOptions{
		ActivityID:          claimID(c.Label, f.drops),
		TaskQueue:           f.queue(c.site()),
		StartToCloseTimeout: time.Hour,
		HeartbeatTimeout:    f.in.Heartbeat,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 10 * time.Second},
	}
	if !c.again {
		const least = 2 * time.Second // a worker compares its files first
		options.ScheduleToCloseTimeout = f.in.Heartbeat
		if c.timeout > 0 { // it passes until the run knows that it waits
			options.ScheduleToCloseTimeout = min(max(c.timeout/2, least), f.in.Heartbeat)
		}
	}
	ctx, cancel := workflow.WithCancel(f.ctx)
	withdrawn := false
	f.claims[c.Label] = func() {
		withdrawn = true
		cancel()
	}
	done := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), claimName, c)
	f.when(done, func() {
		if withdrawn { // mirrors do not see when it ends
			return
		}
		cancel() // which frees it
		delete(f.claims, c.Label)
		h := &home{label: c.Label}
		h.late = done.Get(f.ctx, h) != nil
		f.inbox = append(f.inbox, arrival{home: h})
	})
}

// unclaim withdraws a claim. A worker may be at it, so the next one has another id.
func (f *flow) unclaim(label string) {
	f.claims[label]()
	delete(f.claims, label)
	f.drops++
}

// claimID returns the id of a claim after so many that were withdrawn.
func claimID(label string, drops int) string {
	if drops == 0 {
		return "claim " + label
	}
	return fmt.Sprintf("claim@%d %s", drops, label)
}

// claim is the activity that takes the tasks of a run that stay on one machine.
func (c *crew) claim(ctx context.Context, asked claim) (home, error) {
	h, err := c.take(ctx, asked)
	c.tellsRefusal(driver.AttemptID{Run: asked.Run}, err)
	return h, err
}

// take takes the tasks, or refuses them.
func (c *crew) take(ctx context.Context, asked claim) (home, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go beat(ctx, activity.GetInfo(ctx).HeartbeatTimeout, nil) // it takes a while to compare the files of a large project
	p, done, err := c.plan(ctx, asked.Run, asked.Plan)
	if err != nil {
		return home{}, err
	}
	defer done()
	for _, program := range asked.Programs {
		if err := c.lacks(program); err != nil {
			return home{}, refuse(err)
		}
	}
	mine := home{Queue: c.stays}
	if c.w.Files == nil || p.pin.Files == "" || slices.Contains(asked.Homes, c.stays) { // its own steps may have changed the files here
		return mine, nil
	}
	here, err := c.w.Files(ctx)
	if err != nil {
		return home{}, refuse(err)
	}
	if here.At == p.pin.Files {
		return mine, nil
	}
	text := fmt.Sprintf("worker %s has other files than the run was started with: %s", c.w.Name, here.Differ(p.pin))
	if len(asked.Homes) == 0 {
		text += "; make the files the same, add what programs write to .gitignore, or cancel the run and start it again"
	} else {
		text += "; earlier steps were done on another machine, and may have changed its files: let that machine do all of them, " +
			"or set `place: any` if the machines share the files"
	}
	return home{}, refuse(errors.New(text))
}
