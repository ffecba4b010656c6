package temporal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// executions lists the newest execution of each run of the project that the server knows and that a condition, which may
// be "", selects.
func (d *Driver) executions(ctx context.Context, condition string) (map[string]*workflowpb.WorkflowExecutionInfo, error) {
	found := map[string]*workflowpb.WorkflowExecutionInfo{}
	req := &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: d.namespace(), PageSize: 1000,
		Query: "WorkflowType = '" + flowName + "' AND WorkflowId STARTS_WITH " + quoted(d.flowID("")) + condition,
	}
	for {
		res, err := d.client.ListWorkflow(ctx, req)
		if err != nil {
			return nil, err
		}
		for _, e := range res.GetExecutions() {
			id, _ := strings.CutPrefix(e.GetExecution().GetWorkflowId(), d.flowID(""))
			if !validRun(id) { // it is not ours: projects can have queues such as a and a/b
				continue
			}
			if old := found[id]; old == nil || old.GetStartTime().AsTime().Before(e.GetStartTime().AsTime()) {
				found[id] = e
			}
		}
		if req.NextPageToken = res.GetNextPageToken(); len(req.NextPageToken) == 0 {
			return found, nil
		}
	}
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// facts returns what lists show of a run, and its newest execution; nil if the server has deleted that.
func (d *Driver) facts(ctx context.Context, run string) (about facts, e *workflowpb.WorkflowExecutionInfo, err error) {
	res, err := d.client.DescribeWorkflowExecution(ctx, d.flowID(run), "")
	if err == nil {
		e = res.GetWorkflowExecutionInfo()
		about, err = d.factsOf(e)
		return about, e, err
	}
	if err = known(run, err); !errors.As(err, new(*driver.UnknownRunError)) {
		return about, nil, err
	}
	if wrong := getJSON(ctx, d.o.Store, endedKey(run), &about); !errors.Is(wrong, fs.ErrNotExist) {
		err = wrong
	}
	about.ID = run // whatever others have written there
	return about, nil, err
}

func (d *Driver) factsOf(e *workflowpb.WorkflowExecutionInfo) (about facts, err error) {
	err = errors.New("temporal: a run without its facts")
	if p := e.GetMemo().GetFields()[memoFacts]; p != nil {
		if err = d.values.data.FromPayload(p, &about); err == nil {
			err = d.values.has(about.Store)
		}
	}
	about.ID = runOf(e.GetExecution().GetWorkflowId()) // whatever others have written there
	return about, err
}

// damaged returns the entry of a run that cannot be listed. The server knows when it began and ended, also if its facts
// cannot be read; e is nil if it has deleted the run.
func damaged(run string, e *workflowpb.WorkflowExecutionInfo, err error) driver.Info {
	i := driver.Info{ID: run, Status: driver.Damaged, Problem: "its entry in the list cannot be read: " + strings.TrimPrefix(err.Error(), "temporal: ")}
	if e != nil {
		i.Created = e.GetStartTime().AsTime()
	}
	if e != nil && !isOpen(e) {
		i.Changed = e.GetCloseTime().AsTime()
	}
	return i
}

// damagedEnd returns the entry of a run that only the archive has. If it was written without the key it is not believed, except
// for its times, so that old runs are deleted: whoever can write them can delete runs anyway.
func (d *Driver) damagedEnd(ctx context.Context, run string, err error) driver.Info {
	i := damaged(run, nil, err)
	var plain facts
	if errors.Is(err, errPlain) && getJSON(ctx, d.values.store, endedKey(run), &plain) == nil {
		i.Created, i.Changed = plain.Created, plain.Changed
	}
	return i
}

