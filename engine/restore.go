package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/hocket-dev/hocket/engine/internal/twoway"
	"github.com/hocket-dev/hocket/workflow"
)

// layout is the version of the snapshot format. Increase it with every change to what is encoded
// below; older snapshots are then ignored.
const layout = 12

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
	c := &codec{Codec: twoway.Writer(), run: r}
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
	c := &codec{Codec: twoway.Reader(string(state)), run: r}
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
		for _, name := range sortedKeys(r.bundle.Called) {
			p.digest += " " + name + " " + workflow.Digest(r.bundle.Called[name])
		}
	}
	return p.digest
}

// codec codes the state of a run.
type codec struct {
	*twoway.Codec
	run       *Run
	insts     twoway.Table[inst]
	scopes    twoway.Table[scope]
	frames    twoway.Table[frame]
	regions   twoway.Table[region]
	envs      twoway.Table[env]
	writings  twoway.Table[write]
	questions twoway.Table[question]
	stored    twoway.Table[stored]
	handoffs  twoway.Table[handoff]
	pasts     twoway.Table[past]
}

func (c *codec) state() {
	r := c.run
	c.definitions()
	twoway.Text(c.Codec, &r.id)
	twoway.Number(c.Codec, &r.version)
	twoway.JSON(c.Codec, &r.began)
	twoway.JSON(c.Codec, &r.now)
	twoway.Number(c.Codec, &r.elapsed)
	twoway.Number(c.Codec, &r.count)
	twoway.Number(c.Codec, &r.issued)
	twoway.Number(c.Codec, &r.seq)
	twoway.JSON(c.Codec, &r.tasks)
	twoway.Text(c.Codec, &r.rehearsal)
	twoway.JSON(c.Codec, &r.edits)
	twoway.JSON(c.Codec, &r.warnings)
	twoway.JSON(c.Codec, &r.finish)
	c.scope(&r.root)
	c.inst(&r.heldBack)
	twoway.List(c.Codec, &r.paused, c.inst)
	twoway.Map(c.Codec, &r.attempts, c.inst)
	twoway.Map(c.Codec, &r.questions, c.question)
	twoway.Map(c.Codec, &r.timers, c.timer)
	twoway.Number(c.Codec, &r.clock.active)
	twoway.Number(c.Codec, &r.clock.delays)
	twoway.Number(c.Codec, &r.clock.resting)
	twoway.List(c.Codec, &r.clock.frames, c.frame)
	c.steps()
	twoway.Map(c.Codec, &r.inputs, c.Value)
	c.replans(&r.replans)
}

func (c *codec) replans(x *replans) {
	replanned := !x.at.IsZero()
	if c.Bools(&replanned); !replanned {
		return
	}
	twoway.JSON(c.Codec, &x.at)
	twoway.Number(c.Codec, &x.asked)
	twoway.JSON(c.Codec, &x.tally)
	twoway.JSON(c.Codec, &x.planning)
	twoway.JSON(c.Codec, &x.charged)
	twoway.Map(c.Codec, &x.effects, func(same *[]*effect) { twoway.List(c.Codec, same, c.effect) })
	c.scope(&x.limbo)
	twoway.List(c.Codec, &x.behind, c.inst)
	twoway.Map(c.Codec, &x.memo, c.past)
}

func (c *codec) effect(p **effect) {
	if !c.Writes {
		*p = &effect{}
	}
	e := *p
	twoway.Text(c.Codec, &e.address)
	c.past(&e.result)
	c.Bools(&e.stays)
}

func (c *codec) past(p **past) {
	twoway.Refer(c.Codec, &c.pasts, p, func(p *past) {
		c.inst(&p.in)
		c.digest(&p.work)
		c.digest(&p.acts)
		c.digest(&p.reads)
		twoway.Text(c.Codec, &p.decision)
		twoway.Text(c.Codec, &p.reason)
		c.Bools(&p.disowned)
		twoway.List(c.Codec, &p.below, c.inst)
	})
}

func (c *codec) digest(d *digest) {
	s := string(d[:])
	twoway.Text(c.Codec, &s)
	copy(d[:], s)
}

// definitions codes what was handed off.
func (c *codec) definitions() {
	var list []definition
	for _, p := range c.run.handed {
		list = append(list, definition{p.w, p.facts})
	}
	if twoway.JSON(c.Codec, &list); !c.Writes {
		for _, d := range list {
			c.run.addDefinition(d)
		}
	}
}

