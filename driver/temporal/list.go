package temporal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
)

// executions lists the newest execution of each run of the project, newest run first.
func (d *Driver) executions(ctx context.Context) (map[string]*workflowpb.WorkflowExecutionInfo, error) {
	found := map[string]*workflowpb.WorkflowExecutionInfo{}
	req := &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: d.namespace(), PageSize: 1000,
		Query: "WorkflowType = '" + flowName + "' AND WorkflowId STARTS_WITH '" + strings.ReplaceAll(d.o.Queue, "'", "''") + "/'",
	}
	for {
		res, err := d.client.ListWorkflow(ctx, req)
		if err != nil {
			return nil, err
		}
		for _, e := range res.GetExecutions() {
			id := runOf(e.GetExecution().GetWorkflowId())
			if old := found[id]; old == nil || old.GetStartTime().AsTime().Before(e.GetStartTime().AsTime()) {
				found[id] = e
			}
		}
		if req.NextPageToken = res.GetNextPageToken(); len(req.NextPageToken) == 0 {
			return found, nil
		}
	}
}

func factsOf(e *workflowpb.WorkflowExecutionInfo) (about facts, err error) {
	p := e.GetMemo().GetFields()[memoFacts]
	if p == nil {
		return about, errors.New("temporal: a run without its facts")
	}
	return about, converter.GetDefaultDataConverter().FromPayload(p, &about)
}

// Info returns the current state of a run.
func (d *Driver) Info(ctx context.Context, run string) (driver.Info, error) {
	res, err := d.client.DescribeWorkflowExecution(ctx, d.flowID(run), "")
	if err != nil {
		return driver.Info{}, known(run, err)
	}
	i, m, err := d.info(ctx, run, res.GetWorkflowExecutionInfo())
	if err == nil {
		i.Stalled = d.stalled(ctx, m)
	}
	return i, err
}

func (d *Driver) info(ctx context.Context, run string, e *workflowpb.WorkflowExecutionInfo) (driver.Info, *mirror, error) {
	about, err := factsOf(e)
	if err != nil {
		return driver.Info{}, nil, err
	}
	i := driver.Info{
		ID: run, Workflow: about.Workflow, Digest: about.Digest, Created: about.Created, Changed: about.Created, Origin: about.Origin, Owner: about.Owner,
		Status: engine.Running,
	}
	m, err := d.mirror(ctx, run, nil)
	if err != nil && !errors.As(err, new(*engine.LoadError)) {
		return i, nil, err
	}
	i.Driven = e.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING && d.alive(ctx, run)
	i.Pending = !m.begun && !i.Driven && !about.Owner.Claimed
	i.Status, i.Seq, i.Usage, i.Open, i.Changed, i.Due = m.run.Status(), m.run.Seq(), m.run.Usage(), len(m.run.Questions()), m.last, m.run.Due()
	if err := m.closed(); err != nil {
		i.Problem = err.Error()
	}
	i.Workflow, i.Digest = m.pin.Bundle.Root.Name, workflow.Digest(m.pin.Bundle.Root)
	return i, m, nil
}

// alive reports whether a process works for a run.
func (d *Driver) alive(ctx context.Context, run string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := d.client.QueryWorkflow(ctx, d.flowID(run), "", pingQuery)
	return err == nil
}

// Runs lists runs, newest first.
func (d *Driver) Runs(ctx context.Context, f driver.Filter) ([]driver.Info, error) {
	found, err := d.executions(ctx)
	if err != nil {
		return nil, err
	}
	var list []driver.Info
	for id, e := range found {
		i, _, err := d.info(ctx, id, e)
		if errors.As(err, new(*driver.UnknownRunError)) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, i)
	}
	slices.SortFunc(list, func(a, b driver.Info) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
	})
	if f.Before != "" {
		at := slices.IndexFunc(list, func(i driver.Info) bool { return i.ID == f.Before })
		list = list[at+1:]
	}
	list = slices.DeleteFunc(list, func(i driver.Info) bool { return !matches(i, f) })
	if f.Limit > 0 && len(list) > f.Limit {
		list = list[:f.Limit]
	}
	return list, nil
}

