// Package hostile holds no code, only the test that looks at hostile projects with
// every command that only reads: nothing that a project names is started, nobody is
// connected to, and nothing outside of the project is opened.
//
// The projects are in projects_test.go, and what looks at them in verbs_test.go: a new
// verb, or a new front end, needs a line there.
package hostile
