package engine

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// layout is the layout of snapshots. It changes with every change to what is
// encoded below; older snapshots are not read then.
const layout = 1

// header says whether a snapshot can be restored.
type header struct {
	Layout  int    `json:"layout"`
	Version int    `json:"version"` // of the engine
	Digest  string `json:"digest"`  // of the definition
	Seq     int    `json:"seq"`     // of the last event
	Sum     uint32 `json:"sum"`     // of what follows
}

// Seq is the number of events that the run has taken.
func (r *Run) Seq() int { return r.count }

// Time is what the wall clock showed at the latest event.
func (r *Run) Time() time.Time { return r.now }

// Snapshot is the state of the run, for [Restore]. It is a cache and no record: the
// events are what a run is, and lead to the same state.
func (r *Run) Snapshot() []byte {
	c := &codec{writes: true, run: r, texts: map[string]int{}}
	c.state()
	h := header{layout, Version, r.digest(), r.count, crc32.ChecksumIEEE(c.out)}
	return append([]byte(workflow.FormatJSON(h)+"\n"), c.out...)
}

// Restore makes the run of a snapshot. Any error means that the events have to be
// replayed instead.
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
		return nil, errors.New("engine: the snapshot is of another version")
	case h.Sum != crc32.ChecksumIEEE(state):
		return nil, errors.New("engine: the snapshot is damaged")
	case h.Digest != r.digest():
		return nil, errors.New("engine: the snapshot is of another definition")
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("engine: the snapshot cannot be read: %v", p)
		}
	}()
	c := &codec{in: string(state), run: r}
	c.state()
	if r.count != h.Seq || c.at != len(c.in) {
		return nil, errors.New("engine: the snapshot is not complete")
	}
	return r, nil
}

// digest is that of everything that runs of the bundle do.
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

// codec writes the state of a run, or reads it: each function below does both, so
// that they cannot disagree. Of whatever is referred to more than once the content
// comes with the first reference.
type codec struct {
	writes bool
	out    []byte
	in     string
	at     int
	run    *Run

	texts     map[string]int // written, with their numbers
	known     []string       // read, by their numbers
	insts     table[inst]
	scopes    table[scope]
	frames    table[frame]
	regions   table[region]
	envs      table[env]
	writings  table[write]
	questions table[question]
}

// table numbers what is referred to.
type table[T any] struct {
	numbers map[*T]int
	list    []*T
}

// refer writes or reads a reference. fill does the content of what is new.
func refer[T any](c *codec, t *table[T], p **T, fill func(*T)) {
	if !c.writes {
		switch n := c.uint(0); n {
		case 0:
			*p = nil
		case 1:
			*p = new(T)
			t.list = append(t.list, *p)
			fill(*p)
		default:
			*p = t.list[n-2]
		}
		return
	}
	n, known := t.numbers[*p]
	switch {
	case *p == nil:
		c.uint(0)
	case known:
		c.uint(uint64(n) + 2)
	default:
		if t.numbers == nil {
			t.numbers = map[*T]int{}
		}
		t.numbers[*p] = len(t.numbers)
		c.uint(1)
		fill(*p)
	}
}

// uint writes a number and gives it back, or reads one.
func (c *codec) uint(n uint64) uint64 {
	if c.writes {
		c.out = binary.AppendUvarint(c.out, n)
		return n
	}
	n = 0
	for shift := 0; ; shift += 7 {
		b := c.in[c.at]
		c.at++
		if n |= uint64(b&0x7f) << shift; b < 0x80 {
			return n
		}
	}
}

// number does an integer of any kind.
func number[N ~int | ~int8 | ~int32 | ~int64](c *codec, p *N) {
	v := int64(*p)
	u := c.uint(uint64(v<<1) ^ uint64(v>>63))
	if !c.writes {
		*p = N(int64(u>>1) ^ -int64(u&1))
	}
}

func (c *codec) float(p *float64) {
	if u := c.uint(math.Float64bits(*p)); !c.writes {
		*p = math.Float64frombits(u)
	}
}

// bools does up to 64 of them.
func (c *codec) bools(ps ...*bool) {
	var u uint64
	for i, p := range ps {
		if c.writes && *p {
			u |= 1 << i
		}
	}
	u = c.uint(u)
	for i, p := range ps {
		*p = u&(1<<i) != 0
	}
}

// text does a string; the same one again is a number.
func text[S ~string](c *codec, p *S) {
	if c.writes {
		s := string(*p)
		if n, known := c.texts[s]; known {
			c.uint(uint64(n) + 1)
			return
		}
		c.texts[s] = len(c.texts)
		c.uint(0)
		c.uint(uint64(len(s)))
		c.out = append(c.out, s...)
		return
	}
	if n := c.uint(0); n > 0 {
		*p = S(c.known[n-1])
		return
	}
	n := int(c.uint(0))
	s := c.in[c.at : c.at+n]
	c.at += n
	c.known = append(c.known, s)
	*p = S(s)
}