func matches(i driver.Info, f driver.Filter) bool {
	_, labelled := i.Owner.Labels[f.Label]
	_, without := i.Owner.Labels[f.Without]
	return (len(f.Status) == 0 || slices.Contains(f.Status, i.Status)) && (f.Workflow == "" || f.Workflow == i.Workflow) &&
		(f.Origin == "" || f.Origin == i.Origin) && (f.Label == "" || labelled) && (f.Without == "" || !without)
}

// Find returns the id of a run with a unique prefix.
func (d *Driver) Find(ctx context.Context, prefix string) (string, error) {
	found, err := d.executions(ctx)
	if err != nil {
		return "", err
	}
	if found[prefix] != nil {
		return prefix, nil
	}
	unknown := &driver.UnknownRunError{ID: prefix}
	for id := range found {
		if strings.HasPrefix(id, prefix) && prefix != "" {
			unknown.Candidates = append(unknown.Candidates, id)
		}
	}
	if len(unknown.Candidates) == 1 {
		return unknown.Candidates[0], nil
	}
	slices.Sort(unknown.Candidates)
	return "", unknown
}

// Count counts runs and questions.
func (d *Driver) Count(ctx context.Context, since time.Time) (c driver.Counts, err error) {
	list, err := d.Runs(ctx, driver.Filter{})
	if len(list) > 0 {
		c.Version = d.o.Now().UnixMicro()
	}
	for _, i := range list {
		if !i.Status.Done() {
			c.Active++
		}
		if !i.Created.Before(since) {
			c.Created++
		}
		c.Questions += i.Open
	}
	return c, err
}

// Questions lists open questions: the oldest run comes first, and its questions in the order of their ids.
func (d *Driver) Questions(ctx context.Context, f driver.QuestionFilter) ([]driver.Question, error) {
	found, err := d.executions(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range []string{f.Run, f.After.Run} {
		if id != "" && found[id] == nil {
			return nil, &driver.UnknownRunError{ID: id}
		}
	}
	age := func(run string) time.Time {
		about, _ := factsOf(found[run]) // without them, it comes first
		return about.Created
	}
	var list []driver.Question
	for _, id := range slices.SortedFunc(maps.Keys(found), func(a, b string) int { return cmp.Or(age(a).Compare(age(b)), cmp.Compare(a, b)) }) {
		if f.Run != "" && f.Run != id || found[id].GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
			continue
		}
		if f.After.Run != "" && id != f.After.Run && !age(id).After(age(f.After.Run)) {
			continue
		}
		m, err := d.mirror(ctx, id, nil)
		if err != nil {
			return nil, err
		}
		open := m.run.Questions()
		slices.SortStableFunc(open, func(a, b engine.Question) int { return cmp.Compare(a.ID, b.ID) })
		for _, q := range open {
			if id == f.After.Run && q.ID <= f.After.ID {
				continue
			}
			if list = append(list, driver.Question{Run: id, Question: q}); len(list) == f.Limit {
				return list, nil
			}
		}
	}
	return list, nil
}

// FirstPin returns what a run was started with.
func (d *Driver) FirstPin(ctx context.Context, run string) (*driver.Pin, error) {
	m, err := d.mirror(ctx, run, nil)
	if err != nil {
		return nil, err
	}
	return m.firstPin(), nil
}

// Pin returns what a run works with.
func (d *Driver) Pin(ctx context.Context, run string) (*driver.Pin, error) {
	m, err := d.mirror(ctx, run, nil)
	if err != nil {
		return nil, err
	}
	return m.pin, nil
}

