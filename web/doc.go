// Package web has the pages for people: what waits for them, what runs, and what it cost. Its pages are
// rendered here, from what package server returns, and can be read without JavaScript. Small modules add
// what happens in the meantime, see static.
//
// Nothing from a run ever becomes HTML: templates escape it, and the modules only set text. The one
// exception is the drawing, whose text package draw escapes.
package web