// program codes a reference to a program.
func (c *codec) program(p **program) {
	index := 0
	if c.Writes {
		index = (*p).index
	}
	if twoway.Number(c.Codec, &index); !c.Writes {
		*p = c.run.program(index)
	}
}

func (c *codec) handoff(p **handoff) {
	twoway.Refer(c.Codec, &c.handoffs, p, func(h *handoff) {
		c.program(&h.p)
		if twoway.Map(c.Codec, &h.inputs, c.value); !c.Writes && len(h.inputs) == 0 {
			h.inputs = nil
		}
		twoway.Text(c.Codec, &h.key)
		c.inst(&h.in)
		c.scope(&h.scope)
		c.inst(&h.task)
		c.Bools(&h.spawned, &h.awaited)
	})
}

// steps codes the list of steps.
func (c *codec) steps() {
	r := c.run
	n, next := r.listed, r.head
	twoway.Number(c.Codec, &n)
	for range n {
		in := next
		c.inst(&in)
		if next = in.next; !c.Writes {
			r.list(in)
		}
	}
}

// value codes a value, or its stored form.
func (c *codec) value(p *any) {
	v := *p
	one, isStored := v.(*stored)
	many, isList := v.(list)
	fields, isObject := v.(object)
	switch c.Bools(&isStored, &isList, &isObject); {
	case isStored:
		twoway.Refer(c.Codec, &c.stored, &one, func(s *stored) {
			c.node(&s.n)
			twoway.Number(c.Codec, &s.seq)
			c.value(&s.given)
			if c.Bools(&s.lines, &s.raw); !c.Writes {
				s.in = c.run.store
			}
		})
		v = one
	case isList:
		twoway.List(c.Codec, (*[]any)(&many), c.value)
		v = many
	case isObject:
		twoway.Map(c.Codec, (*map[string]any)(&fields), c.value)
		v = fields
	default:
		c.Value(&v)
	}
	if !c.Writes {
		*p = v
	}
}

func (c *codec) timer(p **timer) {
	if !c.Writes {
		*p = &timer{}
	}
	t := *p
	twoway.Text(c.Codec, &t.ID)
	twoway.Number(c.Codec, &t.Clock)
	twoway.JSON(c.Codec, &t.At)
	c.inst(&t.in)
	twoway.Number(c.Codec, &t.issued)
}

func (c *codec) question(p **question) {
	twoway.Refer(c.Codec, &c.questions, p, func(q *question) {
		twoway.JSON(c.Codec, &q.Question)
		c.inst(&q.in)
		twoway.Number(c.Codec, &q.issued)
	})
}

// node codes a reference to a node; nil is coded as a node without a program.
func (c *codec) node(p **node) {
	home, at := -1, 0
	if n := *p; n != nil {
		home, at = n.home.index, n.index
	}
	twoway.Number(c.Codec, &home)
	if twoway.Number(c.Codec, &at); !c.Writes && home >= 0 {
		*p = c.run.program(home).all[at]
	}
}

func (c *codec) frame(p **frame) {
	twoway.Refer(c.Codec, &c.frames, p, func(f *frame) {
		c.program(&f.p)
		c.handoff(&f.handoff)
		c.frame(&f.around)
		twoway.JSON(c.Codec, &f.limits)
		c.scope(&f.scope)
		twoway.Map(c.Codec, &f.inputs, c.value)
		twoway.Text(c.Codec, &f.prefix)
		twoway.Number(c.Codec, &f.depth)
		twoway.Number(c.Codec, &f.steps)
		twoway.Number(c.Codec, &f.running)
		twoway.JSON(c.Codec, &f.spent)
		twoway.JSON(c.Codec, &f.reserved)
		twoway.Number(c.Codec, &f.since)
		waiting := f.waiting.tasks[f.waiting.head:]
		if twoway.List(c.Codec, &waiting, c.inst); !c.Writes {
			f.waiting.tasks = waiting
		}
	})
}

