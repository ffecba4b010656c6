// Package hostile holds no code, only the test that runs every read-only command on
// hostile projects: nothing that a project names may be started, no connection made, and
// nothing outside the project opened.
//
// The projects are in projects_test.go, and the commands in verbs_test.go: a new command,
// or a new front end, needs a line there.
package hostile