// hasEnded reports whether the archive has a run that is over.
func (d *Driver) hasEnded(ctx context.Context, run string) (bool, error) {
	_, err := d.o.Store.Get(ctx, endedKey(run))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Info returns the current state of a run. It is read from the history, unless the run is over.
func (d *Driver) Info(ctx context.Context, run string) (driver.Info, error) {
	about, e, err := d.facts(ctx, run)
	switch {
	case e != nil && err != nil && !errors.Is(err, errStore):
		return damaged(run, e, err), nil
	case errors.Is(err, errPlain):
		return d.damagedEnd(ctx, run, err), nil
	}
	if err != nil || !isOpen(e) {
		i := infoOf(about, e, false)
		i.Home = d.home(about.Homes)
		return i, err
	}
	m, err := d.mirror(ctx, run, nil)
	if err != nil && !errors.As(err, new(*engine.LoadError)) {
		return driver.Info{}, err
	}
	about.state(m.run)
	i := infoOf(about, e, !about.Status.Done() && d.alive(ctx, run))
	i.Home = d.home(m.homes)
	i.Stalled, i.Untaken = d.lacks(ctx, run, m)
	return i, nil
}

// home returns the name of the worker that has the files of a run; "" if there are several, or none.
func (d *Driver) home(homes map[string]string) string {
	if queues := homeQueues(homes); len(queues) == 1 {
		return strings.TrimPrefix(queues[0], d.o.Queue+"/worker/")
	}
	return ""
}

// isOpen reports whether a run goes on, as far as the server knows.
func isOpen(e *workflowpb.WorkflowExecutionInfo) bool {
	return e.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING || e.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW
}

// infoOf returns what the entry of a run says, and whether workers drive it; e is nil if the server has deleted its
// execution.
func infoOf(about facts, e *workflowpb.WorkflowExecutionInfo, driven bool) driver.Info {
	i := about.info()
	switch {
	case i.Status.Done():
	case isOpen(e):
		i.Driven = driven
		i.Pending = !driven && i.Status == engine.Running && !i.Owner.Claimed
	case e != nil:
		i.Problem = errClosed.Error()
	}
	return i
}

// alive reports whether a worker works for a run now. One that was killed still seems to serve its queue for a while.
func (d *Driver) alive(ctx context.Context, run string) bool {
	if !d.served(ctx) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := d.client.QueryWorkflow(ctx, d.flowID(run), "", pingQuery)
	return err == nil
}

// list lists all runs, in no order.
func (d *Driver) list(ctx context.Context) ([]driver.Info, error) {
	list, err := d.current(ctx, "")
	if err != nil {
		return nil, err
	}
	rest, err := d.endedRuns(ctx, list)
	return append(list, rest...), err
}

// current lists the runs that the server has and that a condition, which may be "", selects, except those that use another
// store.
func (d *Driver) current(ctx context.Context, condition string) ([]driver.Info, error) {
	found, err := d.executions(ctx, condition)
	if err == nil {
		err = d.addRecent(ctx, "", found)
	}
	if err != nil {
		return nil, err
	}
	list := make([]driver.Info, 0, len(found))
	driven := sync.OnceValue(func() bool { return d.served(ctx) }) // who works for one run works for all
	for id, e := range found {
		d.archive.Delete(endedKey(id))
		about, err := d.factsOf(e)
		if errors.Is(err, errStore) { // see Notice
			continue
		}
		if err != nil {
			list = append(list, damaged(id, e, err))
			continue
		}
		list = append(list, infoOf(about, e, isOpen(e) && driven()))
	}
	return list, ctx.Err()
}

// addRecent adds the runs that this process has created and that the server does not list yet, if their ids begin with a
// prefix.
func (d *Driver) addRecent(ctx context.Context, prefix string, found map[string]*workflowpb.WorkflowExecutionInfo) (err error) {
	for run, at := range d.recent.Range {
		id := run.(string)
		if !strings.HasPrefix(id, prefix) {
			continue
		}
		if found[id] != nil || time.Since(at.(*created).at) > time.Minute {
			d.recent.Delete(id)
			continue
		}
		_, e, wrong := d.facts(ctx, id)
		if e != nil {
			found[id] = e
		} else if !errors.As(wrong, new(*driver.UnknownRunError)) {
			err = errors.Join(err, wrong)
		}
	}
	return err
}

// endedRuns lists the runs that only the archive has. What it says about them is read once.
func (d *Driver) endedRuns(ctx context.Context, except []driver.Info) (list []driver.Info, err error) {
	known := map[string]bool{}
	for _, i := range except {
		known[endedKey(i.ID)] = true
	}
	keys, err := d.o.Store.List(ctx, "ended")
	for _, key := range keys {
		if known[key] {
			continue
		}
		about, ok := d.archive.Load(key)
		if !ok {
			var f facts
			err := getJSON(ctx, d.o.Store, key, &f)
			if errors.Is(err, fs.ErrNotExist) {
				continue // it was deleted now
			}
			if f.ID, ok = idOf(key, f.ID); !ok {
				continue
			}
			if err != nil {
				list = append(list, d.damagedEnd(ctx, f.ID, err))
				continue
			}
			d.archive.Store(key, f)
			about = f
		}
		list = append(list, infoOf(about.(facts), nil, false))
	}
	return list, err
}

// Runs lists runs, newest first.
func (d *Driver) Runs(ctx context.Context, f driver.Filter) ([]driver.Info, error) {
	list, err := d.list(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b driver.Info) int { return -older(a, b) })
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

func older(a, b driver.Info) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
}

