package temporal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	model "github.com/hocket-dev/hocket/workflow"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"
)

var record = flag.Bool("record", false, "record the histories in testdata anew, needs a server")

var silent = log.NewStructuredLogger(slog.New(slog.DiscardHandler))

// TestRecorded replays histories of real runs, which stay forever: a run that an older program began goes on with
// this one. The SDK compares what the workflow does with the history, and a mirror must read the events that
// the workflow had recorded. Each history is also replayed as it was before each of its workflow tasks, when this program may have taken it over:
// the SDK looks ahead in a history, and then there is nothing ahead.
//
// If it fails after a change to machine or flow, runs in progress would break. Keep the old behaviour for them: add
// a version to begin, set it where runs are created, and ask for it in the machine, so that the workflow and mirrors
// decide alike. Then record one more history under a new name; never replace one.
func TestRecorded(t *testing.T) {
	if *record {
		recordAll(t)
	}
	files, err := filepath.Glob("testdata/histories/*.events")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d histories, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".events"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			histories := recorded(t, strings.TrimSuffix(file, ".events"))
			store := archived(t, histories[0], want)
			if got := mirrored(t, histories, store); !bytes.Equal(got, want) {
				t.Errorf("a mirror reads\n%s\nand the workflow had recorded\n%s", got, want)
			}
			for i, h := range histories {
				for _, part := range parts(h) {
					if err := Replay(part, store); err != nil {
						t.Errorf("execution %d, %d of %d events: %v", i+1, len(part.GetEvents()), len(h.GetEvents()), err)
					}
					if got := mirrored(t, append(histories[:i:i], part), store); !bytes.HasPrefix(want, got) {
						t.Errorf("execution %d, %d of %d events: a mirror reads\n%s\nand the workflow had recorded\n%s", i+1, len(part.GetEvents()), len(h.GetEvents()), got, want)
					}
				}
			}
		})
	}
}

// parts returns a history as it was before each of its workflow tasks but the first, and the whole.
func parts(h *historypb.History) (all []*historypb.History) {
	events := h.GetEvents()
	for i, e := range events {
		if e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_STARTED && i > 2 {
			all = append(all, &historypb.History{Events: events[:i]})
		}
	}
	return append(all, h)
}

// A mirror and the SDK notice a history in which something is in another order.
func TestRecordedDiffers(t *testing.T) {
	h := recorded(t, "testdata/histories/chain")[0]
	var starts []*historypb.ActivityTaskScheduledEventAttributes
	for _, e := range h.GetEvents() {
		if a := e.GetActivityTaskScheduledEventAttributes(); a != nil {
			starts = append(starts, a)
		}
	}
	starts[0].ActivityId, starts[1].ActivityId = starts[1].ActivityId, starts[0].ActivityId
	if err := Replay(h, nil); err == nil {
		t.Error("the SDK does not notice that two steps are exchanged")
	}
}

// recorded returns the histories of the executions of a run.
func recorded(t *testing.T, name string) (all []*historypb.History) {
	t.Helper()
	for i := 1; ; i++ {
		data, err := os.ReadFile(name + "." + strconv.Itoa(i) + ".json")
		if os.IsNotExist(err) && i > 1 {
			return all
		}
		h := &historypb.History{}
		if err == nil {
			err = protojson.Unmarshal(data, h)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, h)
	}
}