func (c *codec) scope(p **scope) {
	twoway.Refer(c.Codec, &c.scopes, p, func(s *scope) {
		s.body.scope = s
		c.scope(&s.parent)
		c.frame(&s.frame)
		c.inst(&s.owner)
		twoway.Number(c.Codec, &s.done)
		twoway.Number(c.Codec, &s.item)
		twoway.Number(c.Codec, &s.outstanding)
		c.Bools(&s.bodyDone, &s.over)
		twoway.Text(c.Codec, &s.ending)
		twoway.Text(c.Codec, &s.reason)
		twoway.Text(c.Codec, &s.tolerated)
		c.env(&s.endEnv)
		c.content(&s.body)
		twoway.List(c.Codec, &s.latest, c.inst)
		twoway.List(c.Codec, &s.handed, c.handoff)
		twoway.List(c.Codec, &s.sinks, c.inst)
	})
}

// region codes a reference to a region: the body of a scope, or of a loop.
func (c *codec) region(p **region) {
	var s *scope
	if c.Writes && *p != nil && &(*p).scope.body == *p {
		s = (*p).scope
	}
	if c.scope(&s); s != nil {
		*p = &s.body
		return
	}
	twoway.Refer(c.Codec, &c.regions, p, func(reg *region) {
		c.scope(&reg.scope)
		c.content(reg)
	})
}

func (c *codec) content(reg *region) {
	var owner *node
	if c.Writes {
		owner = reg.g.owner
	}
	if c.node(&owner); owner != nil {
		reg.g = owner.body
	} else if !c.Writes {
		reg.g = reg.scope.frame.p.body
	}
	twoway.Number(c.Codec, &reg.open)
	twoway.List(c.Codec, &reg.nodes, func(st *nodeState) {
		c.inst(&st.inst)
		twoway.Number(c.Codec, &st.left)
		twoway.Number(c.Codec, &st.live)
		twoway.Number(c.Codec, &st.counted)
		c.Bools(&st.poisoned, &st.decided, &st.settled)
	})
	twoway.List(c.Codec, &reg.parcels, c.parcel)
	loops := reg.loop != nil
	if c.Bools(&loops); !loops {
		return
	}
	if !c.Writes {
		reg.loop = &rounds{}
	}
	l := reg.loop
	c.inst(&l.in)
	twoway.Number(c.Codec, &l.iteration)
	twoway.List(c.Codec, &l.entry, c.parcel)
	twoway.List(c.Codec, &l.again, c.parcel)
	c.inst(&l.by)
	twoway.List(c.Codec, &l.exits, func(x *exitState) {
		twoway.Number(c.Codec, &x.now)
		c.Bools(&x.ever)
		c.parcel(&x.p)
	})
}

func (c *codec) parcel(p *parcel) {
	c.inst(&p.by)
	c.inst(&p.failed)
	c.env(&p.env)
	c.Bools(&p.live, &p.tolerated, &p.forced)
}

func (c *codec) env(p **env) {
	twoway.Refer(c.Codec, &c.envs, p, func(e *env) {
		for i := range e.below {
			c.env(&e.below[i])
		}
		for i := range e.leaf {
			twoway.Refer(c.Codec, &c.writings, &e.leaf[i], func(w *write) {
				twoway.Number(c.Codec, &w.seq)
				c.value(&w.value)
			})
		}
	})
}

func (c *codec) inst(p **inst) { twoway.Refer(c.Codec, &c.insts, p, c.instance) }

