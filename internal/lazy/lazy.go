// Package lazy compiles regular expressions when they are first used. Most commands use few of
// them, and compiling all of them takes longer than many a command.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that returns the compiled expression. It panics at the first call if
// the expression is invalid.
//
// It is not inlined, since each of the more than hundred variables would get three functions of its own then.
//
//go:noinline
func Regexp(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
