package attempt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// PromptFile is the file with the sent text, in the directory of a session. The sender may create
// the directory and write the file there before sending it.
const PromptFile = "prompt.md"

// OpenSession opens the directory of a session, and creates it if necessary, like [OpenFolder].
func OpenSession(root, dir string) (*os.Root, error) {
	all, err := OpenFolder(root, path.Dir(dir))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(ignore(all), all.Close()); err != nil {
		return nil, err
	}
	return OpenFolder(root, dir)
}

// OpenFolder opens a folder of a project, and creates it if necessary. The path must not contain a
// link: otherwise an agent could create a link and make Hocket write where the agent itself may
// not.
func OpenFolder(root, folder string) (*os.Root, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if err := r.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	dir, err := r.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	opened, err := dir.Stat(".")
	infos, linked := steps(r, folder)
	if err = errors.Join(err, linked); err == nil && !os.SameFile(opened, infos[len(infos)-1]) {
		err = refusedFile("was replaced while it was opened")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s %w", folder, err), dir.Close())
	}
	return dir, nil
}

// ignore adds a .gitignore to the folder of all sessions. It does nothing if the folder contains
// anything but prompts, because it may be in use for other things too.
func ignore(all *os.Root) error {
	const file = ".gitignore"
	if _, err := all.Lstat(file); err == nil {
		return nil
	}
	dirs, err := fs.ReadDir(all.FS(), ".")
	if err != nil {
		return err
	}
	for _, d := range dirs {
		if files, err := fs.ReadDir(all.FS(), d.Name()); err != nil || !OnlyPrompt(files) {
			return nil
		}
	}
	f, err := all.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) { // another process was faster
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString("*\n")
	return errors.Join(err, f.Close())
}

// OnlyPrompt reports whether a directory contains at most a prompt, so that a new session may
// have it.
func OnlyPrompt(files []fs.DirEntry) bool {
	return len(files) == 0 || len(files) == 1 && files[0].Name() == PromptFile
}
