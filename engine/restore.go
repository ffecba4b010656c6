package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/hocket-dev/hocket/engine/internal/twoway"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// layout is the version of the snapshot format. Increase it with every change to what is encoded
// below; older snapshots are then ignored. Only another boolean at the end of a list needs no
// increase, if it is false wherever it is missing.
const layout = 16

// header tells whether a snapshot can be restored.
type header struct {
	Layout  int    `json:"layout"`
	Version int    `json:"version"` // of the engine
	Digest  string `json:"digest"`  // of the definition
	Seq     int    `json:"seq"`     // of the last event
	Sum     uint32 `json:"sum"`     // of what follows
}

// Seq returns the number of events that the run has processed.
func (r *Run) Seq() int { return r.count }

// Time returns the time on the wall clock at the latest event.
func (r *Run) Time() time.Time { return r.now }

// Snapshot returns the state of the run, for [Restore]. It is only a cache: the events define the
// run, and lead to the same state.
func (r *Run) Snapshot() []byte {
	c := &codec{run: r}
	c.Codec = twoway.Writer(c.own)
	c.state()
	h := header{layout, Version, r.digest(), r.count, crc32.ChecksumIEEE(c.Out)}
	return append([]byte(workflow.FormatJSON(h)+"\n"), c.Out...)
}

// Restore returns the run of a snapshot. Any error means that the events have to be replayed
// instead.
func Restore(b *workflow.Bundle, snapshot []byte) (*Run, error) {
	r, err := New(b)
	if err != nil {
		return nil, err
	}
	return r.restore(snapshot)
}

// restore fills a run that has not started.
func (r *Run) restore(snapshot []byte) (restored *Run, err error) {
	head, state, _ := bytes.Cut(snapshot, []byte{'\n'})
	var h header
	switch err := json.Unmarshal(head, &h); {
	case err != nil:
		return nil, fmt.Errorf("engine: not a snapshot: %w", err)
	case h.Layout != layout || h.Version != Version:
		return nil, errors.New("engine: the snapshot has another version")
	case h.Sum != crc32.ChecksumIEEE(state):
		return nil, errors.New("engine: the snapshot is damaged")
	case h.Digest != r.digest():
		return nil, errors.New("engine: the snapshot belongs to another definition")
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("engine: the snapshot cannot be read: %v", p)
		}
	}()
	c := &codec{run: r}
	c.Codec = twoway.Reader(string(state), c.own)
	c.state()
	if r.count != h.Seq || !c.Done() {
		return nil, errors.New("engine: the snapshot is incomplete")
	}
	return r, nil
}

// digest returns the digest of all definitions in the bundle.
func (r *Run) digest() string {
	p := r.programs[r.bundle.Root]
	if p.digest == "" {
		p.digest = workflow.Digest(r.bundle.Root)
		for _, name := range sorted.Keys(r.bundle.Called) {
			p.digest += " " + name + " " + workflow.Digest(r.bundle.Called[name])
		}
	}
	return p.digest
}

// codec codes the state of a run.
type codec struct {
	*twoway.Codec
	run *Run
}

func (c *codec) state() {
	r := c.run
	c.definitions()
	c.Code(&r.id, &r.version, &r.began, &r.now, &r.elapsed, &r.count, &r.issued, &r.seq, &r.tasks, &r.rehearsal, &r.edits, &r.warnings, &r.finish)
	c.Code(&r.root, &r.heldBack, &r.paused, &r.attempts, &r.questions, &r.timers)
	c.Code(&r.clock.active, &r.clock.delays, &r.clock.resting, &r.clock.frames)
	c.Code(&r.steps, &r.inputs, &r.base)
	x := &r.replans
	replanned := !x.at.IsZero()
	if c.Bools(&replanned); replanned {
		c.Code(&x.at, &x.asked, &x.tally, &x.planning, &x.charged, &x.effects, &x.limbo, &x.behind, &x.memo)
	}
}

// definitions codes what was handed off.
func (c *codec) definitions() {
	var list []definition
	for _, p := range c.run.handed {
		list = append(list, definition{p.w, p.facts})
	}
	if c.JSON(&list); !c.Writes {
		for _, d := range list {
			c.run.addDefinition(d)
		}
	}
}

