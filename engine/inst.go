package engine

import "time"

// inst is one instance of a node: it ran, runs, or was skipped. A run keeps all
// of them.
type inst struct {
	n       *node
	reg     *region
	address string
	status  Status
	output  any
	env     *env          // at its start; after success, with its own write
	started time.Duration // since the start of the run
	ended   time.Duration // likewise; notYet until then
	seq     int           // of its end
	cmd     *StartTask    // of a task, from its first attempt to its end
	next    *inst         // in the order of Result.Steps
	err     string
	usage   Usage

	open    []*question   // what is asked about it
	asked   []string      // how the questions of its attempts ended, by number; "": not yet
	answers []kept        // for the next attempt
	shut    time.Time     // when a question about it was over last
	left    time.Duration // of the timeout of an attempt that waits for a person
	passed  *passed       // of what hands on what reaches it

	// of a composite, one of them
	body  *region
	child *scope
	each  *each

	iteration int32 // of the innermost loop
	came      int32 // parcels with which it started, see from
	attempt   int32 // number of the attempt under way or last made
	failures  int32 // attempts used up
	losses    int32
	issued    int32

	phase     phase
	expired   bool // its time is over, and it was told to stop
	unsent    bool // asked for when no driver was there, so it has not started
	granted   bool // a person let it go on although its cost is unknown; in a rehearsal: the other run started it
	counted   bool // it counts among the steps of the run
	continued bool // another step took up where it ended
	resting   bool // its attempt waits for a person
}

const notYet time.Duration = -1

// over notes the end of an instance.
func (r *Run) over(in *inst) {
	in.phase, in.ended = finished, r.elapsed
	r.closeQuestions(in)
	in.cmd = nil
	if in.each != nil {
		in.each.items, in.each.outputs = nil, nil
	}
}

// from are the parcels with which the instance started. When it has ended, its
// region may use their room for its next iteration.
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

// phase is where an instance stands between its decision and its end.
type phase int8

const (
	queued   phase = iota // for a slot among the parallel attempts
	held                  // a budget would be exceeded
	running               // an attempt is under way
	delayed               // until a retry
	parked                // until a quota is reset
	asked                 // a person is asked
	nested                // a loop, a call or an each runs
	stopping              // cancelled, and its attempt has not ended yet
	finished
)

// follow notes which steps the instance takes up from; a choice only hands them
// on.
func (r *Run) follow(in *inst) {
	if in.n.isLoop() {
		return // its entries do
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
