// Package engine is the state machine: events in, commands out. It has no clock,
// goroutine, file, random number or logger, so the same events always lead to the
// same state and the same commands. The only thing that it may load is the output
// of one of these events.
//
// # The driver's duties
//
// The engine relies on the first eighteen and the last, the host on the others. Package
// driver/drivertest has scenarios for each.
//
//  1. Start. Make a [Run] with [New] and step it with [Started]. Step every event in the
//     form in which the store will return it: values as JSON decodes them, text as valid
//     UTF-8, costs as finite numbers. A replay must see what the run saw.
//  2. Order. For everything that happens: store the event durably, then [Run.Step] it,
//     then carry out the commands. Otherwise a crash could forget an attempt that has
//     begun, or lose a result that something depends on.
//  3. Attempts. Answer every StartTask with exactly one TaskEnded, even when it was
//     cancelled. Attempts run at the same time: none waits for another.
//  4. Panics. If an agent panics, or ends without a result, the attempt has failed with a
//     fault that may be retried.
//  5. Cancellation. CancelTask ends the context of the attempt. Its TaskEnded still comes.
//  6. Timers. Answer every SetTimer with TimerFired when its time has come on the clock
//     that it names, and not before, even if the wall clock is set. A CancelTimer,
//     or a SetTimer with the same ID, ends the one before.
//  7. Clocks. Measure [Envelope.Clock] with a monotonic clock, from zero at Started and
//     from [Run.ClockAt] where a run is taken up. The wall clock can be set back, and
//     another machine's can be behind: no event has an earlier time than the one before
//     it, except Answered.
//  8. Admission. Ask [Run.Admit] before you store what came from outside: questions,
//     handoffs, answers, cancellations, raised limits, new plans. Report a refusal to the sender of the event. A
//     stored event must never be refused.
//  9. Deadlines. The time of an Answered is the moment at which the answer was given, for
//     example put into an inbox. Before it is stored, every timer on the wall clock that
//     was due before that moment fires; before such a timer fires, answers that were given
//     earlier are read.
//  10. Questions and handoffs. Store an Asked when an attempt asks, and a Withdrawn when it
//     stops waiting. Each Asked leads at once to one Ask or one Reply for that attempt. If
//     no one can answer, tell the attempt instead. Likewise, store a HandoffAsked when an
//     attempt hands work off; it leads at once to one Return for that attempt.
//     If an attempt waits for a machine, store a Queued, and another one when it begins.
//  11. People. Show every Ask to the people who are here, if there are any, until they
//     answer or leave, or the question is withdrawn or answered elsewhere; take it back
//     then. Tell them if their answer is refused.
//  12. Recovery. To take up a run after a crash: step the stored events and discard the
//     commands; store and step [Recovered] and discard its commands too; then carry out
//     [Run.Pending], everything that was asked for and not answered. A snapshot
//     ([Run.Snapshot], [Restore]) can replace the events up to its sequence number; if it
//     cannot be restored, step the events.
//  13. Lost costs. Set [Recovered.Unsettled]: the cost of a lost attempt is unknown. For one that
//     was lost alone, ask [Run.LossCosts] and set it in TaskEnded.
//  14. Unattended events. Set [Envelope.Unattended] on an event that is stored while no
//     process drives the run, such as the start of a run for another process, or an answer. What it
//     asks for has not begun, so the next Recovered does not take it as lost.
//  15. Interruption. A driver that is told to stop stores what has ended, cancels the
//     other attempts and waits for them, and does not store what they return. One that
//     leaves lets attempts end first, and stores their ends as unattended events.
//  16. The end. After [Finish], store nothing more, except a [Replanned], with which the run
//     goes on.
//  17. Long outputs. A run keeps the outputs of all its steps, unless [Run.Offload] says
//     where to load them from. Then load what a StartTask needs with [StartTask.Whole]
//     before the attempt begins. A [LoadError] is not a failure of the step: stop driving;
//     the run continues when the output can be read again.
//  18. Defects. If Step returns another error, or panics, stop driving, store nothing more
//     of the run, and report it. What is stored stays as it is.
//  19. One driver. At most one process drives a run, or several share its attempts. Others
//     learn which one, and can continue the run when that process has ended.
//  20. Programs. Programs that an attempt left running when its process died are ended
//     before the run continues. Their environment has [StartTask.Key] in HOCKET_KEY.
//  21. Starting. An id is used once. A key that was used before for the same request
//     returns that run. A claimed run is left to the process that claimed it.
//  22. Lists. Runs, their status, their questions and the changes to them are true in every
//     process, even after the process that drove a run was killed.
//  23. Streams. Events, outputs and what attempts printed can be read completely, from any
//     position, in every process, and followed to their end.
//  24. Forks and deletions. A fork repeats events of another run, and outlives it. One that
//     replaces that run cancels it first, or does not exist. A run that is driven is not
//     deleted; of one that is deleted, nothing remains.
//  25. Work. A script answers before agents and people do. An observer sees every fact in
//     order, and however slow it is, the run does not wait. Drive returns a run that
//     only waits for a time further away than its patience.
//  26. New plans. Store the bundle of a Replanned with the event, completely or not at all, and
//     return it with the event wherever that is read. Replay a run with the bundle that it was
//     started with; a snapshot is restored with the newest.
//
// # Inside
//
// A workflow is compiled once into indexed graphs (compile.go, wire.go). A running
// graph is a region (region.go): each of its forward edges is settled exactly once
// as live, dead or poisoned, and a node is decided when its in-edges are settled.
// That is why nothing can deadlock. A node that runs is an instance (inst.go); how
// it ends, and which edges it takes, is in settle.go. Loops run the region of their
// body again (loop.go). A scope (scope.go) is what a failure can end: the body of a
// workflow, or one item of a for_each. Variables travel along live edges as
// immutable environments (env.go), so a node sees only what was written on paths
// that lead to it. Limits and the run's clock are in ledger.go, questions to people
// in question.go. Work that an attempt hands off runs in its own frame (handoff.go).
// Long outputs stay where they are stored (stored.go): instances and
// variables may have a placeholder for a value, and whole returns the value itself.
// A fork rehearses the events of another run (fork.go). A new plan starts afresh, and takes
// what earlier ones have recorded (replan.go, progress.go, digest.go). The whole state can be
// written to a snapshot and restored (restore.go).
package engine