// stored does anything that encoding/json can do.
func stored[T any](c *codec, p *T) {
	var s string
	if c.writes {
		s = workflow.FormatJSON(*p)
	}
	if text(c, &s); !c.writes {
		dec := json.NewDecoder(strings.NewReader(s))
		dec.UseNumber()
		if err := dec.Decode(p); err != nil {
			panic(err)
		}
	}
}

// value does a value of a workflow: text as it is, the rest as JSON.
func (c *codec) value(p *any) {
	s, isText := (*p).(string)
	isNil := *p == nil
	c.bools(&isText, &isNil)
	switch {
	case isNil:
		*p = nil
	case !isText:
		stored(c, p)
	default:
		if text(c, &s); !c.writes {
			*p = s
		}
	}
}

func (c *codec) values(p *[]any) { list(c, p, c.value) }

// list does a list; an empty one is nil.
func list[T any](c *codec, p *[]T, each func(*T)) {
	n := int(c.uint(uint64(len(*p))))
	if !c.writes && n > 0 {
		*p = make([]T, n)
	}
	for i := range *p {
		each(&(*p)[i])
	}
}

// entries does a map in the order of its keys.
func entries[V any](c *codec, p *map[string]V, each func(*V)) {
	keys := sortedKeys(*p)
	n := int(c.uint(uint64(len(keys))))
	if !c.writes {
		*p, keys = make(map[string]V, n), make([]string, n)
	}
	for _, key := range keys {
		v := (*p)[key]
		text(c, &key)
		each(&v)
		(*p)[key] = v
	}
}

func (c *codec) state() {
	r := c.run
	text(c, &r.id)
	number(c, &r.version)
	stored(c, &r.began)
	stored(c, &r.now)
	number(c, &r.elapsed)
	number(c, &r.count)
	number(c, &r.issued)
	number(c, &r.seq)
	stored(c, &r.tasks)
	text(c, &r.rehearsal)
	stored(c, &r.warnings)
	stored(c, &r.finish)
	c.scope(&r.root)
	c.inst(&r.heldBack)
	list(c, &r.paused, c.inst)
	entries(c, &r.attempts, c.inst)
	entries(c, &r.questions, c.question)
	entries(c, &r.timers, c.timer)
	number(c, &r.clock.active)
	number(c, &r.clock.delays)
	number(c, &r.clock.resting)
	list(c, &r.clock.frames, c.frame)
	c.steps()
}

// steps does the list of steps.
func (c *codec) steps() {
	r := c.run
	n := int(c.uint(uint64(r.listed)))
	next := r.first
	for range n {
		in := next
		c.inst(&in)
		if next = in.next; !c.writes {
			r.list(in)
		}
	}
}

func (c *codec) timer(p **timer) {
	if !c.writes {
		*p = &timer{}
	}
	t := *p
	text(c, &t.ID)
	number(c, &t.Clock)
	stored(c, &t.At)
	c.inst(&t.in)
	number(c, &t.issued)
}

func (c *codec) question(p **question) {
	refer(c, &c.questions, p, func(q *question) {
		stored(c, &q.Question)
		c.inst(&q.in)
		number(c, &q.issued)
	})
}

// node does a reference to a node; nil is of no program.
func (c *codec) node(p **node) {
	home, at := -1, 0
	if n := *p; n != nil {
		home, at = n.home.index, n.index
	}
	number(c, &home)
	if number(c, &at); !c.writes && home >= 0 {
		*p = c.run.compiled[home].all[at]
	}
}

func (c *codec) frame(p **frame) {
	refer(c, &c.frames, p, func(f *frame) {
		var program int
		if c.writes {
			program = f.p.index
		}
		if number(c, &program); !c.writes {
			f.p = c.run.compiled[program]
		}
		c.frame(&f.around)
		stored(c, &f.limits)
		f.in(f.around)
		c.scope(&f.scope)
		entries(c, &f.inputs, c.value)
		text(c, &f.prefix)
		number(c, &f.depth)
		number(c, &f.steps)
		number(c, &f.running)
		stored(c, &f.spent)
		c.float(&f.reserved)
		number(c, &f.tokens)
		number(c, &f.since)
		waiting := f.waiting.tasks[f.waiting.head:]
		if list(c, &waiting, c.inst); !c.writes {
			f.waiting.tasks = waiting
		}
	})
}

func (c *codec) scope(p **scope) {
	refer(c, &c.scopes, p, func(s *scope) {
		s.body.scope = s
		c.scope(&s.parent)
		c.frame(&s.frame)
		c.inst(&s.owner)
		number(c, &s.item)
		number(c, &s.outstanding)
		c.bools(&s.bodyDone, &s.over)
		text(c, &s.ending)
		text(c, &s.reason)
		text(c, &s.tolerated)
		c.env(&s.endEnv)
		c.content(&s.body)
		list(c, &s.latest, c.inst)
		list(c, &s.sinks, c.inst)
	})
}

