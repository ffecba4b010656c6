// Package cli is the command line: one verb, one file. It builds the sets of
// agents and notations explicitly, opens the project and the journal, and hands
// the work to the packages that do it. What people see is drawn by package view.
//
// The contract that other programs may rely on:
//
//  1. Results go to standard output, progress and errors to standard error.
//  2. With --json every verb that prints facts prints JSON, also when it fails:
//     then an object with "error".
//  3. Exit codes are those of [Main].
package cli
