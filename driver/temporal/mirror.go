package temporal

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
)

// mirror follows the history of a run's executions with a machine of its own. So a run can be read
// without a worker, and what a client sees is what the workflow has recorded.
type mirror struct {
	*machine
	values    offload
	recall    func(last int) (begin, error)           // reads the archive
	whole     bool                                    // what that has is to be seen too
	resumed   func(seq int, pending []engine.Command) // is told the state instead; may be nil
	in        begin
	see       func(r *engine.Run, e engine.Envelope, cmds []engine.Command) // may be nil
	launched  func(a *attempt, seq int)                                     // sees attempts that begin; may be nil
	arrivals  []arrival
	scheduled map[int64]attemptKey          // attempts by the event that scheduled them
	claims    map[int64]asked               // claims by that event
	telling   map[int64]string              // tickets of replies by that event
	queues    map[string]string             // task queues of attempts and claims by the id of the activity
	refused   map[string]*failurepb.Failure // why no worker took attempts and claims that are asked for again, by that id
	taken     map[int64]string              // who makes or made attempts and claims, by the event that scheduled them
	lost      map[string]time.Time          // when the last attempt of a worker counted as lost because that was silent, by its identity
	others    map[int64]bool                // timers that are not the machine's, by the event that started them
	task      time.Time                     // when the workflow task began whose effects are being read; zero: there is none
	taskSize  size                          // of the history then
	done      bool                          // that task has completed
	begun     bool
	ended     bool // the workflow has ended, although the run may not be over
}

// asked is a claim: the id of its activity, and its label.
type asked struct{ id, label string }

// The effects of a mirror: none.

func (m *mirror) start(_ attemptKey, a *attempt) {
	if m.launched != nil {
		m.launched(a, m.run.Seq())
	}
}

func (m *mirror) claim(claim)        {}
func (m *mirror) unclaim(string)     {}
func (m *mirror) stop(attemptKey)    {}
func (m *mirror) tell(ticket, reply) {}
func (m *mirror) arm(time.Time)      {}
func (m *mirror) nudge()             {}

func (m *mirror) recorded(r *engine.Run, e engine.Envelope, cmds []engine.Command) {
	if m.see != nil {
		m.see(r, e, cmds)
	}
}

// read takes one event of the history. What a workflow task did is known when the events after it have been
// read, because updates are among them.
func (m *mirror) read(e *historypb.HistoryEvent) error {
	switch e.GetEventType() {
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
		return m.open(e)
	case enums.EVENT_TYPE_WORKFLOW_TASK_STARTED:
		if err := m.settle(); err != nil {
			return err
		}
		m.task = e.GetEventTime().AsTime()
		m.taskSize = size{int(e.GetEventId()), int(e.GetWorkflowTaskStartedEventAttributes().GetHistorySizeBytes())}
		return nil
	case enums.EVENT_TYPE_WORKFLOW_TASK_FAILED, enums.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
		err := m.settle()    // what the one before did
		m.task = time.Time{} // what has arrived since counts for the next one
		return err
	case enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
		m.done = true
		return nil
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED, enums.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
		m.ended = true
		return nil
	case enums.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED: // the workflow no longer waits for a reply or a claim, so that it arrives wakes nobody
		id := e.GetActivityTaskCancelRequestedEventAttributes().GetScheduledEventId()
		delete(m.telling, id)
		delete(m.claims, id)
		return nil
	}
	if a := e.GetActivityTaskScheduledEventAttributes(); a != nil {
		return m.wasScheduled(e.GetEventId(), a)
	}
	if a := e.GetWorkflowExecutionUpdateAcceptedEventAttributes(); a != nil {
		return m.wasUpdated(a)
	}
	if a, err := m.arrival(e); err != nil || a == nil {
		return err
	} else {
		if err := m.settle(); err != nil {
			return err
		}
		m.arrivals = append(m.arrivals, *a)
	}
	return nil
}

