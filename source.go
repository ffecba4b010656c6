package hocket

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/filelock"
	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/internal/wholefile"
	"github.com/hocket-dev/hocket/syntax"
)

// Source returns the file of a workflow of the project, also of one that a model wrote, its text, and
// the revision of the text, which [Project.SaveWorkflow] compares. The error is an
// *[UnknownWorkflowError] if there is none.
func (p *Project) Source(name string) (file string, text []byte, revision string, err error) {
	file, text, err = p.steady().now().files.Source(name)
	return file, text, revisionOf(text), err
}

func revisionOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// RevisionError reports that a file has changed since it was read, or exists already. Nothing was
// saved.
type RevisionError struct {
	File   string
	Exists bool // it was to be created
}

func (e *RevisionError) Error() string {
	if e.Exists {
		return "there is already a workflow with the name of " + e.File
	}
	return e.File + " has changed since you opened it"
}

// Hint returns what to do about it.
func (e *RevisionError) Hint() string {
	if e.Exists {
		return "choose another name"
	}
	return "open it again and repeat the change"
}

// FileNameError reports that a file cannot hold a new workflow.
type FileNameError struct{ File, Workflow string }

func (e *FileNameError) Error() string {
	return fmt.Sprintf("invalid file name %q for the workflow %q", e.File, e.Workflow)
}

// Hint returns what to do about it.
func (e *FileNameError) Hint() string {
	return "use its name and the ending of a notation, such as " + e.Workflow + ".yml"
}

// NotFileError reports that a workflow cannot be saved, because its file is not a regular one, or because a
// link leads to a place outside the project.
type NotFileError struct{ File string }

func (e *NotFileError) Error() string {
	return e.File + " is a link, or something else that is not a regular file of the project"
}

// Hint returns what to do about it.
func (e *NotFileError) Hint() string { return "replace it with a file, or choose another name" }

// saveWait is how long to wait for another program that saves.
const saveWait = 5 * time.Second

// SaveWorkflow replaces the text of a workflow of the project, if its revision is still the given one,
// and returns its name. If revision is "", it creates the workflow in the given file of
// .hocket/workflows. The text may have mistakes: then the workflow cannot run.
func (p *Project) SaveWorkflow(name, newFile string, text []byte, revision string) (string, error) {
	dir := filepath.Join(p.Root(), ".hocket", "workflows")
	file := filepath.Join(dir, newFile)
	if revision == "" {
		if !syntax.IsWorkflow(newFile) || filepath.Base(newFile) != newFile || strings.HasPrefix(newFile, ".") || strings.TrimSuffix(newFile, filepath.Ext(newFile)) != name {
			return "", &FileNameError{newFile, name}
		}
		if slices.Contains(p.Workflows(), name) || p.now().definition(name) != nil { // the name would be ambiguous
			if was, err := os.ReadFile(file); err != nil || !bytes.Equal(was, text) { // unless this very text was saved before
				return "", &RevisionError{file, true}
			}
		}
	} else {
		var err error
		if file, _, _, err = p.Source(name); err != nil {
			return "", err
		}
	}
	for at := filepath.Dir(file); ; at = filepath.Dir(at) { // a link must not lead out of the project
		_, err := projectfile.Resolve(at, p.Root())
		if err == nil {
			break
		}
		if errors.As(err, new(*projectfile.OutsideError)) {
			return "", &NotFileError{at}
		}
		if !errors.Is(err, fs.ErrNotExist) || at == p.Root() {
			return "", err
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	if err := os.MkdirAll(p.State(), 0o700); err != nil {
		return "", err
	}
	lock, err := filelock.Wait(filepath.Join(p.State(), "save.lock"), saveWait)
	if err != nil {
		return "", err
	}
	defer lock.Release()
	mode := fs.FileMode(0o644)
	switch info, err := os.Lstat(file); {
	case errors.Is(err, fs.ErrNotExist) && revision == "":
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", &NotFileError{file}
	default:
		was, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if bytes.Equal(was, text) { // whoever sends it again may not know that it was saved
			return name, nil
		}
		if revisionOf(was) != revision {
			return "", &RevisionError{file, revision == ""}
		}
		mode = info.Mode().Perm()
	}
	if err := wholefile.Write(file, text, mode); err != nil {
		return "", err
	}
	_ = p.Reload() // it was saved, even if another file has mistakes
	return name, nil
}
