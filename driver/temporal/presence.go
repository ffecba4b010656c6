package temporal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// presence is what a worker says about itself in the store while it works. The server knows who asks for tasks, but still
// does for a while after they have ended, and only by an identity. So a worker is there if both know it. What counts is
// that it asks for tasks of workflows, which it always does: one that makes as many attempts as it may asks for no others.
type presence struct {
	Name     string    `json:"name"`
	Place    string    `json:"place,omitempty"`
	Queues   []string  `json:"queues,omitempty"` // its labels
	Programs []string  `json:"programs,omitempty"`
	Leaves   bool      `json:"leaves,omitempty"` // it only ends the attempts that it makes
	Renewed  time.Time `json:"renewed"`

	read     time.Time
	identity string
	heard    time.Time // when it last asked for tasks, by the clock of the server
}

// where names the worker, with its machine and directory.
func (p presence) where() string {
	if p.Place == "" {
		return p.Name
	}
	return p.Name + " (" + p.Place + ")"
}

func (p presence) String() string {
	about := p.Queues
	if p.Leaves {
		about = append(slices.Clone(about), "stopping")
	}
	if len(about) == 0 {
		return p.Name
	}
	return p.Name + " (" + strings.Join(about, ", ") + ")"
}

// serves reports whether the worker makes attempts of a queue of the project.
func (p presence) serves(project, queue string) bool {
	is := func(of func(project, name string) string) func(string) bool {
		return func(name string) bool { return of(project, name) == queue }
	}
	return !p.Leaves && (queue == project || queue == workerQueue(project, p.Name) || slices.ContainsFunc(p.Queues, is(labelQueue)) || slices.ContainsFunc(p.Programs, is(programQueue)))
}

// presences is the folder of the workers.
const presences = "workers"

func presenceKey(identity string) string { return presences + "/" + part(identity) }

const (
	// renewEvery is how often a worker stores its presence again, in case it was removed as one that was left.
	renewEvery = 10 * time.Minute
	// leftAfter is how old the presence of a worker that was killed has to be to be removed.
	leftAfter = 24 * time.Hour
	// rereadAfter is how long what a worker has said is believed without another look at the store.
	rereadAfter = 10 * time.Second
	// seenFor is how long a worker is there after it has asked for tasks. It does that once a minute, and the clock here may
	// be ahead of that of the server by another one.
	seenFor = 130 * time.Second
)

// appear says that the worker is there until gone is called.
func (c *crew) appear(ctx context.Context, leave <-chan struct{}) (gone func(), err error) {
	if err := c.namesakes(ctx); err != nil {
		return nil, err
	}
	_ = c.d.forgetDeletions(ctx) // otherwise the next one that starts
	key, own := presenceKey(c.identity), presence{Name: c.w.Name, Place: c.w.Place, Queues: c.w.Queues, Programs: c.w.Programs}
	put := func(ctx context.Context) error {
		own.Renewed = c.d.o.Now().UTC()
		data, err := json.Marshal(own)
		if err != nil {
			return err
		}
		return c.d.o.Store.Put(ctx, key, data)
	}
	if err := put(ctx); err != nil {
		return nil, err
	}
	renewing, end := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		renew := time.NewTicker(renewEvery)
		defer renew.Stop()
		for {
			select {
			case <-renewing.Done():
				return
			case <-leave:
				own.Leaves, leave = true, nil
			case <-renew.C:
			}
			_ = put(renewing) // otherwise the next time
		}
	}()
	return func() {
		end()
		<-over
		ctx, cancel := context.WithTimeout(context.Background(), c.d.o.Heartbeat)
		defer cancel()
		_ = c.d.o.Store.Delete(ctx, key) // otherwise it disappears as one that was killed does
	}, nil
}

// namesakes warns about a worker with the same name that is elsewhere: the name says where files are. It also removes what
// workers have left that were killed long ago. That of another one is left alone even if the server does not know it: it may
// be about to begin.
func (c *crew) namesakes(ctx context.Context) error {
	keys, err := c.d.o.Store.List(ctx, presences)
	if err != nil || len(keys) == 0 {
		return err
	}
	polling, err := c.d.pollers(ctx)
	if err != nil {
		return err
	}
	for _, key := range keys {
		var other presence
		if err := getJSON(ctx, c.d.o.Store, key, &other); err != nil {
			continue // it may have gone now
		}
		polls := slices.ContainsFunc(polling, func(one poller) bool { return presenceKey(one.identity) == key })
		switch {
		case !polls && c.d.o.Now().Sub(other.Renewed) > leftAfter:
			if err := c.d.o.Store.Delete(ctx, key); err != nil {
				return err
			}
		case polls && other.Name == c.w.Name && other.Place != c.w.Place && c.w.Warn != nil:
			c.w.Warn(fmt.Sprintf("another worker has the name %s, in %s, unless it was killed within the last two minutes; the name says where the files of runs are, so use another `--name` here",
				c.w.Name, cmp.Or(other.Place, "an unknown directory")))
		}
	}
	return nil
}

