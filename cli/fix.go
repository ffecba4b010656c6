package cli

import (
	"bytes"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/syntax"
)

// fixFiles applies the fixes of diagnostics that are safe.
func (a *app) fixFiles(names []string) error {
	if len(names) == 0 {
		return usagef("name the files to fix", "--fix requires at least one file")
	}
	for _, name := range names {
		if name == stdin {
			return usagef("name a file instead", "--fix does not support standard input")
		}
		file, text, err := a.readFile(name, "--fix")
		if err != nil {
			return err
		}
		fixed, made, left := fixText(file, text)
		if left > 0 {
			a.note(name + ": " + view.Count(left, "mistake") + " not fixed: a fix might lose or move something that you wrote\n")
		}
		if bytes.Equal(fixed, text) {
			continue
		}
		if err := replaceFile(file, fixed); err != nil {
			return err
		}
		a.note(name + ": " + view.Count(made, "mistake") + " fixed\n")
	}
	return nil
}

// maxFixRounds bounds how often a text is fixed again, as fixing one mistake may reveal
// another.
const maxFixRounds = 50

func fixText(file string, text []byte) (fixed []byte, made, left int) {
	for range maxFixRounds {
		next, n, refused := syntax.Fix(file, text, hocket.CheckText(file, text))
		left = refused
		if n == 0 || bytes.Equal(next, text) {
			break
		}
		text, made = next, made+n
	}
	return text, made, left
}
