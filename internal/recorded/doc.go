// Package recorded replays the journals in testdata/journals, which earlier versions of
// the program recorded. Whatever a version has recorded, all later ones read.
package recorded