// archived returns a store with the archive of a run. The release that recorded it may have had another form of snapshots.
func archived(t *testing.T, first *historypb.History, events []byte) Store {
	t.Helper()
	in, s := input(t, first), Folder(t.TempDir())
	err := errors.Join(s.Put(t.Context(), idKey, nil), s.Put(t.Context(), runKey(in.Run, "events", "000000000001"), events), putJSON(t.Context(), s, runKey(in.Run, "plans", "first"), in.Pin))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// input returns the input of an execution.
func input(t *testing.T, h *historypb.History) (in begin) {
	t.Helper()
	if err := converter.GetDefaultDataConverter().FromPayloads(h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetInput(), &in); err != nil {
		t.Fatal(err)
	}
	return in
}

func mirrored(t *testing.T, histories []*historypb.History, s Store) []byte {
	t.Helper()
	var lines []byte
	m := &mirror{values: offload{id: input(t, histories[0]).About.Store, data: converter.GetDefaultDataConverter()}, see: func(_ *engine.Run, e engine.Envelope, _ []engine.Command) {
		line, err := engine.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(append(lines, line...), '\n')
	}}
	m.recall = func(last int) (begin, error) { return past(t.Context(), s, m.in.Run, last) }
	for _, h := range histories {
		if err := m.page(h.GetEvents()); err != nil {
			t.Fatal(err)
		}
	}
	return lines
}

// Replay replays a history as a worker does, with the store of its long values.
func Replay(h *historypb.History, s Store) error {
	id := h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowId()
	d := &Driver{project: strings.TrimSuffix(id, "/"+runOf(id)), o: Options{Store: s}}
	values := converter.ExternalStorage{Drivers: []converter.StorageDriver{offload{store: s, data: converter.GetDefaultDataConverter()}}, PayloadSizeThreshold: longPayload}
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{ExternalStorage: values})
	if err != nil {
		return err
	}
	r.RegisterWorkflowWithOptions(d.newCrew(driver.Worker{Resolve: anything}).runFlow, workflow.RegisterOptions{Name: flowName})
	return r.ReplayWorkflowHistoryWithOptions(silent, h, worker.ReplayWorkflowHistoryOptions{OriginalExecution: workflow.Execution{ID: id}})
}

// agents is a function that makes attempts.
type agents func(ctx context.Context, task *engine.StartTask, at driver.Attempt) driver.Outcome

func (a agents) Run(ctx context.Context, _ string, task *engine.StartTask, at driver.Attempt) driver.Outcome {
	return a(ctx, task, at)
}

func echo(_ context.Context, task *engine.StartTask, _ driver.Attempt) driver.Outcome {
	return driver.Outcome{Output: task.Prompt, Usage: engine.Usage{CostUSD: 0.25, TokensIn: 3}, Agent: "test"}
}

func step(id string) model.Node {
	return model.Node{ID: id, Step: &model.Task{Agent: "test", Prompt: model.Template{Text: "do " + id}}}
}

func sequence(nodes ...model.Node) *model.Bundle {
	g := model.Graph{Nodes: nodes}
	for i := range nodes[1:] {
		g.Edges = append(g.Edges, model.Edge{From: nodes[i].ID, To: nodes[i+1].ID})
	}
	return &model.Bundle{Root: &model.Workflow{Name: "demo", Body: g}}
}

// recorder records one history.
type recorder struct {
	*testing.T
	name   string
	dir    string
	limits model.Limits
	ahead  time.Duration // of the client's clock
}

// open returns a driver of the project of the history.
func (r *recorder) open(drain int) *Driver {
	d, err := Open(Options{
		Client: client.Options{HostPort: os.Getenv("HOCKET_TEMPORAL_ADDRESS"), Logger: silent}, Queue: "record-" + r.name, Store: Folder(r.dir), Create: true,
		Heartbeat: 2 * time.Second, Quiet: drain, Drain: drain, Now: func() time.Time { return time.Now().Add(r.ahead) },
	})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { d.Close() })
	return d
}

func (r *recorder) start(d *Driver, b *model.Bundle, inputs map[string]any) {
	if _, err := d.Start(r.Context(), driver.Spec{Run: r.name, Pin: &driver.Pin{Bundle: b}, Inputs: inputs, Limits: r.limits}); err != nil {
		r.Fatal(err)
	}
}

