// Package check proves things about a workflow before it runs: that its graph
// can be executed at all, that every reference has something to refer to, that
// its agents exist, that the workflows it calls neither recur nor lack an input.
// It reads the model only, so it serves every notation alike.
//
// One rule has one code, one file here, one page in docs/rules and one fixture
// in testdata. The table in rules.go names them all.
//
// [Run] reports everything that it finds. A bundle in which it finds no error
// is one that the engine takes. [PlanOf] bounds what a run of it may do.
package check