// Watch reports changes to runs of this project. The server does not keep what the list was, so a watcher that
// begins after a version is told to read the list again.
func (d *Driver) Watch(ctx context.Context, since int64) iter.Seq2[driver.Change, error] {
	return func(yield func(driver.Change, error) bool) {
		known := map[string]driver.Info{}
		first := since > 0
		report := func(c driver.Change) bool {
			c.Version = d.o.Now().UnixMicro()
			return yield(c, nil)
		}
		for ctx.Err() == nil {
			list, err := d.Runs(ctx, driver.Filter{})
			if err != nil {
				if ctx.Err() == nil {
					yield(driver.Change{}, err)
				}
				return
			}
			found := changes(known, list)
			if first { // whoever now reads the list sees at least this one
				found, first = []driver.Change{{Kind: driver.Reset}}, false
			}
			for _, c := range found {
				if !report(c) {
					return
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
}

// changes compares a list of runs with what is known, which it replaces.
func changes(known map[string]driver.Info, list []driver.Info) (found []driver.Change) {
	now := map[string]bool{}
	for _, i := range slices.Backward(list) {
		now[i.ID] = true
		old, seen := known[i.ID]
		known[i.ID] = i
		switch {
		case !seen:
			found = append(found, driver.Change{Run: i.ID, Kind: driver.Appeared, Info: i})
		case old.Status != i.Status || old.Driven != i.Driven || old.Open != i.Open || old.Pending != i.Pending || old.Usage != i.Usage:
			found = append(found, driver.Change{Run: i.ID, Kind: driver.Moved, Info: i})
		}
	}
	for id := range known {
		if !now[id] {
			delete(known, id)
			found = append(found, driver.Change{Run: id, Kind: driver.Deleted, Info: driver.Info{ID: id}})
		}
	}
	return found
}

// Output returns the output of the task whose end is an event of a run.
func (d *Driver) Output(ctx context.Context, run string, seq int) (string, error) {
	for e, err := range d.Events(ctx, run, seq-1, false) {
		if err != nil {
			return "", err
		}
		if ended, ok := e.Event.(*engine.TaskEnded); ok && e.Seq == seq {
			return ended.Output, nil
		}
		break
	}
	return "", &driver.UnknownRunError{ID: run + "/" + strconv.Itoa(seq)}
}

// Read yields what an attempt wrote to a stream.
func (d *Driver) Read(ctx context.Context, a driver.AttemptID, s driver.Stream, offset int64, follow bool) iter.Seq2[driver.Piece, error] {
	return func(yield func(driver.Piece, error) bool) {
		for {
			over := !follow
			if follow {
				m, err := d.mirror(ctx, a.Run, nil)
				if err != nil {
					yield(driver.Piece{}, err)
					return
				}
				_, open := m.attempts[attemptKey{a.Address, a.Attempt}]
				over = m.begun && !open
			}
			keys, err := d.o.Store.List(ctx, attemptKeyIn(a, string(s)))
			if err != nil {
				yield(driver.Piece{}, err)
				return
			}
			for _, key := range keys {
				at, err := strconv.ParseInt(key[strings.LastIndexByte(key, '/')+1:], 10, 64)
				text, wrong := d.o.Store.Get(ctx, key)
				if err := errors.Join(err, wrong); err != nil {
					yield(driver.Piece{}, err)
					return
				}
				if end := at + int64(len(text)); end <= offset {
					continue
				}
				if at < offset {
					text, at = text[offset-at:], offset
				}
				if !yield(driver.Piece{At: at, Text: text}, nil) {
					return
				}
				offset = at + int64(len(text))
			}
			if over {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
}

// Kept returns what is stored about an attempt.
func (d *Driver) Kept(ctx context.Context, a driver.AttemptID) (driver.Kept, error) {
	k := driver.Kept{Sizes: map[driver.Stream]int64{}}
	n, err := d.noted(ctx, a)
	if err != nil {
		return k, err
	}
	k.Session, k.Model = n.Session, n.Model
	for e, err := range d.Events(ctx, a.Run, 0, false) {
		if err != nil {
			return k, err
		}
		if ev, ok := e.Event.(*engine.TaskEnded); ok && ev.Address == a.Address && ev.Attempt == a.Attempt {
			k.Usage = ev.Usage
		}
	}
	for _, s := range []driver.Stream{driver.Output, driver.Prompt, driver.Transcript} {
		for p, err := range d.Read(ctx, a, s, 0, false) {
			if err != nil {
				return k, err
			}
			k.Sizes[s] = p.At + int64(len(p.Text))
		}
	}
	if f, ok := d.o.Store.(Folder); ok {
		dir := f.path(attemptKeyIn(a, "files"))
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			k.Dir, k.Files = dir, os.DirFS(dir)
		}
	}
	return k, nil
}

// Delete deletes a run.
func (d *Driver) Delete(ctx context.Context, run string) error {
	i, err := d.Info(ctx, run)
	if err != nil {
		return err
	}
	if i.Driven && !i.Status.Done() {
		return &driver.HeldError{Run: run}
	}
	_, err = d.client.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: d.namespace(), WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: d.flowID(run)},
	})
	if err != nil {
		return known(run, err)
	}
	for err == nil { // the server deletes it in the background
		if _, err = d.client.DescribeWorkflowExecution(ctx, d.flowID(run), ""); err == nil {
			time.Sleep(20 * time.Millisecond)
		}
	}
	if !errors.As(known(run, err), new(*driver.UnknownRunError)) {
		return err
	}
	return d.o.Store.Delete(ctx, runKey(run))
}

// Collect deletes the runs that ended first.
func (d *Driver) Collect(ctx context.Context, r driver.Retention, keep []string, dry bool) ([]driver.Collected, error) {
	runs, err := d.Runs(ctx, driver.Filter{})
	if err != nil {
		return nil, err
	}
	surplus, err := driver.Surplus(runs, r, keep, d.o.Now(), func(run string) (int64, error) {
		res, err := d.client.DescribeWorkflowExecution(ctx, d.flowID(run), "")
		return res.GetWorkflowExecutionInfo().GetHistorySizeBytes(), err
	})
	if err != nil || dry {
		return surplus, err
	}
	for i, c := range surplus {
		if err := d.Delete(ctx, c.ID); err != nil {
			return surplus[:i], err
		}
	}
	return surplus, nil
}

// Spent adds up what attempts have cost.
func (d *Driver) Spent(ctx context.Context, since time.Time) ([]driver.Spent, error) {
	runs, err := d.Runs(ctx, driver.Filter{})
	if err != nil {
		return nil, err
	}
	sums := map[driver.Spent]*driver.Spent{}
	for _, run := range runs {
		if run.Changed.Before(since) {
			continue
		}
		for e, err := range d.Events(ctx, run.ID, 0, false) {
			if err != nil {
				return nil, err
			}
			ev, ok := e.Event.(*engine.TaskEnded)
			if !ok || ev.Usage == (engine.Usage{}) || e.Time.Before(since) || e.Time.Before(run.Created) {
				continue
			}
			note, err := d.noted(ctx, driver.AttemptID{Run: run.ID, Address: ev.Address, Attempt: ev.Attempt})
			if err != nil {
				return nil, err
			}
			one := driver.Spent{Day: e.Time.In(since.Location()).Format(time.DateOnly), Run: run.ID, Workflow: run.Workflow, Agent: ev.Agent, Model: note.Model}
			sum := sums[one]
			if sum == nil {
				sum = new(driver.Spent)
				*sum = one
				sums[one] = sum
			}
			sum.Attempts++
			sum.Usage = sum.Usage.Plus(ev.Usage)
		}
	}
	var list []driver.Spent
	for _, s := range sums {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b driver.Spent) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Workflow, b.Workflow), cmp.Compare(a.Run, b.Run), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Model, b.Model))
	})
	return list, nil
}

// noted returns what an attempt said about itself.
func (d *Driver) noted(ctx context.Context, a driver.AttemptID) (n noted, err error) {
	data, err := d.o.Store.Get(ctx, attemptKeyIn(a, "note"))
	if err == nil {
		err = json.Unmarshal(data, &n)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return n, err
}

// Compact does nothing: Temporal and the store free space by themselves.
func (d *Driver) Compact(context.Context) error { return nil }