// open begins with the input of an execution.
func (m *mirror) open(e *historypb.HistoryEvent) error {
	a := e.GetWorkflowExecutionStartedEventAttributes()
	var in begin
	err := m.decode(a.GetInput(), &in)
	if unknown := in.known(); unknown != nil { // its form may be another one
		return unknown
	}
	if err == nil {
		err = m.values.has(in.About.Store)
	}
	if err != nil {
		return err
	}
	in.started = e.GetEventTime().AsTime()
	if m.machine == nil && in.Seq > 0 && m.whole {
		old, err := m.recall(in.Seq)
		if err != nil {
			return err
		}
		if m.machine, err = newMachine(old, m, nil); err != nil {
			return err
		}
	}
	var plans []*driver.Pin
	if m.machine != nil {
		plans = m.plans
	}
	m.in, m.begun, m.ended, m.scheduled, m.others = in, false, false, map[int64]attemptKey{}, map[int64]bool{}
	m.claims, m.telling, m.queues, m.refused = map[int64]asked{}, map[int64]string{}, map[string]string{}, map[string]*failurepb.Failure{}
	m.taken = map[int64]string{}
	if m.lost == nil { // it outlives an execution
		m.lost = map[string]time.Time{}
	}
	begins := m.machine == nil
	if m.machine, err = newMachine(in, m, m.recall); err != nil {
		return err
	}
	m.plans = append(plans, m.plans...)
	if begins && in.Seq > 0 && m.resumed != nil {
		m.resumed(in.Seq, m.first)
	}
	return nil
}

// restore takes the whole run from the archive.
func (m *mirror) restore(past begin) (err error) {
	m.in, m.begun = past, true
	if m.machine, err = newMachine(past, m, nil); err == nil {
		m.began = m.last.Add(-m.run.ClockAt(m.last))
	}
	return err
}

// settle does what the workflow did in its last task.
func (m *mirror) settle() error {
	if !m.done {
		return nil
	}
	now := m.task
	m.task, m.done = time.Time{}, false
	if !m.begun {
		m.begun = true
		if err := m.machine.begin(now, m.in); err != nil {
			return err
		}
	}
	if len(m.arrivals) == 0 {
		return nil
	}
	arrivals := m.arrivals
	m.arrivals = nil
	m.drain = m.in.Limits.drains(m.taskSize, m.acts)
	return m.wake(now, arrivals)
}

func (m *mirror) wasScheduled(id int64, a *historypb.ActivityTaskScheduledEventAttributes) error {
	m.queues[a.GetActivityId()] = a.GetTaskQueue().GetName()
	switch a.GetActivityType().GetName() {
	case attemptName:
		m.scheduled[id] = keyOf(a.GetActivityId())
	case tellName:
		m.telling[id] = a.GetActivityId()
	case claimName:
		var c claim
		if err := m.decode(a.GetInput(), &c); err != nil {
			return err
		}
		m.claims[id] = asked{a.GetActivityId(), c.Label}
	}
	return nil
}

// wasUpdated adds an update to what the current task did. It follows everything else that had arrived.
func (m *mirror) wasUpdated(a *historypb.WorkflowExecutionUpdateAcceptedEventAttributes) error {
	act := &act{}
	if err := m.decode(a.GetAcceptedRequest().GetInput().GetArgs(), act); err != nil {
		return err
	}
	m.arrivals = append(m.arrivals, arrival{act: act})
	return nil
}

