// Package cli has tasks done by CLI coding agents: Claude Code, Codex, Gemini CLI,
// opencode and others. What there is to know about each of them is data, a [Manifest]:
// how to find it, what to write on its command line, how to read what it prints. The
// executor is the same for all, and for those that users add in .hocket/clis.
//
// # A run
//
// A CLI is run without anybody to ask, in a session of its own: it cannot reach a
// terminal, and all that it starts ends with it. Its standard input is the prompt or
// nothing, never a pipe that stays open. What it says goes to the log as it comes: its
// words, and a line for every tool that it uses. The files that it needs are private to
// the user and gone afterwards.
//
// # How it went
//
// A run is a success only if all of these hold: the event that ends it has come, it says
// that it is a success, no event said otherwise, and the exit status is 0. CLIs exit
// with 0 after a failure, and say "success" of one; each of these alone means nothing.
//
// Sums that a CLI makes over a whole conversation count without what was used before.
// What it does not tell is unknown, never zero.
//
// # With a conversation
//
// Where a person is to be asked before things are done, and where a CLI has no other
// way, a [Driver] talks with it over a protocol.
package cli