// own codes what p points to, if that is a struct, or is not coded like others of its kind.
func (c *codec) own(p any) bool {
	switch p := p.(type) {
	case *time.Time, *Usage, *workflow.Limits, *Question, *Finish, *TaskFacts, *Edit, *tally, *warning:
		c.JSON(p)
	case *any:
		c.value(p)
	case *digest:
		if text := c.Text(string(p[:])); !c.Writes {
			copy(p[:], text)
		}
	case **program:
		c.program(p)
	case **node:
		c.node(p)
	case **region:
		c.region(p)
	case *region:
		c.Code(&p.scope)
		c.content(p)
	case *scope:
		p.body.scope = p
		c.Code(&p.parent, &p.frame, &p.owner, &p.done, &p.item, &p.outstanding, &p.ending, &p.reason, &p.tolerated, &p.endEnv)
		c.Bools(&p.bodyDone, &p.over)
		c.content(&p.body)
		c.Code(&p.latest, &p.handed, &p.sinks)
	case *frame:
		c.Code(&p.p, &p.handoff, &p.around, &p.limits, &p.scope, &p.inputs, &p.prefix, &p.depth, &p.steps, &p.running, &p.spent, &p.reserved, &p.since, &p.waiting)
		if p.handoff != nil && len(p.inputs) == 0 && !c.Writes {
			p.inputs = nil // as in the event
		}
	case *inst:
		c.instance(p)
	case *nodeState:
		c.Code(&p.inst, &p.left, &p.live, &p.counted)
		c.Bools(&p.poisoned, &p.decided, &p.settled)
	case *parcel:
		c.Code(&p.by, &p.failed, &p.env)
		c.Bools(&p.live, &p.tolerated, &p.forced)
	case *rounds:
		c.Code(&p.in, &p.iteration, &p.entry, &p.again, &p.by, &p.exits)
	case *Tree:
		c.Code(&p.Step, &p.Workspace)
	case *exitState:
		c.Code(&p.now, &p.ever, &p.p)
	case *env:
		for i := range fan {
			c.Code(&p.below[i], &p.leaf[i])
		}
	case *write:
		c.Code(&p.seq, &p.value)
	case *each:
		c.Code(&p.items, &p.next, &p.open, &p.scopes, &p.outputs, &p.trees, &p.failed, &p.stopped)
	case *passed:
		c.Code(&p.from, &p.workers, &p.decision, &p.reason)
	case *timer:
		c.Code(&p.ID, &p.Clock, &p.At, &p.in, &p.issued)
	case *question:
		c.Code(&p.Question, &p.in, &p.issued)
	case *kept:
		c.Code(&p.id, &p.value, &p.digest)
	case *handoff:
		c.Code(&p.key, &p.scope, &p.spawned, &p.awaited, &p.detached, &p.gone)
	case *stored:
		if c.Code(&p.n, &p.seq, &p.given, &p.lines, &p.raw); !c.Writes {
			p.in = c.run.store
		}
	case *past:
		c.Code(&p.in, &p.work, &p.acts, &p.reads, &p.decision, &p.reason, &p.disowned, &p.below)
	case *effect:
		c.Code(&p.address, &p.result, &p.stays)
	case *Input:
		c.Code(&p.Name)
		c.shown(&p.Value)
	case *Received:
		c.Code(&p.Step, &p.Decision, &p.Reason)
		c.shown(&p.Output)
	case *Handed:
		c.Code(&p.ID, &p.Key, &p.Agent, &p.Status, &p.Error)
		c.JSON(&p.Inputs)
		c.shown(&p.Output)
	default:
		return false
	}
	return true
}

// value codes a value, or its stored form.
func (c *codec) value(p *any) {
	v := *p
	var isStored, isList, isObject bool
	switch v.(type) {
	case *stored:
		isStored = true
	case list:
		isList = true
	case object:
		isObject = true
	}
	switch c.Bools(&isStored, &isList, &isObject); {
	case isStored:
		one, _ := v.(*stored)
		c.Code(&one)
		v = one
	case isList:
		many, _ := v.(list)
		c.Code(&many)
		v = many
	case isObject:
		fields, _ := v.(object)
		c.Code(&fields)
		v = fields
	default:
		c.Value(&v)
	}
	if !c.Writes {
		*p = v
	}
}

