// Package trigger starts runs when something happens: at a time, for a request, for a file, after another run. The
// definitions are files of the project; a server has one [Service] for each project.
//
// The same firing never starts two runs, also after a crash or with several servers:
//
//  1. A firing has a key: the instant of a schedule, the delivery of a webhook, the path and digest of a file, the run
//     that has ended. The key is the start key of the run, so the journal records at most one run for it.
//  2. Who handles the firings of a trigger holds its lock. Decisions that depend on other runs, such as to skip one,
//     are made once and remembered with the key in the state of the trigger.
//  3. The state is written after the run was recorded. After a crash in between, the firing happens again and finds
//     its run.
//
// A run is only recorded here. The server drives it, and leaves a run alone that has to wait for an older one of its
// trigger, see [MustWait].
package trigger