// instance codes an instance. If it ended in a scope that has also ended, only its result is
// needed, unless a fork holds it back: then Fork needs to know why it ended.
func (c *codec) instance(in *inst) {
	past := c.Writes && in.phase == finished && in != c.run.heldBack && (in.reg == nil || in.reg.scope.over)
	started := in.cmd != nil
	asks := len(in.open)+len(in.asked)+len(in.answers) > 0 || in.left > 0
	hands := in.passed != nil && (!past || in.works())
	holds := !past && (in.body != nil || in.child != nil || in.each != nil)
	handsOff := !past && len(in.handed) > 0
	c.Bools(&past, &started, &asks, &hands, &holds, &handsOff, &in.unsure, &in.happened, &in.once, &in.agreed, &in.sent, &in.atLimit, &in.away, &in.expired, &in.unsent, &in.granted, &in.counted, &in.continued, &in.resting)
	c.node(&in.n)
	twoway.Text(c.Codec, &in.address)
	twoway.Text(c.Codec, &in.like)
	twoway.Text(c.Codec, &in.status)
	c.value(&in.output)
	twoway.Text(c.Codec, &in.err)
	twoway.Number(c.Codec, &in.started)
	twoway.Number(c.Codec, &in.ended)
	twoway.Number(c.Codec, &in.seq)
	twoway.Number(c.Codec, &in.iteration)
	twoway.Number(c.Codec, &in.came)
	twoway.Number(c.Codec, &in.attempt)
	twoway.Number(c.Codec, &in.base)
	twoway.Number(c.Codec, &in.begun)
	twoway.Number(c.Codec, &in.done)
	c.value(&in.limited)
	c.digest(&in.sum)
	twoway.List(c.Codec, &in.with, c.received)
	twoway.Number(c.Codec, &in.failures)
	twoway.Number(c.Codec, &in.losses)
	twoway.Number(c.Codec, &in.issued)
	twoway.Number(c.Codec, &in.phase)
	used := in.usage != Usage{}
	if c.Bools(&used); used {
		twoway.JSON(c.Codec, &in.usage)
	}
	if asks {
		twoway.List(c.Codec, &in.open, c.question)
		twoway.JSON(c.Codec, &in.asked)
		twoway.List(c.Codec, &in.answers, func(k *kept) {
			twoway.Text(c.Codec, &k.id)
			twoway.Text(c.Codec, &k.value)
			twoway.Text(c.Codec, &k.digest)
		})
		twoway.Number(c.Codec, &in.shut)
		twoway.Number(c.Codec, &in.left)
	}
	if hands {
		c.passed(&in.passed)
	}
	if past {
		return
	}
	c.region(&in.reg)
	c.env(&in.env)
	if handsOff {
		twoway.List(c.Codec, &in.handed, c.handoff)
		twoway.Number(c.Codec, &in.handoffs)
	}
	if started {
		c.command(in)
	}
	if holds {
		c.region(&in.body)
		c.scope(&in.child)
		c.each(&in.each)
	}
}

func (c *codec) passed(p **passed) {
	if !c.Writes {
		*p = &passed{}
	}
	h := *p
	twoway.List(c.Codec, &h.from, c.inst)
	twoway.List(c.Codec, &h.workers, c.inst)
	twoway.Text(c.Codec, &h.decision)
	twoway.Text(c.Codec, &h.reason)
}

func (c *codec) command(in *inst) {
	cmd := StartTask{}
	if c.Writes {
		cmd = *in.cmd
	}
	inputs, received, handed := cmd.Inputs, cmd.Received, cmd.Handed
	cmd.Place, cmd.Inputs, cmd.Received, cmd.Handed = nil, nil, nil, nil
	twoway.JSON(c.Codec, &cmd)
	twoway.List(c.Codec, &inputs, func(i *Input) {
		twoway.Text(c.Codec, &i.Name)
		c.shown(&i.Value)
	})
	twoway.List(c.Codec, &received, c.received)
	i := 0
	twoway.List(c.Codec, &handed, func(h *Handed) {
		if !c.Writes {
			h.Key, h.Agent, h.Inputs = in.handed[i].key, in.handed[i].p.all[0].place.Agent, in.handed[i].inputs
		}
		i++
		twoway.Text(c.Codec, &h.ID)
		twoway.Text(c.Codec, &h.Status)
		c.shown(&h.Output)
		twoway.Text(c.Codec, &h.Error)
	})
	if !c.Writes {
		cmd.Place, cmd.Inputs, cmd.Received, cmd.Handed = &in.n.place, inputs, received, handed
		in.cmd = &cmd
	}
}

func (c *codec) received(r *Received) {
	twoway.Text(c.Codec, &r.Step)
	c.shown(&r.Output)
	twoway.Text(c.Codec, &r.Decision)
	twoway.Text(c.Codec, &r.Reason)
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

func (c *codec) each(p **each) {
	is := *p != nil
	if c.Bools(&is); !is {
		return
	}
	if !c.Writes {
		*p = &each{}
	}
	x := *p
	twoway.List(c.Codec, &x.items, c.value)
	twoway.Number(c.Codec, &x.next)
	twoway.Number(c.Codec, &x.open)
	twoway.List(c.Codec, &x.scopes, c.scope)
	twoway.List(c.Codec, &x.outputs, c.value)
	twoway.Text(c.Codec, &x.failed)
	c.Bools(&x.stopped)
}
