package agent

import "time"

// Script answers tasks and questions in place of agents and people, from lists that are
// consumed one entry per attempt. It keeps count, so it belongs to one run, and the driver
// of that run has two duties:
//
//  1. Call Task for every task that is started and Person for every question that a human
//     node asks, in the order of the engine's commands, including those of a replay. (A
//     question about a lost task is not one of them: no script knows what happened to it.)
//  2. Call Ended for every answer to one of them (a task that ended, a person who answered,
//     a question that was withdrawn), including those of a replay.
//
// Then the answer for an attempt depends only on the journal. An attempt that was
// interrupted by a crash has not ended: when it starts again under the same number, it gets
// the same answer.
//
// A Script is not safe for concurrent use.
type Script interface {
	// Task returns the executor for an attempt at a task, or at the question of a choice.
	// If !ok, the real agent does the work.
	Task(address, node string, attempt int, question bool) (exec Executor, ok bool)
	// Person returns the answer to a question, to be given after the delay. If !ok, a real
	// person answers.
	Person(address, node string) (answer string, delay time.Duration, ok bool)
	// Ended records that the task or question at an address has its answer.
	Ended(address string)
}
