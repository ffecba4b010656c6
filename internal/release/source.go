package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	program    = "hocket"
	repository = "https://github.com/hocket-dev/hocket"
)

// source is the commit that is built.
type source struct {
	Dir     string
	Version string // in Go's format: v1.2.3 for a tag, otherwise with the time and the commit
	Commit  string
	Time    time.Time
}

// number returns the version without its v, as in the names of archives and packages.
func (s source) number() string { return strings.TrimPrefix(s.Version, "v") }

// clone clones a repository into a new directory, so that only committed files are built,
// and Go finds the commit, which it does not in a linked work tree.
func clone(repository string) (s source, err error) {
	dir, err := os.MkdirTemp("", "hocket-release-")
	if err != nil {
		return s, err
	}
	s.Dir = filepath.Join(dir, program)
	git := func(args ...string) string {
		if err != nil {
			return ""
		}
		var text []byte
		if text, err = (source{}).command(nil, "git", args...); err != nil {
			return ""
		}
		return strings.TrimSpace(string(text))
	}
	git("clone", "--quiet", "--no-hardlinks", repository, s.Dir)
	s.Commit = git("-C", s.Dir, "rev-parse", "HEAD")
	at := git("-C", s.Dir, "show", "-s", "--format=%ct", "HEAD")
	if err != nil {
		return s, errors.Join(err, s.remove())
	}
	seconds, err := strconv.ParseInt(at, 10, 64)
	s.Time = time.Unix(seconds, 0).UTC()
	return s, err
}

// remove deletes the clone.
func (s source) remove() error { return os.RemoveAll(filepath.Dir(s.Dir)) }

func (s source) files() fs.FS { return os.DirFS(s.Dir) }

// command runs a program in the source, and returns what it printed.
func (s source) command(env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = s.Dir
	cmd.Env = append(os.Environ(), env...)
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), explained(err))
	}
	return text, nil
}

// explained adds what a program printed to standard error.
func explained(err error) error {
	if exit, ok := err.(*exec.ExitError); ok && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w\n%s", err, exit.Stderr)
	}
	return err
}
