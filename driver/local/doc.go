// Package local is the driver that stores runs in a journal and drives them in this
// process: the engine decides, the journal stores, agents and people do the work.
//
// # What it does
//
// One goroutine owns a run (loop.go). For every event it stores the event, steps the engine
// and carries out the commands, in that order. Attempts are goroutines that post their
// result to the loop; all waiting results are stored in one transaction and then stepped
// one by one. So a slow disk makes batches larger instead of the run slower.
//
// One goroutine of the driver (pulse.go) polls the journal for changes by other processes,
// on behalf of all runs, watchers and followers.
//
// # What it guarantees
//
//  1. The event that causes an attempt is durable before the attempt starts, and
//     its result before anything depends on it.
//  2. [Driver.Drive] returns when the run is over, or waits for something that cannot
//     be provided here, or is interrupted. It leaves no goroutine, no process and no lock
//     behind.
//  3. An interrupted attempt is not recorded, so the next Drive repeats it.
//  4. A panic of an agent is a failed attempt. A panic of the engine marks the
//     run as broken and loses nothing that was recorded.
package local
