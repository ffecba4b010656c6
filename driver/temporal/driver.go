package temporal

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// Options says where runs are, and how a driver works.
type Options struct {
	// Client connects to the server. Its ExternalStorage and DataConverter are set by the driver.
	Client client.Options
	// Queue names the project: its runs, and the task queue of its workers.
	Queue string
	Store Store
	// Create makes the store one of the project if it is new and the project has no runs. Without it, there must be a store.
	Create bool
	// Key, if not nil, encrypts what runs keep on the server and in the store: see [ParseKey].
	Key []byte
	// Heartbeat is how long a worker may be silent before its attempts count as lost. Zero means 10 seconds.
	Heartbeat time.Duration
	// A run continues in a new execution when its history has Quiet events and no attempt is in progress. With Drain
	// events or Updates updates, no attempt begins before that. Zero means 10,000, 40,000 and 1,500.
	Quiet, Drain, Updates int
	// Now is the wall clock. Nil means time.Now.
	Now func() time.Time
}

// From so many bytes of history on, a run continues in a new execution as with Quiet and Drain events.
const (
	quietBytes = 8 << 20
	drainBytes = 30 << 20
)

// archiveBytes is how many bytes of events are archived at a time.
const archiveBytes = 8 << 20

// longPayload is the size from which a value is stored outside of the history.
const longPayload = 64 << 10

// Driver stores and drives runs with Temporal.
type Driver struct {
	o       Options
	client  client.Client
	name    string // of this process
	project string // as Options.Queue names it; o.Queue is the task queue of its workers, see [Driver.identify]
	values  offload
	archive sync.Map // facts of runs that only the archive has, by key
	view    *overview
	present sync.Map     // presence of workers, by identity
	ahead   atomic.Int64 // how far the clock here is ahead of that of the server, as far as somebody had to know: see unheard
	log     *logger      // nil: the SDK has its own
	recent  sync.Map     // *created: runs that this process has created, and that the server may not list yet, by id
}

// Open connects to the server.
func Open(o Options) (*Driver, error) {
	o.Heartbeat = cmp.Or(o.Heartbeat, 10*time.Second)
	o.Quiet, o.Drain, o.Updates = cmp.Or(o.Quiet, 10_000), cmp.Or(o.Drain, 40_000), cmp.Or(o.Updates, 1_500)
	if o.Now == nil {
		o.Now = time.Now
	}
	crypt, err := newSeal(o.Key)
	if err != nil {
		return nil, err
	}
	data := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), crypt)
	o.Client.DataConverter = careful{data}
	o.Client.FailureConverter = failures{temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: data, EncodeCommonAttributes: len(o.Key) > 0})}
	values := offload{store: o.Store, data: data} // which are encrypted before they are stored
	if len(o.Key) > 0 {
		o.Store = sealedStore{o.Store, crypt}
	}
	d := &Driver{o: o, name: processName(), project: o.Queue, values: values, view: newOverview()}
	if o.Client.Logger != nil {
		d.log = &logger{Logger: o.Client.Logger}
		o.Client.Logger = d.log
	}
	o.Client.ExternalStorage = converter.ExternalStorage{Drivers: []converter.StorageDriver{d.values}, PayloadSizeThreshold: longPayload}
	c, err := client.Dial(o.Client)
	if err != nil {
		return nil, unreachable(o.Client, err)
	}
	d.client = c
	err = ready(c, d.namespace(), o.Client.HostPort)
	if err == nil { // only now: a namespace that does not exist must not own the store
		d.values.id, err = d.identify(context.Background())
	}
	if err == nil {
		err = crypt.check(context.Background(), d.values.store)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	d.o.Queue += "@" + d.values.id
	return d, nil
}

// Close ends the connection.
func (d *Driver) Close() error {
	d.client.Close()
	return nil
}

// flowID returns the workflow id of a run.
func (d *Driver) flowID(run string) string { return d.project + "/" + run }

// runOf returns the run of a workflow id.
func runOf(flow string) string { return flow[strings.LastIndexByte(flow, '/')+1:] }

func labelQueue(project, label string) string     { return project + "/queue/" + label }
func programQueue(project, program string) string { return project + "/program/" + program }
func workerQueue(project, name string) string     { return project + "/worker/" + name }

const memoFacts = "hocket"

// Start records a run by starting its workflow. It begins as soon as a worker serves its queue.
func (d *Driver) Start(ctx context.Context, spec driver.Spec) (driver.Created, error) {
	now := driver.Moment(d.o.Now())
	return d.recordAs(ctx, spec.Run, spec.Pin.Bundle.Root.Name, spec.Key, spec.Request, func(id string) (creation, error) {
		first := engine.Envelope{Time: now, Event: &engine.Started{Run: id, Version: engine.Version, Inputs: spec.Inputs, Limits: spec.Limits, Tasks: spec.Tasks, Base: spec.Base}}
		return creation{pin: spec.Pin, events: []eventJSON{{first}}, about: facts{Created: now, Owner: spec.Owner}}, nil
	})
}

// creation is a run to record.
type creation struct {
	pin    *driver.Pin
	events []eventJSON
	plans  []*driver.Pin
	about  facts
	after  *mirror // the run exists, and goes on after its end
}

// reservation says which run a key was used for.
type reservation struct {
	Run     string `json:"run"`
	Request string `json:"request"`
}

