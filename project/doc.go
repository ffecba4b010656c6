// Package project is a user's project on disk: its root, its config.yml, its agents, its
// workflows by name, and the workflows that these call. It calls the parsers and the
// checks, and returns a bundle that can run, with all diagnostics.
//
// It only reads files: the caller passes in what comes from the environment.
package project
