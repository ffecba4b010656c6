package workspace

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A person who works in a directory may commit there, and make branches, stashes and linked worktrees. They are recorded nowhere else, so such a directory
// is not removed. Those of an agent are no reason to keep it.

// refs is what the repository of a workspace has.
type refs struct {
	id      string          // identifies all refs that are not the current branch, and then the commit of that; "": there are none
	commits map[string]bool // to which they lead; nil: not all refs can be read, or they are too many
}

// unknownRefs is the id of what a repository had before a person worked there if its process was killed before that was noted.
const unknownRefs = "?"

// refsIn reads the refs of the repository of a workspace.
func refsIn(root string) refs {
	git := filepath.Join(root, ".git")
	if _, err := os.Lstat(git); errors.Is(err, fs.ErrNotExist) {
		return refs{commits: map[string]bool{}}
	}
	is := refs{commits: map[string]bool{}}
	head, err := readSmall(filepath.Join(git, "HEAD"))
	packed, wrong := is.addPacked(filepath.Join(git, "packed-refs"))
	if err != nil || wrong != nil {
		return refs{}
	}
	is.add(head)
	branch, _ := strings.CutPrefix(strings.TrimSpace(head), "ref: ")
	worktrees, err := os.ReadDir(filepath.Join(git, "worktrees"))
	if ignoreMissing(err) != nil {
		return refs{}
	}
	others, current, n := sha256.New(), "", len(worktrees)
	fmt.Fprintf(others, "%q %q", head, packed)
	for _, linked := range worktrees {
		fmt.Fprintf(others, " %q", linked.Name())
		at, _ := readSmall(filepath.Join(git, "worktrees", linked.Name(), "HEAD")) // what is missing there cannot be used
		is.add(at)
	}
	err = walk(filepath.Join(git, "refs"), func(name string, mode fs.FileMode, _ *stat, err error) error {
		if n++; err != nil || n > maxGitFiles {
			return errUnread
		}
		if mode.IsDir() {
			return nil
		}
		commit, err := readSmall(filepath.Join(git, "refs", filepath.FromSlash(name)))
		if is.add(commit); "refs/"+name == branch {
			current = strings.TrimSpace(commit)
		} else {
			fmt.Fprintf(others, " %q %q", name, commit)
		}
		return err
	})
	if err != nil {
		return refs{}
	}
	is.id = hex.EncodeToString(others.Sum(nil)) + " " + current
	return is
}

// add adds the commit with which a text begins, if there is one.
func (r refs) add(text string) {
	if fields := strings.Fields(text); len(fields) > 0 && isCommit(fields[0]) {
		r.commits[fields[0]] = true
	}
}

// addPacked adds the refs of a file with many, and returns what identifies its content; "": there is no such file. git has it in any size.
func (r refs) addPacked(file string) (id string, err error) {
	info, err := os.Lstat(file) // first, since opening some devices has effects
	if err != nil {
		return "", ignoreMissing(err)
	}
	if err := isFile(file, info.Mode()); err != nil {
		return "", err
	}
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	lines := bufio.NewScanner(io.TeeReader(f, sum))
	for lines.Scan() {
		r.add(lines.Text())
	}
	return hex.EncodeToString(sum.Sum(nil)), lines.Err()
}

// hasMine reports whether a repository may have something of a person that is not recorded. What is committed on the branch of an attempt
// that has not ended is collected with its files.
func (s *Store) hasMine(ctx context.Context, m marker, is refs) bool {
	switch {
	case is.commits == nil:
		return true
	case m.Git == "" || m.Git == unknownRefs: // whose its refs are is not known
		return !s.records(ctx, m, is)
	}
	return is.id != m.Git && (m.Captured != "" || is.hasMore(m.Git))
}

// hasMore reports whether a repository has got something else than commits on its branch.
func (r refs) hasMore(before string) bool {
	before, _, _ = strings.Cut(before, " ")
	now, _, _ := strings.Cut(r.id, " ")
	return before != now
}

// records reports whether the store has recorded all commits of a repository for the attempt of a workspace.
func (s *Store) records(ctx context.Context, m marker, is refs) bool {
	var revs strings.Builder
	for commit := range is.commits {
		if commit != m.Base {
			fmt.Fprintln(&revs, commit)
		}
	}
	if revs.Len() == 0 {
		return true
	}
	_, last, err := s.Collected(ctx, m.Attempt)
	if err != nil {
		return false
	}
	fmt.Fprintf(&revs, "^%s\n^%s\n", m.Base, cmp.Or(last, m.Base))
	missing, err := s.git.input(ctx, revs.String(), "rev-list", "--max-count=1", "--stdin")
	return err == nil && missing == "" // otherwise the store may not even have it
}
