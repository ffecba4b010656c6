// Package engine is the state machine: events in, commands out. It has no
// clock, no goroutine, no file, no random number and no logger, so the same
// events always lead to the same state and the same commands. All that it may ask
// for is the output that one of these events brought.
//
// # The driver's duties
//
//  1. Make a [Run] with [New] and step it with [Started].
//  2. For everything that happens: store the event durably, then [Run.Step] it,
//     then carry out the commands. In that order: an attempt whose cause was
//     never stored would be forgotten by a crash, and a result that something
//     already depends on would be lost.
//  3. Answer every StartTask with one TaskEnded, also when it was cancelled; and
//     every SetTimer with TimerFired when its time has come, on the clock that it
//     names. Measure [Envelope.Clock] with a monotonic clock, from zero at Started
//     and from [Run.ClockAt] where a run is taken up.
//  4. Ask [Run.Admit] before storing what came from outside (questions, answers,
//     cancels, raised limits), because a stored event must never be refused.
//  5. A deadline is a deadline. The time of an Answered is the moment at which the
//     answer was given, for example put into an inbox. Before it is stored, every
//     timer on the wall clock that was due before that moment fires; before such a
//     timer fires, answers that were given earlier are read.
//  6. Store an Asked when an attempt asks, and a Withdrawn when it stops waiting.
//     Each Asked leads to one Ask or one Reply for that attempt, at once.
//  7. To take up a run after a crash: step the stored events and throw the
//     commands away; store and step [Recovered] and throw its commands away
//     too; then carry out [Run.Pending], which holds everything that is asked
//     for and not answered yet.
//     A snapshot ([Run.Snapshot], [Restore]) may stand for the events up to its
//     sequence number; where it cannot be restored, the events are stepped.
//  8. After [Finish] nothing more is stored.
//  9. A run keeps the outputs of all its steps, unless [Run.Offload] says from where it
//     can load them. Then load what a StartTask needs with [StartTask.Whole], before the
//     attempt begins; a [LoadError] is no failure of the step.
//
// # Inside
//
// A workflow is compiled once into indexed graphs (compile.go, wire.go). A graph
// that runs is a region (region.go): every forward edge of it is settled exactly
// once as live, dead or poisoned, and a node is decided when its in-edges are
// settled. That is why nothing can deadlock. A node that was decided to run is
// an instance (inst.go); how it ends, and which edges that takes, is in
// settle.go. Loops run their body's region again (loop.go). A scope (scope.go) is
// what a failure can end: the body of a workflow, or one item of a for_each.
// Variables travel along live edges as immutable environments (env.go), so a node
// sees only what was written on paths that lead to it. Limits and the run's clock
// are in ledger.go, everything that people are asked in question.go. Long outputs are
// left where they are stored (stored.go): what an instance or a variable holds may stand
// in for its value, and whole gives the value. A fork is a rehearsal (fork.go). The whole state can be written and read (restore.go).
package engine
