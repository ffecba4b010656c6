// Package mcp is the MCP server of Hocket: a front end through which the programs that people
// talk to, such as Claude Code or Codex, run tasks and workflows, propose new ones, and search
// the memory of a project.
//
// A client is a model that somebody supervises, and sometimes nobody does. So the package keeps
// to three rules, whatever a client says:
//
//  1. It runs only what a person has approved, see [hocket.OnlyApproved]. It writes drafts, and
//     never approves, trusts or raises anything.
//  2. It puts a question to the user of the client only if the question is a gate that an agent
//     could answer, too. Only the user's own configuration allows more. There is no tool that
//     answers.
//  3. What a call started does not outlive the server, unless the client asked for a background run.
//     If the call is cancelled, or the client goes while it waits, its run is cancelled. If the run
//     takes longer than a client waits, the call returns first, and the run goes on as long as the
//     server; then it is interrupted, and a person can resume it.
//
// The server is the same for all versions of the protocol. Where they differ, in how a server
// asks something and in how it hands out long work, the difference is in gate.go and task.go.
package mcp
