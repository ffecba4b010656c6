package cli

import (
	"bytes"
	"maps"
	"os"
	"slices"

	"github.com/hocket-dev/hocket/project"
)

// refuseExposed refuses to go on where a secret would not stay one: because it is too
// short to be hidden, or because a file of the project holds its value. Files are kept
// with the runs that they are used in, and told to agents.
func (a *app) refuseExposed(p *project.Project) error {
	if err := a.secrets.TooShort(); err != nil {
		what, hint := explain(err)
		return usagef(hint, "%s", what)
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(p.Sources)) {
		if line := a.secretLine(p.Sources[file]); line > 0 {
			return usagef("files are kept with the runs that use them, and told to agents; let a step find the secret in its environment, or name it under secrets in config.yml",
				"%s:%d holds the value of a secret", nearPath(here, file), line)
		}
	}
	return nil
}

// secretLine is the first line of a text that holds a secret; zero: none does.
func (a *app) secretLine(text []byte) int {
	if !a.holdsSecret(string(text)) {
		return 0
	}
	number := 0
	for line := range bytes.Lines(text) {
		if number++; a.holdsSecret(string(line)) {
			return number
		}
	}
	return 1 // it has several
}