// shown codes a value that was shown.
func (c *codec) shown(p *any) {
	v := *p
	if l, ok := v.(*Long); ok {
		v = l.of
	}
	if c.value(&v); !c.Writes {
		*p = shown(v)
	}
}

// program codes a reference to a program.
func (c *codec) program(p **program) {
	index := 0
	if c.Writes {
		index = (*p).index
	}
	if index = c.Int(index); !c.Writes {
		*p = c.run.program(index)
	}
}

// node codes a reference to a node; nil is coded as a node without a program.
func (c *codec) node(p **node) {
	home, at := -1, 0
	if n := *p; n != nil {
		home, at = n.home.index, n.index
	}
	if home, at = c.Int(home), c.Int(at); !c.Writes && home >= 0 {
		*p = c.run.program(home).all[at]
	}
}

// region codes a reference to a region: the body of a scope, or of a loop.
func (c *codec) region(p **region) {
	var s *scope
	if c.Writes && *p != nil && &(*p).scope.body == *p {
		s = (*p).scope
	}
	if c.Code(&s); s == nil {
		c.Refer(p)
	} else if !c.Writes {
		*p = &s.body
	}
}

func (c *codec) content(reg *region) {
	var owner *node
	if c.Writes {
		owner = reg.g.owner
	}
	if c.Code(&owner); !c.Writes {
		if reg.g = reg.scope.frame.p.body; owner != nil {
			reg.g = owner.body
		}
	}
	c.Code(&reg.open, &reg.nodes, &reg.parcels, &reg.loop)
}

// instance codes an instance. If it ended in a scope that has also ended, only its result is
// needed, unless a fork holds it back: then Fork needs to know why it ended.
func (c *codec) instance(in *inst) {
	past := c.Writes && in.phase == finished && in != c.run.heldBack && (in.reg == nil || in.reg.scope.over)
	started := in.cmd != nil
	asks := len(in.open)+len(in.asked)+len(in.answers) > 0 || in.left > 0
	hands := in.passed != nil && (!past || in.works())
	holds := !past && (in.body != nil || in.child != nil || in.each != nil)
	handsOff := !past && len(in.handed) > 0
	used := in.usage != Usage{}
	leaves := len(in.trees) > 0
	c.Bools(&past, &started, &asks, &hands, &holds, &handsOff, &used, &leaves, &in.unsure, &in.happened, &in.once, &in.agreed, &in.sent, &in.atLimit, &in.away, &in.expired, &in.unsent, &in.granted, &in.counted, &in.continued, &in.resting, &in.unbegun)
	c.Code(&in.n, &in.address, &in.like, &in.status, &in.output, &in.err, &in.started, &in.ended, &in.seq, &in.iteration, &in.came)
	c.Code(&in.attempt, &in.base, &in.begun, &in.done, &in.limited, &in.sum, &in.with, &in.failures, &in.losses, &in.issued, &in.phase)
	if used {
		c.Code(&in.usage)
	}
	if leaves {
		c.Code(&in.trees)
	}
	if asks {
		c.Code(&in.open, &in.asked, &in.answers, &in.shut, &in.left)
	}
	if hands {
		c.Code(&in.passed)
	}
	if past {
		return
	}
	c.Code(&in.reg, &in.env)
	if handsOff {
		c.Code(&in.handed, &in.handoffs)
	}
	if started {
		c.command(in)
	}
	if holds {
		c.Code(&in.body, &in.child, &in.each)
	}
}

// command codes the command of an instance, without what the instance has, too.
func (c *codec) command(in *inst) {
	cmd := StartTask{}
	if c.Writes {
		cmd = *in.cmd
	}
	inputs, received, handed := cmd.Inputs, cmd.Received, cmd.Handed
	cmd.Place, cmd.Inputs, cmd.Received, cmd.Handed = nil, nil, nil, nil
	c.JSON(&cmd)
	if c.Code(&inputs, &received, &handed); !c.Writes {
		cmd.Place, cmd.Inputs, cmd.Received, cmd.Handed = &in.n.place, inputs, received, handed
		in.cmd = &cmd
	}
}