// poller is who has asked for tasks of workflows, and when, by the clock of the server.
type poller struct {
	identity string
	at       time.Time
}

// pollers returns those that ask for tasks of workflows, or have done so shortly before. The server divides a queue into partitions,
// sends each request to one of them, and can only be asked who is at one. (There is a mode that asks all of them, but it is deprecated, and
// returns the time at the first partition where a worker has been, which may be long ago.)
func (d *Driver) pollers(ctx context.Context) ([]poller, error) {
	partitions, err := d.partitions(ctx)
	if err != nil {
		return nil, err
	}
	found, errs := make([][]poller, len(partitions)), make([]error, len(partitions))
	var asked sync.WaitGroup
	for i, name := range partitions {
		asked.Go(func() { found[i], errs[i] = d.pollersAt(ctx, name) })
	}
	asked.Wait()
	all := slices.Concat(found...)
	slices.SortFunc(all, func(a, b poller) int { return cmp.Or(strings.Compare(a.identity, b.identity), b.at.Compare(a.at)) })
	return slices.CompactFunc(all, func(a, b poller) bool { return a.identity == b.identity }), errors.Join(errs...)
}

// partitions returns the names of the parts of the queue. A server that does not tell them is asked for the first one, which has the
// name of the queue.
func (d *Driver) partitions(ctx context.Context) (names []string, err error) {
	res, err := d.client.WorkflowService().ListTaskQueuePartitions(ctx, &workflowservice.ListTaskQueuePartitionsRequest{
		Namespace: d.namespace(), TaskQueue: &taskqueue.TaskQueue{Name: d.o.Queue},
	})
	if errors.As(err, new(*serviceerror.Unimplemented)) || errors.As(err, new(*serviceerror.PermissionDenied)) {
		err = nil
	}
	for _, p := range res.GetWorkflowTaskQueuePartitions() {
		names = append(names, p.GetKey())
	}
	if len(names) == 0 {
		names = []string{d.o.Queue}
	}
	return names, err
}

func (d *Driver) pollersAt(ctx context.Context, partition string) (all []poller, err error) {
	res, err := d.client.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: d.namespace(), TaskQueue: &taskqueue.TaskQueue{Name: partition, Kind: enums.TASK_QUEUE_KIND_NORMAL}, TaskQueueType: enums.TASK_QUEUE_TYPE_WORKFLOW,
	})
	for _, p := range res.GetPollers() {
		if at := p.GetLastAccessTime().AsTime(); d.o.Now().Sub(at) < seenFor {
			all = append(all, poller{p.GetIdentity(), at})
		}
	}
	return all, err
}

// there returns the workers that are there.
func (d *Driver) there(ctx context.Context) ([]poller, error) {
	all, err := d.pollers(ctx)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	present, err := d.o.Store.List(ctx, presences)
	return slices.DeleteFunc(all, func(p poller) bool { return !slices.Contains(present, presenceKey(p.identity)) }), err
}

// served reports whether a worker is there.
func (d *Driver) served(ctx context.Context) bool {
	there, err := d.there(ctx)
	return err != nil || len(there) > 0 // with an error, nobody knows
}

// workers describes the workers that are there.
func (d *Driver) workers(ctx context.Context) (all []presence, err error) {
	there, err := d.there(ctx)
	for _, p := range there {
		one, err := d.presence(ctx, p.identity)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has gone now
		}
		if err != nil {
			one = presence{Name: p.identity} // such as one with another key
		}
		one.identity, one.heard = p.identity, p.at
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b presence) int { return strings.Compare(a.String(), b.String()) })
	return all, err
}

// presence returns what a worker says about itself. It says the same for most of its life, so not every look reads it.
func (d *Driver) presence(ctx context.Context, identity string) (p presence, err error) {
	if known, ok := d.present.Load(identity); ok && time.Since(known.(presence).read) < rereadAfter {
		return known.(presence), nil
	}
	d.present.Delete(identity)
	if err = getJSON(ctx, d.o.Store, presenceKey(identity), &p); err == nil {
		p.read = time.Now()
		d.present.Store(identity, p)
	}
	return p, err
}
