package agent

import "time"

// Script answers tasks and questions in place of agents and people, from lists
// that are used up one entry per attempt. It counts, so it belongs to one run,
// and the driver of that run has two duties:
//
//  1. Call Task for every task that is started and Person for every question
//     that a human node asks, in the order of the engine's commands, those of a
//     replay included. (A question about a lost task is not one of them: what
//     became of it is not in any script.)
//  2. Call Ended for every answer to one of them (a task that ended, a person
//     who answered, a question that was withdrawn), those of a replay included.
//
// Then what an attempt is answered with depends on the journal alone. An attempt
// that a crash cut off has not ended: started again under its number, it gets the
// same answer.
//
// A Script is not safe for concurrent use.
type Script interface {
	// Task is the executor of an attempt at a task, or at the question of a choice;
	// !ok: the real agent works.
	Task(address, node string, attempt int, question bool) (exec Executor, ok bool)
	// Person is the answer to a question, to be given after the delay; !ok: a
	// real person answers.
	Person(address, node string) (answer string, delay time.Duration, ok bool)
	// Ended says that the task or question at an address has its answer.
	Ended(address string)
}
