package cli

import (
	"bytes"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
)

// fixFiles mends files where the remedy of a diagnostic is certain.
func (a *app) fixFiles(names []string) error {
	if len(names) == 0 {
		return usagef("name the files that are to be mended", "--fix changes files")
	}
	for _, name := range names {
		if name == stdin {
			return usagef("give it a file", "standard input cannot be mended")
		}
		file, text, err := a.readFile(name, "--fix")
		if err != nil {
			return err
		}
		fixed, count := fixText(file, text)
		if bytes.Equal(fixed, text) {
			continue
		}
		if err := replaceFile(file, fixed); err != nil {
			return err
		}
		a.note(name + ": " + view.Count(count, "mistake") + " mended\n")
	}
	return nil
}

// maxFixRounds bounds how often a text is mended again: one mistake may hide
// another, but not for ever.
const maxFixRounds = 50

func fixText(file string, text []byte) (fixed []byte, count int) {
	for range maxFixRounds {
		next, n := hocket.CheckText(file, text).Fixed(text)
		if n == 0 || bytes.Equal(next, text) {
			break
		}
		text, count = next, count+n
	}
	return text, count
}
