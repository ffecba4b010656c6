// Package temporal stores and drives runs with Temporal. A run is one workflow, in which the engine runs; its
// attempts are activities.
//
// # How a run is recorded
//
// The history of the workflow is the only record of a run while Temporal keeps it. No event of the engine is
// stored a second time: [machine] turns what arrives (the ends of attempts, timers, signals, updates) into
// events, and is deterministic. The workflow runs it to do the work (flow.go). Whoever wants to read
// the run makes a mirror: another machine, fed with the history, that does nothing (mirror.go). So a run can be
// read without a worker, and there is only one meaning of a history.
//
// This works because both handle the same arrivals at the same times in the same order. What arrives in one
// workflow task is handled together; among different kinds of arrivals, the order is fixed.
//
// # What goes where
//
// Answers, cancellations, raised limits and new plans are updates, whose validator is [engine.Run.Admit]. If no
// process works for the run, whoever sends an update runs the workflow meanwhile. A question of an
// attempt, and work that it hands off, are signals; the reply comes as an activity on the queue of the process
// that makes the attempt. Retries are the engine's: Temporal only lets another worker try what one has refused. A process that is lost
// stops sending heartbeats, and the attempt ends with engine.FaultLost.
//
// Values of more than 64 KiB, what attempts print, and the events of finished executions are in a [Store]. A long history
// continues in a new execution, which begins with a snapshot of the engine; who wants the events before it reads the
// store, and so does everybody after the server has deleted the run (archive.go), and who started a run that is over soon. Lists read the memo of the workflow,
// which has what they show and changes with the status of the run, not with every step.
package temporal
