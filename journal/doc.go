// Package journal stores runs durably in one SQLite database: their events, the definitions
// they are pinned to, large values, an inbox through which another process answers, cancels
// or raises, and what lists of runs need ([Summary]). It imports the model, the engine's
// events and the types of package driver; driver/local imports it.
//
// # Guarantees
//
//  1. When [Writer.Append] returns, the events survive a power failure
//     (synchronous=FULL). A batch is one transaction: all of it or nothing.
//  2. A run has one [Writer] at a time. Its row names the Store, which holds an operating
//     system lock that ends with the process, however that ends. If two processes write
//     nevertheless, the key (run, seq) rejects the second: [ConflictError].
//  3. Strings over 64 KiB in events are stored once, by hash, and come back in
//     their place; [Store.Brief] leaves them out. A log that begins with such a result
//     refers to it.
//  4. What was recorded stays readable: a full disk, a read-only directory, even a damaged
//     file are typed errors ([Error]) that name the file and what to do, and [OpenReadOnly]
//     reads what it can.
//
// # Files
//
//	journal.db, -wal, -shm   the database
//	leases/NAME.lock         a process that drives runs; gone when it has closed the Store
//	logs/RUN/streams.1       what the attempts of a run printed, their prompts and
//	                         transcripts
//	logs/RUN/NODE.1.log.N    what the first attempt at a node printed from byte N on,
//	                         if that is much
//	logs/RUN/NODE.1.files    the files that it left
//
// The directory has mode 0700, the files 0600.
//
// No other code may open journal.db in a process that has a Store: closing any
// descriptor of the file would drop SQLite's locks on it (POSIX says so).
package journal
