// Package chaos tests the whole program where the other tests test its parts: it kills the
// command at random moments and resumes its runs, it damages journals and looks at what the
// command says about them, and it compares runs of random workflows with the model of the
// rules. Nothing may be lost, repeated, or silently different.
//
// A few cases run with the other tests; `make chaos` runs thousands.
package chaos