// drive works for the run, and follows it.
func (r *recorder) drive(d *Driver, a agents, want engine.Status, queues ...string) {
	ctx, stop := context.WithCancel(r.Context())
	var working sync.WaitGroup
	working.Go(func() {
		_ = d.Work(ctx, driver.Worker{Name: "one", Queues: queues, Resolve: func(context.Context, string, *driver.Pin) (driver.Work, func(), error) {
			return driver.Work{Agents: a, Elsewhere: true}, func() {}, nil
		}}, nil)
	})
	defer working.Wait()
	defer stop()
	res, err := d.Drive(r.Context(), r.name, driver.Work{Elsewhere: true})
	if want != "" && (err != nil || res.Status != want) {
		r.Fatalf("%s %s %v", res.Status, res.Error, err)
	}
}

func (r *recorder) act(d *Driver, ev engine.Event) {
	if _, err := d.Act(r.Context(), r.name, ev); err != nil {
		r.Fatal(err)
	}
}

// askOnce plays a run with an attempt that asks.
func askOnce(r *recorder) {
	d := r.open(0)
	r.start(d, sequence(step("a")), nil)
	go func() {
		for r.Context().Err() == nil {
			if _, err := d.Act(r.Context(), r.name, &engine.Answered{ID: "a@1", Value: "yes"}); err == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	r.drive(d, func(ctx context.Context, _ *engine.StartTask, at driver.Attempt) driver.Outcome {
		said, err := at.Ask(ctx, agent.Question{Text: "May I?", Options: []string{"yes"}})
		if err != nil {
			said = err.Error()
		}
		return driver.Outcome{Output: said}
	}, engine.Success)
}

// recordAll records a history of each kind. They come from a server, so their ids and times differ each time.
func recordAll(t *testing.T) {
	human := model.Node{ID: "ok", Step: &model.Human{Question: model.Template{Text: "Go on?"}, Options: []model.Option{{Value: "yes"}, {Value: "no"}}}}
	for name, play := range map[string]func(r *recorder){
		"chain": func(r *recorder) {
			d := r.open(0)
			r.start(d, sequence(step("a"), step("b"), step("c")), nil)
			r.drive(d, echo, engine.Success)
		},
		"gate": func(r *recorder) {
			d := r.open(0)
			r.start(d, sequence(step("a"), human, step("b")), nil)
			r.drive(d, echo, engine.Waiting)
			r.act(d, &engine.Answered{ID: "ok", Value: "yes", By: "ann"})
			r.drive(d, echo, engine.Success)
		},
		"retry": func(r *recorder) {
			d := r.open(0)
			a := step("a")
			a.Retry = model.Retry{Attempts: 3, Delay: 50 * time.Millisecond}
			r.start(d, sequence(a), nil)
			r.drive(d, func(ctx context.Context, task *engine.StartTask, at driver.Attempt) driver.Outcome {
				if task.Attempt < 3 {
					return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: "not yet"}}
				}
				return echo(ctx, task, at)
			}, engine.Success)
		},
		"lost": func(r *recorder) {
			d := r.open(0)
			r.start(d, sequence(step("a"), step("b")), nil)
			r.drive(d, func(ctx context.Context, _ *engine.StartTask, at driver.Attempt) driver.Outcome {
				d.Close()
				_, err := at.Ask(ctx, agent.Question{Text: "May I?", Options: []string{"yes"}})
				return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: err.Error()}}
			}, "")
			r.drive(r.open(0), echo, engine.Success)
		},
		"question": askOnce,
		"answered": askOnce, // by version 3
		"fan": func(r *recorder) {
			d := r.open(0)
			each := &model.Each{Items: model.Expr{Text: "inputs.items"}, Body: model.Graph{Nodes: []model.Node{step("work")}}}
			r.limits.Parallel = 3
			r.start(d, &model.Bundle{Root: &model.Workflow{Name: "demo", Body: model.Graph{Nodes: []model.Node{{ID: "work", Step: each}}}}}, map[string]any{"items": []any{"1", "2", "3", "4", "5", "6", "7", "8"}})
			r.drive(d, echo, engine.Success)
		},
		"handoff": func(r *recorder) {
			d := r.open(0)
			a := step("a")
			a.Step.(*model.Task).Handoffs = &model.Handoffs{To: []string{"test"}}
			r.start(d, sequence(a), nil)
			r.drive(d, func(ctx context.Context, task *engine.StartTask, at driver.Attempt) driver.Outcome {
				if task.Address != "a" {
					return echo(ctx, task, at)
				}
				got, err := at.HandOff(ctx, &engine.HandoffAsked{Blocking: true, Definition: sequence(step("help")).Root})
				if err != nil {
					return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: err.Error(), Permanent: true}}
				}
				out, err := got.Value()
				text, _ := json.Marshal(out)
				return driver.Outcome{Output: string(text)}
			}, engine.Success)
		},
		"replan": func(r *recorder) {
			d := r.open(0)
			r.start(d, sequence(step("a"), human, step("b")), nil)
			r.drive(d, echo, engine.Waiting)
			if _, err := d.Replan(r.Context(), r.name, driver.Replan{Pin: &driver.Pin{Bundle: sequence(step("a"), step("c"))}, By: "ann"}); err != nil {
				r.Fatal(err)
			}
			r.drive(d, echo, engine.Success)
		},
		"continued": func(r *recorder) {
			d := r.open(25)
			var nodes []model.Node
			for i := range 12 {
				nodes = append(nodes, step("n"+strconv.Itoa(i)))
			}
			r.start(d, sequence(nodes...), nil)
			for i, err := d.Info(r.Context(), r.name); err == nil && !i.Status.Done(); i, err = d.Info(r.Context(), r.name) {
				r.drive(d, echo, "")
			}
		},
		"waited": func(r *recorder) { // for a worker, with more attempts than begin at once
			d := r.open(50)
			each := &model.Each{Items: model.Expr{Text: "inputs.items"}, Body: model.Graph{Nodes: []model.Node{step("work")}}}
			b := &model.Bundle{Root: &model.Workflow{Name: "demo", Body: model.Graph{Nodes: []model.Node{{ID: "work", Step: each}}}}}
			r.limits.Parallel = mostAtOnce + 3
			pin := &driver.Pin{Bundle: b, Sites: map[string]driver.Site{"demo/work": {Queue: "gpu"}}}
			if _, err := d.Start(r.Context(), driver.Spec{Run: r.name, Pin: pin, Inputs: map[string]any{"items": make([]any, mostAtOnce+3)}, Limits: r.limits}); err != nil {
				r.Fatal(err)
			}
			r.drive(d, echo, engine.Waiting)
			r.drive(d, echo, engine.Success, "gpu")
		},
		"unasked": func(r *recorder) { // attempts with timeouts that look for their worker, or are held for the next execution
			d := r.open(25)
			work := step("work")
			work.Timeout = time.Minute
			each := &model.Each{Items: model.Expr{Text: "inputs.items"}, Body: model.Graph{Nodes: []model.Node{work}}}
			b := &model.Bundle{Root: &model.Workflow{Name: "demo", Body: model.Graph{Nodes: []model.Node{{ID: "work", Step: each}}}}}
			r.limits.Parallel = 4
			pin := &driver.Pin{Bundle: b, Sites: map[string]driver.Site{"demo/work": {Stays: true}}}
			if _, err := d.Start(r.Context(), driver.Spec{Run: r.name, Pin: pin, Inputs: map[string]any{"items": make([]any, 12)}, Limits: r.limits}); err != nil {
				r.Fatal(err)
			}
			r.drive(d, func(ctx context.Context, task *engine.StartTask, at driver.Attempt) driver.Outcome {
				time.Sleep(time.Duration(task.Address[len(task.Address)-2]%4) * 100 * time.Millisecond) // so that not all end at once
				return echo(ctx, task, at)
			}, engine.Success)
		},
		"reclaimed": func(r *recorder) { // by the new plan, when no worker has the program that the first one needs
			d := r.open(0)
			pin := func(id, program string) *driver.Pin {
				return &driver.Pin{Bundle: sequence(step(id)), Sites: map[string]driver.Site{"demo/" + id: {Stays: true, Program: program}}}
			}
			if _, err := d.Start(r.Context(), driver.Spec{Run: r.name, Pin: pin("a", "claude"), Limits: r.limits}); err != nil {
				r.Fatal(err)
			}
			go func() {
				time.Sleep(4 * time.Second) // the claim is asked for again
				if _, err := d.Replan(r.Context(), r.name, driver.Replan{Pin: pin("b", ""), By: "ann"}); err != nil {
					r.Error(err)
				}
			}()
			r.drive(d, echo, engine.Success)
		},
		"ahead": func(r *recorder) { // who forks the run, after its end
			name := r.name
			d := r.open(0)
			late := human
			late.Timeout = 300 * time.Millisecond
			b := sequence(step("a"), late, step("after"))
			b.Root.Body.Edges[1].On = model.OnTimeout
			r.name += "-first"
			r.ahead = time.Minute
			r.start(d, b, nil)
			r.drive(d, echo, engine.Success)
			if _, err := d.Fork(r.Context(), driver.ForkSpec{From: r.name, Run: name, Address: "ok"}); err != nil {
				r.Fatal(err)
			}
			r.name = name
			r.drive(d, echo, engine.Success)
		},
		"timers": func(r *recorder) {
			d := r.open(0)
			late, slow := human, step("slow")
			late.Timeout, slow.Timeout, slow.OnError = 300*time.Millisecond, 200*time.Millisecond, model.Continue
			b := sequence(slow, late, step("after"))
			b.Root.Body.Edges[1].On = model.OnTimeout
			r.start(d, b, nil)
			r.drive(d, func(ctx context.Context, task *engine.StartTask, at driver.Attempt) driver.Outcome {
				if task.Node == "slow" {
					<-ctx.Done()
				}
				return echo(ctx, task, at)
			}, "")
		},
		"cancelled": func(r *recorder) {
			d := r.open(0)
			r.start(d, sequence(step("a"), human), nil)
			r.drive(d, echo, engine.Waiting)
			r.act(d, &engine.CancelAsked{By: "ann"})
		},
	} {
		if matches, _ := filepath.Glob("testdata/histories/" + name + ".*"); len(matches) > 0 {
			continue // it stays as it is
		}
		t.Run("record "+name, func(t *testing.T) {
			r := &recorder{T: t, name: name, dir: t.TempDir(), limits: model.Limits{Parallel: 10, Steps: 1000, Runtime: time.Hour}}
			play(r)
			r.save()
		})
	}
}

