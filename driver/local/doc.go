// Package local is the driver that keeps runs in a journal and drives them in this
// process: the engine decides, the journal remembers, agents and people work.
//
// # What it does
//
// One goroutine owns a run (loop.go). For everything that happens it stores the
// event, steps the engine and carries out the commands, in that order. Attempts
// are goroutines that post their result to the loop; all results that wait are
// stored in one transaction and then stepped one by one. So a slow disk makes
// batches larger and not the run slower.
//
// Other processes are noticed by one goroutine of the driver (pulse.go), which looks
// at the journal for all runs, watchers and followers together.
//
// # What it guarantees
//
//  1. The event that causes an attempt is durable before the attempt starts, and
//     its result before anything depends on it.
//  2. [Driver.Drive] returns when the run is over, or waits for something that
//     nobody here can give, or is interrupted. It leaves no goroutine, no process
//     and no lock behind.
//  3. An interrupted attempt is not recorded, so the next Drive makes it again.
//  4. A panic of an agent is a failed attempt. A panic of the engine marks the
//     run as broken and loses nothing that was recorded.
package local
