package local

import (
	"context"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// handing is work that an attempt hands off.
type handing struct {
	asked  *engine.HandoffAsked
	log    *attemptLog
	over   <-chan struct{}   // closed when the attempt no longer waits
	id     string            // of the handoff; "": not recorded yet. Owned by the loop
	done   bool              // it was told. Owned by the loop
	result chan handedResult // receives one value
}

type handedResult struct {
	*engine.Return
	err error
}

// tell sends the result to the attempt, after its log has it: see [query.tell]. Only the first result
// counts.
func (h *handing) tell(c *engine.Return, err error) {
	if h.done {
		return
	}
	h.done = true
	switch {
	case err != nil:
		h.log.say("[not handed off] " + err.Error())
	case c.Status != engine.Running:
		h.log.say("[result of " + c.ID + "] " + string(c.Status))
	}
	h.result <- handedResult{c, err}
}

// handingOff lets an attempt hand work off.
func (l *loop) handingOff(key attemptKey, log *attemptLog) func(context.Context, *engine.HandoffAsked) (*engine.Return, error) {
	mail := l.mail // the rest belongs to the loop
	return func(ctx context.Context, asked *engine.HandoffAsked) (*engine.Return, error) {
		own := *asked
		own.Address, own.Attempt = key.address, key.attempt
		h := &handing{asked: &own, log: log, over: ctx.Done(), result: make(chan handedResult, 1)}
		if !mail.post(letter{handing: h}) {
			return nil, errStopped
		}
		select {
		case r := <-h.result:
			return r.Return, r.err
		case <-ctx.Done():
			if mail.post(letter{handing: h}) { // so that the attempt counts as working again
				<-h.result // the log has it
			}
			return nil, context.Cause(ctx)
		}
	}
}

// handedOff records that an attempt hands work off, or that it no longer waits for the result.
func (l *loop) handedOff(h *handing) error {
	select {
	case <-h.over:
		return l.dropHanding(h)
	default:
	}
	e, err := roundTrip(l.now(h.asked))
	if err == nil {
		err = l.run.Admit(e)
	}
	if err != nil {
		h.tell(nil, err)
		return nil
	}
	l.handing = h
	defer func() { l.handing = nil }()
	return l.record(journal.Batch{Events: []engine.Envelope{e}})
}

// returned passes the state of a handoff to the attempts that wait for it.
func (l *loop) returned(c *engine.Return) {
	if h := l.handing; h != nil && h.id == "" { // this answers the request
		h.id = c.ID
		if h.asked.ID == "" {
			h.log.say("[hands off " + c.ID + "] to " + h.asked.Definition.Body.Nodes[0].Task().Agent)
		}
		if c.Status == engine.Running && h.asked.Blocking {
			l.handings[c.ID] = append(l.handings[c.ID], h)
		} else {
			h.tell(c, nil)
		}
		return
	}
	for _, h := range l.handings[c.ID] {
		h.tell(c, nil)
	}
	delete(l.handings, c.ID)
}

// dropHanding says that an attempt no longer waits for a handoff, unless it asked for it again.
func (l *loop) dropHanding(h *handing) error {
	h.tell(nil, context.Canceled)
	waiting := l.handings[h.id]
	for i := range waiting {
		if waiting[i] != h {
			continue
		}
		l.handings[h.id] = append(waiting[:i:i], waiting[i+1:]...)
		if len(waiting) > 1 {
			return nil
		}
		delete(l.handings, h.id)
		if e := l.now(&engine.Withdrawn{ID: h.id}); l.run.Admit(e) == nil {
			return l.record(journal.Batch{Events: []engine.Envelope{e}})
		}
	}
	return nil
}
