package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// FilesOf describes the files in a directory for comparison with those of another machine: the commit, and a digest of
// what was changed since. It is "" if the directory does not belong to a git repository, or git is missing.
func FilesOf(root string) string {
	commit, err := git(root, "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return ""
	}
	diff, err := git(root, "diff", "HEAD", "--binary", "--no-ext-diff", "--no-textconv", "--relative")
	if err != nil {
		return ""
	}
	untracked, err := git(root, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return ""
	}
	at := "commit " + strings.TrimSpace(commit)
	if diff == "" && untracked == "" {
		return at
	}
	sum := sha256.New()
	io.WriteString(sum, diff)
	for name := range strings.SplitSeq(untracked, "\x00") {
		if info, err := os.Lstat(filepath.Join(root, name)); name == "" || err != nil || !info.Mode().IsRegular() {
			continue
		}
		io.WriteString(sum, "\x00"+name+"\x00")
		if f, err := os.Open(filepath.Join(root, name)); err == nil {
			_, _ = io.Copy(sum, f) // what cannot be read is not compared
			f.Close()
		}
	}
	return at + " with changes " + hex.EncodeToString(sum.Sum(nil)[:6])
}

// git runs a command that only reads, without programs that the repository configures.
func git(dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	out, err := cmd.Output()
	return string(out), err
}
