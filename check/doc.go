// Package check finds mistakes in a workflow before it runs. It checks that the graph can be
// executed, that every reference refers to something, that the agents exist, and that called
// workflows get their inputs and do not call each other in a cycle. It reads only the model, so
// it works for every notation.
//
// Each rule has a code, a file here, a page in docs/rules and a fixture in testdata. The table in
// rules.go lists all of them.
//
// [Run] reports everything that it finds. The engine can run every bundle in which it finds no
// error. [PlanOf] computes bounds for what a run may do.
package check
