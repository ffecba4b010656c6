package engine

import "time"

// inst is one instance of a node: it ran, runs, or was skipped.
type inst struct {
	n       *node
	reg     *region
	scope   *scope
	address string
	phase   phase
	status  Status
	started time.Time
	ended   time.Time
	output  any
	err     string
	seq     int // of its end
	usage   Usage
	from    []parcel
	env     *env // at its start; after success, with its own write

	// of a task
	iteration int32 // of the innermost loop
	attempt   int32 // number of the attempt under way or last made
	failures  int32 // attempts used up
	losses    int32
	issued    int
	expired   bool // its time is over, and it was told to stop
	unsent    bool // asked for when no driver was there, so it has not started
	granted   bool // a person let it go on although its cost is unknown
	counted   bool // it counts among the steps of the run
	cmd       *StartTask
	gate      *AskHuman

	continued bool    // another step took up where it ended
	workers   []*inst // of a choice: the steps whose results reach it

	// of a composite
	body  *region
	child *scope
	each  *each
}

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
func (in *inst) follow() {
	if in.n.isLoop() {
		return // its entries do
	}
	for i := range in.from {
		by := in.from[i].by
		switch {
		case in.n.isChoice() && by.n.isChoice():
			in.workers = append(in.workers, by.workers...)
		case in.n.isChoice():
			in.workers = append(in.workers, by)
		case by.n.isChoice():
			for _, w := range by.workers {
				w.continued = true
			}
		default:
			by.continued = true
		}
	}
}
