package cli

import (
	"strings"

	"github.com/hocket-dev/hocket/cli/view"
)

// self returns a hocket command line for the same project, quoted for a shell.
//
//go:noinline
func (a *app) self(words ...string) string { return a.selfIn(a.dir, words...) }

// selfIn is self for a project's directory; "" is the current one.
func (a *app) selfIn(dir string, words ...string) string {
	line := []string{"hocket"}
	if dir != "" {
		line = append(line, "-C", dir)
	}
	if a.state != "" {
		line = append(line, "--state", a.state)
	}
	line = append(line, words...)
	for i, w := range line {
		line[i] = quoteWord(w)
	}
	text := strings.Join(line, " ")
	if a.local {
		return onThisMachine + text
	}
	return text
}

// onThisMachine is before commands for the runs on this machine, in a project with a driver.
const onThisMachine = "HOCKET_DRIVER=local "

// quoteWord quotes a word for a shell if necessary.
func quoteWord(w string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r)
	}
	if w != "" && strings.TrimFunc(w, plain) == "" {
		return w
	}
	return "'" + strings.ReplaceAll(view.Line(w), "'", `'\''`) + "'"
}
