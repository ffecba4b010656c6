// Package cli is the command line, with one file per command. It parses arguments, opens
// the project, and leaves the work to the root package hocket. Package view draws what
// people see.
//
// The contract that other programs may rely on:
//
//  1. Results go to standard output, progress and errors to standard error.
//  2. With --json, every command that prints results prints JSON. If it fails, it prints
//     an object with "error".
//  3. Exit codes are those of [Main].
package cli