func matches(i driver.Info, f driver.Filter) bool {
	_, labelled := i.Owner.Labels[f.Label]
	_, without := i.Owner.Labels[f.Without]
	return (len(f.Status) == 0 || slices.Contains(f.Status, i.Status)) && (f.Workflow == "" || f.Workflow == i.Workflow) &&
		(f.Origin == "" || f.Origin == i.Origin) && (f.Label == "" || labelled) && (f.Without == "" || !without)
}

// Find returns the id of a run with a unique prefix.
func (d *Driver) Find(ctx context.Context, prefix string) (string, error) {
	unknown := &driver.UnknownRunError{ID: prefix}
	if prefix == "" {
		return "", unknown
	}
	found, err := d.executions(ctx, " AND WorkflowId STARTS_WITH "+quoted(d.flowID(prefix)))
	if err == nil {
		err = d.addRecent(ctx, prefix, found)
	}
	if err != nil {
		return "", err
	}
	ended, err := d.o.Store.List(ctx, "ended")
	if err != nil {
		return "", err
	}
	for _, key := range ended {
		if id, ok := idOf(key, ""); ok && strings.HasPrefix(id, prefix) {
			found[id] = nil
		}
	}
	if err := d.leaveStrangers(found, prefix); err != nil {
		return "", err
	}
	unknown.Candidates = slices.Sorted(maps.Keys(found))
	if _, ok := found[prefix]; ok || len(found) == 1 {
		return unknown.Candidates[0], nil
	}
	return "", unknown
}

// leaveStrangers removes the runs that use another store. If nothing else is meant, the error says that.
func (d *Driver) leaveStrangers(found map[string]*workflowpb.WorkflowExecutionInfo, meant string) error {
	known := len(found)
	for id, e := range found {
		if e == nil { // only the archive here has it
			continue
		}
		if _, err := d.factsOf(e); !errors.Is(err, errStore) {
			continue
		}
		if id == meant {
			return errStore
		}
		delete(found, id)
	}
	if known > 0 && len(found) == 0 {
		return errStore
	}
	return nil
}

// Count counts runs and questions.
func (d *Driver) Count(ctx context.Context, since time.Time) (c driver.Counts, err error) {
	list, err := d.list(ctx)
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
	runs, after, err := d.asking(ctx, f)
	var list []driver.Question
	for _, i := range runs {
		m, err := d.mirror(ctx, i.ID, nil)
		if err != nil && (f.Run != "" || away(err) || ctx.Err() != nil) {
			return nil, err
		}
		if err != nil { // one run that cannot be read must not hide the questions of others
			continue
		}
		open := m.run.Questions()
		slices.SortStableFunc(open, func(a, b engine.Question) int { return cmp.Compare(a.ID, b.ID) })
		for _, q := range open {
			if i.ID == after.ID && q.ID <= f.After.ID {
				continue
			}
			if list = append(list, driver.Question{Run: i.ID, Question: q}); len(list) == f.Limit {
				return list, nil
			}
		}
	}
	return list, err
}

