package temporal

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// presence is what a worker says about itself in the store while it works. The server lists who has asked for tasks, but
// up to a minute after they have ended, and only by an identity. So a worker is there if both know it.
type presence struct {
	Name   string   `json:"name"`
	Place  string   `json:"place,omitempty"`
	Queues []string `json:"queues,omitempty"` // its labels
}

func (p presence) String() string {
	if len(p.Queues) == 0 {
		return p.Name
	}
	return p.Name + " (" + strings.Join(p.Queues, ", ") + ")"
}

// presences is the folder of the workers.
const presences = "workers"

func presenceKey(identity string) string { return presences + "/" + part(identity) }

// appear says that the worker is there until gone is called.
func (c *crew) appear(ctx context.Context) (gone func(), err error) {
	if err := c.namesakes(ctx); err != nil {
		return nil, err
	}
	own, err := json.Marshal(presence{c.w.Name, c.w.Place, c.w.Queues})
	if err != nil {
		return nil, err
	}
	key := presenceKey(c.identity)
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), c.d.o.Heartbeat)
		defer cancel()
		_ = c.d.o.Store.Delete(ctx, key) // otherwise it disappears as one that was killed does
	}, c.d.o.Store.Put(ctx, key, own)
}

// namesakes removes what workers with the same name have left that were killed, and warns about one that is elsewhere: the
// name says where files are.
func (c *crew) namesakes(ctx context.Context) error {
	keys, err := c.d.o.Store.List(ctx, presences)
	if err != nil || len(keys) == 0 {
		return err
	}
	there, err := c.d.pollers(ctx, c.stays, enums.TASK_QUEUE_TYPE_ACTIVITY)
	if err != nil {
		return err
	}
	for _, key := range keys {
		var other presence
		if err := getJSON(ctx, c.d.o.Store, key, &other); err != nil || other.Name != c.w.Name {
			continue // it may have gone now
		}
		polls := slices.ContainsFunc(there, func(identity string) bool { return presenceKey(identity) == key })
		switch {
		case !polls:
			if err := c.d.o.Store.Delete(ctx, key); err != nil {
				return err
			}
		case other.Place != c.w.Place && c.w.Warn != nil:
			c.w.Warn(fmt.Sprintf("another worker has the name %s, in %s, unless it was killed within the last minute; the name says where the files of runs are, so use another `--name` here",
				c.w.Name, cmp.Or(other.Place, "an unknown directory")))
		}
	}
	return nil
}

// served reports whether a worker asks for tasks of a queue.
func (d *Driver) served(ctx context.Context, queue string, kind enums.TaskQueueType) bool {
	there, err := d.pollers(ctx, queue, kind)
	return err != nil || len(there) > 0 // with an error, nobody knows
}

// pollers returns the identities of the workers that ask for tasks of a queue. One that was killed still seems to do so for
// about a minute.
func (d *Driver) pollers(ctx context.Context, queue string, kind enums.TaskQueueType) (there []string, err error) {
	res, err := d.client.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: d.namespace(), TaskQueue: &taskqueue.TaskQueue{Name: queue, Kind: enums.TASK_QUEUE_KIND_NORMAL}, TaskQueueType: kind,
	})
	for _, p := range res.GetPollers() {
		if d.o.Now().Sub(p.GetLastAccessTime().AsTime()) < 70*time.Second { // a poll takes a minute
			there = append(there, p.GetIdentity())
		}
	}
	if err != nil || len(there) == 0 {
		return nil, err
	}
	present, err := d.o.Store.List(ctx, presences)
	return slices.DeleteFunc(there, func(identity string) bool { return !slices.Contains(present, presenceKey(identity)) }), err
}

// workers describes the workers of the project.
func (d *Driver) workers(ctx context.Context) (names []string, err error) {
	there, err := d.pollers(ctx, d.o.Queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
	for _, identity := range there {
		one := presence{Name: identity}
		_ = getJSON(ctx, d.o.Store, presenceKey(identity), &one) // it may have gone now
		names = append(names, one.String())
	}
	slices.Sort(names)
	return names, err
}
