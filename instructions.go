package hocket

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/hocket-dev/hocket/agent"
)

// instructionFile holds what every agent of a project should know.
const instructionFile = "AGENTS.md"

// maxInstructions limits their size, as every task includes them.
const maxInstructions = 1 << 20

// instructions returns the project's instructions for every agent. They are trusted and
// sent to a model provider, so the file must not be a symbolic link to another file of the
// user.
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
		return "", agent.Permanentf("%q is not a regular file", instructionFile)
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
		return "", agent.Permanentf("%q is larger than %d KB, and is part of every task; shorten it", instructionFile, maxInstructions>>10)
	}
	return string(text), nil
}
