package cli

import (
	"bytes"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
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
		next, n := mistakes(file, text).Fixed(text)
		if n == 0 || bytes.Equal(next, text) {
			break
		}
		text, count = next, count+n
	}
	return text, count
}

// mistakes are all that are found in a file alone.
func mistakes(file string, text []byte) workflow.Diagnostics {
	w, found := syntax.Parse(file, text)
	if w == nil {
		return found
	}
	bundle := workflow.Bundle{Root: w}
	inside := check.Run(check.Input{Bundle: bundle, Broken: missingCalls(bundle)})
	inside.Place(file, text)
	return append(found, inside...)
}