// save stores the histories of a run, and the events that its workflow has archived.
func (r *recorder) save() {
	d := r.open(0)
	var histories []*historypb.History
	for id, done := "", false; !done; {
		h := &historypb.History{}
		for it := d.client.GetWorkflowHistory(r.Context(), d.flowID(r.name), id, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
			e, err := it.Next()
			if err != nil {
				r.Fatal(err)
			}
			h.Events = append(h.Events, e)
		}
		histories = slices.Insert(histories, 0, h)
		id = h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId()
		done = id == ""
	}
	if err := os.MkdirAll("testdata/histories", 0o755); err != nil {
		r.Fatal(err)
	}
	name := filepath.Join("testdata/histories", r.name)
	for i, h := range histories {
		data, err := protojson.MarshalOptions{Multiline: true, Indent: " "}.Marshal(h)
		if err == nil {
			err = os.WriteFile(name+"."+strconv.Itoa(i+1)+".json", data, 0o644)
		}
		if err != nil {
			r.Fatal(err)
		}
	}
	var lines []byte
	var err error
	for e, wrong := range archivedEvents(r.Context(), d.o.Store, r.name, 0, 0) {
		line, bad := engine.Encode(e)
		lines, err = append(append(lines, line...), '\n'), errors.Join(err, wrong, bad)
	}
	if err == nil {
		err = os.WriteFile(name+".events", lines, 0o644)
	}
	if err != nil {
		r.Fatal(err)
	}
}
