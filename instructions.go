package hocket

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/hocket-dev/hocket/agent"
)

// instructionFile is where a project says what every agent should know.
const instructionFile = "AGENTS.md"

// maxInstructions is how long they may be, as they are told with every task.
const maxInstructions = 1 << 20

// instructions are those of the project, for every agent that works in it. They are
// trusted, and given to whoever runs the model: so they are a file of the project, and
// no link to another one of the user's.
func instructions(root string) (string, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	info, err := dir.Stat(instructionFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", agent.PathError(instructionFile, err)
	case !info.Mode().IsRegular():
		return "", agent.Permanentf("%q is no file", instructionFile)
	}
	f, err := dir.Open(instructionFile)
	if err != nil {
		return "", agent.PathError(instructionFile, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxInstructions+1))
	switch {
	case err != nil:
		return "", agent.PathError(instructionFile, err)
	case len(text) > maxInstructions:
		return "", agent.Permanentf("%q holds more than %d KB, and every task is told all of it; shorten it", instructionFile, maxInstructions>>10)
	}
	return string(text), nil
}