// region does a reference to a region: the body of a scope, or a loop's.
func (c *codec) region(p **region) {
	var s *scope
	if c.writes && *p != nil && &(*p).scope.body == *p {
		s = (*p).scope
	}
	if c.scope(&s); s != nil {
		*p = &s.body
		return
	}
	refer(c, &c.regions, p, func(reg *region) {
		c.scope(&reg.scope)
		c.content(reg)
	})
}

func (c *codec) content(reg *region) {
	var owner *node
	if c.writes {
		owner = reg.g.owner
	}
	if c.node(&owner); owner != nil {
		reg.g = owner.body
	} else if !c.writes {
		reg.g = reg.scope.frame.p.body
	}
	number(c, &reg.open)
	list(c, &reg.nodes, func(st *nodeState) {
		c.inst(&st.inst)
		number(c, &st.left)
		number(c, &st.live)
		number(c, &st.counted)
		c.bools(&st.poisoned, &st.decided, &st.settled)
	})
	list(c, &reg.parcels, c.parcel)
	c.env(&reg.entryEnv)
	loops := reg.loop != nil
	if c.bools(&loops); !loops {
		return
	}
	if !c.writes {
		reg.loop = &rounds{}
	}
	l := reg.loop
	c.inst(&l.in)
	number(c, &l.iteration)
	list(c, &l.entry, c.parcel)
	list(c, &l.again, c.parcel)
	c.inst(&l.by)
	list(c, &l.exits, func(x *exitState) {
		number(c, &x.now)
		c.bools(&x.ever)
		c.parcel(&x.p)
	})
}

func (c *codec) parcel(p *parcel) {
	c.inst(&p.by)
	c.inst(&p.failed)
	c.env(&p.env)
	c.bools(&p.live, &p.tolerated, &p.forced)
}

func (c *codec) env(p **env) {
	refer(c, &c.envs, p, func(e *env) {
		for i := range e.below {
			c.env(&e.below[i])
		}
		for i := range e.leaf {
			refer(c, &c.writings, &e.leaf[i], func(w *write) {
				number(c, &w.seq)
				c.value(&w.value)
			})
		}
	})
}

func (c *codec) inst(p **inst) { refer(c, &c.insts, p, c.instance) }

// instance does an instance. Of one that ended in a scope that is over only the
// result is of use.
func (c *codec) instance(in *inst) {
	past := c.writes && in.phase == finished && (in.reg == nil || in.reg.scope.over)
	started := in.cmd != nil
	asks := len(in.open)+len(in.asked)+len(in.answers) > 0
	holds := !past && (len(in.workers) > 0 || in.body != nil || in.child != nil || in.each != nil)
	c.bools(&past, &started, &asks, &holds, &in.expired, &in.unsent, &in.granted, &in.counted, &in.continued, &in.resting)
	c.node(&in.n)
	text(c, &in.address)
	text(c, &in.status)
	c.value(&in.output)
	text(c, &in.err)
	number(c, &in.started)
	number(c, &in.ended)
	number(c, &in.seq)
	number(c, &in.iteration)
	number(c, &in.came)
	number(c, &in.attempt)
	number(c, &in.failures)
	number(c, &in.losses)
	number(c, &in.issued)
	number(c, &in.phase)
	used := in.usage != Usage{}
	if c.bools(&used); used {
		stored(c, &in.usage)
	}
	if asks {
		list(c, &in.open, c.question)
		stored(c, &in.asked)
		list(c, &in.answers, func(k *kept) {
			text(c, &k.id)
			text(c, &k.value)
			text(c, &k.digest)
		})
		stored(c, &in.shut)
		number(c, &in.left)
	}
	if past {
		return
	}
	c.region(&in.reg)
	c.env(&in.env)
	if started {
		c.command(in)
	}
	if holds {
		list(c, &in.workers, c.inst)
		c.region(&in.body)
		c.scope(&in.child)
		c.each(&in.each)
	}
}

func (c *codec) command(in *inst) {
	cmd := StartTask{}
	if c.writes {
		cmd = *in.cmd
	}
	cmd.Place = nil
	if stored(c, &cmd); !c.writes {
		cmd.Place = &in.n.place
		in.cmd = &cmd
	}
}

func (c *codec) each(p **each) {
	is := *p != nil
	if c.bools(&is); !is {
		return
	}
	if !c.writes {
		*p = &each{}
	}
	x := *p
	c.values(&x.items)
	number(c, &x.next)
	number(c, &x.open)
	list(c, &x.scopes, c.scope)
	c.values(&x.outputs)
	text(c, &x.failed)
	c.bools(&x.stopped)
}