// arrival returns what an event of the history brings to the run; nil if it brings nothing.
func (m *mirror) arrival(e *historypb.HistoryEvent) (*arrival, error) {
	switch e.GetEventType() {
	case enums.EVENT_TYPE_ACTIVITY_TASK_STARTED:
		a := e.GetActivityTaskStartedEventAttributes()
		m.taken[a.GetScheduledEventId()] = a.GetIdentity()
		return nil, nil
	case enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		a := e.GetActivityTaskCompletedEventAttributes()
		if c, ok := m.claims[a.GetScheduledEventId()]; ok {
			h := &home{label: c.label}
			h.late = m.decode(a.GetResult(), h) != nil
			return &arrival{home: h}, nil
		}
		if id, ok := m.telling[a.GetScheduledEventId()]; ok {
			return &arrival{told: id}, nil
		}
		key, ok := m.scheduled[a.GetScheduledEventId()]
		if !ok {
			return nil, nil
		}
		result, err := m.values.resolve(a.GetResult().GetPayloads())
		if err != nil {
			return nil, &engine.LoadError{Seq: m.run.Seq() + 1 + len(m.arrivals), Node: key.address, Cause: err}
		}
		ended := &engine.TaskEnded{}
		err = m.values.data.FromPayloads(&commonpb.Payloads{Payloads: result}, ended)
		return &arrival{ended: endOf(key, ended, err)}, nil
	case enums.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		a := e.GetActivityTaskFailedEventAttributes()
		if c, ok := m.claims[a.GetScheduledEventId()]; ok {
			return &arrival{home: &home{label: c.label, late: true}}, nil
		}
		return m.endedBy(a.GetScheduledEventId(), engine.FaultLost), nil
	case enums.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		a := e.GetActivityTaskTimedOutEventAttributes()
		if a.GetFailure().GetTimeoutFailureInfo().GetTimeoutType() == enums.TIMEOUT_TYPE_HEARTBEAT {
			m.lost[m.taken[a.GetScheduledEventId()]] = e.GetEventTime().AsTime()
		}
		why := a.GetFailure().GetCause() // the last refusal
		if c, ok := m.claims[a.GetScheduledEventId()]; ok {
			m.refused[c.id] = why
			return &arrival{home: &home{label: c.label, late: true}}, nil
		}
		key, ok := m.scheduled[a.GetScheduledEventId()]
		if ok && a.GetFailure().GetTimeoutFailureInfo().GetTimeoutType() == enums.TIMEOUT_TYPE_SCHEDULE_TO_START {
			m.refused[activityID(key)] = why
			return &arrival{untaken: &key}, nil
		}
		return m.endedBy(a.GetScheduledEventId(), engine.FaultLost), nil
	case enums.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
		return m.endedBy(e.GetActivityTaskCanceledEventAttributes().GetScheduledEventId(), engine.FaultCancelled), nil
	case enums.EVENT_TYPE_TIMER_STARTED:
		m.others[e.GetEventId()] = e.GetUserMetadata().GetSummary() != nil
		return nil, nil
	case enums.EVENT_TYPE_TIMER_FIRED:
		if m.others[e.GetTimerFiredEventAttributes().GetStartedEventId()] {
			return nil, nil
		}
		return &arrival{rang: true}, nil
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
		return &arrival{cancelled: true}, nil
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
		a := e.GetWorkflowExecutionSignaledEventAttributes()
		if a.GetSignalName() != noteSignal {
			return nil, nil
		}
		n := &note{}
		if _, err := m.values.resolve(a.GetInput().GetPayloads()); err != nil {
			return nil, err
		}
		if m.decode(a.GetInput(), n) != nil {
			return nil, nil // the workflow drops it too
		}
		return &arrival{note: n}, nil
	}
	return nil, nil
}

// endedBy returns the end of an attempt that reported nothing.
func (m *mirror) endedBy(scheduled int64, kind engine.FaultKind) *arrival {
	key, ok := m.scheduled[scheduled]
	if !ok {
		return nil
	}
	return &arrival{ended: failed(key, kind)}
}

// closed returns an error if the workflow ended before the run did.
func (m *mirror) closed() error {
	if m.machine == nil || m.over || !m.ended {
		return nil
	}
	return errClosed
}

var errClosed = errors.New("its Temporal workflow was terminated or failed; use `hocket fork` to continue from one of its steps")

// firstPin returns what the run was started with.
func (m *mirror) firstPin() *driver.Pin { return cmp.Or(m.in.First, m.in.Pin) }

// decode reads a value of the history, wherever it is stored.
func (m *mirror) decode(p *commonpb.Payloads, to any) error {
	payloads, err := m.values.resolve(p.GetPayloads())
	if err == nil {
		err = m.values.data.FromPayloads(&commonpb.Payloads{Payloads: payloads}, to)
	}
	if err != nil {
		return fmt.Errorf("temporal: read the history: %w", err)
	}
	return nil
}
