package cli

import (
	"bytes"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/syntax"
)

// fixFiles fixes files where the remedy of a diagnostic is certain.
func (a *app) fixFiles(names []string) error {
	if len(names) == 0 {
		return usagef("name the files that are to be fixed", "--fix changes files")
	}
	for _, name := range names {
		if name == stdin {
			return usagef("give it a file", "standard input cannot be fixed")
		}
		file, text, err := a.readFile(name, "--fix")
		if err != nil {
			return err
		}
		fixed, made, left := fixText(file, text)
		if left > 0 {
			a.note(name + ": " + view.Count(left, "mistake") + " left to you: a change might lose or move something that you wrote\n")
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

// maxFixRounds bounds how often a text is fixed again: one mistake may hide
// another, but not for ever.
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
