// Package project is a user's project on disk: its root, its config.yml, its
// agents, its workflows by name, and the workflows that these call. It puts
// together what the readers and the checks need and gives back one bundle that
// can run, with every mistake on the way.
//
// It reads files and nothing else: what comes from the environment is passed in
// by the caller.
package project
