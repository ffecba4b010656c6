// Package cli runs tasks with CLI coding agents: Claude Code, Codex, Gemini CLI, opencode
// and others. Everything specific to one of them is data, a [Manifest]: how to find it,
// what to write on its command line, how to parse its output. The executor is the same for
// all, including those that users add in .hocket/clis.
//
// # A run
//
// A CLI runs non-interactively, in its own session: it cannot reach a terminal, and
// everything that it starts ends with it. Its standard input is the prompt or nothing,
// never a pipe that stays open. What it says goes to the log immediately: its text, and a
// line for every tool that it uses. The files that it needs are private to the user and are
// removed afterwards.
//
// # Success and failure
//
// A run is a success only if all of these hold: the final event arrived, it reports
// success, no event reported a failure, and the exit status is 0. CLIs exit with 0 after a
// failure, or report "success" for one, so none of these is enough alone.
//
// If a CLI reports totals for a whole conversation, earlier usage is subtracted. Usage that
// it does not report is unknown, never zero.
//
// # Conversations
//
// If a person is to be asked before the CLI acts, or if a CLI supports nothing else, a
// [Driver] talks to it over a protocol.
package cli