// asking lists the runs that may have open questions, oldest first, and returns the one after whose question to begin.
func (d *Driver) asking(ctx context.Context, f driver.QuestionFilter) (runs []driver.Info, after driver.Info, err error) {
	if f.After.Run != "" {
		about, _, err := d.facts(ctx, f.After.Run)
		if err != nil {
			return nil, after, err
		}
		after = about.info()
	}
	if f.Run != "" {
		about, e, err := d.facts(ctx, f.Run)
		if isOpen(e) {
			runs = append(runs, about.info())
		}
		return runs, after, err
	}
	found, err := d.executions(ctx, " AND ExecutionStatus = 'Running'")
	for _, e := range found {
		about, wrong := d.factsOf(e)
		if i := about.info(); wrong == nil && i.Open > 0 && (after.ID == "" || older(i, after) >= 0) {
			runs = append(runs, i)
		}
	}
	slices.SortFunc(runs, older)
	return runs, after, err
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

// Delete deletes a run, on the server and in the store, also if it cannot be read.
func (d *Driver) Delete(ctx context.Context, run string) error {
	about, e, err := d.facts(ctx, run)
	if errors.Is(err, errStore) { // it may belong to another project
		return err
	}
	if e == nil && err != nil {
		if ended, wrong := d.hasEnded(ctx, run); !ended && wrong == nil || away(err) {
			return err
		}
	}
	if isOpen(e) {
		m, err := d.mirror(ctx, run, nil)
		if err != nil && (away(err) || ctx.Err() != nil) {
			return err
		}
		if (err != nil || !m.run.Status().Done()) && d.alive(ctx, run) {
			return &driver.HeldError{Run: run}
		}
	}
	if err := d.noteDeletion(ctx, run, about.Origin); err != nil { // first: it counts when the run is gone, and nobody could write it then
		return err
	}
	if err := d.deleteExecutions(ctx, run); err != nil {
		return err
	}
	d.archive.Delete(endedKey(run))
	return errors.Join(d.release(ctx, run, about.Key), d.o.Store.Delete(ctx, runKey(run)), d.o.Store.Delete(ctx, endedKey(run)))
}

// deleteExecutions deletes all executions of a run. The server lists an execution for ever if it is deleted before it
// is listed as closed, so that comes first.
func (d *Driver) deleteExecutions(ctx context.Context, run string) error {
	res, err := d.client.DescribeWorkflowExecution(ctx, d.flowID(run), "")
	newest := res.GetWorkflowExecutionInfo()
	if isOpen(newest) {
		err = d.client.TerminateWorkflow(ctx, d.flowID(run), newest.GetExecution().GetRunId(), "deleted")
	}
	if errors.As(err, new(*serviceerror.NotFound)) { // only the archive has it
		return nil
	}
	if err != nil {
		return err
	}
	all, err := d.listed(ctx, run, func(list []*workflowpb.WorkflowExecutionInfo) bool {
		return slices.ContainsFunc(list, func(e *workflowpb.WorkflowExecutionInfo) bool {
			return e.GetExecution().GetRunId() == newest.GetExecution().GetRunId() && e.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING
		}) || d.forgotten(ctx, newest.GetExecution()) // by somebody else, who deletes it now
	})
	for _, e := range all {
		if err == nil {
			_, err = d.client.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{Namespace: d.namespace(), WorkflowExecution: e.GetExecution()})
		}
		if errors.As(err, new(*serviceerror.NotFound)) {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	_, err = d.listed(ctx, run, func(list []*workflowpb.WorkflowExecutionInfo) bool { return len(list) == 0 })
	return err
}

// forgotten reports whether the server has deleted an execution.
func (d *Driver) forgotten(ctx context.Context, e *commonpb.WorkflowExecution) bool {
	_, err := d.client.DescribeWorkflowExecution(ctx, e.GetWorkflowId(), e.GetRunId())
	return errors.As(err, new(*serviceerror.NotFound))
}

// listWait is how long the list may differ from what the server knows. The usual settings take half a minute to
// delete a run that has just ended.
const listWait = 90 * time.Second

// listed waits until the server lists the executions of a run as they should be, and returns them.
func (d *Driver) listed(ctx context.Context, run string, right func([]*workflowpb.WorkflowExecutionInfo) bool) ([]*workflowpb.WorkflowExecutionInfo, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, listWait, fmt.Errorf("the server has not updated its list of run %s; try again later", run))
	defer cancel()
	var res *workflowservice.ListWorkflowExecutionsResponse
	err := until(ctx, func() (ok bool, err error) {
		res, err = d.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: d.namespace(), Query: "WorkflowId = " + quoted(d.flowID(run)), PageSize: 1000})
		return err == nil && right(res.GetExecutions()), err
	})
	return res.GetExecutions(), err
}

// Collect deletes the runs that ended first. The size of a run is that of its histories.
func (d *Driver) Collect(ctx context.Context, r driver.Retention, keep []string, dry bool) ([]driver.Collected, error) {
	runs, err := d.Runs(ctx, driver.Filter{})
	if err != nil {
		return nil, err
	}
	for i, run := range runs {
		if run.Status == driver.Damaged && !run.Changed.IsZero() { // it is over, whatever it says
			runs[i].Status = engine.Failed
		}
	}
	surplus, err := driver.Surplus(runs, r, keep, d.o.Now(), func(run string) (int64, error) {
		about, e, err := d.facts(ctx, run)
		switch {
		case e != nil && err != nil:
			return e.GetHistorySizeBytes(), nil
		case errors.Is(err, errPlain):
			return 0, nil
		}
		return about.Size, err
	})
	if err != nil || dry {
		return surplus, err
	}
	var removed []driver.Collected
	for _, c := range surplus {
		if wrong := d.Delete(ctx, c.ID); wrong != nil {
			err = errors.Join(err, fmt.Errorf("delete run %s: %w", c.ID, wrong))
			continue
		}
		removed = append(removed, c)
	}
	return removed, err
}

// Compact does nothing: Temporal and the store free space by themselves.
func (d *Driver) Compact(context.Context) error { return nil }
