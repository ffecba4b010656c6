package engine

import "time"

// inst is one instance of a node that runs, has run, or was skipped. A run keeps all of them.
type inst struct {
	n       *node
	reg     *region
	address string
	like    string // the address at which an earlier plan did the same, or may have, if that has to be asked about
	status  Status
	output  any
	limited any           // its output before it failed, if atLimit
	env     *env          // at its start; after success, including its own write
	started time.Duration // since the start of the run
	ended   time.Duration // likewise; notYet while it is running
	seq     int           // orders the ends of instances
	cmd     *StartTask    // of a task, from its first attempt to its end
	sum     digest        // of the texts that it was asked with; zero if they are those of its node
	with    []Received    // the values that it was asked with
	err     string
	usage   Usage
	trees   []Tree // the workspaces that it received; after success, those that it leaves

	open    []*question   // open questions about it
	asked   []string      // how the questions of its attempts ended, by number; "" while open
	answers []kept        // for the next attempt
	shut    time.Duration // when the last question about it was closed, on the wall clock since the run began; 0: never
	left    time.Duration // remaining timeout of an attempt that waits for a person
	passed  *passed       // of a node that passes on what reaches it
	handed  []*handoff    // what its attempts have handed off

	// Of a composite, one of these is set.
	body  *region
	child *scope
	each  *each

	begun     int32 // of a task or a question: the newest seq when it started
	done      int32 // like seq, but the same in all plans; of others, the latest of what they consist of and follow
	iteration int32 // of the innermost loop
	came      int32 // number of parcels with which it started, see from
	attempt   int32 // number of the current or last attempt
	base      int32 // number of the last attempt at its address in earlier plans
	failures  int32 // number of failed attempts
	losses    int32
	handoffs  int32 // number of times that it, or a receiver of its work, has handed work off
	issued    int32

	phase     phase
	expired   bool // it timed out, and its attempt was cancelled
	unsent    bool // issued while no driver was present, so it has not started
	granted   bool // a person let it continue although its cost is unknown; in a rehearsal: the other run started it
	counted   bool // it counts among the steps of the run
	continued bool // another step follows it
	resting   bool // its attempt waits for a person, a handoff or a machine
	unbegun   bool // its attempt waits for a machine
	unsure    bool // an attempt may have had its effect, which must happen only once, and nobody has decided about that
	happened  bool // it was done in an earlier plan, and has not run since
	once      bool // its effect must happen only once, whether or not its plan says so
	agreed    bool // a person wants it to run, although its effect may happen again
	sent      bool // a driver was given an attempt of it
	atLimit   bool // it failed because its loop reached the limit
	away      bool // its attempt has given up its slot, because it waits for a handoff
}

const notYet time.Duration = -1

// over records the end of an instance.
func (r *Run) over(in *inst) {
	in.phase, in.ended = finished, r.elapsed
	r.closeQuestions(in)
	in.cmd = nil
	if in.each != nil {
		in.each.items, in.each.outputs = nil, nil
	}
}

// from returns the parcels with which the instance started. After it has ended, its region may
// reuse their memory for its next iteration.
func (in *inst) from() []parcel {
	switch {
	case in.phase == finished:
		return nil
	case len(in.n.in) == 0:
		return in.reg.entry()
	default:
		return in.reg.parcels[in.n.first:][:in.came]
	}
}

func (in *inst) scope() *scope { return in.reg.scope }

// phase is the phase of an instance between its decision and its end.
type phase int8

const (
	queued   phase = iota // waits for a slot among the parallel attempts
	held                  // waits because a budget would be exceeded
	running               // an attempt is running
	delayed               // waits for a retry
	parked                // waits until a quota is reset
	asked                 // waits for a person
	nested                // a loop, a call or an each runs
	stopping              // cancelled, but its attempt has not ended yet
	finished
)

// follow records which steps the instance follows; a choice only passes them on.
func (r *Run) follow(in *inst) {
	if in.n.isLoop() {
		return // its entries do it
	}
	if in.n.hands() {
		in.passed = &passed{}
	}
	for _, p := range in.from() {
		by := p.by
		if in.passed != nil {
			in.passed.reach(&p, in.n.isChoice())
		}
		switch {
		case in.n.isChoice() && by.n.isChoice():
			in.passed.workers = append(in.passed.workers, by.passed.workers...)
		case in.n.isChoice():
			in.passed.workers = append(in.passed.workers, by)
		case by.n.isChoice():
			for _, w := range by.passed.workers {
				w.continued = true
			}
		default:
			by.continued = true
		}
	}
}