// recordAs records a run under an id, or a new one if that is "". A key is reserved first, so that the same
// request leads to the same run even if the process dies in between.
func (d *Driver) recordAs(ctx context.Context, id, name, key, request string, made func(id string) (creation, error)) (driver.Created, error) {
	if err := d.seals(ctx); err != nil {
		return driver.Created{}, err
	}
	chosen := cmp.Or(id, newID(name))
	if key == "" {
		c, err := made(chosen)
		if err != nil {
			return driver.Created{}, err
		}
		return driver.Created{Run: chosen}, d.create(ctx, chosen, c)
	}
	was, err := d.reserve(ctx, key, reservation{chosen, request})
	if err != nil {
		return driver.Created{}, err
	}
	c, err := made(was.Run)
	if err != nil {
		return driver.Created{}, err
	}
	c.about.Key = digestOfKey(key)
	err = d.create(ctx, was.Run, c)
	if errors.As(err, new(*driver.ExistsError)) && (was.Run != chosen || id == "") {
		return driver.Created{Run: was.Run, Existed: true}, nil
	}
	return driver.Created{Run: was.Run}, err
}

func newID(name string) string { return name + "-" + strings.ToLower(rand.Text()[:6]) }

// StartedWith returns the run that was started with a key for a request; "" if there is none.
func (d *Driver) StartedWith(ctx context.Context, key, request string) (string, error) {
	if key == "" {
		return "", nil
	}
	was, err := d.reservation(ctx, key, request)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	_, err = d.client.DescribeWorkflowExecution(ctx, d.flowID(was.Run), "")
	if errors.As(err, new(*serviceerror.NotFound)) {
		ended, err := d.hasEnded(ctx, was.Run)
		if !ended { // it is about to be started
			was.Run = ""
		}
		return was.Run, err
	}
	return was.Run, err
}

func (d *Driver) reservation(ctx context.Context, key, request string) (was reservation, err error) {
	err = getJSON(ctx, d.o.Store, keyPlace(key), &was)
	if err == nil && was.Request != request {
		err = &driver.KeyError{Key: key, Run: was.Run}
	}
	return was, err
}

func keyPlace(key string) string { return "keys/" + digestOfKey(key) }

func digestOfKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// release makes a key free again whose run is deleted. Others can have written the digest.
func (d *Driver) release(ctx context.Context, run, digest string) error {
	if digest == "" {
		return nil
	}
	place := "keys/" + part(digest)
	var was reservation
	err := getJSON(ctx, d.o.Store, place, &was)
	if errors.Is(err, fs.ErrNotExist) || err == nil && was.Run != run {
		return nil
	}
	if err != nil {
		return err
	}
	return d.o.Store.Delete(ctx, place)
}

// reserve reserves a key, or returns who has it.
func (d *Driver) reserve(ctx context.Context, key string, r reservation) (reservation, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return r, err
	}
	err = d.o.Store.Create(ctx, keyPlace(key), data)
	if errors.Is(err, fs.ErrExist) {
		return d.reservation(ctx, key, r.Request)
	}
	return r, err
}

// created is a run that this process has created.
type created struct {
	at     time.Time
	run    string      // the id of its execution
	known  int         // the events that somebody has observed
	driven atomic.Bool // since then
}

// create starts the workflow of a run.
func (d *Driver) create(ctx context.Context, id string, c creation) error {
	in := begin{
		Version: flowVersion, Run: id, Pin: c.pin, Events: c.events, Plans: c.plans, Heartbeat: d.o.Heartbeat, Limits: continuing{d.o.Quiet, d.o.Drain, d.o.Updates, quietBytes, drainBytes, archiveBytes},
	}
	reuse := enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	root := c.pin.Bundle.Root
	if c.after != nil {
		reuse = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
		in.First, in.Snapshot, in.Seq = c.after.firstPin(), c.after.run.Snapshot(), c.after.run.Seq()
		root = c.plans[0].Bundle.Root
	} else if ended, err := d.hasEnded(ctx, id); ended || err != nil {
		return cmp.Or[error](err, &driver.ExistsError{Run: id})
	}
	in.About = c.about
	in.About.ID, in.About.Workflow, in.About.Digest, in.About.Status = id, root.Name, workflow.Digest(root), engine.Running
	in.About.Store, in.About.Scripted = d.values.id, len(c.pin.Replies) > 0
	flow, err := d.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: d.flowID(id), TaskQueue: d.o.Queue, WorkflowExecutionErrorWhenAlreadyStarted: true, WorkflowIDReusePolicy: reuse,
		Memo: map[string]any{memoFacts: in.About}, WorkflowTaskTimeout: 3 * d.o.Heartbeat, // long values are loaded in it
		TypedSearchAttributes: temporal.NewSearchAttributes(statusKey.ValueSet(string(engine.Running)), workflowKey.ValueSet(root.Name)),
	}, flowName, in)
	if errors.As(err, new(*serviceerror.WorkflowExecutionAlreadyStarted)) {
		return &driver.ExistsError{Run: id}
	}
	if err != nil {
		return err
	}
	now := &created{at: time.Now(), run: flow.GetRunID(), known: len(c.events)}
	switch {
	case c.after != nil: // what it was recorded with begins again when it is taken up
		now.known += c.after.run.Seq()
	case len(c.events) == 1: // nobody has observed its beginning
		now.known = 0
	}
	d.recent.Store(id, now)
	time.AfterFunc(time.Minute, func() { d.recent.CompareAndDelete(id, now) })
	return nil
}
