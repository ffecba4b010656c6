// Package trial runs the tests of a project's workflows, which are in .hocket/tests. A test is a run of the real
// engine, through the host, in a directory of its own and in its own time: a gate that waits for a day takes no time.
//
// Scripted replies, or recordings in a [cassette.Cassette], stand in for agents and people. Nothing else is used: a step with
// neither is an error, and so is a recording that no step asked for. Commands run only in a test with exec: true, agents only
// to record or to compare.
package trial
