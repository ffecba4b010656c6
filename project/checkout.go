package project

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
)

// FilesOf describes the files in a directory for comparison with those of another machine: the commit, and a digest of
// what was changed since. It is "" if the directory does not belong to a git repository, or git is missing. changed has the
// files that differ from the commit, each with what it is now; "" if it is gone. The error is that of ctx: there may be many
// files.
//
// It starts no program that the repository configures, as git itself would to compare files: git only lists them. So
// files that such a filter changes, as Git LFS does, always count as changed, with the same digest on every machine that
// has the same bytes.
func FilesOf(ctx context.Context, root string) (files string, changed map[string]string, err error) {
	head, err := git(ctx, root, "rev-parse", "--verify", "HEAD")
	commit := strings.TrimSpace(head)
	if err != nil || len(commit) < shortCommit {
		return "", nil, ctx.Err()
	}
	tree, err := git(ctx, root, "ls-tree", "-r", "-z", commit)
	if err != nil {
		return "", nil, ctx.Err()
	}
	present, err := git(ctx, root, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	if err != nil {
		return "", nil, ctx.Err()
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return "", nil, nil
	}
	defer dir.Close()
	committed := map[string]string{} // what describe returns for unchanged files; "" for new ones
	for name := range strings.SplitSeq(present, "\x00") {
		committed[name] = ""
	}
	for entry := range strings.SplitSeq(tree, "\x00") {
		about, name, _ := strings.Cut(entry, "\t")
		if mode, rest, ok := strings.Cut(about, " "); ok {
			_, id, _ := strings.Cut(rest, " ")
			committed[name] = mode + " " + id
		}
	}
	delete(committed, "")
	changes := sha256.New()
	changed = map[string]string{}
	for _, name := range sorted.Keys(committed) {
		if ctx.Err() != nil {
			return "", nil, ctx.Err()
		}
		if now := describe(ctx, dir, name, committed[name], len(commit)); now != committed[name] {
			changed[name] = now
			fmt.Fprintf(changes, "%s\x00%s\x00", name, now)
		}
	}
	at := "commit " + commit[:shortCommit]
	if len(changed) == 0 {
		return at, nil, nil
	}
	return at + " with changes " + hex.EncodeToString(changes.Sum(nil)[:6]), changed, nil
}

const shortCommit = 12

// The modes of entries in a tree of git.
const (
	plainFile  = "100644"
	program    = "100755"
	link       = "120000"
	repository = "160000"
)

// describe returns the mode and the object name that git would give a file, "" if there is none. Its tree has was.
func describe(ctx context.Context, dir *os.Root, name, was string, digits int) string {
	if filepath.ToSlash(filepath.Clean(name)) != name || name == "." { // a tree can be made by hand
		return ""
	}
	info, err := dir.Lstat(name)
	if err != nil {
		return ""
	}
	sum := func(mode string, size int64, content io.Reader) string {
		var h hash.Hash = sha1.New()
		if digits == hex.EncodedLen(sha256.Size) {
			h = sha256.New()
		}
		fmt.Fprintf(h, "blob %d\x00", size)
		if _, err := io.Copy(h, content); err != nil {
			return mode + " unreadable"
		}
		return mode + " " + hex.EncodeToString(h.Sum(nil))
	}
	wasMode, _, _ := strings.Cut(was, " ")
	switch {
	case info.IsDir() && wasMode == repository:
		return describeInner(ctx, dir, name, was)
	case info.Mode().Type() == fs.ModeSymlink:
		target, err := dir.Readlink(name)
		if err != nil {
			return link + " unreadable"
		}
		return sum(link, int64(len(target)), strings.NewReader(target))
	case !info.Mode().IsRegular(): // git does not keep such files
		return ""
	}
	mode := plainFile
	switch {
	case runtime.GOOS == "windows" && was != "": // files have no such mode there
		mode = wasMode
	case info.Mode().Perm()&0o100 != 0:
		mode = program
	}
	f, err := dir.Open(name)
	if err != nil {
		return mode + " unreadable"
	}
	defer f.Close()
	return sum(mode, info.Size(), f)
}

// describeInner is describe for a repository in the repository. One that was not fetched counts as unchanged, as for git.
func describeInner(ctx context.Context, dir *os.Root, name, was string) string {
	if _, err := dir.Lstat(filepath.Join(name, ".git")); err != nil {
		return was
	}
	now, _, err := FilesOf(ctx, filepath.Join(dir.Name(), name))
	if err != nil { // the caller notices it
		return ""
	}
	if commit, ok := strings.CutPrefix(now, "commit "); ok && len(commit) == shortCommit && strings.HasPrefix(was, repository+" "+commit) {
		return was
	}
	return repository + " " + now
}

// git runs a command that only lists, so that nothing in the repository can start a program: no hook or monitor of files,
// and no transport that fetches objects that are missing. A directory that merely looks like a bare repository, which any
// clone can contain, is none. The variables of git itself could lead to another repository.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{
		"-C", dir, "--no-pager", "-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null",
	}, args...)...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") }),
		"GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_REPLACE_OBJECTS=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	out, err := cmd.Output()
	return string(out), err
}
